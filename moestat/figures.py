"""Figures from a dataset, in a notebook say: log-log rates, lines over any axis, heat maps.

>>> import moestat.figures
>>> ds = moestat.load("sigmoid_vs_softmax")  # doctest: +SKIP
>>> moestat.figures.rates(ds, "L3", reference="fisher_L3").savefig("rates.pdf")  # doctest: +SKIP

The dataset may be one of your own: a variable over an axis, with a dimension ``replicate`` where it was drawn more than
once and a dimension ``arm`` where there are several methods. What :func:`moestat.losses.rescore` returns is such a one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moestat.report.figures import FigureError, alone
from moestat.report.style import look, save

__all__ = ["FigureError", "heatmap", "lines", "look", "rates", "save"]


def rates(
    ds: xr.Dataset,
    variable: str,
    *,
    over: str = "n",
    arms: Sequence[str] = ("*",),
    ax: Axes | None = None,
    **options: Any,
) -> Figure:
    """Draw a log-log figure of one loss.

    Parameters
    ----------
    ds : xarray.Dataset
        Results of a study, e.g. of :func:`moestat.load`, or a dataset of your own.
    variable : str
        The loss.
    over : str, default "n"
    arms : sequence of str
        Names or glob patterns.
    ax : matplotlib axes, optional
        Where it is drawn; otherwise in a figure of its own.
    **options
        Of the panel (``title``, ``ylabel``), of its rate (``window``, ``printed``, ``reference``, ``start``) or of the
        figure (``xlabel``, ``logx``, ``logy``, ``title`` is the panel's).

    Returns
    -------
    matplotlib.figure.Figure
        To be saved with its ``savefig``, or shown by a notebook.

    Raises
    ------
    FigureError
        If the results do not hold what is asked for.
    """
    return alone(ds, "rates", variable, over, arms, ax, options)


def lines(
    ds: xr.Dataset, variable: str, *, over: str, arms: Sequence[str] = ("*",), ax: Axes | None = None, **options: Any
) -> Figure:
    """Draw the mean of a variable with its interval over any axis; ``hue`` names what the lines differ in.

    ``ax`` and the errors are those of :func:`rates`.
    """
    return alone(ds, "lines", variable, over, arms, ax, {"logx": False, "logy": False} | options)


def heatmap(ds: xr.Dataset, variable: str, *, x: str, y: str, arms: Sequence[str] = ("*",), **options: Any) -> Figure:
    """Draw the mean of a variable over two axes, one panel per arm."""
    return alone(ds, "heatmap", variable, x, arms, None, {"y": y} | options)

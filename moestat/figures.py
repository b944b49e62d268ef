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
    """Draw a log-log figure of one loss, onto the matplotlib axes ``ax`` if they are given.

    ``ds`` are results of a study, of :func:`moestat.load` say, or a dataset of your own; ``arms`` are names or glob
    patterns. Options are those of the panel (``title``, ``ylabel``), of its rate (``window``, ``printed``,
    ``reference``, ``start``) and of the figure (``xlabel``, ``logx``, ``logy``).

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

"""A figure of paired comparisons: the values, and beside them their differences from (or ratios to) a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat.claims import selection
from moestat.claims.selection import NoAnswerError
from moestat.report import line_panel, style
from moestat.report.tables import label
from moestat.rounding import number
from moestat.study.spec import Figure, Scalar


def paired(
    ds: xr.Dataset,
    figure: Figure,
    *,
    variables: Mapping[str, str],
    baseline: str,
    others: Sequence[str],
    over: str = "arm",
    at: Mapping[str, Scalar] | None = None,
    ratio: bool = False,
    region: Sequence[float] = (),
) -> Canvas:
    """Draw one row of two panels per variable: means with intervals, and paired differences from the baseline.

    Parameters
    ----------
    ds : xarray.Dataset
        Results.
    figure : Figure
        Of the study: ``x`` and its label and scale, ``logy`` of the panels on the left.
    variables : mapping
        Variable -> label of its axis.
    baseline, others : str, sequence of str
        Points of ``over``: what is compared, and what it is compared with.
    over : str, default "arm"
        The axis of these points; arms, or a dimension such as ``kernel``.
    at : mapping, optional
        Coordinates that are fixed, the arm among them if ``over`` is another axis.
    ratio : bool, default False
        Whether ratios (geometric means) take the place of differences.
    region : (low, high), optional
        Shaded on the right: where a claim holds; an end far away stands for no end.

    Raises
    ------
    NoAnswerError
        If a variable or a point is not in the results.
    """
    canvas = style.new_figure(style.TWO_COLUMNS, 0.7 + 2.1 * len(variables))
    grid = canvas.subplots(len(variables), 2, squeeze=False)
    names = [baseline, *others]
    called = {name: label(ds, name) if over == "arm" else name for name in names}
    for row, (variable, ylabel) in enumerate(variables.items()):
        taken = [_taken(ds, variable, figure.x, {**(at or {}), over: name}) for name in names]
        left, right = grid[row]
        for index, (name, values) in enumerate(zip(names, taken, strict=True)):
            _line(left, values, figure.x, index, called[name], geometric=figure.logy)
            if index:
                change = values / taken[0] if ratio else values - taken[0]
                _line(right, change, figure.x, index, called[name], geometric=ratio)
        left.set_ylabel(ylabel)
        right.set_ylabel(f"{'ratio to' if ratio else 'difference from'} {called[baseline]}")
        right.axhline(1.0 if ratio else 0.0, color=style.REFERENCE, linewidth=1.0, zorder=1.5)
        if len(region) == 2:
            limits = right.get_ylim()  # the values decide what is shown, not how far the region goes
            right.axhspan(*region, color=style.REFERENCE, alpha=0.12, linewidth=0)
            right.set_ylim(limits)
        for column, axes in enumerate((left, right)):
            axes.set_title(f"({chr(97 + 2 * row + column)}) {('values', 'paired comparison')[column]}", loc="left")
            _scales(axes, figure, ds[figure.x].values.astype(float), logy=figure.logy and column == 0)
    for axes in grid[-1]:
        axes.set_xlabel(figure.xlabel or figure.x)
    style.legend_below(canvas, grid[0, 0])
    return canvas


def _taken(ds: xr.Dataset, variable: str, x: str, at: Mapping[str, Any]) -> xr.DataArray:
    array = selection.variable(ds, variable, at)
    array = array.squeeze([d for d in array.dims if d not in (x, "replicate") and array.sizes[d] == 1], drop=True)
    if set(array.dims) != {x, "replicate"}:
        dims = ", ".join(map(str, array.dims))
        raise NoAnswerError(f"{variable} runs over {dims}, not over {x} and replicate alone.")
    return array.drop_vars([name for name in array.coords if name not in array.dims])


def _line(axes: Axes, array: xr.DataArray, x: str, index: int, text: str, *, geometric: bool) -> None:
    array = array.where(array > 0) if geometric else array
    places, mean, low, high, _ = line_panel.curve(array, x, geometric)
    known = np.isfinite(mean)
    half = np.nan_to_num(np.array([mean - low, high - mean]))[:, known]
    look = style.marker(index) | {"color": style.colour(index)}
    axes.errorbar(places[known], mean[known], half, label=text, elinewidth=1.0, **look)


def _scales(axes: Axes, figure: Figure, places: np.ndarray, *, logy: bool) -> None:
    axes.set_yscale("log" if logy else "linear")
    if figure.logx and np.all(places > 0):
        axes.set_xscale("log")
        if len(places) <= 8:
            axes.set_xticks(places, [number(p) for p in places])
            axes.set_xticks([], minor=True)

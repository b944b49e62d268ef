"""A figure of paired comparisons: the values, and beside them their differences from (or ratios to) a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.claims import selection
from moestat.claims.selection import NoAnswerError
from moestat.report import style, ticks
from moestat.report.means import along
from moestat.report.panels import beside, scales, stroke
from moestat.report.tables import label
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

    ``variables`` have the labels of their axes. ``baseline`` and ``others`` are points of the axis ``over`` (arms, or a
    dimension such as ``kernel``), ``at`` coordinates that are fixed; ``ratio`` puts ratios (geometric means) in the
    place of differences. The ``region`` (low, high) where a claim holds is shaded on the right. Of a variable or point
    that is not in the results :class:`moestat.claims.selection.NoAnswerError` says so.
    """
    canvas = style.new_figure(style.TWO_COLUMNS, 0.7 + 2.1 * len(variables))
    grid = canvas.subplots(len(variables), 2, squeeze=False)
    names = [baseline, *others]
    called = [label(ds, name) if over == "arm" else name for name in names]
    for row, (variable, ylabel) in enumerate(variables.items()):
        taken = [_taken(ds, variable, figure.x, {**(at or {}), over: name}) for name in names]
        changes = [values / taken[0] if ratio else values - taken[0] for values in taken]
        changes = [change.drop_attrs() for change in changes]  # the range of a value is none of a difference
        left, right = grid[row]
        for axes, arrays, log in ((left, taken, figure.logy), (right, changes, ratio)):
            for index, array in enumerate(arrays):
                if axes is left or index:
                    x, *means, _ = along(array, figure.x, log=log)
                    at_x = beside(x, (index + 0.5) / len(names) - 0.5, len(names), log=figure.logx)
                    stroke(axes, at_x, means, index, label=called[index], joined=len(x) > 1, marked=True)
            scales(axes, figure, taken[0])
        left.set(ylabel=ylabel, yscale="log" if figure.logy else "linear")
        if figure.logy:
            ticks.logarithmic(left.yaxis)
        left.set_title(f"({chr(97 + 2 * row)}) values", loc="left")
        right.set_title(f"({chr(98 + 2 * row)}) paired comparison", loc="left")
        right.set_ylabel(f"{'ratio to' if ratio else 'difference from'} {called[0]}")
        right.axhline(1.0 if ratio else 0.0, color=style.REFERENCE, linewidth=1.0, zorder=1.5)
        if region:
            limits = right.get_ylim()  # the values decide what is shown, not how far the region goes
            right.axhspan(*region, color=style.REFERENCE, alpha=0.12, linewidth=0)
            right.set_ylim(limits)
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

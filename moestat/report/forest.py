"""Forest plots: means with intervals, one line each; and zip plots: the intervals of all replicates of an arm."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.claims import selection
from moestat.claims.selection import NoAnswerError
from moestat.rates.estimate import mean_interval
from moestat.report import style
from moestat.report.tables import label
from moestat.report.text import mathtext
from moestat.rounding import number
from moestat.study.spec import Figure

MOST_ROWS = 40


def means(ds: xr.Dataset, figure: Figure, *, variables: Sequence[str]) -> Canvas:
    """Draw the mean of each variable with its 95 % t-interval, one line per arm and point of the grid.

    Raises
    ------
    NoAnswerError
        If there are too many lines for one figure.
    """
    ds = selection.usable(ds)
    axes = [str(dim) for dim in ds["status"].dims if dim not in ("arm", "replicate")]
    points = list(itertools.product(range(ds.sizes["arm"]), *(range(ds.sizes[axis]) for axis in axes)))
    if len(points) > MOST_ROWS:
        raise NoAnswerError(f"{len(points)} cells are too many for one forest plot; state a figure in the study file.")
    names = []
    for arm, *at in points:
        place = [f"{axis} = {number(ds[axis].values[i])}" for axis, i in zip(axes, at, strict=True)]
        names.append(", ".join([label(ds, str(ds["arm"].values[arm])), *place]))
    columns = min(len(variables), 2)
    rows = -(-len(variables) // columns)
    canvas = style.new_figure(style.TWO_COLUMNS, rows * (0.8 + 0.22 * len(points)))
    grid = canvas.subplots(rows, columns, squeeze=False, sharey=True)
    for panel, variable in zip(grid.flat, variables, strict=False):
        array = ds[variable].transpose("arm", *axes, "replicate").values.astype(float)
        for row, point in enumerate(points):
            values = array[point]
            mean, _, low, high = (float(v) for v in mean_interval(values[np.isfinite(values)]))
            look = style.marker(point[0]) | {"color": style.colour(point[0])}
            panel.plot([low, high], [row, row], color=style.colour(point[0]), linewidth=1.4)
            panel.plot([mean], [row], linestyle="none", **look)
        panel.set_yticks(range(len(points)), [mathtext(name) for name in names])
        panel.set_ylim(len(points) - 0.5, -0.5)
        panel.set_xlabel(mathtext(str(ds[variable].attrs.get("long_name", variable))))
    for panel in list(grid.flat)[len(variables) :]:
        panel.remove()
    return canvas


def zipped(ds: xr.Dataset, variable: str, *, at: dict[str, Any] | None = None) -> Canvas:
    """Draw the intervals of all replicates, one panel per arm, those farthest from the truth on top.

    Parameters
    ----------
    ds : xarray.Dataset
        Results whose ``variable`` has the attributes ``reference``, ``low`` and ``high``; see
        :mod:`moestat.report.tidy`.
    variable : str
    at : dict, optional
        The point of the grid, where there is more than one.

    Raises
    ------
    NoAnswerError
        If the variable has no interval or no reference, or a point is to be chosen.
    """
    attrs = ds[variable].attrs if variable in ds else {}
    if not {"reference", "low", "high"} <= attrs.keys():
        raise NoAnswerError(
            f"The variable {variable!r} needs the attributes reference, low and high, which say what it estimates and "
            "which variables hold its interval."
        )
    ds = ds.sel(at or {})
    ds = ds.isel({dim: 0 for dim in ds[variable].dims if dim not in ("arm", "replicate") and ds.sizes[dim] == 1})
    left = [str(dim) for dim in ds[variable].dims if dim not in ("arm", "replicate")]
    if left:
        raise NoAnswerError(f"A zip plot is of one point of the grid; choose {', '.join(left)} by at = {{...}}.")
    arms = [str(arm) for arm in ds["arm"].values]
    canvas = style.new_figure(style.TWO_COLUMNS, 3.0)
    panels = canvas.subplots(1, len(arms), squeeze=False, sharey=True)[0]
    for panel, arm in zip(panels, arms, strict=True):
        one = ds.sel(arm=arm)
        reference = attrs["reference"]
        truth = float(reference) if not isinstance(reference, str) else one[reference]
        estimates, low, high, true = (
            np.broadcast_to(np.asarray(values, dtype=float), one[variable].shape)
            for values in (one[variable], one[attrs["low"]], one[attrs["high"]], truth)
        )
        known = np.isfinite(estimates) & np.isfinite(low) & np.isfinite(high)
        off = np.abs(estimates - true) / np.where(high > low, high - low, 1.0)
        order = np.flatnonzero(known)[np.argsort(off[known], kind="stable")]
        covers = (low <= true) & (true <= high)
        for row, replicate in enumerate(order):
            colour = style.REFERENCE if covers[replicate] else style.colour(1)
            ends = [low[replicate] - true[replicate], high[replicate] - true[replicate]]
            panel.plot(ends, [row, row], color=colour, linewidth=0.8)
        panel.axvline(0.0, color=style.INK, linewidth=0.8)
        share = float(np.mean(covers[known])) if known.any() else np.nan
        panel.set_title(f"{mathtext(label(ds, arm))}: {share:.0%} of {int(known.sum())} cover", loc="left")
        panel.set_xlabel(mathtext(f"{variable} minus the truth"))
    panels[0].set_ylabel("replicates, by their distance from the truth")
    return canvas

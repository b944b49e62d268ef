"""The figure of the protocol study: the slope of the loss at the end against its slope at the start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat.rates.estimate import mean_interval, replicate_slopes
from moestat.report import style
from moestat.report.rate_panel import wrapped
from moestat.report.tables import label
from moestat.study.spec import Figure


def slopes(
    ds: xr.Dataset,
    figure: Figure,
    *,
    variables: Mapping[str, str],
    printed: Mapping[str, float],
    columns: int = 4,
) -> Canvas:
    """Draw for each arm the slope at the end (y) against the slope at the start (x), one mark per rule and batch size.

    Parameters
    ----------
    ds : xarray.Dataset
        Results with the axes ``n``, ``batch_size`` and ``start_rule``.
    figure : Figure
        The study file's figure; its title is the title.
    variables : mapping
        The loss of each arm, by arm.
    printed : mapping
        The slope that the paper prints, by arm; drawn as a line.
    columns : int, default 4
    """
    arms = [arm for arm in variables if arm in ds["arm"].values]
    rows = math.ceil(len(arms) / columns)
    canvas = style.new_figure(style.TWO_COLUMNS, 0.9 + 2.0 * rows)
    grid = canvas.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for number, (axes, arm) in enumerate(zip(grid.flat, arms, strict=False)):
        _panel(axes, ds.sel(arm=arm), variables[arm], printed.get(arm))
        axes.set_title(wrapped(f"({chr(97 + number)}) {label(ds, arm)}", 88 // columns), loc="left")
    for axes in list(grid.flat)[len(arms) :]:
        axes.remove()
    for axes in grid[-1]:
        axes.set_xlabel("slope at the start")
    for row in grid:
        row[0].set_ylabel("slope after 10 epochs" if _epochs(ds) == 10 else "slope at the end")
    style.legend_below(canvas, grid[0, 0])
    canvas.suptitle(figure.title, weight="bold")
    return canvas


def _epochs(ds: xr.Dataset) -> float:
    return float(ds["iterations"].max()) if "iterations" in ds else math.nan


def _panel(axes: Axes, ds: xr.Dataset, variable: str, printed: float | None) -> None:
    sizes: Sequence[int] = ds["batch_size"].values.tolist()
    for number, size in enumerate(sizes):
        part = ds.sel(batch_size=size)
        x, _ = _slope(part, f"start_{variable}")
        y, half = _slope(part, variable)
        axes.errorbar(
            x,
            y,
            yerr=half,
            linestyle="none",
            color=style.colour(number),
            label="full batch" if size == 0 else f"batch of {size}",
            zorder=3,
            **style.marker(number),
        )
    ends = (-0.65, 0.15)
    axes.plot(ends, ends, color=style.REFERENCE, linewidth=1.0, label="the start's own slope")
    if printed is not None:
        axes.axhline(printed, color=style.INK, linewidth=1.0, linestyle="--", label="printed slope")
    axes.set_xlim(*ends)


def _slope(part: xr.Dataset, variable: str) -> tuple[np.ndarray, np.ndarray]:
    """Return mean slope and half width of its 95 % interval for each start rule."""
    array = part[variable].transpose("start_rule", "n", "replicate").sortby("n")
    values = array.values.astype(np.float64)
    logs = np.log(np.where(values > 0, values, np.nan))
    slopes = [replicate_slopes(np.log(array["n"].values.astype(np.float64)), rule) for rule in logs]
    intervals = [mean_interval(rule[np.isfinite(rule)]) for rule in slopes]
    return np.array([i[0] for i in intervals]), np.array([i[3] - i[0] for i in intervals])

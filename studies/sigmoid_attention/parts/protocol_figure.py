"""The figure of the protocol study: the slope of the loss at the end against its slope at the start."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat.claims.evidence import Evidence
from moestat.claims.selection import chosen
from moestat.report import style
from moestat.report.captions import wrapped
from moestat.report.tables import label
from moestat.study.spec import Figure, Rate


def slopes(ds: xr.Dataset, figure: Figure, *, evidence: Evidence, columns: int = 4) -> Canvas:
    """Draw for each arm the slope at the end (y) against the slope at the start (x), one mark per rule and batch size.

    ``ds``: results with the axes ``n``, ``batch_size`` and ``start_rule``. ``figure``: the study file's figure.
    ``evidence``: the fitted series; the rates of the study say which loss is drawn for an arm, its start and its
    printed slope.
    """
    panels = [(arm, rate) for arm in chosen(ds, ["*"]) for rate in evidence.study.rates if arm in chosen(ds, rate.arms)]
    rows = math.ceil(len(panels) / columns)
    canvas = style.new_figure(style.TWO_COLUMNS, 0.9 + 2.0 * rows)
    grid = canvas.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for number, (axes, (arm, rate)) in enumerate(zip(grid.flat, panels, strict=False)):
        _panel(axes, evidence, arm, rate)
        axes.set_title(wrapped(f"({chr(97 + number)}) {label(ds, arm)}", 88 // columns), loc="left")
    for axes in list(grid.flat)[len(panels) :]:
        axes.remove()
    for axes in grid[-1]:
        axes.set_xlabel("slope at the start")
    for row in grid:
        row[0].set_ylabel("slope after 10 epochs" if _epochs(ds) == 10 else "slope at the end")
    style.legend_below(canvas, grid[0, 0])
    return canvas


def _epochs(ds: xr.Dataset) -> float:
    return float(ds["iterations"].max()) if "iterations" in ds else math.nan


def _panel(axes: Axes, evidence: Evidence, arm: str, rate: Rate) -> None:
    sizes: Sequence[int] = evidence.ds["batch_size"].values.tolist()
    for number, size in enumerate(sizes):
        x, _ = _slopes(evidence, arm, rate.start, rate.over, size)
        y, half = _slopes(evidence, arm, rate.loss, rate.over, size)
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
    printed = evidence.facts(rate.loss, rate.over, arm).printed
    if printed is not None:
        axes.axhline(printed, color=style.INK, linewidth=1.0, linestyle="--", label="printed slope")
    axes.set_xlim(*ends)


def _slopes(evidence: Evidence, arm: str, variable: str, over: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and half width of its 95 % interval for each start rule."""
    rules = [str(rule) for rule in evidence.ds["start_rule"].values]
    places = [{"batch_size": size, "start_rule": rule} for rule in rules]
    fits = [evidence.series(variable, over, arm, place).fit for place in places]
    return np.array([fit.slope for fit in fits]), np.array([fit.high - fit.slope for fit in fits])

"""Figures of the task-routing studies: what fails without a repair, and accuracy (Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat import rates
from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

FLOOR = 1e-5  # where exact zeros are drawn on the logarithmic axis

STEPS = {
    "heads": ("one content head", "more content heads"),
    "subject_router": ("router sees no subject", "router sees the subject"),
    "amplitude": ("blocks equally loud", "template block louder"),
    "representative": ("target: all valid tokens", "target: one valid token"),
    "first_entity": ("head on all entities", "head on first entity"),
    "reserved": ("shared coordinates", "own coordinates"),
    "joint_isolation": ("blocks shut off apart", "blocks shut off together"),
}
"""Every repair in words: the step as printed, and what mends it."""


def gaps(ds: xr.Dataset, figure: Figure, *, arms: Sequence[str], variable: str = "failing_share") -> Canvas:
    """Draw which step of a proof fails as printed (left), and what fails as they are mended one by one (right).

    ``ds``: results with the axes ``size`` and ``repairs``: ``none``, sums, ``all`` and ``all but ...``; ``figure``: the
    study file's figure; ``arms``: one row of panels each; ``variable``: the share of prefixes that fail.
    """
    values = [str(value) for value in ds["repairs"].values]
    taken = ["all", *(value for value in values if value.startswith("all but "))]
    added = [value for value in values if value not in taken[1:]]
    last = [value.split(" + ")[-1] for value in added]
    ends = {"none": "all as printed", "all": "all mended"}
    steps = [ends.get(name) or f"+ {STEPS.get(name, (name, name))[1]}" for name in last]
    less = [ends.get(name) or STEPS.get(name, (name, name))[0] for name in (v.removeprefix("all but ") for v in taken)]
    canvas = style.new_figure(style.TWO_COLUMNS, 0.9 + 2.4 * len(arms))
    grid = canvas.subplots(len(arms), 2, squeeze=False)
    _pad(canvas)
    for row, arm in zip(grid, arms, strict=True):
        shares = ds[variable].sel(arm=arm)
        sides = (row[0], taken, less, "one step as printed"), (row[1], added, steps, "mended one by one")
        for axes, rows, texts, title in sides:
            _panel(axes, shares, rows, texts)
            axes.set_title(f"{label(ds, arm)}:\n{title}", loc="left")
    for axes in grid[-1]:
        axes.set_xlabel("share of prefixes that fail")
    handles, texts = grid[0, 0].get_legend_handles_labels()
    canvas.legend(handles, texts, loc="outside lower center", ncols=len(texts), title="tasks x templates x pairs")
    return canvas


def _panel(axes: Axes, shares: xr.DataArray, rows: list[str], texts: list[str]) -> None:
    """Draw one dot per size and row; means over datasets, hollow at the floor for an exact zero."""
    sizes = [str(size) for size in shares["size"].values]
    for number, size in enumerate(sizes):
        mean = shares.sel(size=size).mean("replicate")
        x = np.array([float(mean.sel(repairs=row)) for row in rows])
        y = np.arange(len(rows)) + 0.66 * ((number + 0.5) / len(sizes) - 0.5)
        colour = style.COLOURS[number]
        look: dict[str, Any] = {"color": colour, "marker": style.MARKERS[number], "linestyle": "none", "clip_on": False}
        drawn = axes.plot(np.maximum(x, FLOOR)[x > 0], y[x > 0], label=size, zorder=3, **look)
        drawn += axes.plot(np.full((x == 0).sum(), FLOOR), y[x == 0], fillstyle="none", markersize=3, zorder=3, **look)
        for line in drawn:  # an empty line that is not clipped has a box at the origin, and takes that room
            line.set_in_layout(False)
    axes.set_xscale("log")
    axes.set_xlim(FLOOR, 1.5)
    axes.set_xticks([FLOOR, 1e-4, 1e-3, 1e-2, 1e-1, 1.0], ["0", "0.0001", "0.001", "0.01", "0.1", "1"])
    axes.minorticks_off()
    axes.set_yticks(range(len(rows)), texts)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    for edge in np.arange(0.5, len(rows) - 1):
        axes.axhline(edge, color=style.GRID, linewidth=0.4)


def _pad(canvas: Canvas) -> None:
    """Leave some room around the panels."""
    engine = canvas.get_layout_engine()
    assert engine is not None
    engine.set(w_pad=0.08, h_pad=0.08)  # type: ignore[call-arg]


def accuracy_curves(
    ds: xr.Dataset,
    figure: Figure,
    *,
    arms: Sequence[str],
    printed: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    printed_pairs: int = 0,
    variable: str = "accuracy",
) -> Canvas:
    """Draw accuracy against the number of experts, one panel per number of tasks (Fig. 3 and Table 1).

    ``arms``: one line each, with t-intervals over replicates; arms that were not run are left out. ``printed``:
    ``{tasks: {experts: {arm: per cent}}}`` of the paper, drawn as hollow marks. ``printed_pairs``: pairs per task of
    the paper; its numbers are drawn only over tables of this size.
    """
    comparable = "pairs" in ds and bool((ds["pairs"] == printed_pairs).where(ds["pairs"].notnull(), True).all())
    shown = [arm for arm in arms if arm in ds["arm"].values]
    panels = [int(value) for value in ds["tasks"].values]
    columns = min(len(panels), 2)
    canvas = style.new_figure(style.TWO_COLUMNS, 0.8 + 2.4 * -(-len(panels) // columns))
    grid = canvas.subplots(-(-len(panels) // columns), columns, squeeze=False, sharey=True)
    _pad(canvas)
    for axes in list(grid.flat)[len(panels) :]:
        axes.remove()
    for axes, tasks in zip(grid.flat, panels, strict=False):
        for number, arm in enumerate(shown):
            values = 100.0 * ds[variable].sel(arm=arm, tasks=tasks).transpose("experts", "replicate")
            experts = ds["experts"].values.astype(float)
            x = experts + 0.12 * (number - (len(shown) - 1) / 2)
            mean, _, low, high = (np.asarray(part) for part in rates.mean_interval(values.values))
            colour, marker = style.COLOURS[number], style.MARKERS[number]
            low, high = np.maximum(low, 0.0), np.minimum(high, 100.0)
            axes.errorbar(x, mean, [mean - low, high - mean], color=colour, marker=marker, label=label(ds, arm))
            rows = (printed or {}).get(str(tasks), {}) if comparable else {}
            paper = [rows.get(str(int(e)), {}).get(arm, np.nan) for e in experts]
            if np.isfinite(paper).any():
                axes.plot(x, paper, color=colour, marker=marker, fillstyle="none", linestyle="none")
        axes.set_title(f"{tasks} tasks", loc="left")
        axes.set_xlabel("experts")
        axes.set_xticks(ds["experts"].values)
        axes.set_xlim(min(experts) - 0.8, max(experts) + 0.8)
        axes.set_ylabel("accuracy (%)")
    handles, texts = grid.flat[0].get_legend_handles_labels()
    title = "hollow: printed in the paper" if comparable and printed else None
    canvas.legend(handles, texts, loc="outside lower center", ncols=len(texts), title=title)
    return canvas

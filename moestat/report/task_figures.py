"""Figures of the task-routing studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

FLOOR = 1e-5
"""Where exact zeros are drawn on the logarithmic axis."""


def gaps(ds: xr.Dataset, figure: Figure, *, arms: Sequence[str], variable: str = "failing_share") -> Canvas:
    """Draw what fails without each repair (left), and as the repairs are made one after the other (right).

    Parameters
    ----------
    ds : xarray.Dataset
        Results with the axes ``size`` and ``repairs``: ``none``, sums, ``all`` and ``all but ...``.
    figure : Figure
        The study file's figure; its title is the title.
    arms : sequence of str
        One row of panels each.
    variable : str
        The share of prefixes that fail.
    """
    values = [str(value) for value in ds["repairs"].values]
    taken = ["all", *(value for value in values if value.startswith("all but "))]
    made = [value for value in values if value not in taken[1:]]
    last = [value.split(" + ")[-1] for value in made]
    steps = [name if name in ("none", "all") else f"+ {name}" for name in last]
    less = [f"\N{MINUS SIGN} {value.removeprefix('all but ')}" if value != "all" else value for value in taken]
    canvas = style.new_figure(style.TWO_COLUMNS, 0.9 + 2.3 * len(arms))
    grid = canvas.subplots(len(arms), 2, squeeze=False)
    for row, arm in zip(grid, arms, strict=True):
        shares = ds[variable].sel(arm=arm)
        for axes, rows, texts, title in ((row[0], taken, less, "one taken back"), (row[1], made, steps, "one by one")):
            _panel(axes, shares, rows, texts)
            axes.set_title(f"{label(ds, arm)}: {title}", loc="left")
    for axes in grid[-1]:
        axes.set_xlabel("share of prefixes that fail")
    handles, texts = grid[0, 0].get_legend_handles_labels()
    canvas.legend(handles, texts, loc="outside lower center", ncols=len(texts), title="tasks x templates x pairs")
    canvas.suptitle(figure.title, weight="bold")
    return canvas


def _panel(axes: Axes, shares: xr.DataArray, rows: list[str], texts: list[str]) -> None:
    """Draw one dot per size and row; means over datasets, hollow at the floor for an exact zero."""
    sizes = [str(size) for size in shares["size"].values]
    for number, size in enumerate(sizes):
        mean = shares.sel(size=size).mean("replicate")
        x = np.array([float(mean.sel(repairs=row)) for row in rows])
        y = np.arange(len(rows)) + 0.16 * (number - (len(sizes) - 1) / 2)
        colour = style.COLOURS[number]
        look: dict[str, Any] = {"color": colour, "marker": style.MARKERS[number], "linestyle": "none", "clip_on": False}
        axes.plot(np.maximum(x, FLOOR)[x > 0], y[x > 0], label=size, zorder=3, **look)
        axes.plot(np.full((x == 0).sum(), FLOOR), y[x == 0], fillstyle="none", markersize=3, zorder=3, **look)
    axes.set_xscale("log")
    axes.set_xlim(FLOOR, 1.5)
    axes.set_xticks([FLOOR, 1e-4, 1e-3, 1e-2, 1e-1, 1.0], ["0", "0.0001", "0.001", "0.01", "0.1", "1"])
    axes.minorticks_off()
    axes.set_yticks(range(len(rows)), texts)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    for edge in np.arange(0.5, len(rows) - 1):
        axes.axhline(edge, color=style.GRID, linewidth=0.4)

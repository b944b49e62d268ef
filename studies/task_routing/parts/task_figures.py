"""Which steps of a proof fail as printed, and what fails as they are mended one by one: a figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

FLOOR = 1e-5
"""Where exact zeros are drawn on the logarithmic axis, as hollow marks."""


def gaps(ds: xr.Dataset, figure: Figure, *, arms: Sequence[str], variable: str = "failing_share") -> Canvas:
    """Draw the share of prefixes that fail (mean over datasets) under every value of the axis ``repairs``, by size."""
    rows, sizes = ds["repairs"].values.tolist(), ds["size"].values.tolist()
    canvas = style.new_figure(style.TWO_COLUMNS, 0.9 + 2.6 * len(arms))
    grid = canvas.subplots(len(arms), 1, squeeze=False)[:, 0]
    for axes, arm in zip(grid, arms, strict=True):
        for number, size in enumerate(sizes):
            share = ds[variable].sel(arm=arm, size=size).mean("replicate").values
            y = np.arange(len(rows)) + 0.66 * ((number + 0.5) / len(sizes) - 0.5)
            look = {"color": style.COLOURS[number], "marker": style.MARKERS[number], "linestyle": "none"}
            axes.plot(np.where(share > 0, share, np.nan), y, label=size, **look)
            axes.plot(np.where(share == 0, FLOOR, np.nan), y, fillstyle="none", **look)
        axes.set_xscale("log")
        axes.set_xlim(FLOOR / 1.5, 1.5)
        axes.set_yticks(range(len(rows)), [row.replace("reserved + amplitude + ", "... + ") for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_title(label(ds, arm), loc="left")
    grid[-1].set_xlabel("share of prefixes that fail")
    canvas.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(sizes))
    return canvas

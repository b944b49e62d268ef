"""The table of sample complexities as a figure: printed order, measured slope, samples that halve the error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.report.text import mathtext
from moestat.study.spec import Figure

LIMITS = (-1.05, 0.45)  # slopes that are drawn; an interval that goes on is cut


def table(ds: xr.Dataset, figure: Figure) -> Canvas:
    """Draw one row per arm: the printed order, the slope with its interval, and the halving factor.

    ``ds``: results of ``studies.sigmoid_attention.parts.sample_complexity``; ``figure``: the study file's figure.
    """
    arms = [str(arm) for arm in ds["arm"].values]
    canvas = style.new_figure(style.TWO_COLUMNS, 1.1 + 0.24 * len(arms))
    canvas.set_layout_engine("none")  # the words at both sides are longer than the layout engine allows for
    inch = 1 / canvas.get_figheight()
    axes = canvas.add_axes((0.215, 0.5 * inch, 0.505, 1 - 0.9 * inch))
    words: dict[str, Any] = dict(va="center", fontsize=7, clip_on=False)
    for row, arm in enumerate(arms):
        values = ds.sel(arm=arm).isel(replicate=0)
        axes.plot([float(values["predicted_slope"])] * 2, [row - 0.32, row + 0.32], color=style.INK, linewidth=1.6)
        slope, low, high = np.clip([float(values[name]) for name in ("slope", "slope_low", "slope_high")], *LIMITS)
        if math.isfinite(slope):
            fill = style.PAGE if str(values["reasons"].values) else style.colour(0)
            axes.plot([low, high], [row, row], color=style.colour(0), zorder=3)
            axes.plot([slope], [row], marker="o", color=style.colour(0), markerfacecolor=fill, zorder=4)
        text = mathtext(f"{values['order'].values}   {times(float(values['halving']))}".replace("eps", "ε"))
        axes.text(LIMITS[1] + 0.03, row, text, **words)
    axes.set_yticks(range(len(arms)), [label(ds, arm) for arm in arms])
    axes.set_ylim(len(arms) - 0.4, -0.9)
    axes.set_xlim(*LIMITS)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("slope of the error against n (points: measured; bars: printed order)")
    axes.text(LIMITS[1] + 0.03, -0.75, "printed order, samples to halve", weight="bold", **words)
    return canvas


def times(value: float) -> str:
    """Return a halving factor in few characters.

    >>> times(4.03), times(787.0), times(1234567.0), times(float("inf"))
    ('×4', '×790', '> ×1000', 'never')
    """
    if math.isinf(value):
        return "never"
    return f"×{float(f'{value:.2g}'):g}" if value < 1000 else "> ×1000"  # 790, not 7.9e+02

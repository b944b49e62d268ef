"""The figure of printed differences in units of their errors (sigmoid-attention, Table 2)."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

SIGNIFICANT = 1.96


def differences(ds: xr.Dataset, figure: Figure) -> Canvas:
    """Draw one row per printed pair: the difference over its error, with an interval of 1.96 to both sides.

    ``ds``: results of :mod:`studies.sigmoid_attention.parts.printed_table`; ``figure``: the study file's figure.
    """
    arms = [str(arm) for arm in ds["arm"].values]
    canvas = style.new_figure(style.TWO_COLUMNS, 0.9 + 0.28 * len(arms))
    axes = canvas.subplots()
    for row, arm in enumerate(arms):
        pair = ds.sel(arm=arm).isel(replicate=0)
        ratio = float(pair["difference"]) / float(pair["error"])
        axes.errorbar([ratio], [row], xerr=SIGNIFICANT, marker="o", color=style.colour(0))
    axes.axvline(0.0, color=style.INK, linewidth=1.0)
    axes.set_yticks(range(len(arms)), [label(ds, arm) for arm in arms])
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("sigmoid less softmax, in units of the error (bars: 95 %)")
    return canvas

"""Which expert gets which cluster: the dispatch of single runs, as stacked bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

SHOWN = 10
"""Experts that are shown at most, the most loaded first."""


def draw(ds: xr.Dataset, figure: Figure, *, arms: Sequence[str], experts: Sequence[int], replicate: int = 0) -> Canvas:
    """Draw the dispatch at the last step of one replicate: a row of panels per arm, a column per number of experts.

    Parameters
    ----------
    ds : xarray.Dataset
        Results with ``dispatch`` (share of the test samples by expert and cluster) and ``accuracy`` over steps.
    figure : Figure
        The study file's figure; its title is the title.
    arms : sequence of str
    experts : sequence of int
        Values of the axis ``experts``; those that were not run are left out.
    replicate : int
        Shown as an example, whatever it looks like.
    """
    known = [m for m in experts if m in ds["experts"].values]
    canvas = style.new_figure(style.TWO_COLUMNS, 0.8 + 1.6 * len(arms))
    panels = canvas.subplots(len(arms), len(known), squeeze=False, sharey=True)
    for row, arm in zip(panels, arms, strict=True):
        for axes, m in zip(row, known, strict=True):
            run = ds.sel(arm=arm, experts=m, replicate=replicate).isel(step=-1)
            shares = np.nan_to_num(run["dispatch"].transpose("expert", "cluster").values)
            order = np.argsort(-shares.sum(axis=1), kind="stable")[:SHOWN]
            order = order[shares[order].sum(axis=1) > 0]
            floor = np.zeros(len(order))
            for k in range(shares.shape[1]):
                colour = style.COLOURS[k % len(style.COLOURS)]
                axes.bar(range(len(order)), shares[order, k], bottom=floor, color=colour, label=f"cluster {k + 1}")
                floor = floor + shares[order, k]
            axes.set_xticks(range(len(order)), [str(e + 1) for e in order])
            axes.grid(axis="x", visible=False)
            axes.set_title(f"{label(ds, arm)}, M = {m}\naccuracy {run['accuracy'].item():.3f}", loc="left")
        row[0].set_ylabel("share of the samples")
    for axes in panels[-1]:
        axes.set_xlabel("expert (by load)")
    style.legend_below(canvas, panels[0, 0])
    canvas.suptitle(figure.title, weight="bold")
    return canvas

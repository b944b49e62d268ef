"""The figure of the stage lengths of a mixture of transformers: how long each stage takes, against M."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.rounding import number
from moestat.study.spec import Figure


def stage_lengths(ds: xr.Dataset, figure: Figure, *, arm: str, variables: Sequence[str]) -> Canvas:
    """Draw waiting times against M: every run, the median where half of the runs got there, and how many did not.

    ``variables``: waiting times with NaN where they were not reached; one panel each.
    """
    experts = ds["experts"].values.astype(float)
    canvas = style.new_figure(style.TWO_COLUMNS, 0.4 + 2.3 * -(-len(variables) // 2))
    grid = canvas.subplots(-(-len(variables) // 2), 2, squeeze=False, sharex=True)
    for axes in list(grid.flat)[len(variables) :]:
        axes.remove()
    for axes, name in zip(grid.flat, variables, strict=False):
        _waiting_times(axes, experts, ds[name].sel(arm=arm).transpose("experts", "replicate").values)
        axes.set_title(str(ds[name].attrs.get("long_name", name)), loc="left")
        axes.set_ylabel("steps")
        axes.set_xscale("log")
        axes.set_xticks(experts, [number(m) for m in experts])
        axes.set_xticks([], minor=True)
    for axes in grid[-1]:
        axes.set_xlabel("number of experts M")
    style.legend_below(canvas, grid.flat[0])
    return canvas


def _waiting_times(axes: Axes, experts: np.ndarray, times: np.ndarray) -> None:
    times = np.maximum(times, 1.0)
    median = np.median(np.where(np.isfinite(times), times, np.inf), axis=1)
    shift = np.exp(np.linspace(-0.12, 0.12, times.shape[1]))
    for m, row in zip(experts, times, strict=True):
        first = m == experts[0]
        axes.plot(m * shift, row, ".", color=style.REFERENCE, markersize=4, label="one run" if first else None)
    known = np.isfinite(median)
    axes.plot(experts[known], median[known], "o-", color=style.COLOURS[0], label="median")
    axes.set_yscale("log")
    axes.set_xlim(experts[0] / 1.35, experts[-1] * 1.35)
    if known.sum() > 1:
        first = int(known.argmax())
        line = median[first] * experts / experts[first]
        axes.plot(experts, line, "--", color=style.INK, linewidth=0.9, label="proportional to M")
    low, high = axes.get_ylim()
    crowded = len(experts) > 4
    axes.set_ylim(low, high * (high / low) ** (0.2 if crowded else 0.12))  # room for the counts
    end = "\n" if crowded else " "
    for m, row in zip(experts, times, strict=True):
        lost = int(np.sum(~np.isfinite(row)))
        text, at = f"not:{end}{lost} of {len(row)}", ("data", "axes fraction")
        axes.annotate(text, (m, 0.985), xycoords=at, ha="center", va="top", size=6)

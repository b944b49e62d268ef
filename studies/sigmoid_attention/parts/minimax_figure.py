"""The figure of the study of the minimax lower bound: the ratio of Lemma 2 along m, and Le Cam's bound along n."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

EXACT = 1e-12
FLOOR = 1e-7
"""Where a ratio of 0 is drawn: the functions differ by less than EXACT along the whole sequence, by rounding."""


def sequences(ds: xr.Dataset, figure: Figure) -> Canvas:
    """Draw both quantities, one column of panels per r, medians over truths.

    ``ds``: results of :mod:`studies.sigmoid_attention.parts.minimax_lower_bound`; ``figure``: the study file's figure.
    """
    exponents = ds["r"].values
    canvas = style.new_figure(style.TWO_COLUMNS, 5.4)
    grid = canvas.subplots(2, len(exponents), squeeze=False, sharey="row", sharex="row")
    for column, r in enumerate(exponents):
        for row, (name, axis) in zip(grid, (("lemma", "m"), ("le_cam", "size")), strict=True):
            axes = row[column]
            for k, arm in enumerate(a for a in ds["arm"].values if not str(a).startswith("split")):
                values = ds[name].sel(arm=arm, r=r).median("replicate")
                if name == "lemma" and float(ds["distance"].sel(arm=arm, r=r).max()) < EXACT:
                    values = 0.0 * values + FLOOR
                corrected = str(arm).startswith("corrected")
                look = {"color": style.colour(k), "marker": style.MARKERS[k % len(style.MARKERS)]}
                fill = "none" if corrected else "full"
                line = ":" if corrected else "-"
                axes.plot(ds[axis], values, linestyle=line, fillstyle=fill, label=label(ds, arm), **look)
            axes.set_xscale("log")
            axes.set_yscale("log")
        n = ds["size"].values
        middle = float(ds["le_cam"].sel(r=r).isel(size=0).median())
        grid[1, column].plot(n, middle * (n / n[0]) ** -0.5, color=style.REFERENCE, label="$n^{-1/2}$ (Theorem 2)")
        grid[0, column].set_title(f"r = {np.format_float_positional(float(r), trim='-')}", loc="left")
        grid[0, column].set_xlabel("m")
        grid[0, column].annotate("0, to rounding", (ds["m"].values[0], 2 * FLOOR), fontsize=6.5)
        grid[1, column].set_xlabel("n")
    grid[0, 0].set_ylabel(r"$\|f_{G_m} - f^*\|\ /\ L_{2r}$")
    grid[1, 0].set_ylabel("Le Cam's bound")
    handles, texts = grid[1, 0].get_legend_handles_labels()
    canvas.legend(handles, texts, loc="outside lower center", ncols=4)
    return canvas

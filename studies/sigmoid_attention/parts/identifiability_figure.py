"""The figure of the study of identifiability: verdicts as a table, and the singular values that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

SHADES = ("#e6a57e", "#f2ecd8", "#9cc9b5")
"""neither, weak, strong"""
FLOOR = 1e-18


def verdicts(ds: xr.Dataset, figure: Figure, *, spectra: Sequence[str]) -> Canvas:
    """Draw verdicts by expert and score (left), and singular values of the strong family (right).

    ``ds``: results of :mod:`studies.sigmoid_attention.parts.identifiability`; ``figure``: the study file's figure;
    ``spectra``: arms whose singular values are drawn, with the fully quadratic score and no outer scale.
    """
    canvas = style.new_figure(style.TWO_COLUMNS, 3.9)
    canvas.get_layout_engine().set(w_pad=0.12)  # type: ignore[union-attr, call-arg]
    left, right = canvas.subplots(1, 2, width_ratios=(1.25, 1.0))
    _table(left, ds)
    _spectra(right, ds, [arm for arm in spectra if arm in ds["arm"].values])
    return canvas


def _table(axes: Axes, ds: xr.Dataset) -> None:
    """Draw the table; a star marks an expert that only the gate's own relations keep from strong."""
    scores, scales = ds["score"].values.tolist(), ds["outer_scale"].values.tolist()
    columns = [(score, scale) for scale in scales for score in scores]
    arms = ds["arm"].values.tolist()
    codes = np.full((len(arms), len(columns)), np.nan)
    for i, arm in enumerate(arms):
        for j, (score, scale) in enumerate(columns):
            cell = ds.sel(arm=arm, score=score, outer_scale=scale)
            codes[i, j] = float(cell["verdict"].min("replicate"))
            if np.isnan(codes[i, j]):
                continue
            word = ("neither", "weak", "strong")[int(codes[i, j])]
            star = "*" if word == "weak" and float(cell["short_but_for_gate"].max()) == 0 else ""
            axes.text(j, i, word + star, ha="center", va="center", fontsize=7)
    axes.imshow(codes, cmap=ListedColormap(SHADES), vmin=0, vmax=2, aspect="auto")
    names = [f"{score}\nscore" + (",\nλφ(h)" if scale else ",\nφ(h)") for score, scale in columns]
    axes.set_xticks(range(len(columns)), names, fontsize=7)
    axes.set_yticks(range(len(arms)), [label(ds, arm) for arm in arms])
    axes.tick_params(length=0)
    axes.grid(False)
    for edge in np.arange(0.5, len(arms) - 1):
        axes.axhline(edge, color=style.PAGE, linewidth=1.5)
    for edge in np.arange(0.5, len(columns) - 1):
        axes.axvline(edge, color=style.PAGE, linewidth=1.5)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title("(a) Verdict; * weak through the gate alone", loc="left")


def _spectra(axes: Axes, ds: xr.Dataset, arms: Sequence[str]) -> None:
    for k, arm in enumerate(arms):
        values = ds["singular_values"].sel(arm=arm, score="full", outer_scale=False).isel(replicate=0).values
        values = np.maximum(values[np.isfinite(values)], FLOOR)
        place = np.arange(1, len(values) + 1)
        look: dict[str, Any] = {
            "color": style.colour(k),
            "marker": style.MARKERS[k],
            "markersize": 2.5,
            "linestyle": "none",
        }
        axes.plot(place, values, label=label(ds, arm), **look)
    axes.set_yscale("log")
    axes.set_xlabel("number")
    axes.set_ylabel("singular value over the largest")
    axes.set_title("(b) Strong family, full score, φ(h)", loc="left")
    axes.legend(loc="lower left")

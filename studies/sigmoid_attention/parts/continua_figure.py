"""The figure of the study of non-identifiability: losses along exact families, f against L1 along near ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.study.spec import Figure

LOSSES = (("L1", "$L_1$"), ("L3", "$L_3$"), ("quotient", "quotient"))
COLUMNS = 3


def families(ds: xr.Dataset, figure: Figure, *, arms: Sequence[str], near: Sequence[str]) -> Canvas:
    """Draw one panel per exact family, and one for the near families together.

    ``ds``: results of :mod:`studies.sigmoid_attention.parts.non_identifiability`. ``figure``: the study file's figure.
    ``arms``: exact families; those that were not run are left out. ``near``: families along which f moves.
    """
    shown = [arm for arm in arms if arm in ds["arm"].values]
    moving = [arm for arm in near if arm in ds["arm"].values]
    count = len(shown) + bool(moving)
    rows = -(-count // COLUMNS)
    canvas = style.new_figure(style.TWO_COLUMNS, 0.7 + 2.05 * rows)
    grid = canvas.subplots(rows, COLUMNS, squeeze=False)
    for axes, arm in zip(grid.flat, shown, strict=False):
        _losses(axes, ds.sel(arm=arm), label(ds, arm))
    for axes in list(grid.flat)[count:]:
        axes.remove()
    if moving:
        _near(grid.flat[len(shown)], ds, moving)
    style.legend_below(canvas, grid.flat[0])
    return canvas


def _losses(axes: Axes, family: xr.Dataset, title: str) -> None:
    """Draw the losses along one family, and say how far f moves."""
    for k, (name, text) in enumerate(LOSSES):
        middle = family[name].median("replicate")
        # the losses often coincide: each line is drawn inside the one below it
        axes.plot(family["t"], middle, color=style.colour(k), linewidth=3.2 - 1.1 * k, label=text)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlim(0, 1)
    axes.set_xlabel("t")
    null = int(family["null"].median("replicate"))
    change = float(family["largest_change"].max())
    axes.set_title(f"{_short(title)}\n", loc="left")
    text = f"max |Δf| = {change:.0e}, {null} null directions"
    axes.text(0.0, 1.02, text, transform=axes.transAxes, fontsize=6.5, va="bottom")


def _short(title: str, most: int = 30) -> str:
    return title if len(title) <= most else title.replace(" as three sigmoid atoms", "")


def _near(axes: Axes, ds: xr.Dataset, arms: Sequence[str]) -> None:
    """Draw the change of the function against L1, with the line that Theorem 1 asks for."""
    for k, arm in enumerate(arms):
        family = ds.sel(arm=arm)
        loss, change = (family[name].median("replicate").values for name in ("L1", "change"))
        axes.plot(loss, change, markersize=3, color=style.colour(k), marker=style.MARKERS[k], label=label(ds, arm))
    span = np.array([loss.min(), loss.max()])
    axes.plot(span, 3e-2 * span, color=style.REFERENCE, linestyle=":", label="slope 1 (Theorem 1)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-22)  # room for the legend
    axes.set_xlabel("$L_1$")
    axes.set_ylabel("change of f")
    axes.set_title("near families\n", loc="left")
    axes.legend(fontsize=5.5, loc="lower right", handlelength=1.6, labelspacing=0.2)

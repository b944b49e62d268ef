"""Figures of training in stages: error curves with the ends of the stages (MT Fig. 2), routing maps (Figs 3, 6)."""

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


def error_curves(
    ds: xr.Dataset,
    figure: Figure,
    *,
    panels: Sequence[Mapping[str, Any]],
    variable: str = "test_error",
) -> Canvas:
    """Draw an error over the epochs: means over replicates with 95 % t-intervals, dotted lines where stages end.

    Parameters
    ----------
    ds : xarray.Dataset
        Results with the dimension ``epoch`` and ``stage_end`` over ``stage``.
    figure : Figure
        The study file's figure; its title is the title.
    panels : sequence of mapping
        One panel each: ``title``, ``ylabel``, ``arms`` (names; those that were not run are left out) and optionally
        ``at``, coordinates.
    variable : str
        What is drawn.
    """
    known = [panel for panel in panels if _arms(ds, panel) and _is_there(ds, panel)]
    if not known:
        raise ValueError("no panel has an arm and coordinates that were run")
    columns = min(len(known), 2)
    rows = -(-len(known) // columns)
    canvas = style.new_figure(style.TWO_COLUMNS if columns == 2 else 5.0, 0.7 + 2.7 * rows)
    grid = canvas.subplots(rows, columns, squeeze=False)
    names = list(dict.fromkeys(arm for panel in known for arm in _arms(ds, panel)))
    for axes, panel in zip(grid.flat, known, strict=False):
        here = ds.sel(panel.get("at", {}))
        for arm in _arms(ds, panel):
            _curve(axes, here[variable].sel(arm=arm), label(ds, arm), style.colour(names.index(arm)))
        _ends(axes, here["stage_end"].sel(arm=_arms(ds, panel)[0]))
        axes.set_title(str(panel.get("title", "")), loc="left")
        axes.set_ylabel(str(panel.get("ylabel", variable)))
        axes.set_xlabel("epoch")
        axes.set_ylim(bottom=0)
    for axes in list(grid.flat)[len(known) :]:
        axes.remove()
    handles = {text: line for axes in grid.flat for line, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    canvas.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3)
    canvas.suptitle(figure.title, weight="bold")
    return canvas


def routing_maps(
    ds: xr.Dataset,
    figure: Figure,
    *,
    arms: Sequence[str],
    replicates: Sequence[int] = (0, 1),
    at: Mapping[str, Any] | None = None,
) -> Canvas:
    """Draw which experts the test samples of every class go to, as the paper does: classes across, experts down.

    Experts have no order of their own, and a mean over runs would blur them: single replicates are shown, one row
    each. The numbers above a map are those of the run.

    Parameters
    ----------
    arms : sequence of str
        One column each; arms that were not run are left out.
    replicates : sequence of int
        Shown as examples, whatever they look like.
    at : mapping, optional
        Coordinates; those that were not run are replaced by the first that was.
    """
    shown = [arm for arm in arms if arm in ds["arm"].values]
    runs = [r for r in replicates if r in ds["replicate"].values]
    here = ds.sel({axis: v if v in ds[axis].values else ds[axis].values[0] for axis, v in (at or {}).items()})
    canvas = style.new_figure(style.TWO_COLUMNS, 0.6 + 2.2 * len(runs))
    grid = canvas.subplots(len(runs), len(shown), squeeze=False)
    image = None
    for row, run in zip(grid, runs, strict=True):
        for axes, arm in zip(row, shown, strict=True):
            cell = here.sel(arm=arm, replicate=run)
            share = cell["routing"].dropna("class", how="all").dropna("expert", how="all").transpose("expert", "class")
            image = axes.imshow(share.values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            _ticks(axes, share)
            used, information = (cell[name].item() for name in ("experts_used", "mutual_information"))
            axes.set_title(f"{label(ds, arm)}\nrun {run}: {used:.1f} in use, {information:.2f} bits", loc="left")
        row[0].set_ylabel("expert")
    for axes in grid[-1]:
        axes.set_xlabel("class")
    if image is not None:
        bar = canvas.colorbar(image, ax=list(grid.flat), pad=0.02, aspect=30)
        bar.set_label("share of the class's samples")
        bar.outline.set_visible(False)
    canvas.suptitle(figure.title, weight="bold")
    return canvas


def _arms(ds: xr.Dataset, panel: Mapping[str, Any]) -> list[str]:
    return [arm for arm in panel["arms"] if arm in ds["arm"].values]


def _is_there(ds: xr.Dataset, panel: Mapping[str, Any]) -> bool:
    return all(axis in ds.dims and value in ds[axis].values for axis, value in panel.get("at", {}).items())


def _curve(axes: Axes, values: xr.DataArray, text: str, colour: str) -> None:
    values = values.transpose("epoch", "replicate").dropna("replicate", how="all")
    mean, _, low, high = (np.asarray(part) for part in rates.mean_interval(values.values))
    epoch = values["epoch"].values
    axes.plot(epoch, mean, color=colour, label=text)
    if values.sizes["replicate"] > 1:
        axes.fill_between(epoch, low, high, color=colour, alpha=0.18, linewidth=0)


def _ends(axes: Axes, ends: xr.DataArray) -> None:
    """Mark where stages I and II end."""
    for end in ends.values[:2]:
        axes.axvline(float(end) + 0.5, color=style.REFERENCE, linestyle=":", linewidth=1.0)
    edges = [0.5, *(ends.values + 0.5)]
    for name, left, right in zip(ends["stage"].values, edges, edges[1:], strict=False):
        axes.text((left + right) / 2, 0.98, str(name), transform=axes.get_xaxis_transform(), ha="center", va="top",
                  fontsize=6.5, color=style.REFERENCE)  # fmt: skip


def _ticks(axes: Axes, share: xr.DataArray) -> None:
    axes.grid(False)
    axes.tick_params(length=0)
    for axis, name in ((axes.xaxis, "class"), (axes.yaxis, "expert")):
        every = max(1, share.sizes[name] // 10)
        names = [str(v) for v in share[name].values[::every]]
        turned = name == "class" and max(map(len, names)) > 2
        axis.set_ticks(range(0, share.sizes[name], every), names, rotation=45 if turned else 0)

"""Figures of the mixture-of-transformers studies: attention by stage, routing maps (Figs. 3, 6), stage lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as Canvas

from moestat.report import style
from moestat.report.tables import label
from moestat.rounding import number
from moestat.study.spec import Figure

TOKENS = {"c": "$c_n$", "v": "$v_n$", "v'": "$v_{n'}$", "noise": "noise"}
"""How the kinds of tokens are written."""

AFTER = {"start": "start", "I": "after stage I", "II": "after stage II", "III": "after stage III"}


def attention_by_stage(
    ds: xr.Dataset, figure: Figure, *, arms: Sequence[str], stages: Sequence[str] = ("I", "II", "III")
) -> Canvas:
    """Draw the mean attention scores p(query, key), one row of maps per arm, one column per stage.

    Parameters
    ----------
    ds : xarray.Dataset
        Results with ``after_attention`` over ``stage``, ``query`` and ``key``.
    figure : Figure
        The study file's figure; its title is the title.
    arms : sequence of str
        Arms that were not run are left out.
    stages : sequence of str
    """
    shown = [arm for arm in arms if arm in ds["arm"].values]
    canvas = style.new_figure(style.TWO_COLUMNS, 0.5 + 2.2 * len(shown))
    grid = canvas.subplots(len(shown), len(stages), squeeze=False, sharex=True, sharey=True)
    cmap, scale, image = colormaps["cividis"], Normalize(0, 1), None
    for row, arm in zip(grid, shown, strict=True):
        for axes, stage in zip(row, stages, strict=True):
            scores = ds["after_attention"].sel(arm=arm, stage=stage).transpose("query", "key", "replicate").values
            mean = np.nanmean(scores, axis=2)
            image = axes.imshow(mean, cmap=cmap, norm=scale, aspect="auto")
            axes.grid(False)
            for (i, j), value in np.ndenumerate(mean):
                ink = "#fefefe" if value < 0.5 else "#010101"
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", size=7, color=ink)
            axes.set_title(f"{label(ds, arm)}\n{AFTER[stage]}", loc="left")
            axes.set_xticks(range(4), [TOKENS[str(k)] for k in ds["key"].values])
            axes.set_yticks(range(4), [TOKENS[str(k)] for k in ds["query"].values])
            axes.tick_params(length=0)
        row[0].set_ylabel("query token")
    for axes in grid[-1]:
        axes.set_xlabel("key token")
    if image is not None:
        bar = canvas.colorbar(image, ax=list(grid.flat), pad=0.02, aspect=30)
        bar.set_label("attention")
        bar.outline.set_visible(False)
    canvas.suptitle(figure.title, weight="bold")
    return canvas


def routing_maps(
    ds: xr.Dataset, figure: Figure, *, arms: Sequence[str], stage: str = "I", replicate: int = 0, experts: int = 0
) -> Canvas:
    """Draw which expert gets which class, and what it is made for, for single runs (as in Figs. 3 and 6 of the paper).

    Above: the share of the class's test samples at each expert. Below: <W, v_n>, whose largest entry in a column is the
    expert's class (Definition 2).

    Parameters
    ----------
    arms : sequence of str
        One column of maps each; arms that were not run are left out.
    stage : str
        At whose end.
    replicate : int
        Shown as an example, whatever it looks like.
    experts : int
        Value of the grid's axis ``experts``, if it has one.
    """
    shown = [arm for arm in arms if arm in ds["arm"].values]
    here = ds.sel(stage=stage, replicate=replicate)
    if "experts" in here.dims:
        here = here.sel(experts=experts) if experts in here["experts"].values else here.isel(experts=-1)
    canvas = style.new_figure(style.TWO_COLUMNS, 4.0)
    grid = canvas.subplots(2, len(shown), squeeze=False, sharex="col", sharey=True)
    images = []
    for column, arm in zip(grid.T, shown, strict=True):
        run = here.sel(arm=arm)
        dispatch = run["after_dispatch"].dropna("expert", how="all").transpose("class", "expert").values
        share = dispatch / np.maximum(dispatch.sum(axis=1, keepdims=True), 1e-12)
        signal = run["after_on_labels"].dropna("expert", how="all").transpose("class", "expert").values
        limit = float(np.nanmax(np.abs(here["after_on_labels"].sel(arm=shown).values)))
        images = [
            column[0].imshow(share, cmap="cividis", vmin=0, vmax=1, aspect="auto"),
            column[1].imshow(signal, cmap="PuOr", vmin=-limit, vmax=limit, aspect="auto"),
        ]
        column[0].set_title(f"{label(ds, arm)}\nown class: {float(run['after_matched']):.0%}", loc="left")
        for axes in column:
            axes.grid(False)
            axes.tick_params(length=0)
            every = -(-share.shape[1] // 10)
            axes.set_xticks(range(0, share.shape[1], every), [str(i + 1) for i in range(0, share.shape[1], every)])
            axes.set_yticks(range(share.shape[0]), [str(i + 1) for i in range(share.shape[0])])
        for expert, best in enumerate(signal.argmax(axis=0)):
            for axes, ink in ((column[0], "#ffffff"), (column[1], style.INK)):
                axes.plot(expert, best, marker="s", markersize=7, fillstyle="none", color=ink, markeredgewidth=0.9)
        column[1].set_xlabel("expert")
    for row, image, text in zip(grid, images, ("share of the class", "<W, $v_n$>"), strict=True):
        row[0].set_ylabel("class")
        bar = canvas.colorbar(image, ax=list(row), pad=0.02, aspect=18)
        bar.set_label(text)
        bar.outline.set_visible(False)
    canvas.suptitle(figure.title, weight="bold")
    return canvas


def noise_grid(ds: xr.Dataset, figure: Figure, *, arms: Sequence[str]) -> Canvas:
    """Draw the losses of stage III, a column of panels per ``token_noise``, a row per ``tokens``.

    Parameters
    ----------
    ds : xarray.Dataset
        Results with ``tuning_train_loss`` and ``tuning_test_loss`` over ``tuning``.
    arms : sequence of str
        One colour each; arms that were not run are left out.
    """
    shown = [arm for arm in arms if arm in ds["arm"].values]
    noises, tokens = ds["token_noise"].values, ds["tokens"].values
    canvas = style.new_figure(style.TWO_COLUMNS, 0.7 + 1.7 * len(tokens))
    grid = canvas.subplots(len(tokens), len(noises), squeeze=False, sharex=True, sharey=True)
    t = ds["tuning"].values
    for row, length in zip(grid, tokens, strict=True):
        for axes, noise in zip(row, noises, strict=True):
            for index, arm in enumerate(shown):
                here = ds.sel(arm=arm, token_noise=noise, tokens=length)
                for part, line in (("train", "-"), ("test", "--")):
                    losses = here[f"tuning_{part}_loss"].transpose("tuning", "replicate").values
                    mean = np.exp(np.mean(np.log(losses), axis=1))
                    text = f"{label(ds, arm)}, {'training' if part == 'train' else part}"
                    axes.plot(t, mean, line, color=style.COLOURS[index], label=text)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(f"$\\sigma_\\xi$ = {number(noise)}, L = {number(length)}", loc="left")
        row[0].set_ylabel("loss")
    for axes in grid[-1]:
        axes.set_xlabel("steps of stage III")
    style.legend_below(canvas, grid[0, 0])
    canvas.suptitle(figure.title, weight="bold")
    return canvas


def stage_lengths(ds: xr.Dataset, figure: Figure, *, arm: str, variables: Sequence[str]) -> Canvas:
    """Draw waiting times against M: every run, the median where half of the runs got there, and how many did not.

    Parameters
    ----------
    arm : str
    variables : sequence of str
        Waiting times with NaN where they were not reached; one panel each.
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
    canvas.suptitle(figure.title, weight="bold")
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
    axes.set_ylim(low, high * (high / low) ** 0.12)  # room for the counts
    for m, row in zip(experts, times, strict=True):
        lost = int(np.sum(~np.isfinite(row)))
        text, at = f"not: {lost} of {len(row)}", ("data", "axes fraction")
        axes.annotate(text, (m, 0.985), xycoords=at, ha="center", va="top", size=6)

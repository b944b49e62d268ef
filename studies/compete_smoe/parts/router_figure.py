"""Figures that compare arms in pairs: differences to a baseline with the same seeds, beside training curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from moestat.claims.selection import NoAnswerError, is_at
from moestat.rates.estimate import mean_interval
from moestat.report import style
from moestat.report.tables import label
from moestat.rounding import number
from moestat.study.spec import Figure


def training(
    ds: xr.Dataset, figure: Figure, *, groups: Sequence[tuple[str, Sequence[str]]], variable: str = "bpc"
) -> Canvas:
    """Draw for each group (title, arms) the validation curves, and the differences of ``variable`` to its first arm.

    The untrained model, at step 0, is left out.
    """
    groups = [(title, [arm for arm in arms if arm in ds["arm"].values]) for title, arms in groups]
    groups = [(title, arms) for title, arms in groups if arms]
    canvas = style.new_figure(style.TWO_COLUMNS, 0.6 + 2.3 * len(groups))
    grid = canvas.subplots(len(groups), 2, squeeze=False, width_ratios=(3, 2))
    for row, (title, arms) in enumerate(groups):
        left, right = grid[row]
        for index, arm in enumerate(arms):
            _curve(left, _of(ds, "valid_bpc", arm), index, label(ds, arm))
        left.set_title(f"({chr(97 + 2 * row)}) {title}: validation", loc="left")
        left.set_ylabel("bits per symbol")
        rows = [(label(ds, arm), _values(_of(ds, variable, arm))) for arm in arms]
        _differences(right, rows[1:], rows[0][1], first=1)
        right.set_title(f"({chr(98 + 2 * row)}) {title}: test", loc="left")
    grid[-1, 0].set_xlabel("step")
    grid[-1, 1].set_xlabel(f"test loss minus {label(ds, groups[0][1][0])}'s, bits per symbol")
    style.legend_below(canvas, grid[0, 0])
    return canvas


def differences(
    ds: xr.Dataset,
    figure: Figure,
    *,
    variable: str,
    baseline: Sequence[str | float],
    over: str = "",
    ylabel: str = "",
    less: str = "",
) -> Canvas:
    """Draw the differences of ``variable`` to a baseline: of each arm, and of each value of the axis ``over``.

    ``baseline``: an arm, and its value of ``over``. ``less``: a variable that is taken off before. Points that were
    not computed are left out.
    """
    ds = ds.assign({variable: ds[variable] - ds[less]}) if less else ds
    points = [(str(arm), place, values) for arm, place, values in _points(ds, variable, over)]
    base = [values for arm, place, values in points if arm == baseline[0] and (not over or place == baseline[1])]
    if len(base) != 1:
        raise NoAnswerError(f"The baseline {list(baseline)} is not in the results.")
    places = {arm: sum(a == arm for a, _, _ in points) for arm, _, _ in points}
    rows = [
        (label(ds, arm) + (f", {over} = {number(place)}" if places[arm] > 1 else ""), values)
        for arm, place, values in points
        if values is not base[0]
    ]
    canvas = style.new_figure(style.ONE_COLUMN * 1.8, 1.1 + 0.3 * len(rows))
    axes = canvas.subplots()
    _differences(axes, rows, base[0], first=0)
    axes.set_xlabel(ylabel or variable)
    engine = canvas.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0.03, 0, 0.97, 1))  # type: ignore[call-arg]  # the longest label is measured a little short
    return canvas


def _of(ds: xr.Dataset, variable: str, arm: str) -> xr.DataArray:
    """Return a variable of an arm."""
    if variable not in ds.data_vars:
        raise NoAnswerError(f"The results hold no variable {variable!r}.")
    if arm not in ds["arm"].values:
        raise NoAnswerError(f"The results hold no arm {arm!r}.")
    return ds[variable].sel(arm=arm)


def _points(ds: xr.Dataset, variable: str, over: str) -> list[tuple[str, float, np.ndarray]]:
    """Return (arm, place, values) of what was computed."""
    out = []
    for arm in ds["arm"].values.tolist():
        array = _of(ds, variable, arm)
        for place in array[over].values.tolist() if over else [0.0]:
            part = array.isel({over: int(np.flatnonzero(is_at(array[over], place).values)[0])}) if over else array
            values = _values(part)
            if np.isfinite(values).any():
                out.append((arm, place, values))
    return out


def _values(array: xr.DataArray) -> np.ndarray:
    """Return the values (replicate,), other axes of length one dropped."""
    return array.squeeze([d for d in array.dims if d != "replicate"], drop=True).values.astype(float)


def _curve(axes: Axes, array: xr.DataArray, index: int, text: str) -> None:
    others = [d for d in array.dims if d not in ("replicate", "step")]
    array = array.squeeze(others, drop=True).isel(step=slice(1, None)).dropna("step", how="all")
    mean, _, low, high = mean_interval(array.transpose("step", "replicate").values)
    axes.fill_between(array["step"], low, high, color=style.colour(index), alpha=0.12, linewidth=0)
    axes.plot(array["step"], mean, color=style.colour(index), label=text, **style.marker(index))


def _differences(axes: Axes, rows: Sequence[tuple[str, np.ndarray]], base: np.ndarray, first: int) -> None:
    """Draw a row per arm: seeds, mean and interval of the difference to ``base``."""
    for height, (_, values) in enumerate(rows):
        gaps = (values - base)[np.isfinite(values - base)]
        mean, _, low, high = (float(v) for v in mean_interval(gaps))
        colour = style.colour(height + first if first else 0)
        axes.plot(gaps, np.full(gaps.size, height), "|", color=style.REFERENCE, markersize=5, zorder=2)
        axes.plot((low, high), (height, height), color=colour, linewidth=1.8, zorder=3)
        axes.plot(mean, height, color=colour, zorder=4, **style.marker(height + first if first else 0))
    axes.axvline(0, color=style.INK, linewidth=0.8, zorder=1.5)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)

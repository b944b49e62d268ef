"""A log-log panel: geometric means with intervals, fitted lines, the paper's slope, the reference, the start."""

from __future__ import annotations

import fnmatch
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from moestat import rates
from moestat.report import style
from moestat.report.tables import label, rate_window
from moestat.report.typography import mathtext
from moestat.study.claim_estimates import with_replicates
from moestat.study.outcomes import chosen
from moestat.study.spec import Figure, Panel, Study
from moestat.study.values import NoAnswerError, values, without_lengths_of_one


@dataclass
class Facts:
    """What a panel shows, in words: for the key below the figure, its caption and its alternative text."""

    sentences: list[str] = field(default_factory=list)
    arms: list[str] = field(default_factory=list)
    untrusted: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    reference: str = ""
    legend: list[str] = field(default_factory=list)
    lines: int = 0


def window_for(study: Study, preset: str, loss: str, over: str, arm: str) -> tuple[float, float] | None:
    """Return the fit window of the first rate that a curve belongs to."""
    for rate in study.rates:
        if (rate.loss, rate.over) == (loss, over) and any(fnmatch.fnmatchcase(arm, p) for p in rate.arms):
            return rate_window(study, preset, rate)
    return study.presets[preset].window if preset in study.presets else None


def geometric(array: xr.DataArray, over: str, level: float = 0.95) -> tuple[np.ndarray, ...]:
    """Return sizes, geometric mean, its t-interval (back from the logs), and how many values enter, per size.

    Values that are missing, zero or negative have no logarithm and do not enter.
    """
    array = with_replicates(array, None).transpose(over, "replicate")
    sizes = array[over].values.astype(float)
    order = np.argsort(sizes)
    rows = []
    for row in array.values[order]:
        logs = np.log(row[np.isfinite(row) & (row > 0)])
        mean, _, low, high = (float(v) for v in rates.mean_interval(logs, level))
        rows.append((*np.exp((mean, low, high)), logs.size))
    return (sizes[order], *np.array(rows).reshape(-1, 4).T)


def draw(
    axes: Axes,
    ds: xr.Dataset,
    study: Study,
    preset: str,
    figure: Figure,
    panel: Panel,
    colours: dict[str, int],
    room: int,
) -> Facts:
    """Draw one panel, ``room`` characters wide, and return what it shows.

    Raises
    ------
    NoAnswerError
        If a variable or axis of the panel is not in the results.
    """
    facts = Facts()
    over, at = figure.x, figure.options.get("at", {})
    facts.arms = chosen(ds, panel.arms)
    called = {arm: label(ds, arm) for arm in facts.arms}
    shared = [c for c in called.values() if list(called.values()).count(c) > 1]
    drawn_references: list[np.ndarray] = []
    spread = _dodge(len(facts.arms))
    for index, arm in enumerate(facts.arms):
        name = arm if called[arm] in shared else called[arm]
        number = colours.get(called[arm], index) if called[arm] not in shared else index
        colour, marker = style.colour(number), style.marker(number)
        array = without_lengths_of_one(values(ds, study, panel.variable, arm, at), (over, "replicate"))
        if over not in array.dims:
            raise NoAnswerError(f"The variable {panel.variable!r} has no axis {over!r}.")
        sizes, mean, low, high, used = geometric(array, over)
        asked = array.sizes.get("replicate", 1)
        known = np.isfinite(mean)
        if not known.any():
            facts.dropped.append(f"{name} has no positive value")
            facts.legend.append(wrapped(f"{name}: no value", room))
            axes.plot([], [], label=facts.legend[-1], color=colour, linestyle="none", **marker)
            continue
        if lost := int(np.sum(asked - used)):
            facts.dropped.append(f"{name}: {lost} of {asked * len(sizes)} values are missing, zero or negative")
        fit = rates.fit(
            with_replicates(array, None),
            over=over,
            window=window_for(study, preset, panel.variable, over, arm),
            draws=0,
        )
        x = sizes * spread[index]
        bars = np.array([mean - low, high - mean])
        axes.errorbar(
            x[known],
            mean[known],
            np.where(np.isfinite(bars), bars, 0)[:, known],
            fmt="none",
            ecolor=colour,
            elinewidth=1.0,
        )
        text = f"{name}: {_slope(fit, asked)}".replace(
            " \N{PLUS-MINUS SIGN} ", "\N{NO-BREAK SPACE}\N{PLUS-MINUS SIGN}\N{NO-BREAK SPACE}"
        )
        if arm in panel.predicted:
            text += f" (paper\N{NO-BREAK SPACE}{panel.predicted[arm]:g})"
        text = wrapped(text, room)
        handle: dict[str, Any] = {
            "label": text,
            "color": colour,
            "linestyle": "-",
            "markersize": 4.0,
            "markeredgewidth": 1.0,
        } | marker
        axes.plot(x[known], mean[known], **(handle | {"linestyle": "none", "label": None}))
        axes.plot([], [], **handle)
        facts.legend.append(text)
        _line(axes, fit, fit.slope, color=colour, alpha=0.85, linestyle="-" if fit.trusted else "-.")
        if arm in panel.predicted:
            _line(axes, fit, panel.predicted[arm], color=colour, linestyle="--", linewidth=1.0)
            facts.parts.add("predicted")
        if not fit.trusted:
            facts.untrusted.append(f"{name}: {' '.join(fit.reasons)}")
            facts.parts.add("untrusted")
        facts.sentences.append(
            f"{name}: slope {_slope(fit, asked)}, from {mean[known][0]:.3g} to {mean[known][-1]:.3g}"
        )
        if panel.start:
            start = without_lengths_of_one(values(ds, study, panel.start, arm, at), (over, "replicate"))
            where, level_, *_ = geometric(start, over)
            axes.plot(where, level_, color=colour, linestyle=":", linewidth=1.1)
            facts.parts.add("start")
        if panel.reference:
            _reference(axes, ds, study, panel, arm, over, at, drawn_references, facts)
    axes.set_xscale("log" if figure.logx else "linear")
    axes.set_yscale("log" if figure.logy else "linear")
    return facts


def wrapped(text: str, width: int) -> str:
    """Break a text into lines for matplotlib."""
    # textwrap also breaks at a no-break space, so it is hidden from it
    lines = textwrap.wrap(text.replace("\N{NO-BREAK SPACE}", "\x00"), width, break_on_hyphens=False)
    return mathtext("\n".join(lines).replace("\x00", " "))


def legend(axes: Axes, facts: Facts, room: int) -> None:
    """Put the legend below the axis label, as far left as the axis label reaches, in as many columns as fit."""
    if not facts.legend:
        return
    longest = max(len(line) for text in facts.legend for line in text.split("\n"))
    columns = max(1, min(4, len(facts.legend), (room + 6) // (longest + 7)))
    rows = -(-len(facts.legend) // columns)
    facts.lines = max(sum(t.count("\n") + 1 for t in facts.legend[c * rows : (c + 1) * rows]) for c in range(columns))
    figure = axes.get_figure()
    assert figure is not None
    below = axes.transAxes + ScaledTranslation(-0.46, -0.42, figure.dpi_scale_trans)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=below,
        borderpad=0.0,
        handlelength=1.9,
        ncols=columns,
    )


def _slope(fit: rates.RateFit, asked: int) -> str:
    if not np.isfinite(fit.slope):
        return "no slope"
    half = (fit.high - fit.low) / 2
    text = f"{fit.slope:.2f}" + (f" \N{PLUS-MINUS SIGN} {half:.2f}" if np.isfinite(half) and asked > 1 else "")
    return text.replace("-", "\N{MINUS SIGN}") + ("" if fit.trusted else " (not trusted)")


def _line(axes: Axes, fit: rates.RateFit, slope: float, **look: Any) -> None:
    """Draw a slope through the centre of the fitted points, over the fit window."""
    if not np.isfinite(fit.intercept) or not np.isfinite(slope):
        return
    ends = np.log(fit.sizes[[0, -1]])
    centre = np.mean(np.log(fit.sizes))
    level = fit.intercept + fit.slope * centre
    axes.plot(np.exp(ends), np.exp(level + slope * (ends - centre)), marker="none", zorder=1.8, **look)


def _reference(
    axes: Axes,
    ds: xr.Dataset,
    study: Study,
    panel: Panel,
    arm: str,
    over: str,
    at: dict[str, Any],
    drawn: list[np.ndarray],
    facts: Facts,
) -> None:
    """Draw the reference of an arm, once for arms that share it."""
    array = without_lengths_of_one(values(ds, study, panel.reference, arm, at), (over, "replicate"))
    sizes, level, *_ = geometric(array, over)
    if not np.isfinite(level).any() or any(np.array_equal(level, old, equal_nan=True) for old in drawn):
        return
    drawn.append(level)
    axes.plot(sizes, level, color=style.REFERENCE, linewidth=1.6, zorder=1.5)
    name = str(ds[panel.reference].attrs.get("long_name", ""))
    facts.reference = name or ("Fisher line" if panel.reference.startswith("fisher") else panel.reference)
    facts.parts.add("reference")


def _dodge(count: int) -> np.ndarray:
    """Factors that set the points of several arms at one size apart."""
    step = min(0.035, 0.14 / max(count - 1, 1))
    return np.exp(step * (np.arange(count) - (count - 1) / 2))

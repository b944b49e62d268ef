"""A log-log panel: geometric means with intervals, fitted lines, the paper's slope, the reference, the start."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from moestat import rates
from moestat.claims.evidence import Evidence, FittedSeries
from moestat.claims.selection import NoAnswerError, chosen, with_replicates
from moestat.report import captions, style
from moestat.report.captions import Entry, Facts, Names
from moestat.report.text import mathtext
from moestat.study.spec import Figure, Panel

NUMBERS = "numbers_of_{}"
"""Attribute of results without a variable: how many numbers of it an arm has, as JSON."""
NARROW = 40
"""Panels of fewer characters in width label the decades of a logarithmic axis only: three or more panels in a row."""


def geometric(array: xr.DataArray, over: str, level: float = 0.95) -> tuple[np.ndarray, ...]:
    """Return sizes, geometric mean, its t-interval (back from the logs), and how many values enter, per size.

    Values that are missing, zero or negative have no logarithm and do not enter.
    """
    array = with_replicates(array).transpose(over, "replicate")
    sizes = array[over].values.astype(float)
    order = np.argsort(sizes)
    rows = []
    for row in array.values[order]:
        logs = np.log(row[np.isfinite(row) & (row > 0)])
        mean, _, low, high = (float(v) for v in rates.mean_interval(logs, level))
        rows.append((*np.exp((mean, low, high)), logs.size))
    return (sizes[order], *np.array(rows).reshape(-1, 4).T)


def draw(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
    """Draw one panel, ``room`` characters wide, and return what it shows."""
    painter = _Painter(axes, evidence, figure, panel, Facts(arms=chosen(evidence.ds, panel.arms)))
    arms = painter.facts.arms
    step = min(0.035, 0.14 / max(len(arms) - 1, 1))  # the points of several arms at one size stand apart
    for arm, shift in zip(arms, np.exp(step * (np.arange(len(arms)) - (len(arms) - 1) / 2)), strict=True):
        name = names.of_arm[arm]
        painter.arm(arm, name, names.number(name), float(shift))
    axes.set_xscale("log" if figure.logx else "linear")
    axes.set_yscale("log" if figure.logy else "linear")
    if figure.logx:
        _calm_ticks(axes, room)
    if figure.per:
        _second_axis(axes, evidence, figure, arms)
    return painter.facts


def numbers_of(ds: xr.Dataset, variable: str) -> dict[str, float] | None:
    """Return how many numbers of a variable an arm has, at most, by arm; None without the variable.

    A record without the variable says it in an attribute, by :data:`NUMBERS`.
    """
    if variable not in ds:
        kept = ds.attrs.get(NUMBERS.format(variable))
        return None if kept is None else json.loads(str(kept))
    values = ds[variable]
    own = [dim for dim in values.dims if dim not in ds["status"].dims]
    if not own:
        return {}
    there = values.notnull().sum(own)
    most = there.max([dim for dim in there.dims if dim != "arm"])
    return {str(arm): float(most.sel(arm=arm)) for arm in ds["arm"].values}


def _second_axis(axes: Axes, evidence: Evidence, figure: Figure, arms: Sequence[str]) -> None:
    """Put x per number of a variable above the panel: samples per fitted parameter, of the arm that has most."""
    numbers = numbers_of(evidence.ds, figure.per)
    if numbers is None:
        raise NoAnswerError(f"the results hold no variable {figure.per!r}, by which the second axis divides")
    if count := max((numbers.get(arm, 0.0) for arm in arms), default=0.0):
        there_and_back = partial(operator.mul, 1.0 / count), partial(operator.mul, count)
        above = axes.secondary_xaxis("top", functions=there_and_back)
        above.set_xlabel(f"{figure.x} / p, p = {count:g}", fontsize=6.5)
        above.tick_params(labelsize=6.5)
        if figure.logx:
            above.xaxis.set_major_locator(LogLocator(subs=(1.0, 5.0)))
            above.xaxis.set_major_formatter("{x:g}")
            above.xaxis.set_minor_formatter(NullFormatter())


def _calm_ticks(axes: Axes, room: float) -> None:
    """Keep the labels between the decades of the horizontal axis from running into each other."""
    low, high = np.log10(axes.get_xlim())
    if room < NARROW or np.floor(high) > np.ceil(low):
        axes.xaxis.set_minor_formatter(NullFormatter())
        return
    axes.xaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axes.xaxis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf)))


@dataclass
class _Painter:
    """Draws the arms of one panel, one after the other, and writes down what they show."""

    axes: Axes
    evidence: Evidence
    figure: Figure
    panel: Panel
    facts: Facts
    references: list[np.ndarray] = field(default_factory=list)
    printed: set[float] = field(default_factory=set)

    def arm(self, arm: str, name: str, number: int, shift: float) -> None:
        """Draw points, fitted line and companions of one arm."""
        facts, over = self.facts, self.figure.x
        stated = self.evidence.facts(self.panel.variable, over, arm)
        fitted = self.series(self.panel.variable, arm)
        sizes, mean, low, high, used = geometric(fitted.samples, over)
        asked = 1 if fitted.exact else fitted.samples.sizes["replicate"]
        known = np.isfinite(mean)
        colour = style.colour(number)
        if not known.any():
            facts.notes.append(("Left out", name, "no positive value"))
            self.entry(name, "no value", number, linestyle="none")
            return
        if lost := int(np.sum(asked - used)):
            told = f"{lost} of {asked * len(sizes)} values are missing, zero or negative"
            facts.notes.append(("Incomplete", name, told))
        # a single value has no interval, and gets a bar of no length
        bars = np.nan_to_num(np.array([mean - low, high - mean]))[:, known]
        self.axes.errorbar(sizes[known] * shift, mean[known], bars, fmt="none", ecolor=colour, elinewidth=1.0)
        self.axes.plot(sizes[known] * shift, mean[known], color=colour, linestyle="none", **style.marker(number))

        fit = fitted.fit
        text = _slope(fit)
        _line(self.axes, fit, fit.slope, color=colour, alpha=0.85, linestyle="-" if fit.trusted else "-.")
        if not fit.trusted:
            facts.notes.append(("Not trusted", name, " ".join(fit.reasons)))
            facts.parts.add("untrusted")
        if fit.bend:
            facts.notes.append(("Bent", name, "the slope depends on the window"))
        if stated.printed is not None and stated.printed not in self.printed:  # once for arms that share it
            self.printed.add(stated.printed)
            _line(self.axes, fit, stated.printed, color=colour, linestyle="--", linewidth=1.0)
            facts.parts.add("predicted")
            text += f" (paper\N{NO-BREAK SPACE}{stated.printed:g})"
        self.entry(name, text, number, linestyle="-")
        if stated.start:
            where, level, *_ = geometric(self.series(stated.start, arm).samples, over)
            self.axes.plot(where, level, color=colour, linestyle=":", linewidth=1.1)
            facts.parts.add("start")
        if stated.reference:
            self.reference(stated.reference, arm)
        self.band(arm, colour, shift)
        if unsettled := self.evidence.unsettled(over, arm, self.figure.options.get("at", {})):
            facts.notes.append(("Not settled", name, unsettled))

    def band(self, arm: str, colour: Any, shift: float) -> None:
        """Shade the near-minimisers of a global search: geometric means of their lowest and highest loss."""
        names = [f"{self.panel.variable}_wide_{end}" for end in ("low", "high")]
        if not all(name in self.evidence.ds for name in names):
            return
        (sizes, low, *_), (_, high, *_) = (geometric(self.series(name, arm).samples, self.figure.x) for name in names)
        if np.isfinite(low).any():
            self.facts.parts.add("band")
            self.axes.fill_between(sizes * shift, low, high, color=colour, alpha=0.15, linewidth=0.0, zorder=1.2)

    def series(self, variable: str, arm: str) -> FittedSeries:
        """Return the fitted series of a variable, in the window of the panel's loss."""
        window = self.evidence.facts(self.panel.variable, self.figure.x, arm).window
        at = captions.point(self.evidence.ds, self.figure, self.panel)
        return self.evidence.series(variable, self.figure.x, arm, at, window=window)

    def entry(self, name: str, value: str, number: int, **look: Any) -> None:
        """Add an entry of the legend, with line and marker."""
        text = mathtext(f"{name}: {value}")  # of a legend that the user makes
        (line,) = self.axes.plot([], [], label=text, color=style.colour(number), **style.marker(number), **look)
        self.facts.entries.append(Entry(line, name, value))

    def reference(self, name: str, arm: str) -> None:
        """Draw the reference of an arm, once for arms that share it: a bound, or a sandwich beside an own target."""
        sizes, level, *_ = geometric(self.series(name, arm).samples, self.figure.x)
        if not np.isfinite(level).any() or any(style.same(level, old) for old in self.references):
            return
        self.references.append(level)
        ds = self.evidence.ds
        called = str(ds[name].attrs.get("long_name", "")) or name
        if name.startswith("fisher"):
            meaning = str(ds["fisher"].sel(arm=arm).values.ravel()[0]) if "fisher" in ds else ""
            called = style.SANDWICH if "sandwich" in meaning else "Fisher line"
        self.axes.plot(sizes, level, zorder=1.5, **style.reference(called))
        self.facts.references = list(dict.fromkeys([*self.facts.references, called]))


def _slope(fit: rates.RateFit) -> str:
    if not np.isfinite(fit.slope):
        return "no slope"
    half = (fit.high - fit.low) / 2
    text = f"{fit.slope:z.2f}" + (f" \N{PLUS-MINUS SIGN} {half:.2f}" if np.isfinite(half) else "")
    text = text.replace("-", "\N{MINUS SIGN}").replace(" ", "\N{NO-BREAK SPACE}")
    return text if fit.trusted else f"({text})"


def _line(axes: Axes, fit: rates.RateFit, slope: float, **look: Any) -> None:
    """Draw a slope through the centre of the fitted points, over the fit window."""
    if not np.isfinite(fit.intercept) or not np.isfinite(slope):
        return
    ends = np.log(fit.sizes[[0, -1]])
    centre = np.mean(np.log(fit.sizes))
    level = fit.intercept + fit.slope * centre
    axes.plot(np.exp(ends), np.exp(level + slope * (ends - centre)), marker="none", zorder=1.8, **look)

"""A log-log panel: geometric means with intervals, fitted lines, the paper's slope, the reference, the start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from moestat import rates
from moestat.claims.evidence import Evidence, FittedSeries
from moestat.claims.selection import chosen
from moestat.report import captions, style
from moestat.report.captions import Entry, Facts, Names
from moestat.report.means import along
from moestat.report.text import mathtext
from moestat.study.spec import Figure, Panel

NARROW = 40
"""Panels of fewer characters in width label the decades of a logarithmic axis only: three or more panels in a row."""


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
    low, high = np.log10(np.maximum(axes.get_xlim(), 1e-300))
    if figure.logx:  # labels between the decades would run into each other
        axes.xaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        labelled = room >= NARROW and np.floor(high) <= np.ceil(low)
        calm = LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf)) if labelled else NullFormatter()
        axes.xaxis.set_minor_formatter(calm)
    return painter.facts


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
        sizes, mean, low, high, used = along(fitted.samples, over, log=True)
        asked = fitted.samples.sizes["replicate"]
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
            where, level, *_ = along(self.series(stated.start, arm).samples, over, log=True)
            self.axes.plot(where, level, color=colour, linestyle=":", linewidth=1.1)
            facts.parts.add("start")
        if stated.reference:
            self.reference(stated.reference, arm)
        if unsettled := self.evidence.unsettled(over, arm, self.figure.options.get("at", {})):
            facts.notes.append(("Not settled", name, unsettled))

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
        sizes, level, *_ = along(self.series(name, arm).samples, self.figure.x, log=True)
        if not np.isfinite(level).any() or any(
            np.allclose(level, old, rtol=1e-6, atol=0.0, equal_nan=True) for old in self.references
        ):
            return
        self.references.append(level)
        called = str(self.evidence.ds[name].attrs.get("long_name", "") or name).rpartition(": ")[2]
        self.axes.plot(sizes, level, zorder=1.5, **style.REFERENCE_LINE)
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

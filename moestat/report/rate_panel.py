"""A log-log panel: geometric means with intervals, fitted lines, the paper's slope, the reference, the start."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from moestat import rates
from moestat.claims.counts import chosen
from moestat.claims.evidence import Evidence, FittedSeries
from moestat.claims.selection import with_replicates
from moestat.report import facets, style
from moestat.report.tables import label
from moestat.report.typography import mathtext
from moestat.study.spec import Figure, Panel

NARROW = 40
"""Panels of fewer characters in width label the decades of a logarithmic axis only: three or more panels in a row."""


@dataclass
class Facts:
    """What a panel shows, in words: for the key below the figure, its caption and its alternative text."""

    sentences: list[str] = field(default_factory=list)
    arms: list[str] = field(default_factory=list)
    untrusted: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    references: list[str] = field(default_factory=list)
    legend: list[str] = field(default_factory=list)
    lines: int = 0
    key: list[tuple[Any, str]] = field(default_factory=list)
    """Lines that all panels share, with their names."""
    bar: tuple[Any, str] | None = None
    """The image of a heat map and what its colours mean."""


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


def draw(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, colours: dict[str, int], room: int) -> Facts:
    """Draw one panel, ``room`` characters wide, and return what it shows.

    Raises
    ------
    NoAnswerError
        If a variable or axis of the panel is not in the results.
    """
    ds = evidence.ds
    painter = _Painter(axes, evidence, figure, panel, room, Facts(arms=chosen(ds, panel.arms)))
    arms = painter.facts.arms
    called = [label(ds, arm) for arm in arms]
    for index, (arm, text) in enumerate(zip(arms, called, strict=True)):
        alone = called.count(text) == 1
        painter.arm(arm, text if alone else arm, colours.get(text, index) if alone else index, _dodge(len(arms))[index])
    axes.set_xscale("log" if figure.logx else "linear")
    axes.set_yscale("log" if figure.logy else "linear")
    if figure.logx:
        _calm_ticks(axes, room)
    return painter.facts


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
    room: int
    facts: Facts
    references: list[np.ndarray] = field(default_factory=list)
    printed: set[float] = field(default_factory=set)

    def arm(self, arm: str, name: str, number: int, shift: float) -> None:
        """Draw points, fitted line and companions of one arm."""
        facts, over = self.facts, self.figure.x
        stated = self.evidence.facts(self.panel.variable, over, arm)
        series = self.series(self.panel.variable, arm)
        array = series.samples
        sizes, mean, low, high, used = geometric(array, over)
        asked = 1 if series.exact else array.sizes["replicate"]
        known = np.isfinite(mean)
        colour = style.colour(number)
        if not known.any():
            facts.dropped.append(f"{name} has no positive value")
            self.entry(f"{name}: no value", number, linestyle="none")
            return
        if lost := int(np.sum(asked - used)):
            facts.dropped.append(f"{name}: {lost} of {asked * len(sizes)} values are missing, zero or negative")
        # a single value has no interval, and gets a bar of no length
        bars = np.nan_to_num(np.array([mean - low, high - mean]))[:, known]
        x = sizes[known] * shift
        self.axes.errorbar(x, mean[known], bars, fmt="none", ecolor=colour, elinewidth=1.0)
        self.axes.plot(x, mean[known], color=colour, linestyle="none", **style.marker(number))

        fit = series.fit
        text = _slope(fit)
        facts.sentences.append(f"{name}: slope {text}, from {mean[known][0]:.3g} to {mean[known][-1]:.3g}")
        _line(self.axes, fit, fit.slope, color=colour, alpha=0.85, linestyle="-" if fit.trusted else "-.")
        if not fit.trusted:
            facts.untrusted.append(f"{name}: {' '.join(fit.reasons)}")
            facts.parts.add("untrusted")
        if stated.printed is not None and stated.printed not in self.printed:  # once for arms that share it
            self.printed.add(stated.printed)
            _line(self.axes, fit, stated.printed, color=colour, linestyle="--", linewidth=1.0)
            facts.parts.add("predicted")
            text += f" (paper\N{NO-BREAK SPACE}{stated.printed:g})"
        self.entry(f"{name}: {text}", number, linestyle="-")
        if stated.start:
            where, level, *_ = geometric(self.series(stated.start, arm).samples, over)
            self.axes.plot(where, level, color=colour, linestyle=":", linewidth=1.1)
            facts.parts.add("start")
        if stated.reference:
            self.reference(stated.reference, arm)
        self.band(arm, colour, shift)
        if unsettled := self.evidence.unsettled(over, arm, self.figure.options.get("at", {})):
            facts.unsettled.append(f"{name}: {unsettled}")

    def band(self, arm: str, colour: Any, shift: float) -> None:
        """Shade the near-minimisers of a global search: geometric means of their lowest and highest loss."""
        names = [f"{self.panel.variable}_wide_{end}" for end in ("low", "high")]
        if not all(name in self.evidence.ds for name in names):
            return
        (sizes, low, *_), (_, high, *_) = (geometric(self.series(name, arm).samples, self.figure.x) for name in names)
        if np.isfinite(low).any():
            self.axes.fill_between(sizes * shift, low, high, color=colour, alpha=0.15, linewidth=0.0, zorder=1.2)
            self.facts.parts.add("band")

    def series(self, variable: str, arm: str) -> FittedSeries:
        """Return the fitted series of a variable, in the window of the panel's loss."""
        over = self.figure.x
        window = self.evidence.facts(self.panel.variable, over, arm).window
        at = facets.point(self.evidence.ds, self.figure, self.panel)
        return self.evidence.series(variable, over, arm, at, window=window)

    def entry(self, text: str, number: int, **look: Any) -> None:
        """Add an entry of the legend, with line and marker."""
        self.facts.legend.append(wrapped(text, self.room))
        self.axes.plot([], [], label=self.facts.legend[-1], color=style.colour(number), **style.marker(number), **look)

    def reference(self, name: str, arm: str) -> None:
        """Draw the reference of an arm, once for arms that share it."""
        sizes, level, *_ = geometric(self.series(name, arm).samples, self.figure.x)
        if not np.isfinite(level).any() or any(np.array_equal(level, old, equal_nan=True) for old in self.references):
            return
        self.references.append(level)
        long_name = str(self.evidence.ds[name].attrs.get("long_name", ""))
        called = self._fisher(arm) if name.startswith("fisher") else long_name or name
        self.axes.plot(sizes, level, zorder=1.5, **style.reference(called))
        self.facts.references = list(dict.fromkeys([*self.facts.references, called]))
        self.facts.parts.add("reference")

    def _fisher(self, arm: str) -> str:
        """Name the line of an arm: a bound beside the truth, and something else beside a target of its own."""
        ds = self.evidence.ds
        meaning = str(ds["fisher"].sel(arm=arm).values.ravel()[0]) if "fisher" in ds else ""
        return style.SANDWICH if "sandwich" in meaning else "Fisher line"


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
    # names of categories may take two lines, which push the axis label down
    extra = max((text.get_text().count("\n") for text in axes.get_xticklabels()), default=0)
    facts.lines += extra
    figure = axes.get_figure()
    assert figure is not None
    below = axes.transAxes + ScaledTranslation(-0.46, -0.42 - 0.11 * extra, figure.dpi_scale_trans)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=below,
        borderpad=0.0,
        handlelength=1.9,
        ncols=columns,
    )


def _slope(fit: rates.RateFit) -> str:
    if not np.isfinite(fit.slope):
        return "no slope"
    half = (fit.high - fit.low) / 2
    text = f"{fit.slope:.2f}" + (f" \N{PLUS-MINUS SIGN} {half:.2f}" if np.isfinite(half) else "")
    text = text.replace("-", "\N{MINUS SIGN}").replace(" ", "\N{NO-BREAK SPACE}")
    return text + ("" if fit.trusted else " (not trusted)")


def _line(axes: Axes, fit: rates.RateFit, slope: float, **look: Any) -> None:
    """Draw a slope through the centre of the fitted points, over the fit window."""
    if not np.isfinite(fit.intercept) or not np.isfinite(slope):
        return
    ends = np.log(fit.sizes[[0, -1]])
    centre = np.mean(np.log(fit.sizes))
    level = fit.intercept + fit.slope * centre
    axes.plot(np.exp(ends), np.exp(level + slope * (ends - centre)), marker="none", zorder=1.8, **look)


def _dodge(count: int) -> np.ndarray:
    """Factors that set the points of several arms at one size apart."""
    step = min(0.035, 0.14 / max(count - 1, 1))
    return np.exp(step * (np.arange(count) - (count - 1) / 2))

"""The panels of a figure: log-log rates, lines over any axis, heat maps.

Each function draws one panel, ``room`` characters wide, and returns what it shows; of a variable or axis that is not in
the results, or is left over, :class:`moestat.claims.selection.NoAnswerError` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen, is_at, without_lengths_of_one
from moestat.rates import RateFit
from moestat.report import style, ticks
from moestat.report.means import along
from moestat.report.tables import label
from moestat.report.text import mathtext, minus
from moestat.rounding import number
from moestat.study.spec import Figure, Panel

FEW = 12
"""Up to so many points carry markers and bars; more become a line with a band."""
APART, BESIDE = 0.5, 0.3
"""Width that the marks of one place take, of the distance between places: of categories, and on an axis of numbers."""
ROOM, CELLS = 48, 64
"""Characters that fit side by side below a panel, else names are slanted; cells that carry their numbers, at most."""
SMALL: dict[str, Any] = {"fontsize": 7, "color": style.REFERENCE}
SLANTED: dict[str, Any] = {"fontsize": 7, "rotation": 25, "ha": "right", "rotation_mode": "anchor"}
GUIDE: dict[str, Any] = {"color": style.REFERENCE, "linestyle": ":", "linewidth": 1.0, "zorder": 1.5}


@dataclass(frozen=True)
class Entry:
    """A line as the legend has it: what it looks like, its name, and what it comes to in its panel (a slope, say).

    Without a name it is of its panel alone: a stated slope.
    """

    handle: Any
    name: str
    value: str = ""


@dataclass
class Facts:
    """What a panel shows, in words: for the legend and the caption."""

    arms: list[str] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    """What is left out or incomplete, and the line; no line where it is of the whole axis."""
    parts: set[str] = field(default_factory=set)
    references: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Reference lines: their names as the legend has them, their whole names, and what they look like."""
    entries: list[Entry] = field(default_factory=list)
    bar: tuple[Any, str] | None = None
    """The image of a heat map and what its colours mean."""


@dataclass
class Names:
    """The names of the arms of one panel, and the numbers of all names of the figure."""

    of_arm: Mapping[str, str]
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return the number of a line by its name, which decides colour and marker; a new name gets the next one."""
        return self.numbers.setdefault(name, len(self.numbers))


def point(ds: xr.Dataset, figure: Figure, panel: Panel) -> dict[str, Any] | None:
    """Return the coordinates at which a panel is taken: the figure's, then its own; of several the first that was run.

    None: no such point was run, and the panel is left out.
    """
    found: dict[str, Any] = {}
    for axis, wanted in (figure.options.get("at", {}) | panel.at).items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if axis in ds.coords and axis in ds.dims:
            values = [v for v in values if bool(np.any(is_at(ds[axis], v)))]
        if not values:
            return None
        found[axis] = values[0]
    return found


# --- rates -----------------------------------------------------------------------------------------------------------


def rates(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
    """Draw geometric means with intervals, fitted lines, the stated slope, the reference, the loss at the start."""
    facts, over = Facts(arms=chosen(evidence.ds, panel.arms)), figure.x
    at = point(evidence.ds, figure, panel)
    stated_slopes: dict[float, tuple[str, RateFit, str]] = {}
    references: list[_Reference] = []
    step = min(0.035, 0.14 / max(len(facts.arms) - 1, 1))  # the points of several arms at one size stand apart
    for place, arm in enumerate(facts.arms):
        name = names.of_arm[arm]
        index = names.number(name)
        colour = style.colour(index)
        stated = evidence.facts(panel.variable, over, arm)
        fitted = evidence.series(panel.variable, over, arm, at, window=stated.window)
        sizes, mean, low, high, used = along(fitted.samples, over, log=True)
        asked, known, fit = fitted.samples.sizes["replicate"], np.isfinite(mean), fitted.fit
        if not known.any():
            facts.remarks.append(("Left out, without a positive value", name))
            _entry(axes, facts, name, "no value", index, linestyle="none")
            continue
        if lost := int(np.sum(asked - used)):
            missing = "Values are missing, zero or negative"
            facts.remarks.append((missing, f"{lost} of {asked * len(sizes)} of {name}"))
        x = sizes[known] * float(np.exp(step * (place - (len(facts.arms) - 1) / 2)))
        # a single value has no interval, and gets a bar of no length
        bars = np.nan_to_num(np.array([mean - low, high - mean]))[:, known]
        axes.errorbar(x, mean[known], bars, fmt="none", ecolor=colour, elinewidth=1.0)
        axes.plot(x, mean[known], color=colour, linestyle="none", **style.marker(index))
        slope_line(axes, fit, fit.slope, color=colour, alpha=0.85, linestyle="-" if fit.trusted else "-.")
        marks = {"untrusted": not fit.trusted, "bent": bool(fit.bend)}
        marks["unsettled"] = bool(evidence.unsettled(over, arm, figure.options.get("at", {})))
        facts.parts |= {mark for mark, there in marks.items() if there}
        text = _slope(fit) + "*" * marks["bent"] + "\N{DOUBLE DAGGER}" * marks["unsettled"]
        _entry(axes, facts, name, text, index, linestyle="-")
        of_theory = ("theory", stated.predicted, colour), ("theory", stated.bound, style.INK)  # a bound is of all arms
        for part, slope, ink in (("paper", stated.printed, colour), *of_theory):
            if slope is not None:  # the first that is stated, once for arms that share it
                stated_slopes.setdefault(slope, (part, fit, ink))
                break
        if stated.start and stated.start in evidence.ds:
            start = evidence.series(stated.start, over, arm, at, window=stated.window).samples
            axes.plot(*along(start, over, log=True)[:2], color=colour, linestyle=":", linewidth=1.1)
            facts.parts.add("start")
        if stated.reference and stated.reference in evidence.ds:  # a bound, or a sandwich; once for arms that share it
            reference = evidence.series(stated.reference, over, arm, at, window=stated.window).samples
            where, level, *_ = along(reference, over, log=True)
            called = str(evidence.ds[stated.reference].attrs.get("long_name", "") or stated.reference)
            line = _Reference(called.rpartition(": ")[2], where, level, colour, [name])
            same = next((old for old in references if np.allclose(old.level, level, 1e-6, 0.0, True)), None)
            if same is not None:
                same.of.append(name)
            elif np.isfinite(level).any():
                references.append(line)
    for slope, (part, fit, colour) in stated_slopes.items():
        facts.parts.add(part)
        dashed: dict[str, Any] = {"color": colour, "linestyle": "--", "linewidth": 1.0}
        slope_line(axes, fit, slope, **dashed)
        text = minus(f"{part} {slope:g}")
        facts.entries.append(Entry(axes.plot([], [], label=text, **dashed)[0], "", text))
    for line in references:
        short, look = line.name.partition(",")[0], dict(style.REFERENCE_LINE)
        if len(references) > 1:
            short, look = f"{short}, {line.whose()}", {"color": line.colour, "linewidth": 3.0, "alpha": 0.35}
        axes.plot(line.where, line.level, zorder=1.5, **look)
        facts.references[short] = line.name, look
    for axis, log in ((axes.xaxis, figure.logx), (axes.yaxis, figure.logy)):
        axes.set(**{f"{axis.axis_name}scale": "log" if log else "linear"})
        if log:
            ticks.logarithmic(axis)
    return facts


@dataclass
class _Reference:
    """A reference line, its colour where there are several, and the names of the arms that share it."""

    name: str
    where: np.ndarray
    level: np.ndarray
    colour: str
    of: list[str]

    def whose(self) -> str:
        """Return what the names of its arms have in common, or else the first of them."""
        parts = [name.split(", ") for name in self.of]
        return ", ".join(part for part in parts[0] if all(part in other for other in parts)) or self.of[0]


def _entry(axes: Axes, facts: Facts, name: str, value: str, index: int, **look: Any) -> None:
    """Add an entry of the legend, with line and marker; its label is that of a legend which the user makes."""
    look |= {"label": mathtext(f"{name}: {value}"), "color": style.colour(index)}
    (line,) = axes.plot([], [], **style.marker(index), **look)
    facts.entries.append(Entry(line, name, value))


def _slope(fit: RateFit) -> str:
    if not np.isfinite(fit.slope):
        return "no slope"
    half = (fit.high - fit.low) / 2
    digits = 2 if not 0 < half < 0.005 else 3
    text = f"{fit.slope:z.{digits}f}" + (f" \N{PLUS-MINUS SIGN} {half:.{digits}f}" if np.isfinite(half) else "")
    text = text.replace("-", "\N{MINUS SIGN}").replace(" ", "\N{NO-BREAK SPACE}")
    return text if fit.trusted else f"({text})"


def slope_line(axes: Axes, fit: RateFit, slope: float, **look: Any) -> None:
    """Draw a slope through the centre of the fitted points, over the fit window."""
    if np.isfinite(fit.intercept) and np.isfinite(slope):
        ends, centre = np.log(fit.sizes[[0, -1]]), np.mean(np.log(fit.sizes))
        level = fit.intercept + fit.slope * centre
        axes.plot(np.exp(ends), np.exp(level + slope * (ends - centre)), marker="none", zorder=1.8, **look)


# --- lines -----------------------------------------------------------------------------------------------------------


def lines(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
    """Draw the mean over replicates with its interval over any axis, one line per arm or per hue.

    Categories are not joined: there is nothing between them. Marks and bars of several lines stand side by side, so
    that equal ones show; many points become a line with a band.

    ``options`` of the figure: ``at`` (coordinates), ``within`` (bounds of a variable's intervals, by its name),
    ``levels`` (heights by their names, by a panel's variable).
    """
    facts, options = Facts(arms=chosen(evidence.ds, panel.arms)), figure.options
    hue = () if figure.hue == "arm" else (figure.hue,)
    curves: list[tuple[str, xr.DataArray]] = []
    for arm in facts.arms:
        array = _taken(evidence, arm, figure, panel, (figure.x, *hue))
        for axis in hue:
            labels = array[axis].values.tolist() if axis in array.coords else range(array.sizes[axis])
            head = f"{names.of_arm[arm]}, " if len(facts.arms) > 1 else ""
            curves += [(f"{head}{axis} = {number(v)}", array.isel({axis: i})) for i, v in enumerate(labels)]
        curves += [] if hue else [(names.of_arm[arm], array)]
    geometric = figure.logy and all(bool((a > 0).where(np.isfinite(a), True).all()) for _, a in curves)
    facts.parts |= {"geometric"} if geometric else set()
    bounds = options.get("within", {}).get(panel.variable, (-np.inf, np.inf))
    for index, (name, array) in enumerate(curves):
        x, mean, low, high, used = along(array, figure.x, log=geometric)
        if lost := int((array.sizes.get("replicate", 1) - used)[used > 0].sum()):
            facts.remarks.append(("Values are missing", f"{lost} of {name}"))
        if figure.logx and x.dtype.kind == "f" and np.any(x <= 0):
            facts.remarks.append((f"{figure.x} = {number(x[x <= 0][0])} has no place on a logarithmic axis", ""))
            mean = np.where(x > 0, mean, np.nan)
        if np.isfinite(mean).any():
            at = beside(x, (index + 0.5) / len(curves) - 0.5, len(curves), log=figure.logx)
            means = mean, np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
            if figure.logy and np.nanmin(np.fmin(mean, means[1])) <= 0.0:
                facts.remarks.append(("The logarithmic axis cuts off what reaches 0", name))
            joined = x.dtype.kind == "f" and len(x) > 1
            drawn = {"joined": joined, "marked": not joined or len(x) <= FEW}
            line = stroke(axes, at, means, names.number(name), label=mathtext(name), **drawn)
            facts.entries.append(Entry(line, name))
    if curves:
        scales(axes, figure, curves[0][1])
    axes.set_yscale("log" if figure.logy else "linear")
    if figure.logy:
        ticks.logarithmic(axes.yaxis)
    for name, height in options.get("levels", {}).get(panel.variable, {}).items():
        axes.axhline(height, **GUIDE)
        axes.text(1.0, height, mathtext(name), transform=axes.get_yaxis_transform(), ha="right", va="bottom", **SMALL)
    return facts


def _taken(evidence: Evidence, arm: str, figure: Figure, panel: Panel, axes: tuple[str, ...]) -> xr.DataArray:
    """Return a variable at the point of its panel, over replicates and the axes that are drawn."""
    array = evidence.samples(panel.variable, arm, point(evidence.ds, figure, panel))
    array = without_lengths_of_one(array, (*axes, "replicate"))
    for axis in axes:
        if axis not in array.dims:
            raise NoAnswerError(f"The variable {panel.variable!r} has no axis {axis!r}.")
    return array


def beside(x: np.ndarray, place: float, count: int, *, log: bool) -> np.ndarray:
    """Return where the points of a line stand; ``place``, between -0.5 and 0.5, is where it is among the others."""
    if x.dtype.kind == "U" or len(x) == 1:
        return np.arange(len(x)) + APART * place
    if count == 1 or len(x) > FEW or (log and np.any(x <= 0)):
        return x
    scaled = np.log(x) if log else x
    moved = scaled + BESIDE * place * float(np.diff(scaled).min())
    return np.exp(moved) if log else moved


def stroke(axes: Axes, at: np.ndarray, means: Any, index: int, *, label: str, joined: bool, marked: bool) -> Any:
    """Draw one line (mean, low, high) with marks and bars, or else with a band, and return it."""
    mean, low, high = means
    known, colour = np.isfinite(mean), style.colour(index)
    if marked:
        bars = np.nan_to_num(np.array([mean - low, high - mean]))[:, known]
        axes.errorbar(at[known], mean[known], bars, fmt="none", ecolor=colour, elinewidth=1.0)
    else:
        whole = known & np.isfinite(low) & np.isfinite(high)
        # as the line does, the band bridges places where only other lines have values
        axes.fill_between(at[whole], low[whole], high[whole], color=colour, alpha=0.15, linewidth=0)
    look = style.marker(index) if marked else {}
    look["linestyle"] = "none" if not joined else "-" if index < len(style.COLOURS) else "--"  # colours repeat
    return axes.plot(at[known], mean[known], color=colour, label=label, **look)[0]


def scales(axes: Axes, figure: Figure, array: xr.DataArray) -> None:
    """Set up the horizontal axis for the places of an array: names, or a single number; few numbers, or a scale."""
    places = array[figure.x].values if figure.x in array.coords else np.zeros(0)
    if places.dtype.kind in "OUb" or len(places) == 1:
        names = [mathtext(number(place) if places.dtype.kind in "iuf" else place) for place in places.tolist()]
        axes.set_xticks(np.arange(len(places)), names, **(SLANTED if len("  ".join(names)) > ROOM else {}))
        axes.set_xlim(-0.4, len(places) - 0.6)
    elif figure.logx:
        axes.set_xscale("log")
        ticks.logarithmic(axes.xaxis, places)
    elif len(places) and np.array_equal(places, np.round(places.astype(float))):
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


# --- heat maps -------------------------------------------------------------------------------------------------------


def heatmap(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
    """Draw the mean of one arm over two axes, the first of y above, with numbers in the cells where there is room.

    Panels of one variable share their colour scale. ``options`` of the figure: ``at`` (coordinates), ``digits``,
    ``ylabel``, ``origin`` of y, ``vmin`` and ``vmax``. Lines of a padded variable that hold no value are left out.
    """
    arm, options = chosen(evidence.ds, panel.arms)[0], figure.options
    facts, array = Facts(arms=[arm]), _mean(evidence, arm, figure, panel)
    shown = [p for p in figure.panels if p.variable == panel.variable] or [panel]
    shown = [p for p in shown if point(evidence.ds, figure, p) is not None]
    every = [_mean(evidence, one, figure, p).values.ravel() for p in shown for one in chosen(evidence.ds, p.arms)]
    known = np.concatenate(every)
    known = known[np.isfinite(known)] if np.isfinite(known).any() else np.array([0.0, 1.0])
    scale = Normalize(float(options.get("vmin", known.min())), float(options.get("vmax", known.max())))
    mean, colours = array.values, colormaps["cividis"]
    axes.grid(False)
    axes.set_facecolor(style.GRID)  # of cells without a value
    origin: Any = options.get("origin", "upper")
    image = axes.imshow(np.ma.masked_invalid(mean), cmap=colours, norm=scale, aspect="auto", origin=origin)
    cells = [tuple(map(int, place)) for place in np.argwhere(np.isfinite(mean))] if mean.size <= CELLS else []
    texts = {place: minus(number(mean[place], int(options.get("digits", 3)))) for place in cells}
    if mean.shape[1] * (max(map(len, texts.values()), default=0) + 0.7) <= room:
        for (row, column), text in texts.items():
            dark = float(np.dot(colours(scale(mean[row, column]))[:3], [0.3, 0.59, 0.11])) < 0.5
            axes.text(column, row, text, ha="center", va="center", size=7, color=style.PAGE if dark else style.INK)
    for axis, name in ((axes.yaxis, figure.y), (axes.xaxis, figure.x)):
        labels = array[name].values if name in array.coords else np.arange(array.sizes[name])
        places = np.arange(0, len(labels), -(-len(labels) // 10))
        called = [mathtext(number(v)) for v in labels[places].tolist()]
        crowded = axis is axes.xaxis and len("  ".join(called)) > room
        axis.set_ticks(places, called, **(SLANTED if crowded else {}))
        room -= max(map(len, called), default=0)
    axes.tick_params(length=0)
    axes.set_ylabel(mathtext(options.get("ylabel", figure.y)))
    facts.bar = image, panel.ylabel or panel.variable
    if lost := int(np.sum(~np.isfinite(mean))):
        facts.remarks.append((f"{lost} of {mean.size} cells have no value (grey)", label(evidence.ds, arm)))
    return facts


def _mean(evidence: Evidence, arm: str, figure: Figure, panel: Panel) -> xr.DataArray:
    array = _taken(evidence, arm, figure, panel, (figure.x, figure.y))
    for axis in {figure.x, figure.y} - set(evidence.ds["status"].dims):  # with axes of its own it may be padded
        array = array.dropna(axis, how="all")
    return (array.mean("replicate") if "replicate" in array.dims else array).transpose(figure.y, figure.x)

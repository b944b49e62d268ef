"""A panel of lines: the mean over replicates with its interval over any axis, one line per arm or per hue.

Categories are not joined: there is nothing between them. Marks and bars of several lines stand side by side, so that
equal ones show, and many lines with many points have bars at some of them in place of bands that hide each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from moestat import rates
from moestat.claims.estimates import proportion_interval
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen, without_lengths_of_one
from moestat.report import facets, guides, style
from moestat.report.exponents import mathtext
from moestat.report.naming import Names
from moestat.report.rate_panel import Entry, Facts
from moestat.rounding import number
from moestat.runner.results import BINARY, within_range
from moestat.study.spec import Figure, Panel

FEW = 12
"""Up to so many points carry markers and bars; more become a line with a band."""
APART = 0.5
"""Width that the marks of one category take, between neighbours at a distance of 1."""
CROWD = 4
"""More lines than these have bars at a few points, and not bands."""
BARS = 6
"""Bars of a line in a crowd."""
BESIDE = 0.3
"""What is APART for a category, as a share of the smallest distance between points of an axis of numbers."""
ROOM = 48
"""Characters that fit side by side below a panel; the names of more categories are broken at hyphens."""


def draw(
    axes: Axes,
    evidence: Evidence,
    figure: Figure,
    panel: Panel,
    names: Names,
    room: int,
) -> Facts:
    """Draw one panel and return what it shows.

    ``options`` of the figure: ``at`` (coordinates), ``within`` (bounds of a variable's intervals, by its name),
    ``bottom`` (the lower end of the vertical axis), ``ends`` (a variable: where parts of the horizontal axis end),
    ``guides`` (exponents, for lines of that slope, and ``"geometric"``: beside the first line of a panel), ``marks``
    (places of the horizontal axis by their names, by a panel's title), ``levels`` (heights by their names, by a panel's
    variable), ``deviations`` (whether few points have their standard deviation too).

    Raises
    ------
    NoAnswerError
        If a variable or axis of the panel is not in the results, or is left over.
    """
    facts = Facts(arms=chosen(evidence.ds, panel.arms))
    curves = [
        (arm, value, array)
        for arm in facts.arms
        for value, array in _split(_taken(evidence, panel.variable, arm, figure, panel), figure.hue)
    ]
    geometric = figure.logy and all(bool((a > 0).where(np.isfinite(a), True).all()) for *_, a in curves)
    facts.parts |= {"geometric"} if geometric else set()
    # a heading of its own would repeat an arm that all lines share
    several = len(facts.arms) > 1
    bounds = figure.options.get("within", {}).get(panel.variable, (-np.inf, np.inf))
    drawn: dict[str, np.ndarray] = {}
    for index, (arm, value, array) in enumerate(curves):
        name = names.of_arm[arm]
        if figure.hue != "arm":
            name = ", ".join([*([name] if several else []), f"{figure.hue} = {number(value)}"])
        colour_index = names.number(name)
        x, mean, low, high, lost = _curve(array, figure.x, geometric)
        if x.dtype.kind == "U":
            facts.parts.add("categories")
        if lost:
            facts.dropped.append(f"{name}: {lost} values are missing")
        if figure.logx and x.dtype.kind != "U" and np.any(x <= 0):
            facts.dropped.append(f"{name}: {figure.x} = {number(x[x <= 0][0])} has no place on a logarithmic axis")
            mean = np.where(x > 0, mean, np.nan)
        if not np.isfinite(mean).any():
            continue
        if panel.dashed:
            _dashed(axes, evidence, figure, panel, arm, value, geometric, colour_index)
        place = (index + 0.5) / len(curves) - 0.5
        below = next((other for other, old in drawn.items() if x.dtype.kind != "U" and style.same(mean, old)), "")
        if below:
            facts.sentences.append(f"{name} and {below} coincide")
            facts.parts.add("coincide")
        drawn[name] = mean
        ends_of = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
        at, shown = _places(x, place, len(curves), log=figure.logx)
        line = _stroke(axes, x, at, shown, mean, *ends_of, colour_index, mathtext(name), over=bool(below))
        if figure.options.get("deviations") and line.get_marker() != "None" and array.sizes.get("replicate", 0) > 1:
            guides.deviations(axes, array, figure.x, at, bounds, style.colour(colour_index))
            facts.parts.add("deviations")
        plain: dict[str, Any] = {} if line.get_marker() == "None" else style.marker(colour_index)
        dashes: Any = "none" if x.dtype.kind == "U" else _dashes(colour_index)
        facts.entries.append(Entry(Line2D([], [], color=line.get_color(), linestyle=dashes, **plain), name))
        known = np.flatnonzero(np.isfinite(mean))
        first, last = known[0], known[-1]
        ends = f"from {mean[first]:.3g} at {figure.x} = {number(x[first])} to {mean[last]:.3g} at {number(x[last])}"
        facts.sentences.append(f"{name}: {ends}")
    if panel.reference:
        _reference(axes, evidence, figure, panel, facts)
    if "ends" in figure.options:
        _ends(axes, evidence, figure, panel, facts.arms[0])
    _scales(axes, figure, curves[0][2] if curves else None)
    marks, levels = (figure.options.get(key, {}) for key in ("marks", "levels"))
    guides.named(axes, marks.get(panel.title, {}), levels.get(panel.variable, {}))
    if "guides" in figure.options and curves:
        guides.draw(axes, figure.options["guides"], *_curve(curves[0][2], figure.x, geometric)[:2])
    return facts


def _taken(evidence: Evidence, variable: str, arm: str, figure: Figure, panel: Panel) -> xr.DataArray:
    array = evidence.samples(variable, arm, facets.point(evidence.ds, figure, panel))
    hue = () if figure.hue == "arm" else (figure.hue,)
    array = without_lengths_of_one(array, (figure.x, "replicate", *hue))
    for axis in (figure.x, *hue):
        if axis not in array.dims:
            raise NoAnswerError(f"The variable {variable!r} has no axis {axis!r}.")
    return array


def _split(array: xr.DataArray, hue: str) -> list[tuple[Any, xr.DataArray]]:
    if hue == "arm":
        return [(None, array)]
    labels = array[hue].values.tolist() if hue in array.coords else list(range(array.sizes[hue]))
    return [(value, array.isel({hue: i})) for i, value in enumerate(labels)]


def _curve(
    array: xr.DataArray, x: str, geometric: bool, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Return places, mean, interval, and how many values are missing at places that have some."""
    exact = "replicate" not in array.dims
    samples = (array.expand_dims(replicate=[0]) if exact else array).transpose(x, "replicate").values
    places = array[x].values if x in array.coords else np.arange(array.sizes[x])
    places = places.astype(str) if places.dtype.kind in "OUb" else places.astype(float)
    rows, lost = [], 0
    for row in samples:
        kept = row[np.isfinite(row)]
        lost += row.size - kept.size if kept.size else 0
        mean, _, low, high = (float(v) for v in rates.mean_interval(np.log(kept) if geometric else kept, level))
        if array.attrs.get(BINARY):
            low, high = proportion_interval(int(kept.sum()), kept.size, level)
        rows.append(np.exp((mean, low, high)) if geometric and not array.attrs.get(BINARY) else (mean, low, high))
    mean_, low_, high_ = np.array(rows, dtype=float).reshape(-1, 3).T
    low_, high_ = within_range(array, low_, high_)
    if places.dtype.kind == "f":
        order = np.argsort(places)
        places, mean_, low_, high_ = places[order], mean_[order], low_[order], high_[order]
    return places, mean_, low_, high_, lost


def _places(x: np.ndarray, place: float, lines: int, *, log: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return where the points of a line stand, and which of them have a bar (none: it has a band).

    ``place``: between -0.5 and 0.5, where the line stands among the others.
    """
    few = x.dtype.kind == "U" or len(x) <= FEW
    if x.dtype.kind == "U":
        return np.arange(len(x)) + APART * place, np.ones(len(x), dtype=bool)
    if not few:
        shown = np.zeros(len(x), dtype=bool)
        if lines > CROWD:
            step = len(x) / BARS
            shown[np.unique(np.minimum((step * (np.arange(BARS) + 0.5 + 0.9 * place)).astype(int), len(x) - 1))] = True
        return x, shown
    if lines == 1 or len(x) < 2 or (log and np.any(x <= 0)):
        return x, np.ones(len(x), dtype=bool)
    scaled = np.log(x) if log else x
    moved = scaled + BESIDE * place * float(np.diff(scaled).min())
    return np.exp(moved) if log else moved, np.ones(len(x), dtype=bool)


def _stroke(
    axes: Axes,
    x: np.ndarray,
    at: np.ndarray,
    shown: np.ndarray,
    mean: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    index: int,
    text: str,
    *,
    over: bool,
) -> Line2D:
    """Draw one line with its bars or band, and return it.

    ``at``, ``shown``: see :func:`_places`; ``over``: it lies on another one, which shall be seen too.
    """
    colour, look = style.colour(index), style.marker(index)
    known = np.isfinite(mean)
    named = x.dtype.kind == "U"
    linestyle: Any = "none" if named else _dashes(index)
    if over:
        linestyle, look = (0, (2.5, 2.5)), look | {"markersize": 6.5, "markerfacecolor": "none"}
    look = look if named or len(x) <= FEW else {}
    if shown.any():
        barred = known & shown
        bars = np.nan_to_num(np.array([mean - low, high - mean]))[:, barred]
        axes.errorbar(at[barred], mean[barred], bars, fmt="none", ecolor=colour, elinewidth=1.0)
    else:
        whole = known & np.isfinite(low) & np.isfinite(high)
        # as the line does, the band bridges places where only other lines have values
        axes.fill_between(at[whole], low[whole], high[whole], color=colour, alpha=0.18, linewidth=0)
    (line,) = axes.plot(at[known], mean[known], color=colour, linestyle=linestyle, label=text, **look)
    return line


def _dashes(index: int) -> str:
    """Return the look of a line: colours repeat after six."""
    return "-" if index < len(style.COLOURS) else "--"


def _dashed(
    axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, arm: str, value: Any, geometric: bool, index: int
) -> None:
    """Draw the mean of the second variable of a line."""
    curves = dict(_split(_taken(evidence, panel.dashed, arm, figure, panel), figure.hue))
    x, mean, *_ = _curve(curves[value], figure.x, geometric)
    axes.plot(x, mean, color=style.colour(index), linestyle="--")


def _ends(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, arm: str) -> None:
    """Mark where parts of the horizontal axis end: ``options.ends`` names the variable, and its axis the parts."""
    ends = evidence.samples(figure.options["ends"], arm)
    at = facets.point(evidence.ds, figure, panel) or {}
    ends = evidence.samples(str(ends.name), arm, {axis: value for axis, value in at.items() if axis in ends.dims})
    ends = ends.mean("replicate") if "replicate" in ends.dims else ends
    if ends.ndim != 1:
        raise NoAnswerError(f"The variable {ends.name!r} does not run over one axis, whose labels name the parts.")
    begin = float(axes.dataLim.x0)
    for name, end in zip(ends[ends.dims[0]].values, ends.values, strict=True):
        if end + 0.5 < axes.dataLim.x1:  # marks beside the last place reach a little beyond it
            axes.axvline(end + 0.5, color=style.REFERENCE, linestyle=":", linewidth=1.0)
        middle = (begin + min(end + 0.5, axes.dataLim.x1)) / 2
        look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 6.5, "color": style.REFERENCE}
        axes.text(middle, 0.98, str(name), transform=axes.get_xaxis_transform(), **look)
        begin = end + 0.5


def _reference(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, facts: Facts) -> None:
    """Draw the reference, once for arms that share it."""
    drawn: list[np.ndarray] = []
    variable, place = panel.reference, facets.point(evidence.ds, figure, panel)
    for arm in facts.arms:
        array = evidence.samples(variable, arm, place)
        array = without_lengths_of_one(array, (figure.x, "replicate"))
        x, mean, *_ = _curve(array, figure.x, geometric=False)
        if any(style.same(mean, old) for old in drawn):
            continue
        drawn.append(mean)
        at = np.arange(len(x), dtype=float) if x.dtype.kind == "U" else x
        axes.plot(at, mean, color=style.REFERENCE, linewidth=1.6, zorder=1.5)
    facts.parts.add("reference")
    facts.references = [str(evidence.ds[variable].attrs.get("long_name", "")) or variable]


def _scales(axes: Axes, figure: Figure, array: xr.DataArray | None) -> None:
    axes.set_yscale("log" if figure.logy else "linear")
    if "bottom" in figure.options:
        axes.set_ylim(bottom=figure.options["bottom"])
    places = array[figure.x].values if array is not None and figure.x in array.coords else np.zeros(0)
    if places.dtype.kind in "OUb":
        names = places.astype(str)
        crowded = sum(map(len, names)) + 2 * len(names) > ROOM
        shown = [mathtext(name.replace("-", "-\n") if crowded else name) for name in names]
        look: dict[str, Any] = {"fontsize": 6} if crowded else {}
        axes.set_xticks(np.arange(len(places)), shown, **look)
        axes.set_xlim(-0.4, len(places) - 0.6)
        return
    if not figure.logx:
        if len(places) and np.array_equal(places, np.round(places.astype(float))):
            long = places.max() >= 10_000  # ten labels of five digits run into one another
            axes.xaxis.set_major_locator(MaxNLocator(6 if long else 10, integer=True))
        return
    axes.set_xscale("log")
    if 0 < len(places) <= 8 and np.all(places > 0):
        axes.set_xticks(places, [number(p) for p in places.astype(float)])
        axes.set_xticks([], minor=True)

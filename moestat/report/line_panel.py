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
from moestat.report import captions, style
from moestat.report.captions import Entry, Facts, Names
from moestat.report.text import mathtext
from moestat.rounding import number
from moestat.runner.results import BINARY, within_range
from moestat.study.spec import Figure, Panel

FEW = 12
"""Up to so many points carry markers and bars; more become a line with a band."""
CROWD, BARS = 4, 6
"""More lines than the first with many points have so many bars, and no bands."""
APART, BESIDE = 0.5, 0.3
"""Width that the marks of one place take, of the distance between places: of categories, and on an axis of numbers."""
ROOM = 48
"""Characters that fit side by side below a panel; the names of more categories are broken at hyphens."""
SMALL: dict[str, Any] = {"fontsize": 6, "color": style.REFERENCE}


def draw(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
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
    facts, options = Facts(arms=chosen(evidence.ds, panel.arms)), figure.options
    curves = [
        (arm, value, array)
        for arm in facts.arms
        for value, array in _split(_taken(evidence, panel.variable, arm, figure, panel), figure.hue).items()
    ]
    geometric = figure.logy and all(bool((a > 0).where(np.isfinite(a), True).all()) for *_, a in curves)
    facts.parts |= {"geometric"} if geometric else set()
    bounds = options.get("within", {}).get(panel.variable, (-np.inf, np.inf))
    drawn: dict[str, np.ndarray] = {}
    for index, (arm, value, array) in enumerate(curves):
        name = names.of_arm[arm]
        if figure.hue != "arm":  # an arm that all lines share is not repeated
            name = ", ".join([*([name] if len(facts.arms) > 1 else []), f"{figure.hue} = {number(value)}"])
        look = names.number(name)
        x, mean, low, high, lost = curve(array, figure.x, geometric)
        named = x.dtype.kind == "U"
        if lost:
            facts.notes.append(("Incomplete", name, f"{lost} values are missing"))
        if figure.logx and not named and np.any(x <= 0):
            told = f"{figure.x} = {number(x[x <= 0][0])} has no place on a logarithmic axis"
            facts.notes.append(("Left out", name, told))
            mean = np.where(x > 0, mean, np.nan)
        if not np.isfinite(mean).any():
            continue
        if panel.dashed:
            second = _split(_taken(evidence, panel.dashed, arm, figure, panel), figure.hue)[value]
            axes.plot(*curve(second, figure.x, geometric)[:2], color=style.colour(look), linestyle="--")
        below = next((other for other, old in drawn.items() if not named and style.same(mean, old)), "")
        if below:
            facts.parts.add("coincide")
        drawn[name] = mean
        low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
        at, barred = _places(x, (index + 0.5) / len(curves) - 0.5, len(curves), log=figure.logx)
        line = _stroke(axes, x, (at, barred), (mean, low, high), look, mathtext(name), over=bool(below))
        marked = line.get_marker() != "None"
        if options.get("deviations") and marked and array.sizes.get("replicate", 0) > 1:
            spread = array.std("replicate", ddof=1).sel({figure.x: array[figure.x].values}).values[np.argsort(x)]
            ends = np.maximum(mean - spread, bounds[0]), np.minimum(mean + spread, bounds[1])
            thin: dict[str, Any] = {"ecolor": style.colour(look), "elinewidth": 0.5, "capsize": 2.5, "capthick": 0.5}
            axes.errorbar(at, mean, [mean - ends[0], ends[1] - mean], fmt="none", **thin)
            facts.parts.add("deviations")
        dashes = {"color": line.get_color(), "linestyle": "none" if named else _dashes(look)}
        facts.entries.append(Entry(Line2D([], [], **(style.marker(look) if marked else {}) | dashes), name))
    if panel.reference:
        _reference(axes, evidence, figure, panel, facts)
    if "ends" in options:
        _ends(axes, evidence, figure, panel, facts.arms[0])
    _scales(axes, figure, curves[0][2] if curves else None)
    for name, height in options.get("levels", {}).get(panel.variable, {}).items():
        axes.axhline(height, color=style.REFERENCE, linestyle=":", linewidth=1.0, zorder=1.5)
        axes.text(1.0, height, mathtext(name), transform=axes.get_yaxis_transform(), ha="right", va="bottom", **SMALL)
    _marks(axes, options.get("marks", {}).get(panel.title, {}))
    for law in options.get("guides", ()) if curves else ():
        _law(axes, law, *curve(curves[0][2], figure.x, geometric)[:2])
    return facts


def _taken(evidence: Evidence, variable: str, arm: str, figure: Figure, panel: Panel) -> xr.DataArray:
    array = evidence.samples(variable, arm, captions.point(evidence.ds, figure, panel))
    hue = () if figure.hue == "arm" else (figure.hue,)
    array = without_lengths_of_one(array, (figure.x, "replicate", *hue))
    for axis in (figure.x, *hue):
        if axis not in array.dims:
            raise NoAnswerError(f"The variable {variable!r} has no axis {axis!r}.")
    return array


def _split(array: xr.DataArray, hue: str) -> dict[Any, xr.DataArray]:
    if hue == "arm":
        return {None: array}
    labels = array[hue].values.tolist() if hue in array.coords else list(range(array.sizes[hue]))
    return {value: array.isel({hue: i}) for i, value in enumerate(labels)}


def curve(
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
    every = np.ones(len(x), dtype=bool)
    if x.dtype.kind == "U":
        return np.arange(len(x)) + APART * place, every
    if len(x) > FEW:
        barred = ~every
        if lines > CROWD:
            at = (len(x) / BARS * (np.arange(BARS) + 0.5 + 0.9 * place)).astype(int)
            barred[np.minimum(at, len(x) - 1)] = True
        return x, barred
    if lines == 1 or len(x) < 2 or (log and np.any(x <= 0)):
        return x, every
    scaled = np.log(x) if log else x
    moved = scaled + BESIDE * place * float(np.diff(scaled).min())
    return np.exp(moved) if log else moved, every


def _stroke(axes: Axes, x: np.ndarray, where: Any, means: Any, index: int, text: str, *, over: bool) -> Line2D:
    """Draw one line with its bars or band, and return it.

    ``where``: see :func:`_places`; ``means``: mean and interval; ``over``: it lies on another one, which shall be seen.
    """
    (at, barred), (mean, low, high) = where, means
    colour, look = style.colour(index), style.marker(index)
    known = np.isfinite(mean)
    named = x.dtype.kind == "U"
    linestyle: Any = "none" if named else _dashes(index)
    if over:
        linestyle, look = (0, (2.5, 2.5)), look | {"markersize": 6.5, "markerfacecolor": "none"}
    look = look if named or len(x) <= FEW else {}
    if barred.any():
        shown = known & barred
        bars = np.nan_to_num(np.array([mean - low, high - mean]))[:, shown]
        axes.errorbar(at[shown], mean[shown], bars, fmt="none", ecolor=colour, elinewidth=1.0)
    else:
        whole = known & np.isfinite(low) & np.isfinite(high)
        # as the line does, the band bridges places where only other lines have values
        axes.fill_between(at[whole], low[whole], high[whole], color=colour, alpha=0.18, linewidth=0)
    return axes.plot(at[known], mean[known], color=colour, linestyle=linestyle, label=text, **look)[0]


def _dashes(index: int) -> str:
    """Return the look of a line: colours repeat after six."""
    return "-" if index < len(style.COLOURS) else "--"


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
    elif figure.logx:
        axes.set_xscale("log")
        if 0 < len(places) <= 8 and np.all(places > 0):
            axes.set_xticks(places, [number(p) for p in places.astype(float)])
            axes.set_xticks([], minor=True)
    elif len(places) and np.array_equal(places, np.round(places.astype(float))):
        # ten labels of five digits run into one another
        axes.xaxis.set_major_locator(MaxNLocator(6 if places.max() >= 10_000 else 10, integer=True))


# --- what stands beside the lines ------------------------------------------------------------------------------------


def _reference(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, facts: Facts) -> None:
    """Draw the reference, once for arms that share it."""
    drawn: list[np.ndarray] = []
    for arm in facts.arms:
        array = evidence.samples(panel.reference, arm, captions.point(evidence.ds, figure, panel))
        x, mean, *_ = curve(without_lengths_of_one(array, (figure.x, "replicate")), figure.x, geometric=False)
        if not any(style.same(mean, old) for old in drawn):
            drawn.append(mean)
            at = np.arange(len(x), dtype=float) if x.dtype.kind == "U" else x
            axes.plot(at, mean, color=style.REFERENCE, linewidth=1.6, zorder=1.5)
    facts.references = [str(evidence.ds[panel.reference].attrs.get("long_name", "")) or panel.reference]


def _ends(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, arm: str) -> None:
    """Mark where parts of the horizontal axis end: ``options.ends`` names the variable, and its axis the parts."""
    name, at = figure.options["ends"], captions.point(evidence.ds, figure, panel) or {}
    dims = evidence.samples(name, arm).dims
    ends = evidence.samples(name, arm, {axis: value for axis, value in at.items() if axis in dims})
    ends = ends.mean("replicate") if "replicate" in ends.dims else ends
    if ends.ndim != 1:
        raise NoAnswerError(f"The variable {name!r} does not run over one axis, whose labels name the parts.")
    begin = float(axes.dataLim.x0)
    for part, end in zip(ends[ends.dims[0]].values, ends.values, strict=True):
        if end + 0.5 < axes.dataLim.x1:  # marks beside the last place reach a little beyond it
            axes.axvline(end + 0.5, color=style.REFERENCE, linestyle=":", linewidth=1.0)
        middle = (begin + min(end + 0.5, axes.dataLim.x1)) / 2
        axes.text(middle, 0.98, str(part), transform=axes.get_xaxis_transform(), ha="center", va="top", **SMALL)
        begin = end + 0.5


def _marks(axes: Axes, marks: dict[str, float]) -> None:
    """Draw dotted lines across places of the horizontal axis, with their names above the panel, where no data are."""
    low, high = sorted(axes.get_xlim())
    inside = sorted(((place, name) for name, place in marks.items() if low < place < high))
    for place, _ in inside:
        axes.axvline(place, color=style.REFERENCE, linestyle=":", linewidth=1.0, zorder=1.5)
    if inside:
        above = axes.secondary_xaxis("top")
        above.set_xticks([place for place, _ in inside], [mathtext(name) for _, name in inside], **SMALL)
        above.minorticks_off()
        above.tick_params(length=0, pad=1)
        above.spines["top"].set_visible(False)
        for label in above.get_xticklabels():
            label.set_horizontalalignment("left" if label is above.get_xticklabels()[-1] else "right")


def _law(axes: Axes, law: float | str, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a power, or a geometric decay, beside the last three decades of a line; the axes stay as they are."""
    known = np.isfinite(y) & (y > 0) & (x > 0) if x.dtype.kind == "f" else np.zeros(len(x), dtype=bool)
    if known.sum() < 3:
        return
    x, y, (low, high) = np.log(x[known]), np.log(y[known]), axes.get_ylim()
    t = np.linspace(max(x[0], x[-1] - 3 * np.log(10)), x[-1], 200)
    if law == "geometric":  # through the line at a hundredth and a tenth of its last place
        early, late = x[-1] - np.log(10) * np.array([2.0, 1.0])
        ends, name = np.interp([early, late], x, y), "geometric"
        values = ends[1] - (ends[0] - ends[1]) * (np.exp(t) - np.exp(late)) / (np.exp(late) - np.exp(early))
    else:  # above the middle of the line by a factor of two, so that both are seen
        middle, name = (t[0] + t[-1]) / 2, f"slope {number(float(law))}".replace("-", "\N{MINUS SIGN}")
        values = np.log(2.0) + np.interp(middle, x, y) + float(law) * (t - middle)
    inside = (values >= np.log(max(low, 1e-300))) & (values <= np.log(high))
    if inside.sum() >= 2 and values[-1] < values[0]:
        t, values = np.exp(t[inside]), np.exp(values[inside])
        axes.plot(t, values, "--", color=style.REFERENCE, linewidth=0.9, zorder=1.5, scalex=False, scaley=False)
        axes.text(t[-1], values[-1], f"{name} ", ha="right", va="bottom", **SMALL)

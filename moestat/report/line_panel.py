"""A panel of lines: the mean over replicates with its interval over any axis, one line per arm or per hue.

Categories are not joined: there is nothing between them. Marks and bars of several lines stand side by side, so that
equal ones show; many points become a line with a band.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen, without_lengths_of_one
from moestat.report import captions, style
from moestat.report.captions import Entry, Facts, Names
from moestat.report.means import along
from moestat.report.text import mathtext
from moestat.rounding import number
from moestat.study.spec import Figure, Panel

FEW = 12
"""Up to so many points carry markers and bars; more become a line with a band."""
APART, BESIDE = 0.5, 0.3
"""Width that the marks of one place take, of the distance between places: of categories, and on an axis of numbers."""
ROOM = 48
"""Characters that fit side by side below a panel; the names of more categories are slanted."""
SMALL: dict[str, Any] = {"fontsize": 6, "color": style.REFERENCE}
GUIDE: dict[str, Any] = {"color": style.REFERENCE, "linestyle": ":", "linewidth": 1.0, "zorder": 1.5}


def draw(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
    """Draw one panel and return what it shows.

    ``options`` of the figure: ``at`` (coordinates), ``within`` (bounds of a variable's intervals, by its name),
    ``marks`` (places of the horizontal axis by their names, by a panel's title), ``levels`` (heights by their names, by
    a panel's variable).

    Raises
    ------
    NoAnswerError
        If a variable or axis of the panel is not in the results, or is left over.
    """
    facts, options = Facts(arms=chosen(evidence.ds, panel.arms)), figure.options
    curves = [
        (arm, value, array)
        for arm in facts.arms
        for value, array in _split(_taken(evidence, arm, figure, panel), figure.hue).items()
    ]
    geometric = figure.logy and all(bool((a > 0).where(np.isfinite(a), True).all()) for *_, a in curves)
    facts.parts |= {"geometric"} if geometric else set()
    bounds = options.get("within", {}).get(panel.variable, (-np.inf, np.inf))
    for index, (arm, value, array) in enumerate(curves):
        name = names.of_arm[arm]
        if figure.hue != "arm":  # an arm that all lines share is not repeated
            name = ", ".join([*([name] if len(facts.arms) > 1 else []), f"{figure.hue} = {number(value)}"])
        x, mean, low, high, used = along(array, figure.x, log=geometric)
        if lost := int((array.sizes.get("replicate", 1) - used)[used > 0].sum()):
            facts.notes.append(("Incomplete", name, f"{lost} values are missing"))
        if figure.logx and x.dtype.kind == "f" and np.any(x <= 0):
            told = f"{figure.x} = {number(x[x <= 0][0])} has no place on a logarithmic axis"
            facts.notes.append(("Left out", name, told))
            mean = np.where(x > 0, mean, np.nan)
        if np.isfinite(mean).any():
            at = _places(x, (index + 0.5) / len(curves) - 0.5, len(curves), log=figure.logx)
            means = mean, np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
            drawn = {"joined": x.dtype.kind == "f", "marked": x.dtype.kind != "f" or len(x) <= FEW}
            line = stroke(axes, at, means, names.number(name), label=mathtext(name), **drawn)
            facts.entries.append(Entry(line, name))
    if curves:
        scales(axes, figure, curves[0][2])
    axes.set_yscale("log" if figure.logy else "linear")
    for name, height in options.get("levels", {}).get(panel.variable, {}).items():
        axes.axhline(height, **GUIDE)
        axes.text(1.0, height, mathtext(name), transform=axes.get_yaxis_transform(), ha="right", va="bottom", **SMALL)
    left, right = sorted(axes.get_xlim())
    marks = options.get("marks", {}).get(panel.title, {}).items()
    if inside := {place: mathtext(name) for name, place in marks if left < place < right}:
        above = axes.secondary_xaxis("top")
        above.set_xticks([*inside], [*inside.values()], **SMALL)
        above.minorticks_off()
        above.tick_params(length=0, pad=1)
        above.spines["top"].set_visible(False)
        for place, text in zip(inside, above.get_xticklabels(), strict=True):
            axes.axvline(place, **GUIDE)
            text.set_horizontalalignment("left" if place == max(inside) else "right")
    return facts


def _taken(evidence: Evidence, arm: str, figure: Figure, panel: Panel) -> xr.DataArray:
    array = evidence.samples(panel.variable, arm, captions.point(evidence.ds, figure, panel))
    hue = () if figure.hue == "arm" else (figure.hue,)
    array = without_lengths_of_one(array, (figure.x, "replicate", *hue))
    for axis in (figure.x, *hue):
        if axis not in array.dims:
            raise NoAnswerError(f"The variable {panel.variable!r} has no axis {axis!r}.")
    return array


def _split(array: xr.DataArray, hue: str) -> dict[Any, xr.DataArray]:
    if hue == "arm":
        return {None: array}
    labels = array[hue].values.tolist() if hue in array.coords else list(range(array.sizes[hue]))
    return {value: array.isel({hue: i}) for i, value in enumerate(labels)}


def _places(x: np.ndarray, place: float, lines: int, *, log: bool) -> np.ndarray:
    """Return where the points of a line stand; ``place``, between -0.5 and 0.5, is where it is among the others."""
    if x.dtype.kind == "U":
        return np.arange(len(x)) + APART * place
    if lines == 1 or not 2 <= len(x) <= FEW or (log and np.any(x <= 0)):
        return x
    scaled = np.log(x) if log else x
    moved = scaled + BESIDE * place * float(np.diff(scaled).min())
    return np.exp(moved) if log else moved


def stroke(axes: Axes, at: np.ndarray, means: Any, index: int, *, label: str, joined: bool, marked: bool) -> Any:
    """Draw one line (mean, low, high) with marks and bars, or else with a band, and return it."""
    mean, low, high = means
    known, colour = np.isfinite(mean), style.colour(index)
    look = style.marker(index) if marked else {}
    if look:
        bars = np.nan_to_num(np.array([mean - low, high - mean]))[:, known]
        axes.errorbar(at[known], mean[known], bars, fmt="none", ecolor=colour, elinewidth=1.0)
    else:
        whole = known & np.isfinite(low) & np.isfinite(high)
        # as the line does, the band bridges places where only other lines have values
        axes.fill_between(at[whole], low[whole], high[whole], color=colour, alpha=0.15, linewidth=0)
    look |= {
        "linestyle": "none" if not joined else "-" if index < len(style.COLOURS) else "--"
    }  # colours repeat after six
    return axes.plot(at[known], mean[known], color=colour, label=label, **look)[0]


def scales(axes: Axes, figure: Figure, array: xr.DataArray) -> None:
    """Set up the horizontal axis for the places of an array: names, few numbers, or a scale."""
    places = array[figure.x].values if figure.x in array.coords else np.zeros(0)
    if places.dtype.kind in "OUb":
        names = [mathtext(name) for name in places.astype(str)]
        crowded: dict[str, Any] = {"fontsize": 6, "rotation": 25, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(np.arange(len(places)), names, **(crowded if len("  ".join(names)) > ROOM else {}))
        axes.set_xlim(-0.4, len(places) - 0.6)
    elif figure.logx:
        axes.set_xscale("log")
        if 0 < len(places) <= 8 and np.all(places > 0):
            axes.set_xticks(places, [number(p) for p in places.astype(float)])
            axes.set_xticks([], minor=True)
    elif len(places) and np.array_equal(places, np.round(places.astype(float))):
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))

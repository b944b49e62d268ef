"""Figures of a study: panels side by side with one legend, or a function of the user's, in moestat's style."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from moestat import sentences
from moestat.claims.estimates import resolve
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen
from moestat.claims.wording import AT_SCALE
from moestat.report import panels, style
from moestat.report.panels import Facts, Names, point
from moestat.report.tables import label
from moestat.report.text import mathtext, minus
from moestat.study.spec import Figure, Panel, Study, fits

PART = re.compile(r"[,:]\s+")
PANELS = {"rates": panels.rates, "lines": panels.lines, "heatmap": panels.heatmap}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "untrusted": ("slope in brackets: not trusted", {"linestyle": "-.", "linewidth": 1.1}),
    "start": ("loss at the start", {"linestyle": ":", "linewidth": 1.1}),
}
"""Kinds of lines that are no arm's, as the legend has them."""
MEANS = {
    "rates": "Points are geometric means over replicates with 95 % t-intervals; numbers are mean slopes, ± half "
    "of theirs",
    "lines": "Points are means over replicates with 95 % intervals",
    "heatmap": "Cells have means over replicates",
}
MARKS = {
    "untrusted": "Slopes in brackets, of dash-dotted lines, are not trusted",
    "bent": "* marks a bent line, whose slope depends on the window",
    "unsettled": "\N{DOUBLE DAGGER} marks fits whose searches did not come back to their best points",
    "start": "Dotted lines are the loss at the start",
}
"""What is said of a line or a number by a mark; why, is told in the table of rates."""
TALL = 32
"""Characters beside a panel."""
PER_INCH, MOST = 17, 6
"""Characters of the legend's size on an inch; its entries, unless more lines have names: the caption tells the rest."""


class FigureError(ValueError):
    """A figure cannot be drawn from these results; the message says why."""


def draw_evidence(
    evidence: Evidence, figure: Figure, numbers: dict[str, int] | None = None
) -> tuple[Canvas, list[Facts]]:
    """Draw one figure of a run; figures that share ``numbers``, of all lines by their names, share colours."""
    with style.look():
        try:
            if figure.kind == "function":
                return _function(evidence, figure), []
            return _panels(evidence, figure, {} if numbers is None else numbers)
        except ValueError as error:  # the results have no such number, or a note is none that can be filled
            raise FigureError(str(error)) from None


def panels_of(ds: xr.Dataset, study: Study, figure: Figure) -> list[Panel]:
    """Return the panels of a figure; without any in the study, one for each rate or each summary variable.

    A heat map shows one arm, so a panel of several arms becomes several panels. A panel at a point that was not run is
    left out.
    """
    found = list(figure.panels)
    if not found:
        named = [(rate.loss, rate.arms) for rate in study.rates if rate.over == figure.x]
        named = named if figure.kind == "rates" else [(name, ["*"]) for name in study.summaries]
        found = [
            Panel.model_validate({"title": name, "variable": name, "ylabel": name, "arms": arms})
            for name, arms in named
        ]
    if figure.kind == "heatmap":
        found = [one for panel in found for one in _by_arm(ds, panel)]
    return [p for p in found if chosen(ds, p.arms) and point(ds, figure, p) is not None]


def _by_arm(ds: xr.Dataset, panel: Panel) -> list[Panel]:
    arms = chosen(ds, panel.arms)
    if len(arms) == 1:
        return [panel]
    titles = [": ".join(filter(None, (panel.title, label(ds, arm)))) for arm in arms]
    return [panel.model_copy(update={"arms": [arm], "title": t}) for arm, t in zip(arms, titles, strict=True)]


def shown(evidence: Evidence, figure: Figure) -> bool:
    """Return whether a figure is of the preset, which runs an arm and a point of it; else nothing is to be drawn."""
    if not fits(evidence.preset, figure.presets):
        return False
    return figure.kind == "function" or not figure.panels or bool(panels_of(evidence.ds, evidence.study, figure))


def _panels(evidence: Evidence, figure: Figure, numbers: dict[str, int]) -> tuple[Canvas, list[Facts]]:
    found = panels_of(evidence.ds, evidence.study, figure)
    if not found:
        raise FigureError("None of its arms is part of this run, or none of its points.")
    rows = math.ceil(len(found) / figure.columns)
    columns = math.ceil(len(found) / rows)
    width = style.ONE_COLUMN if len(found) == 1 else style.TWO_COLUMNS
    canvas = style.new_figure(width, rows * (2.1 if columns > 2 else 2.4))
    grid = list(canvas.subplots(rows, columns, squeeze=False).flat)
    facts: list[Facts] = []
    for axes, panel, names in zip(grid, found, names_of(evidence.ds, found, numbers), strict=False):
        letter = f"({chr(97 + len(facts))}) " if len(found) > 1 else ""
        facts.append(draw_panel(axes, evidence, figure, panel, names, width / columns, letter))
    for axes in grid[len(found) :]:
        axes.remove()
    used = grid[: len(found)]
    if figure.kind == "heatmap":
        _bars(canvas, used, facts)
    elif figure.options.get("share_y", True):
        _share(used, found)
    said = [axes.get_ylabel() for axes in used]
    for number, axes in enumerate(used):  # the panel below, and the one to the left, say it already
        if number + columns < len(used):
            axes.set_xlabel("")
        if number % columns and said[number] == said[number - 1]:
            axes.set_ylabel("")
    below = max(_values(axes, fact, width / columns) for axes, fact in zip(used, facts, strict=True)) * rows
    canvas.set_figheight(canvas.get_figheight() + 0.15 * below + _legend(canvas, facts, width))
    return canvas, facts


def draw_panel(
    axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, inches: float, letter: str = ""
) -> Facts:
    """Draw one panel with its title and the names of its axes."""
    room = int(20 * (inches - 0.5))
    fact = PANELS[figure.kind](axes, evidence, figure, panel, names, room)
    of_arm = label(evidence.ds, fact.arms[0]) if letter and len(fact.arms) == 1 else ""
    title, lines = wrapped(letter + (panel.title or of_arm), int(0.7 * room)), 0
    if panel.note:
        at = point(evidence.ds, figure, panel) or {}
        told = wrapped(note(evidence, panel, fact.arms[0], at), int(0.95 * room))
        look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
        axes.annotate(told, (0, 1), (0, 4), fontsize=style.RC["legend.fontsize"], **look)
        lines = 1 + told.count("\n")
    axes.set_title(title, loc="left", pad=6 + 9 * lines)
    axes.set_xlabel(mathtext(figure.xlabel or figure.x))
    if figure.kind != "heatmap":
        axes.set_ylabel(wrapped(panel.ylabel or panel.variable, TALL))
    return fact


def names_of(ds: xr.Dataset, panels: Sequence[Panel], numbers: dict[str, int]) -> list[Names]:
    """Return the names of the lines of each panel; one name has one of the ``numbers``, and so one colour, in all.

    What a panel's title says already is left out: "sparse, ReLU" above "ReLU, N* + 1" leaves "N* + 1", which then is
    one method in all panels.
    """
    found = []
    for panel in panels:
        arms = chosen(ds, panel.arms)
        labels = [label(ds, arm) for arm in arms]
        said = set(PART.split(panel.title)) if len(panels) > 1 else set()
        short = [", ".join(part for part in PART.split(text) if part not in said) for text in labels]
        alike = [f"{text} ({arm})" if labels.count(text) > 1 else text for text, arm in zip(labels, arms, strict=True)]
        names = next(names for names in (short, labels, alike) if all(names) and len(set(names)) == len(names))
        found.append(Names(dict(zip(arms, names, strict=True)), numbers))
    return found


def wrapped(text: str, width: int) -> str:
    """Break a text into lines for matplotlib."""
    return mathtext("\n".join(textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)))


def note(evidence: Evidence, panel: Panel, arm: str, at: Mapping[str, Any]) -> str:
    """Return the note of a panel, with coordinates of its point and means of variables there in their places."""
    values = dict(at)
    for _, name, *_ in Formatter().parse(panel.note):
        if name and name not in values:
            array = evidence.samples(name, arm)
            here = {axis: at[axis] for axis in at if axis in array.dims}
            values[name] = float(evidence.samples(name, arm, here).mean())
    return minus(panel.note.format_map(values))


def _values(axes: Axes, fact: Facts, inches: float) -> int:
    """Put the slopes of one of several panels below it, beside their marks; return how many lines that takes."""
    entries = [entry for entry in fact.entries if entry.value]
    figure = axes.get_figure(root=True)
    if not entries or figure is None or len(figure.axes) == 1:
        return 0
    columns = max(1, min(3, len(entries), int(inches * PER_INCH / (max(len(e.value) for e in entries) + 5))))
    points = 30 if axes.get_xlabel() else 17  # of the numbers and the name of the axis, whatever the panel's height
    moved = axes.transAxes + ScaledTranslation(0, -points / 72, figure.dpi_scale_trans)
    look: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.1, 0), "bbox_transform": moved}
    look |= {"ncols": columns, "handlelength": 1.4, "handletextpad": 0.4, "columnspacing": 1.0, "borderpad": 0.0}
    legend = axes.legend([e.handle for e in entries], [mathtext(e.value) for e in entries], **look)
    for line, entry in zip(legend.get_lines(), entries, strict=True):
        if entry.name:
            line.set_linestyle("none")
    return math.ceil(len(entries) / columns)


def _legend(canvas: Canvas, facts: Sequence[Facts], width: float) -> float:
    """Put the one legend below all panels: lines by their names, then kinds of lines; return its height in inches."""
    alone = len(facts) == 1
    every = [entry for fact in facts for entry in fact.entries if entry.name or alone]
    key: dict[str, tuple[Any, str]] = {}
    for e in every:
        told = ": ".join(filter(None, (e.name, e.value)))
        key.setdefault(e.name or e.value, (e.handle, told if alone else e.name))
    if len(key) == 1 and not alone and not any(entry.value for entry in every):
        key = {}  # one method throughout: the caption says which
    others = {name: (Line2D([], [], **look), name) for fact in facts for name, (_, look) in fact.references.items()}
    for part, (text, look) in KINDS.items():
        if any(part in fact.parts for fact in facts):
            others[part] = (Line2D([], [], color=style.INK, **look), text)
    key |= dict(list(others.items())[: max(MOST - len(key), 0)])
    if not key:
        return 0.0
    texts = [wrapped(text, int(PER_INCH * width) - 4) for _, text in key.values()]
    longest = max(len(line) for text in texts for line in text.split("\n"))
    columns = max(1, min(4, len(texts), int(PER_INCH * width / (longest + 6))))
    legend = canvas.legend([handle for handle, _ in key.values()], texts, loc="outside lower center", ncols=columns)
    return float(legend.get_window_extent().height / canvas.dpi)


def _bars(canvas: Canvas, axes: Sequence[Axes], facts: Sequence[Facts]) -> None:
    """Say what the colours mean: once where all maps are of one variable."""
    bars = [fact.bar for fact in facts if fact.bar is not None]
    one = len({text for _, text in bars}) == 1
    for (image, text), place in zip(bars, [list(axes)] if one else [[a] for a in axes], strict=False):
        drawn = canvas.colorbar(image, ax=place, pad=0.02, aspect=25, label=mathtext(text))
        drawn.outline.set_visible(False)


def _share(axes: Sequence[Axes], found: Sequence[Panel]) -> None:
    """Give panels of one variable one vertical axis, so that they can be compared by eye."""
    for variable in {panel.variable for panel in found}:
        members = [a for a, panel in zip(axes, found, strict=True) if panel.variable == variable]
        lows, highs = zip(*(one.get_ylim() for one in members), strict=True)
        for one in members:
            one.set_ylim(min(lows), max(highs))


def _function(evidence: Evidence, figure: Figure) -> Canvas:
    """Call a function with dataset and figure, and with the fitted series if it takes them as ``evidence``."""
    function = resolve(figure.function)
    try:
        fitted = {"evidence": evidence} if "evidence" in inspect.signature(function).parameters else {}
        canvas = function(evidence.ds, figure, **figure.options, **fitted)
    except NoAnswerError:  # a sentence of its own
        raise
    except Exception as error:  # a user's function: told in the report, the run is kept
        raise FigureError(f"{figure.function} raised {type(error).__name__}: {error}") from error
    if not isinstance(canvas, Canvas):
        raise FigureError(f"{figure.function} returned a {type(canvas).__name__}; it must return a matplotlib Figure.")
    return canvas


# --- captions --------------------------------------------------------------------------------------------------------


def origin(evidence: Evidence) -> str:
    """Return what a figure is of, in few words: study, preset, version."""
    attrs = evidence.ds.attrs
    version = f"moestat {attrs['moestat_version']}" if attrs.get("moestat_version") else ""
    return ", ".join(filter(None, (str(attrs.get("study", "")), f"preset {evidence.preset}", version)))


def caption(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> str:
    """Return the caption of a figure: the author's, what marks mean, what is left out, on how many runs it rests."""
    shown = set().union(*(fact.parts for fact in facts))
    said = [figure.title.rstrip("."), figure.caption.rstrip(".")]
    if "95 %" not in figure.caption:  # else the author has said it
        means = MEANS.get(figure.kind, "")
        said.append(means.replace("means", "geometric means", 1) if "geometric" in shown else means)
    scale = evidence.study.scale_of(evidence.preset)
    own = f" for its own problem (this run is{AT_SCALE[scale]})" if scale != "paper" else ""
    stated = {"paper": f"the slope printed in the paper{own}", "theory": "the slope of the theory"}
    if "dashed" not in figure.caption.lower() and (told := [text for part, text in stated.items() if part in shown]):
        said.append(f"Dashed lines have {' or '.join(told)}")
    if lines := dict.fromkeys(name for fact in facts for name, _ in fact.references.values()):
        broad = any(len(fact.references) > 1 for fact in facts)
        said.append(f"{'Broad' if broad else 'Grey'} lines: {'; '.join(lines)}")
    said += [text for mark, text in MARKS.items() if mark in shown]
    left: dict[str, list[str]] = {}
    for number, fact in enumerate(facts):
        for reason, name in fact.remarks:
            of = [f"({chr(97 + number)}) {name}" if len(facts) > 1 else name] if name else []
            left.setdefault(reason, []).extend(of)
    said += [f"{reason}: {'; '.join(names)}" if names else reason for reason, names in left.items()]
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms)) or chosen(evidence.ds, ["*"])
    counts, number = evidence.count((arm, {}) for arm in arms), evidence.ds.sizes["replicate"]
    said.append(f"{counts.replicates} runs ({sentences.counted(number, 'replicate')} per point): {counts}")
    return ". ".join(filter(None, [*said, origin(evidence)])) + "."

"""Figures of a study: panels side by side with one legend, or a function of the user's, in moestat's style."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from moestat.claims.estimates import resolve
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen
from moestat.report import captions, panels, style
from moestat.report.captions import Facts, Names, wrapped
from moestat.report.tables import label
from moestat.report.text import mathtext
from moestat.study.patterns import fits
from moestat.study.spec import Figure, Panel, Study

PANELS = {"rates": panels.rates, "lines": panels.lines, "heatmap": panels.heatmap}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "untrusted": ("slope in brackets: not trusted", {"linestyle": "-.", "linewidth": 1.1}),
    "predicted": ("slope printed in the paper", {"linestyle": "--", "linewidth": 1.0}),
    "start": ("loss at the start", {"linestyle": ":", "linewidth": 1.1}),
}
"""Kinds of lines that are no arm's, as the legend has them."""
PER_INCH = 17
"""Characters of the legend's size on an inch."""


class FigureError(ValueError):
    """A figure cannot be drawn from these results; the message says why."""


def draw_evidence(evidence: Evidence, figure: Figure) -> tuple[Canvas, list[Facts]]:
    """Draw one figure of a run."""
    with style.look():
        try:
            return (_function(evidence, figure), []) if figure.kind == "function" else _panels(evidence, figure)
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
        found = [Panel(title=name, variable=name, ylabel=name, arms=arms) for name, arms in named]
    if figure.kind == "heatmap":
        found = [one for panel in found for one in _by_arm(ds, panel)]
    return [p for p in found if chosen(ds, p.arms) and captions.point(ds, figure, p) is not None]


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


def _panels(evidence: Evidence, figure: Figure) -> tuple[Canvas, list[Facts]]:
    found = panels_of(evidence.ds, evidence.study, figure)
    if not found:
        raise FigureError("None of its arms is part of this run, or none of its points.")
    rows = math.ceil(len(found) / figure.columns)
    columns = math.ceil(len(found) / rows)
    width = style.ONE_COLUMN if len(found) == 1 else style.TWO_COLUMNS
    canvas = style.new_figure(width, rows * (2.2 if columns > 2 else 2.5))
    grid = list(canvas.subplots(rows, columns, squeeze=False).flat)
    facts: list[Facts] = []
    for axes, panel, names in zip(grid, found, captions.names_of(evidence.ds, found), strict=False):
        letter = f"({chr(97 + len(facts))}) " if len(found) > 1 else ""
        facts.append(draw_panel(axes, evidence, figure, panel, names, width / columns, letter))
    for axes in grid[len(found) :]:
        axes.remove()
    used = grid[: len(found)]
    if figure.kind == "heatmap":
        _bars(canvas, used, facts)
    elif figure.options.get("share_y", True):
        _share(used, found)
    below = max(_values(axes, fact, width / columns) for axes, fact in zip(used, facts, strict=True)) * rows
    canvas.set_figheight(canvas.get_figheight() + 0.15 * below + _legend(canvas, facts, width))
    return canvas, facts


def draw_panel(
    axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, inches: float, letter: str = ""
) -> Facts:
    """Draw one panel with its title and the names of its axes."""
    room = int(20 * (inches - 0.5))
    fact = PANELS[figure.kind](axes, evidence, figure, panel, names, room)
    title = wrapped(letter + panel.title, int(0.62 * room))
    if panel.note:
        at = captions.point(evidence.ds, figure, panel) or {}
        title += "\n" + wrapped(captions.note(evidence, panel, fact.arms[0], at), int(0.85 * room))
    axes.set_title(title, loc="left")
    axes.set_xlabel(mathtext(figure.xlabel or figure.x))
    if figure.kind != "heatmap":
        axes.set_ylabel(mathtext(panel.ylabel or panel.variable))
    return fact


def _values(axes: Axes, fact: Facts, inches: float) -> int:
    """Put the slopes of one of several panels below it, beside their marks; return how many lines that takes."""
    entries = [entry for entry in fact.entries if entry.value]
    figure = axes.get_figure()
    if not entries or figure is None or len(figure.axes) == 1:
        return 0
    columns = max(1, min(3, len(entries), int(inches * PER_INCH / (max(len(e.value) for e in entries) + 4))))
    look: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.1, -0.24), "ncols": columns}
    look |= {"handlelength": 0.8, "handletextpad": 0.4, "columnspacing": 1.0, "borderpad": 0.0}
    legend = axes.legend([e.handle for e in entries], [mathtext(e.value) for e in entries], **look)
    for line in legend.get_lines():
        line.set_linestyle("none")
    return math.ceil(len(entries) / columns)


def _legend(canvas: Canvas, facts: Sequence[Facts], width: float) -> float:
    """Put the one legend below all panels: lines by their names, then kinds of lines; return its height in inches."""
    alone = len(facts) == 1
    every = [entry for fact in facts for entry in fact.entries]
    key: dict[str, tuple[Any, str]] = {}
    for e in every:
        key.setdefault(e.name, (e.handle, f"{e.name}: {e.value}" if alone and e.value else e.name))
    if len(key) == 1 and not alone and not any(entry.value for entry in every):
        key = {}  # one method throughout: the caption says which
    for name in (name for fact in facts for name in fact.references):
        key[name] = (Line2D([], [], **style.REFERENCE_LINE), name)
    for part, (text, look) in KINDS.items():
        if any(part in fact.parts for fact in facts):
            key[part] = (Line2D([], [], color=style.INK, **look), text)
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

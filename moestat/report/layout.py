"""What stands around the panels of a figure: the legend, bars of colours, and the small print."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from moestat.claims.evidence import Evidence
from moestat.report import captions, rate_panel, style
from moestat.report.exponents import mathtext
from moestat.report.rate_panel import Facts
from moestat.study.spec import Figure, Panel

PER_INCH = 17
"""Characters of the legend's size on an inch."""


def slopes(panels: Sequence[Axes], facts: Sequence[Facts], inches: float) -> None:
    """Put what the lines come to below each of several panels, beside their marks; their names are in the legend."""
    for axes, fact in zip(panels, facts, strict=True):
        texts = [entry.value for entry in fact.entries]
        # names of categories may take two lines, which push the axis label down
        extra = max((text.get_text().count("\n") for text in axes.get_xticklabels()), default=0)
        fact.lines = extra
        if not any(texts) or len(facts) == 1:
            continue
        columns = next((c for c in (3, 2) if c <= len(texts) and _width(texts, c) < inches), 1)
        rows = -(-len(texts) // columns)
        fact.lines += rows
        figure = axes.get_figure()
        assert figure is not None
        below = axes.transAxes + ScaledTranslation(-0.3, -0.42 - 0.11 * extra, figure.dpi_scale_trans)
        axes.legend(
            [_mark(entry.handle) for entry in fact.entries],
            [mathtext(text) for text in texts],
            loc="upper left",
            bbox_to_anchor=(0.0, 0.0),
            bbox_transform=below,
            borderpad=0.0,
            handlelength=0.8,
            handletextpad=0.4,
            columnspacing=1.0,
            ncols=columns,
        )


def _width(texts: Sequence[str], columns: int) -> float:
    """Return how many inches texts take in some columns, filled one after the other, with a mark before each."""
    return sum(max(map(len, part)) / PER_INCH + 0.22 for part in np.array_split(np.array(texts, object), columns))


def _mark(handle: Line2D) -> Line2D:
    """Return the mark of a line alone."""
    look = {name: getattr(handle, f"get_{name}")() for name in ("marker", "color", "markerfacecolor")}
    return Line2D([], [], linestyle="none", **look)


def bars(canvas: Canvas, grid: np.ndarray, panels: Sequence[Panel], facts: Sequence[Facts]) -> None:
    """Say what the colours mean: once for a row of maps of one variable."""
    columns = grid.shape[1]
    for first in range(0, len(panels), columns):
        row = list(range(first, min(first + columns, len(panels))))
        one = len({panels[number].variable for number in row}) == 1
        for members in [row] if one else [[number] for number in row]:
            bar = facts[members[0]].bar
            assert bar is not None
            drawn = canvas.colorbar(bar[0], ax=[grid.flat[number] for number in members], pad=0.02, aspect=25)
            drawn.set_label(mathtext(bar[1]))
            drawn.outline.set_visible(False)


def frame(canvas: Canvas, evidence: Evidence, figure: Figure, facts: list[Facts], rows: int, columns: int) -> None:
    """Give the panels their height, and put the one legend and, where it is asked for, the footer below them."""
    width = canvas.get_figwidth()
    heights = []
    for row in range(rows):
        lines = max(fact.lines for fact in facts[row * columns : (row + 1) * columns])
        heights.append((2.5 if columns < 3 else 2.2) + 0.15 * lines)
    said = captions.footer(evidence, facts) if figure.options.get("footer", False) else []
    footer = [line for text in said for line in textwrap.wrap(text, int(width * 23))]
    key, in_row = _key(facts, width)
    foot = bottom = 0.115 * len(footer) + 0.02
    if key:
        legend = canvas.legend(handles=key, loc="lower center", ncols=in_row)
        bottom += legend.get_window_extent().height / canvas.dpi + 0.08
    height = sum(heights) + bottom
    canvas.set_figheight(height)
    engine = canvas.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0, bottom / height, 1, 1 - bottom / height))  # type: ignore[call-arg]
    if key:
        legend.set_bbox_to_anchor((0.5, foot / height))
    if footer:
        look: dict[str, Any] = {"ha": "left", "va": "bottom", "size": 6, "color": style.REFERENCE, "linespacing": 1.25}
        canvas.text(0.01, 0.04 / height, mathtext("\n".join(footer)), **look)


def _key(facts: Sequence[Facts], width: float) -> tuple[list[Any], int]:
    """Return the legend, the lines by their names, then what the kinds of lines mean, and how many stand in a row."""
    alone = len(facts) == 1
    texts: dict[str, tuple[Any, str]] = {}
    for fact in facts:
        for entry in fact.entries:
            value = f": {entry.value}" if alone and entry.value else ""
            texts.setdefault(entry.name, (entry.handle, entry.name + value))
    if len(texts) == 1 and not alone and not any(e.value for fact in facts for e in fact.entries):
        texts = {}  # one method throughout: the caption says which
    parts = set().union(*(f.parts for f in facts)) if facts else set()
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "untrusted": ("slope in brackets: not trusted", {"color": style.INK, "linestyle": "-.", "linewidth": 1.1}),
        "predicted": ("slope printed in the paper", {"color": style.INK, "linestyle": "--", "linewidth": 1.0}),
        "band": ("near-minimisers", {"color": style.INK, "alpha": 0.2, "linewidth": 6.0}),
        "start": ("loss at the start", {"color": style.INK, "linestyle": ":", "linewidth": 1.1}),
    }
    looks = [(style.reference(name), name) for name in captions.references(facts)]
    looks += [(look, text) for part, (text, look) in kinds.items() if part in parts]
    entries = [*texts.values(), *((Line2D([], [], **look), text) for look, text in looks)]
    if not entries:
        return [], 1
    room = int(PER_INCH * width) - 4
    longest = min(room, max(len(text) for _, text in entries))
    columns = max(1, min(4, len(entries), (room + 4) // (longest + 6)))
    columns = math.ceil(len(entries) / math.ceil(len(entries) / columns))
    key = []
    for handle, text in entries:
        line = Line2D([], [])
        line.update_from(handle)
        line.set_label(rate_panel.wrapped(text, room))
        key.append(line)
    return key, columns


def share(axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Give panels of one variable one vertical axis, so that they can be compared by eye."""
    for variable in {panel.variable for panel in panels}:
        members = [a for a, panel in zip(axes, panels, strict=True) if panel.variable == variable]
        low, high = (f(a.get_ylim()[i] for a in members) for i, f in ((0, min), (1, max)))
        for one in members:
            one.set_ylim(low, high)

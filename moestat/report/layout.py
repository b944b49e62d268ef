"""What stands around the panels of a figure: legends, bars of colours, the title, the key and the small print."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from moestat.claims.counts import chosen
from moestat.claims.evidence import Evidence
from moestat.report import captions, rate_panel, style
from moestat.report.rate_panel import Facts
from moestat.report.tables import label
from moestat.report.typography import mathtext
from moestat.study.spec import Figure, Panel


def legends(panels: Sequence[Axes], figure: Figure, facts: Sequence[Facts], room: int) -> None:
    """Put a legend below each panel; below the figure, where all panels of several points have the same lines."""
    same = figure.kind == "lines" and len(facts) > 2 and all(fact.legend == facts[0].legend for fact in facts)
    if same and facts[0].legend:
        facts[0].key = list(zip(*panels[0].get_legend_handles_labels(), strict=True))
        return
    for axes, fact in zip(panels, facts, strict=True):
        rate_panel.legend(axes, fact, room)


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


def frame(
    canvas: Canvas,
    evidence: Evidence,
    figure: Figure,
    facts: list[Facts],
    rows: int,
    columns: int,
) -> None:
    """Give the panels their height, and put title, key and footer around them."""
    width = canvas.get_figwidth()
    heights = []
    for row in range(rows):
        lines = max(fact.lines for fact in facts[row * columns : (row + 1) * columns])
        heights.append((2.5 if columns < 3 else 2.2) + 0.15 * lines)
    characters = int(width * 23)
    title = textwrap.wrap(figure.title, int(width * 12)) if figure.title else []
    said = captions.footer(evidence, facts) if figure.options.get("footer", True) else []
    footer = [line for text in said for line in textwrap.wrap(text, characters)]
    key = _key(facts)
    top = 0.17 * len(title) + (0.08 if title else 0.0)
    foot = 0.115 * len(footer) + 0.06
    key_rows = math.ceil(len(key) / (2 if width < 5 else 4))
    bottom = foot + 0.17 * key_rows
    height = top + sum(heights) + bottom
    canvas.set_figheight(height)
    engine = canvas.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0, bottom / height, 1, 1 - (top + bottom) / height))  # type: ignore[call-arg]
    if title:
        canvas.text(0.5, 1 - 0.06 / height, mathtext("\n".join(title)), ha="center", va="top", weight="bold", size=9.5)
    if key:
        canvas.legend(
            handles=key, loc="lower center", bbox_to_anchor=(0.5, foot / height), ncols=math.ceil(len(key) / key_rows)
        )
    canvas.text(
        0.01,
        0.04 / height,
        mathtext("\n".join(footer)),
        ha="left",
        va="bottom",
        size=6,
        color=style.REFERENCE,
        linespacing=1.25,
    )


def _key(facts: Sequence[Facts]) -> list[Any]:
    """Return what the kinds of lines mean, for those that are drawn, and the lines that all panels share."""
    parts = set().union(*(f.parts for f in facts)) if facts else set()
    known: dict[str, tuple[str, dict[str, Any]]] = {
        "untrusted": ("slope that is not trusted", {"color": style.INK, "linestyle": "-.", "linewidth": 1.1}),
        "predicted": ("slope printed in the paper", {"color": style.INK, "linestyle": "--", "linewidth": 1.0}),
        "band": ("near-minimisers", {"color": style.INK, "alpha": 0.2, "linewidth": 6.0}),
        "start": ("loss at the start", {"color": style.INK, "linestyle": ":", "linewidth": 1.1}),
    }
    shared = [handle for fact in facts for handle, _ in fact.key]
    kinds = [style.reference(name) | {"label": mathtext(name)} for name in captions.references(facts)]
    kinds += [look | {"label": mathtext(text)} for part, (text, look) in known.items() if part in parts]
    return shared + [Line2D([], [], **look) for look in kinds]


def colours(ds: xr.Dataset, panels: Sequence[Panel]) -> dict[str, int]:
    """Number the labels of a figure, so that a label has one colour in all panels.

    Labels that keep their place in every panel take the number of the place, so that panels of other arms in the same
    roles look alike.
    """
    rows = [[label(ds, arm) for arm in chosen(ds, panel.arms)] for panel in panels]
    places: dict[str, set[int]] = {}
    for row in rows:
        for place, text in enumerate(row):
            places.setdefault(text, set()).add(place)
    if all(len(columns) == 1 for columns in places.values()):
        return {text: min(columns) for text, columns in places.items()}
    return {text: number for number, text in enumerate(places)}


def share(axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Give panels of one variable one vertical axis, so that they can be compared by eye."""
    for variable in {panel.variable for panel in panels}:
        members = [a for a, panel in zip(axes, panels, strict=True) if panel.variable == variable]
        low, high = (f(a.get_ylim()[i] for a in members) for i, f in ((0, min), (1, max)))
        for one in members:
            one.set_ylim(low, high)

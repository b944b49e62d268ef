"""Figures that are written in several formats: what is the same in all of them is found once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.axis import Axis
from matplotlib.figure import Figure

LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB", "kern")
"""Tables of a font that place and exchange glyphs. In a PDF the glyphs are chosen and placed already."""


def settle(figure: Figure) -> None:
    """Lay a figure out, and keep titles and axis labels where they come to stand.

    Matplotlib looks for their places again, by the extents of all tick labels, whenever the figure is drawn.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    for axes in figure.axes:
        axes.get_tightbbox()  # puts titles and labels in their places
        for one in (axes, *axes.child_axes):
            one._autotitlepos = False  # type: ignore[attr-defined]  # without a public name for a place as it is
            for axis in (one.xaxis, one.yaxis):
                label = axis.label
                if label.get_text():
                    there = label.get_transform().transform(label.get_position())
                    axis.set_label_coords(*one.transAxes.inverted().transform(there))


@contextmanager
def ticks_once() -> Iterator[None]:
    """Place the ticks of an axis anew only when its limits or its size have changed: it is asked for them ten times."""
    place: Any = getattr(Axis, "_update_ticks", None)
    if place is None:  # a matplotlib that does it otherwise
        yield
        return
    known: dict[Axis, tuple[Any, Any]] = {}

    def kept(axis: Axis) -> Any:
        figure = axis.get_figure(root=True)
        size = figure.get_size_inches().tolist() if figure else None
        now = (size, *(axis.axes.get_position(given).bounds for given in (False, True)), *axis.get_view_interval())
        if axis not in known or known[axis][0] != now:
            known[axis] = (now, place(axis))
        return known[axis][1]

    with _replaced(Axis, "_update_ticks", kept):
        yield


@contextmanager
def plain_fonts() -> Iterator[None]:
    """Embed fonts in a PDF without their tables of layout, which fontTools takes longer to cut than all the rest."""
    from fontTools.subset import Options  # a slow import, needed here alone

    usual = getattr(Options, "_drop_tables_default", None)
    if usual is None:
        yield
        return
    with _replaced(Options, "_drop_tables_default", [*usual, *LAYOUT_TABLES]):
        yield


@contextmanager
def _replaced(owner: type, name: str, value: Any) -> Iterator[None]:
    usual = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, usual)

"""Figures that are written in several formats: what is the same in all of them is found once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
def plain_fonts() -> Iterator[None]:
    """Embed fonts in a PDF without their tables of layout, which fontTools takes longer to cut than all the rest."""
    from fontTools.subset import Options

    kept = getattr(Options, "_drop_tables_default", None)
    if kept is None:
        yield
        return
    Options._drop_tables_default = [*kept, *LAYOUT_TABLES]
    try:
        yield
    finally:
        Options._drop_tables_default = kept

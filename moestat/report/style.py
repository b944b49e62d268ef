"""The one look of all figures: sizes of a journal's columns, a palette that the colour-blind can tell apart, files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

ONE_COLUMN, TWO_COLUMNS = 3.5, 7.2
"""Widths in inches of a single column of a journal (89 mm), and of its page (183 mm)."""
INK, PAGE, GRID, REFERENCE = "#1f2328", "#ffffff", "#d9dce0", "#767676"
"""Colours of text and axes, of the page, of the grid, and of reference lines, e.g. the Fisher line."""
REFERENCE_LINE: Mapping[str, Any] = {"color": REFERENCE, "linewidth": 1.6}
COLOURS = ("#0084dc", "#e0620a", "#006b54", "#cd7aa8", "#6b4a00", "#562693")
"""One colour per line: contrast of at least 3 on white, and told apart (CIE 1976 distance of at least 20) with each of
the three kinds of colour blindness."""
MARKERS = ("o", "s", "^", "D", "v", "P")
RC: Mapping[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.titleweight": "bold",
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.0,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "legend.labelspacing": 0.35,
    "axes.facecolor": "none",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "mathtext.default": "regular",
    "pdf.fonttype": 42,
}
"""Settings of matplotlib; nothing outside :func:`look` is touched."""
DPI, SCREEN = 300, 120
"""Dots per inch of files, and in a notebook."""


@contextmanager
def look() -> Iterator[None]:
    """Draw and save in moestat's style.

    >>> import matplotlib
    >>> with look():
    ...     matplotlib.rcParams["font.size"]
    8.0
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)  # type: ignore[arg-type]
        yield


def colour(index: int) -> str:
    """Return the colour of the line with this index; they repeat after six, with hollow markers (:func:`marker`)."""
    return COLOURS[index % len(COLOURS)]


def marker(index: int) -> dict[str, Any]:
    """Return shape and filling of the markers of the line with this index."""
    turn = index // len(COLOURS)
    filling = PAGE if turn % 2 == 1 else colour(index)
    return {
        "marker": MARKERS[(index + turn) % len(MARKERS)],
        "markerfacecolor": filling,
        "markeredgecolor": colour(index),
    }


class _Canvas(Figure):
    """A figure that a user saves in moestat's style, too: fonts that journals take, 300 dots per inch."""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:
        with look():
            super().savefig(fname, transparent=transparent, **({"dpi": DPI} | kwargs))

    def _repr_png_(self) -> bytes:
        """Show the figure as the result of a notebook's cell, where nothing was told to matplotlib."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=SCREEN)
        return buffer.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that belongs to no window system."""
    figure = _Canvas(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def legend_below(figure: Figure, axes: Axes) -> None:
    """Put one legend, that of one panel, below all panels."""
    handles, texts = axes.get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=len(texts))


def save(figure: Figure, *, title: str = "", description: str = "", source: str = "") -> dict[str, bytes]:
    """Return a figure as PNG and PDF, under these endings; equal figures give equal bytes.

    Title, description and source (study, preset, version) are in the metadata of each, not in the picture.
    """
    png = {"Title": title, "Description": description, "Source": source, "Software": None}
    pdf = {"Title": title, "Subject": description, "Keywords": source, "Creator": "moestat"}
    out = {}
    with look():
        figure.set_dpi(DPI)  # letters that are fitted to coarser dots have other widths
        if (engine := figure.get_layout_engine()) is not None:
            engine.execute(figure)  # once for all formats
        mpl.rcParams["figure.constrained_layout.use"] = False
        figure.set_layout_engine(None)
        for ending, facts in {"png": png, "pdf": pdf | {"Producer": None, "CreationDate": None}}.items():
            buffer = io.BytesIO()
            Figure.savefig(figure, buffer, format=ending, dpi=DPI, metadata=facts)
            out[ending] = buffer.getvalue()
    return out

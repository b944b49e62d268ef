"""What is found once for all formats of a figure is what each of them would find."""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from PIL import Image

from moestat.report import settled, style


def drawing():
    with style.look():
        figure = style.new_figure(4.0, 2.5)
        for axes in figure.subplots(1, 2):
            axes.plot([1, 10, 1000], [3e6, 2e6, 1e6], marker="o")
            axes.set_xscale("log")
            axes.set(xlabel="sizes", ylabel="losses")
            axes.set_title("a title", loc="left")
        above = axes.secondary_xaxis("top", functions=(lambda x: x / 3, lambda x: x * 3))
        above.set_xlabel("a third")
    return figure


def test_settled_figure_looks_as_one_drawn_by_itself():
    plain, settled_one = drawing(), io.BytesIO(style.save(drawing())["png"])
    buffer = io.BytesIO()
    with style.look():
        plain.set_dpi(style.DPI)
        plain.draw_without_rendering()
        with mpl.rc_context({"figure.constrained_layout.use": False}):
            plain.set_layout_engine(None)
            Figure.savefig(plain, buffer, format="png", dpi=style.DPI)
    one, other = (np.asarray(Image.open(b).convert("L").reduce(15), dtype=float) for b in (buffer, settled_one))
    assert one.shape == other.shape
    # a title that misses its place by a line of text differs by more than 100 greys
    assert np.abs(one - other).max() < 40


def test_ticks_are_placed_again_when_limits_or_size_change():
    figure = drawing()
    axis = figure.axes[0].xaxis
    asked = []
    usual = Axis._update_ticks
    try:
        Axis._update_ticks = lambda axis: asked.append(axis) or usual(axis)
        with style.look(), settled.ticks_once():
            for change in (None, None, lambda: figure.axes[0].set_xlim(0.1, 10), lambda: figure.set_figwidth(8)):
                if change:
                    change()
                axis._update_ticks()
    finally:
        Axis._update_ticks = usual
    assert len(asked) == 3


def test_figure_shows_itself_in_a_notebook():
    assert Image.open(io.BytesIO(drawing()._repr_png_())).width == 4.0 * style.SCREEN

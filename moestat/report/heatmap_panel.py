"""A heat map: the mean over replicates over two axes, with the numbers in the cells where there is room."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen, without_lengths_of_one
from moestat.report import captions, style
from moestat.report.captions import Facts, Names
from moestat.report.tables import label
from moestat.report.text import mathtext, minus
from moestat.rounding import number
from moestat.study.spec import Figure, Panel

ROOM = 64
"""Up to so many cells carry their numbers."""


def draw(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
    """Draw the heat map of one arm; panels of one variable share their colour scale.

    ``options`` of the figure, or of a variable in a table of its name: ``vmin``, ``vmax`` and ``share`` (an axis: each
    of its lines is divided by its sum); of the figure ``at`` (coordinates), ``digits``, ``ylabel`` and ``origin``
    ("lower" or "upper"). Lines of a padded variable that hold no value are left out.

    Raises
    ------
    NoAnswerError
        If a variable or axis of the panel is not in the results, or is left over.
    """
    arm, options = chosen(evidence.ds, panel.arms)[0], figure.options
    facts = Facts(arms=[arm])
    array = _mean(evidence, arm, figure, panel)
    mean = array.values
    colours, scale = colormaps["cividis"], Normalize(*_limits(evidence, figure, panel))
    axes.grid(False)
    axes.set_facecolor(style.GRID)  # of cells without a value
    origin = str(options.get("origin", "lower"))
    image = axes.imshow(np.ma.masked_invalid(mean), cmap=colours, norm=scale, aspect="auto", origin=origin)  # type: ignore[arg-type]
    cells = [tuple(map(int, place)) for place in np.argwhere(np.isfinite(mean))] if mean.size <= ROOM else []
    texts = {place: minus(number(mean[place], int(options.get("digits", 3)))) for place in cells}
    if mean.shape[1] * (max(map(len, texts.values()), default=0) + 0.7) <= room:
        for (row, column), text in texts.items():
            dark = float(np.dot(colours(scale(mean[row, column]))[:3], [0.3, 0.59, 0.11])) < 0.5
            axes.text(column, row, text, ha="center", va="center", size=6.5, color=style.PAGE if dark else style.INK)
    for axis, name in ((axes.xaxis, figure.x), (axes.yaxis, figure.y)):
        labels = array[name].values if name in array.coords else np.arange(array.sizes[name])
        places = np.arange(0, len(labels), -(-len(labels) // 10))
        axis.set_ticks(places, [mathtext(number(v)) for v in labels[places].tolist()])
    axes.tick_params(length=0)
    axes.set_ylabel(mathtext(options.get("ylabel", figure.y)))
    facts.bar = image, panel.ylabel or panel.variable
    if lost := int(np.sum(~np.isfinite(mean))):
        told = f"{lost} of {mean.size} cells have no value (grey)"
        facts.notes.append(("Left out", label(evidence.ds, arm), told))
    return facts


def _option(figure: Figure, panel: Panel, key: str, default: Any) -> Any:
    return figure.options.get(panel.variable, {}).get(key, figure.options.get(key, default))


def _mean(evidence: Evidence, arm: str, figure: Figure, panel: Panel) -> xr.DataArray:
    array = evidence.samples(panel.variable, arm, captions.point(evidence.ds, figure, panel))
    array = without_lengths_of_one(array, (figure.x, figure.y, "replicate"))
    for axis in (figure.x, figure.y):
        if axis not in array.dims:
            raise NoAnswerError(f"The variable {panel.variable!r} has no axis {axis!r}.")
        if axis not in evidence.ds["status"].dims:  # a variable with axes of its own may be padded
            array = array.dropna(axis, how="all")
    if share := _option(figure, panel, "share", ""):
        along = figure.x if share == figure.y else figure.y
        array = array / array.sum(along).where(lambda total: total > 0)
    return (array.mean("replicate") if "replicate" in array.dims else array).transpose(figure.y, figure.x)


def _limits(evidence: Evidence, figure: Figure, panel: Panel) -> tuple[float, float]:
    """Return the range of the means of all panels that show the variable."""
    shown = [p for p in figure.panels if p.variable == panel.variable] or [panel]
    places = [(arm, p) for p in shown for arm in chosen(evidence.ds, p.arms)]
    places = [(arm, p) for arm, p in places if captions.point(evidence.ds, figure, p) is not None]
    known = np.concatenate([_mean(evidence, arm, figure, p).values.ravel() for arm, p in places])
    known = known[np.isfinite(known)] if np.isfinite(known).any() else np.array([0.0, 1.0])
    low, high = _option(figure, panel, "vmin", known.min()), _option(figure, panel, "vmax", known.max())
    return float(low), float(high)

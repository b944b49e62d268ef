"""A heat map: the mean over replicates over two axes, with the numbers in the cells where there is room."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from moestat import rates
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
APART = 0.7
"""Characters between the numbers of two cells."""


def draw(axes: Axes, evidence: Evidence, figure: Figure, panel: Panel, names: Names, room: int) -> Facts:
    """Draw the heat map of one arm; panels of one variable share their colour scale.

    ``options`` of the figure, or of a variable in a table of its name: ``cmap``, ``vmin``, ``vmax``, ``centre`` (the
    value in the middle of the colours), ``digits``, ``intervals`` (whether cells carry theirs), ``share`` (an axis:
    each of its lines is divided by its sum); of the figure ``at`` (coordinates), ``mark`` (a variable, whose largest
    entry of each column gets a square) and ``origin`` ("lower" or "upper"). Lines of a padded variable that hold no
    value are left out.

    Raises
    ------
    NoAnswerError
        If a variable or axis of the panel is not in the results, or is left over.
    """
    arm = chosen(evidence.ds, panel.arms)[0]
    facts = Facts(arms=[arm])
    array = _taken(evidence, panel.variable, arm, figure, panel)
    mean, low, high = _means(array)
    cmap = colormaps[str(_option(figure, panel, "cmap", "cividis"))]
    scale = Normalize(*_limits(evidence, figure, panel))
    axes.grid(False)
    axes.set_facecolor("none")
    origin = str(figure.options.get("origin", "lower"))
    image = axes.imshow(np.ma.masked_invalid(mean), cmap=cmap, norm=scale, aspect="auto", origin=origin)  # type: ignore[arg-type]
    missing: dict[str, Any] = {"hatch": "////", "facecolor": "none", "edgecolor": style.GRID, "linewidth": 0}
    for row, column in np.argwhere(~np.isfinite(mean)):
        axes.fill_between([column - 0.5, column + 0.5], row - 0.5, row + 0.5, **missing)
    digits, whole = int(_option(figure, panel, "digits", 3)), bool(_option(figure, panel, "intervals", True))
    halves = (high - low) / 2 if whole else np.full_like(mean, np.nan)
    cells = [tuple(map(int, place)) for place in np.argwhere(np.isfinite(mean))] if mean.size <= ROOM else []
    texts = {place: _cell(mean[place], halves[place], digits) for place in cells}
    longest = max((len(line) for text in texts.values() for line in text.split("\n")), default=0)
    if mean.shape[1] * (longest + APART) <= room:
        for (row, column), text in texts.items():
            dark = _luminance(cmap(scale(mean[row, column]))) < 0.18
            axes.text(column, row, text, ha="center", va="center", size=6.5, color="#fefefe" if dark else "#010101")
    if "mark" in figure.options:
        marks = _taken(evidence, figure.options["mark"], arm, figure, panel).mean("replicate").values
        for column, row in enumerate(np.nanargmax(marks, axis=0)):
            look: dict[str, Any] = {"marker": "s", "markersize": 7, "fillstyle": "none", "markeredgewidth": 1.6}
            axes.plot(column, row, color=style.PAGE, **look)
            axes.plot(column, row, color=style.INK, **look | {"markeredgewidth": 0.8})
    for axis, name in (("x", figure.x), ("y", figure.y)):
        _ticks(axes, axis, array[name].values if name in array.coords else np.arange(array.sizes[name]))
    axes.set_ylabel(mathtext(figure.options.get("ylabel", figure.y)))
    facts.bar = image, panel.ylabel or panel.variable
    if lost := int(np.sum(~np.isfinite(mean))):
        told = f"{lost} of {mean.size} cells have no value (hatched)"
        facts.notes.append(("Left out", label(evidence.ds, arm), told))
    return facts


def _option(figure: Figure, panel: Panel, key: str, default: Any) -> Any:
    own = figure.options.get(panel.variable, {})
    return own.get(key, figure.options.get(key, default))


def _taken(evidence: Evidence, variable: str, arm: str, figure: Figure, panel: Panel) -> xr.DataArray:
    array = evidence.samples(variable, arm, captions.point(evidence.ds, figure, panel))
    array = without_lengths_of_one(array, (figure.x, figure.y, "replicate"))
    for axis in (figure.x, figure.y):
        if axis not in array.dims:
            raise NoAnswerError(f"The variable {variable!r} has no axis {axis!r}.")
    if "replicate" not in array.dims:
        array = array.expand_dims(replicate=[0])
    for axis in (figure.x, figure.y):  # a variable with axes of its own may be padded
        if axis not in evidence.ds["status"].dims:
            array = array.dropna(axis, how="all")
    if variable == panel.variable and (share := _option(figure, panel, "share", "")):
        along = figure.x if share == figure.y else figure.y
        array = array / array.sum(along).where(lambda total: total > 0)
    return array.transpose(figure.y, figure.x, "replicate")


def _means(array: xr.DataArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out = np.full((3, *array.shape[:2]), np.nan)
    for place in np.ndindex(array.shape[:2]):
        row = array.values[place]
        mean, _, low, high = rates.mean_interval(row[np.isfinite(row)])
        out[(slice(None), *place)] = float(mean), float(low), float(high)
    return out[0], out[1], out[2]


def _limits(evidence: Evidence, figure: Figure, panel: Panel) -> tuple[float, float]:
    """Return the range of the means of all panels that show the variable."""
    stated = [_option(figure, panel, end, None) for end in ("vmin", "vmax")]
    if None not in stated:
        return float(stated[0]), float(stated[1])
    shown = [p for p in figure.panels if p.variable == panel.variable] or [Panel.model_validate({})]
    places = [(arm, p) for p in shown for arm in chosen(evidence.ds, p.arms)]
    places = [(arm, p) for arm, p in places if captions.point(evidence.ds, figure, p) is not None]
    means = [_means(_taken(evidence, panel.variable, arm, figure, p))[0] for arm, p in places]
    known = np.concatenate([m[np.isfinite(m)] for m in means]) if means else np.zeros(0)
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if (centre := _option(figure, panel, "centre", None)) is not None:
        half = max(high - centre, centre - low)
        low, high = centre - half, centre + half
    return float(low if stated[0] is None else stated[0]), float(high if stated[1] is None else stated[1])


def _cell(mean: float, half: float, digits: int) -> str:
    text = number(mean, digits)
    if np.isfinite(half) and half > 0:
        text += f"\n\N{PLUS-MINUS SIGN}{half:.2g}"
    return minus(text)


def _ticks(axes: Axes, axis: str, labels: np.ndarray) -> None:
    every = max(1, int(np.ceil(len(labels) / 10)))
    places = np.arange(0, len(labels), every)
    texts = [number(v) if labels.dtype.kind in "iuf" else mathtext(v) for v in labels[places].tolist()]
    (axes.set_xticks if axis == "x" else axes.set_yticks)(places, texts)
    axes.tick_params(length=0)


def _luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance of a colour (WCAG 2)."""
    channels = np.asarray(colour[:3], dtype=np.float64)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])

"""Figures of a study: log-log rates, lines over any axis, heat maps, or a function of the user's.

``draw_evidence`` makes what a study describes; :func:`alone` makes the same from any dataset, for
:mod:`moestat.figures`. Both return a matplotlib Figure in moestat's style.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from moestat.claims.estimates import resolve
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen
from moestat.report import captions, heatmap_panel, line_panel, rate_panel, style
from moestat.report.captions import Facts, Names, wrapped
from moestat.report.tables import label
from moestat.report.text import mathtext
from moestat.runner.results import NOT_COMPUTED
from moestat.sentences import listed, nearest
from moestat.status import Status
from moestat.study.spec import Arm, Figure, Panel, Rate, Study, fits

OF_RATE = ("window", "printed", "reference", "start")
"""What a study says of a rate beside its figures, and a notebook by an option."""
PANELS = {"rates": rate_panel.draw, "lines": line_panel.draw, "heatmap": heatmap_panel.draw}
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
    panels = list(figure.panels)
    if not panels and figure.kind == "rates":
        panels = [_plain(rate.loss, rate.arms) for rate in study.rates if rate.over == figure.x]
    elif not panels:
        panels = [_plain(name, ["*"]) for name in study.summaries]
    if figure.kind == "heatmap":
        panels = [one for panel in panels for one in _by_arm(ds, panel)]
    return [p for p in panels if chosen(ds, p.arms) and captions.point(ds, figure, p) is not None]


def _plain(variable: str, arms: Sequence[str]) -> Panel:
    return Panel.model_validate({"title": variable, "variable": variable, "ylabel": variable, "arms": list(arms)})


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
    panels = panels_of(evidence.ds, evidence.study, figure)
    if not panels:
        raise FigureError("None of its arms is part of this run, or none of its points.")
    rows = math.ceil(len(panels) / figure.columns)
    columns = math.ceil(len(panels) / rows)
    width = style.ONE_COLUMN if len(panels) == 1 else style.TWO_COLUMNS
    canvas = style.new_figure(width, rows * (2.2 if columns > 2 else 2.5))
    grid = list(canvas.subplots(rows, columns, squeeze=False).flat)
    facts: list[Facts] = []
    for axes, panel, names in zip(grid, panels, captions.names_of(evidence.ds, panels), strict=False):
        letter = f"({chr(97 + len(facts))}) " if len(panels) > 1 else ""
        facts.append(_panel(axes, evidence, figure, panel, names, width / columns, letter))
    for axes in grid[len(panels) :]:
        axes.remove()
    used = grid[: len(panels)]
    if figure.kind == "heatmap":
        _bars(canvas, used, facts)
    elif figure.options.get("share_y", True):
        _share(used, panels)
    below = max(_values(axes, fact, width / columns) for axes, fact in zip(used, facts, strict=True)) * rows
    canvas.set_figheight(canvas.get_figheight() + 0.15 * below + _legend(canvas, facts, width))
    return canvas, facts


def _panel(
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
    key = {e.name: (e.handle, f"{e.name}: {e.value}" if alone and e.value else e.name) for e in reversed(every)}
    key = {entry.name: key[entry.name] for entry in every}
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


def _share(axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Give panels of one variable one vertical axis, so that they can be compared by eye."""
    for variable in {panel.variable for panel in panels}:
        members = [a for a, panel in zip(axes, panels, strict=True) if panel.variable == variable]
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


# --- any dataset -----------------------------------------------------------------------------------------------------


def alone(
    ds: Any, kind: str, variable: str, x: str, arms: Sequence[str], ax: Axes | None, options: dict[str, Any]
) -> Canvas:
    """Draw one variable of any dataset, in a figure of its own or onto the user's axes."""
    ds = complete(ds, variable, [x, options["y"]] if kind == "heatmap" else [x])
    arms = [arms] if isinstance(arms, str) else list(arms)
    if not chosen(ds, arms):
        raise FigureError(f"None of the arms {listed(arms)} is in the results, which have {listed(ds['arm'].values)}.")
    known = [*Panel.model_fields, *Figure.model_fields, *(OF_RATE if kind == "rates" else ())]
    for key in options:
        if key not in known:
            raise FigureError(f"There is no option {key!r}{nearest(key, known)}")
    of_rate = {key: options.pop(key) for key in OF_RATE if key in options}
    own = {key: options.pop(key) for key in [*options] if key in Panel.model_fields}
    panel = Panel.model_validate({"variable": variable, "arms": arms} | own)
    figure = Figure.model_validate({"kind": kind, "x": x, "panels": [panel]} | options)
    stated = [Rate.model_validate({"loss": variable, "over": x} | of_rate)] if kind == "rates" else []
    evidence = Evidence(ds, study_for(ds, stated), "quick")
    if ax is None:
        return draw_evidence(evidence, figure)[0]
    if not isinstance(ax, Axes):
        raise FigureError(f"ax is a {type(ax).__name__}; it takes matplotlib axes, as of plt.subplots().")
    with style.look():
        try:
            inches = ax.get_window_extent().width / ax.figure.dpi
            _panel(ax, evidence, figure, panel, captions.names_of(ds, [panel])[0], inches)
        except ValueError as error:
            raise FigureError(str(error)) from None
        ax.legend()
    canvas = ax.get_figure(root=True)
    assert isinstance(canvas, Canvas)
    return canvas


def complete(ds: Any, variable: str, axes: Sequence[str] = ()) -> xr.Dataset:
    """Return a dataset with arms, replicates and a status, as a figure takes it; what is not there is filled in."""
    ds = ds.to_dataset(name=variable) if isinstance(ds, xr.DataArray) else ds
    if not isinstance(ds, xr.Dataset):
        raise FigureError(
            f"A figure takes an xarray.Dataset whose variable {variable!r} has the dimensions "
            f"{listed([*axes, 'replicate'])}; it was given a {type(ds).__name__}."
        )
    if variable not in ds:
        names = [str(name) for name in ds.data_vars]
        meant = nearest(variable, names) or f"; they hold {listed(names, 12)}."
        raise FigureError(f"The results hold no variable {variable!r}{meant}")
    for axis in axes:
        if axis not in ds[variable].dims:
            dims = listed(ds[variable].dims)
            raise FigureError(f"{variable!r} has no axis {axis!r}; its dimensions are {dims}. Name one of them.")
        if axis not in ds.coords:
            asked = f"ds.assign_coords({axis}=[...]), {ds.sizes[axis]} of them."
            raise FigureError(f"The axis {axis!r} has no values; give it some: {asked}")
    if "status" in ds and "arm" in ds.dims:
        return ds
    if "replicate" not in ds.dims:
        ds = ds.assign({variable: ds[variable].expand_dims(replicate=[0])})
    if "arm" not in ds.dims:
        ds = ds.expand_dims(arm=np.array(["results"], dtype=object))
    names = ds["arm"].values if "arm" in ds.coords else [f"results {k}" for k in range(ds.sizes["arm"])]
    ds = ds.assign_coords(arm=np.array([str(name) for name in names], dtype=object))
    if "replicate" not in ds.coords:
        ds = ds.assign_coords(replicate=np.arange(ds.sizes["replicate"]))
    if "status" not in ds:
        known = np.isfinite(ds[variable].astype(float))
        ds = ds.assign(status=xr.where(known, int(Status.CONVERGED), NOT_COMPUTED))
    return ds


def study_for(ds: xr.Dataset, stated: Sequence[Rate] = ()) -> Study:
    """Return the study that a dataset is of as far as figures need it: its arms and replicates, and some rates."""
    told = {key: str(ds.attrs.get(key, "")) for key in ("title", "paper", "source")}
    presets = {"quick": {"replicates": ds.sizes["replicate"]}}
    # of any name: they are not read from a study file
    arms = [Arm.model_construct(name=str(name), label="", settings={}) for name in ds["arm"].values]
    content = told | {"experiment": "none", "seed": 0, "arms": arms, "presets": presets, "rates": list(stated)}
    return Study.model_validate(content)

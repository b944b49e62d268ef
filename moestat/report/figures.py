"""Figures of a study: log-log rates, lines over any axis, heat maps, or a function of the user's.

``draw`` makes what a study file describes; :func:`rates`, :func:`lines` and :func:`heatmap` make the same from a
dataset alone, in a notebook say. All of them return a matplotlib Figure in moestat's style.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib.figure import Figure as Canvas

from moestat.claims.estimates import resolve
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen
from moestat.report import facets, heatmap_panel, layout, line_panel, naming, rate_panel, style
from moestat.report.exponents import mathtext
from moestat.report.rate_panel import Facts
from moestat.report.tables import label
from moestat.sentences import listed, nearest
from moestat.study.patterns import fits
from moestat.study.spec import Arm, Figure, Panel, Rate, Study

OF_RATE = ("window", "printed", "reference", "start")
"""What is said of a rate in [[rates]], and by an option where there is no study file."""

PANELS = {"rates": rate_panel.draw, "lines": line_panel.draw, "heatmap": heatmap_panel.draw}


class FigureError(ValueError):
    """A figure cannot be drawn from these results; the message says why."""


def draw(ds: xr.Dataset, study: Study, preset: str, figure: Figure) -> tuple[Canvas, list[Facts]]:
    """Draw one figure of a study.

    Returns
    -------
    figure : matplotlib.figure.Figure
    facts : list of Facts
        What each panel shows, in words.

    Raises
    ------
    FigureError
        If the results do not hold what the figure shows, or the user's function fails.
    """
    return draw_evidence(Evidence(ds, study, preset), figure)


def draw_evidence(evidence: Evidence, figure: Figure) -> tuple[Canvas, list[Facts]]:
    """Draw one figure of a run; see :func:`draw`."""
    with style.look():
        try:
            if figure.kind == "function":
                return _function(evidence, figure), []
            return _panels(evidence, figure)
        except NoAnswerError as error:
            raise FigureError(str(error)) from None


def panels_of(ds: xr.Dataset, study: Study, figure: Figure) -> list[Panel]:
    """Return the panels of a figure; without any in the file, one for each rate or each summary variable.

    A heat map shows one arm, so a panel of several arms becomes several panels. A panel at a point that was not run is
    left out.
    """
    panels = list(figure.panels)
    if not panels and figure.kind == "rates":
        over = [rate for rate in study.rates if rate.over == figure.x]
        panels = [_plain(rate.loss, rate.arms) for rate in over]
    elif not panels:
        panels = [_plain(name, ["*"]) for name in study.summaries]
    if figure.kind == "heatmap":
        split = [(panel, arm) for panel in panels for arm in chosen(ds, panel.arms)]
        several = {id(panel) for panel in panels if len(chosen(ds, panel.arms)) > 1}
        panels = [
            panel.model_copy(
                update={"arms": [arm]}
                | ({"title": ": ".join(t for t in (panel.title, label(ds, arm)) if t)} if id(panel) in several else {})
            )
            for panel, arm in split
        ]
    return [p for p in panels if chosen(ds, p.arms) and facets.point(ds, figure, p) is not None]


def shown(evidence: Evidence, figure: Figure) -> bool:
    """Return whether a figure is of the preset, which runs an arm and a point of it; else nothing is to be drawn."""
    if not fits(evidence.preset, figure.presets):
        return False
    return figure.kind == "function" or not figure.panels or bool(panels_of(evidence.ds, evidence.study, figure))


def _plain(variable: str, arms: Sequence[str]) -> Panel:
    return Panel.model_validate({"title": variable, "variable": variable, "ylabel": variable, "arms": list(arms)})


def _panels(evidence: Evidence, figure: Figure) -> tuple[Canvas, list[Facts]]:
    panels = panels_of(evidence.ds, evidence.study, figure)
    if not panels:
        raise FigureError("None of its arms is part of this run, or none of its points.")
    columns = min(figure.columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    columns = math.ceil(len(panels) / rows)
    width = style.ONE_COLUMN if columns == 1 and len(panels) == 1 else style.TWO_COLUMNS
    canvas = style.new_figure(width, 3.0 * rows)
    grid = canvas.subplots(rows, columns, squeeze=False, sharey=False)
    names = naming.of_panels(evidence.ds, panels)
    facts: list[Facts] = []
    for number, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        inches = width / columns
        room = int(20 * (inches - 0.5))
        fact = PANELS[figure.kind](axes, evidence, figure, panel, names[number], room)
        facts.append(fact)
        letter = f"({chr(97 + number)}) " if len(panels) > 1 else ""
        title = rate_panel.wrapped(letter + panel.title, int(12.5 * (inches - 0.5)))
        if panel.note:
            at = facets.point(evidence.ds, figure, panel) or {}
            title += "\n" + rate_panel.wrapped(facets.note(evidence, panel, fact.arms[0], at), int(17 * (inches - 0.5)))
        axes.set_title(title, loc="left")
        axes.set_xlabel(mathtext(figure.xlabel or figure.x))
        if figure.kind != "heatmap":
            axes.set_ylabel(mathtext(panel.ylabel or panel.variable))
    for axes in list(grid.flat)[len(panels) :]:
        axes.remove()
    if figure.kind == "heatmap":
        layout.bars(canvas, grid, panels, facts)
    else:
        layout.slopes(list(grid.flat)[: len(panels)], facts, width / columns)
    if figure.kind != "heatmap" and figure.options.get("share_y", True):
        layout.share(list(grid.flat)[: len(panels)], panels)
    layout.frame(canvas, evidence, figure, facts, rows, columns)
    return canvas, facts


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


# --- on a dataset alone ----------------------------------------------------------------------------------------------


def rates(ds: xr.Dataset, variable: str, *, over: str = "n", arms: Sequence[str] = ("*",), **options: Any) -> Canvas:
    """Draw a log-log figure of one loss.

    Parameters
    ----------
    ds : xarray.Dataset
        Results of a study, e.g. of :func:`moestat.load`.
    variable : str
        The loss.
    over : str, default "n"
    arms : sequence of str
        Names or glob patterns.
    **options
        Of the panel (``title``, ``ylabel``), of its rate (``window``, ``printed``, ``reference``, ``start``) or of the
        figure (``xlabel``, ``logx``, ``logy``, ``title`` is the panel's).

    Raises
    ------
    FigureError
        If the results do not hold what is asked for.
    """
    return _alone(ds, "rates", variable, over, arms, options)


def lines(ds: xr.Dataset, variable: str, *, over: str, arms: Sequence[str] = ("*",), **options: Any) -> Canvas:
    """Draw the mean of a variable with its interval over any axis; ``hue`` names what the lines differ in."""
    return _alone(ds, "lines", variable, over, arms, {"logx": False, "logy": False} | options)


def heatmap(ds: xr.Dataset, variable: str, *, x: str, y: str, arms: Sequence[str] = ("*",), **options: Any) -> Canvas:
    """Draw the mean of a variable over two axes, one panel per arm."""
    return _alone(ds, "heatmap", variable, x, arms, {"y": y} | options)


def _alone(ds: xr.Dataset, kind: str, variable: str, x: str, arms: Sequence[str], options: dict[str, Any]) -> Canvas:
    of_rate = {key: options.pop(key) for key in [*options] if kind == "rates" and key in OF_RATE}
    known = [*Panel.model_fields, *Figure.model_fields, *(OF_RATE if kind == "rates" else ())]
    for key in options:
        if key not in known:
            raise FigureError(f"There is no option {key!r}{nearest(key, known)}")
    if variable not in ds:
        raise FigureError(f"The results hold no variable {variable!r}{nearest(variable, map(str, ds.data_vars))}")
    if not chosen(ds, list(arms)):
        raise FigureError(f"None of the arms {listed(arms)} is in the results, which have {listed(ds['arm'].values)}.")
    own = {key: value for key, value in options.items() if key in Panel.model_fields}
    rest = {key: value for key, value in options.items() if key not in own}
    panel = Panel.model_validate({"variable": variable, "arms": list(arms)} | own)
    figure = Figure.model_validate({"kind": kind, "x": x, "panels": [panel]} | rest)
    stated = [Rate.model_validate({"loss": variable, "over": x} | of_rate)] if kind == "rates" else []
    return draw(ds, study_for(ds, stated), "quick", figure)[0]


def study_for(ds: xr.Dataset, stated: Sequence[Rate] = ()) -> Study:
    """Return the study that a dataset is of as far as figures need it: its arms and replicates, and some rates."""
    return Study.model_validate(
        {
            "title": str(ds.attrs.get("title", "results")),
            "paper": str(ds.attrs.get("paper", "")),
            "source": str(ds.attrs.get("source", "")),
            "experiment": "none",
            "seed": 0,
            # of any name: they are not read from a study file
            "arms": [Arm.model_construct(name=str(name), label="", settings={}) for name in ds["arm"].values],
            "presets": {"quick": {"replicates": ds.sizes["replicate"]}},
            "rates": list(stated),
        }
    )

"""Figures of a dataset of one's own: what results of a study have, and other datasets may lack, is filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen
from moestat.report import figures, line_panel, naming, rate_panel, style
from moestat.report.exponents import mathtext
from moestat.report.figures import FigureError
from moestat.runner.results import NOT_COMPUTED
from moestat.sentences import listed, nearest
from moestat.status import Status
from moestat.study.spec import Figure, Panel, Rate

NAME = "results"
"""The arm of a dataset without arms."""

PANELS = {"rates": rate_panel.draw, "lines": line_panel.draw}


def complete(ds: Any, variable: str, axes: Sequence[str]) -> xr.Dataset:
    """Return a dataset with arms, replicates and a status, as a figure takes it.

    Parameters
    ----------
    ds : xarray.Dataset or DataArray
        Results of a study, of :func:`moestat.losses.rescore`, or any others: ``variable`` over the axes and, where it
        was drawn more than once, a dimension ``replicate``; several methods have a dimension ``arm``.
    variable : str
    axes : sequence of str
        The axes of the figure.

    Raises
    ------
    FigureError
        If the variable or an axis is not there, or an axis has no numbers.
    """
    if isinstance(ds, xr.DataArray):
        ds = ds.to_dataset(name=variable)
    if not isinstance(ds, xr.Dataset):
        raise FigureError(
            f"A figure takes an xarray.Dataset whose variable {variable!r} has the dimensions "
            f"{listed([*axes, 'replicate'])}; it was given a {type(ds).__name__}."
        )
    if variable not in ds:
        raise FigureError(f"The results hold no variable {variable!r}{_meant(variable, ds)}")
    for axis in axes:
        if axis not in ds[variable].dims:
            dims = listed(ds[variable].dims)
            raise FigureError(f"{variable!r} has no axis {axis!r}; its dimensions are {dims}. Name one of them.")
        if axis not in ds.coords:
            raise FigureError(
                f"The axis {axis!r} has no values; give it some: ds.assign_coords({axis}=[...]), "
                f"{ds.sizes[axis]} of them."
            )
    if "status" in ds and "arm" in ds.dims:
        return ds
    if "replicate" not in ds.dims:
        ds = ds.assign({variable: ds[variable].expand_dims(replicate=[0])})
    if "arm" not in ds.dims:
        ds = ds.expand_dims(arm=np.array([NAME], dtype=object))
    names = ds["arm"].values if "arm" in ds.coords else [f"{NAME} {k}" for k in range(ds.sizes["arm"])]
    ds = ds.assign_coords(arm=np.array([str(name) for name in names], dtype=object))
    if "replicate" not in ds.coords:
        ds = ds.assign_coords(replicate=np.arange(ds.sizes["replicate"]))
    if "status" not in ds:
        known = np.isfinite(ds[variable].astype(float))
        ds = ds.assign(status=xr.where(known, int(Status.CONVERGED), NOT_COMPUTED))
    return ds


def _meant(variable: str, ds: xr.Dataset) -> str:
    names = [str(name) for name in ds.data_vars]
    return nearest(variable, names) or f"; they hold {listed(names, 12)}."


def onto(
    axes: Axes, ds: xr.Dataset, kind: str, variable: str, x: str, arms: Sequence[str], options: dict[str, Any]
) -> None:
    """Draw one panel onto axes that the user made, with its labels and legend.

    Raises
    ------
    FigureError
        If the results do not hold what is asked for, or the axes are none.
    """
    if not isinstance(axes, Axes):
        raise FigureError(f"ax is a {type(axes).__name__}; it takes matplotlib axes, as of plt.subplots().")
    if not chosen(ds, list(arms)):
        raise FigureError(f"None of the arms {listed(arms)} is in the results, which have {listed(ds['arm'].values)}.")
    of_rate = {key: options.pop(key) for key in [*options] if kind == "rates" and key in figures.OF_RATE}
    own = {key: options.pop(key) for key in [*options] if key in Panel.model_fields}
    for key in options:
        if key not in Figure.model_fields:
            raise FigureError(f"There is no option {key!r}{nearest(key, [*Figure.model_fields, *Panel.model_fields])}")
    panel = Panel.model_validate({"variable": variable, "arms": list(arms)} | own)
    figure = Figure.model_validate({"kind": kind, "x": x, "panels": [panel]} | options)
    stated = [Rate.model_validate({"loss": variable, "over": x} | of_rate)] if kind == "rates" else []
    room = int(20 * (axes.get_window_extent().width / axes.figure.dpi - 0.5))
    with style.look():
        try:
            (names,) = naming.of_panels(ds, [panel])
            PANELS[kind](axes, Evidence(ds, figures.study_for(ds, stated), "quick"), figure, panel, names, room)
        except NoAnswerError as error:
            raise FigureError(str(error)) from None
        if panel.title:
            axes.set_title(mathtext(panel.title), loc="left")
        axes.set_xlabel(mathtext(figure.xlabel or figure.x))
        axes.set_ylabel(mathtext(panel.ylabel or panel.variable))
        axes.legend()

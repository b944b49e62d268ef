"""Figures from a dataset, in a notebook say: log-log rates, lines over any axis, heat maps.

>>> import moestat.figures
>>> ds = moestat.load("sigmoid_vs_softmax")  # doctest: +SKIP
>>> moestat.figures.rates(ds, "L3", reference="fisher_L3").savefig("rates.pdf")  # doctest: +SKIP

The dataset may be one of your own: a variable over an axis, with a dimension ``replicate`` where it was drawn more than
once and a dimension ``arm`` where there are several methods. What :func:`moestat.losses.rescore` returns is such a one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from moestat import rates as log_log
from moestat.claims.evidence import Evidence
from moestat.claims.selection import chosen
from moestat.rates import RateFit, Table, mean_interval
from moestat.rates.data import arm_of
from moestat.report import ticks
from moestat.report.figures import FigureError, draw_evidence, draw_panel, names_of
from moestat.report.panels import slope_line
from moestat.report.style import INK, ONE_COLUMN, REFERENCE, colour, look, marker, new_figure, save
from moestat.rounding import estimate as rounded
from moestat.runner.results import NOT_COMPUTED
from moestat.sentences import listed, nearest
from moestat.status import Status
from moestat.study import spec
from moestat.study.spec import fits

__all__ = ["FigureError", "heatmap", "lines", "look", "rates", "save"]

LINE = 0.14  #: Inches of a line of a legend.
HIGH = 10.0  #: Points between the names of two theories, at least.
OF_RATE = ("window", "printed", "reference", "start")
"""What a study says of a rate beside its figures, and a notebook by an option."""


def rates(
    ds: Any,
    variable: str | None = None,
    *,
    over: Any = "n",
    arms: Sequence[str] = ("*",),
    ax: Axes | None = None,
    theory: float | Mapping[str, float] | None = None,
    **options: Any,
) -> Figure:
    """Draw a log-log figure of one loss, onto the matplotlib axes ``ax`` if they are given.

    ``ds`` are results of a study, of :func:`moestat.load` say, or a dataset of your own; ``arms`` are names or glob
    patterns; ``theory`` is the slope of a theorem, or slopes by arm, drawn dashed with its exponent. Options are those
    of the panel (``title``, ``ylabel``), of its rate (``window``, ``printed``, ``reference``, ``start``) and of the
    figure (``xlabel``, ``logx``, ``logy``). Without a ``variable`` the data are those of :func:`moestat.rates.table`,
    and so are ``over``, ``theory`` and the options: ``rates(errors, over=sizes, theory=-0.5)``.

    Raises
    ------
    FigureError
        If the results do not hold what is asked for.
    """
    if variable is None:
        table = ds if isinstance(ds, Table) else log_log.table(ds, over=over, theory=theory, **options)
        return of_table(table, ax)
    figure = _draw(ds, "rates", variable, over, arms, ax, options)
    if theory is not None:
        shown = log_log.table(_complete(ds, variable, [over])[[variable]], over=over, window=options.get("window"))
        stated = theory if isinstance(theory, Mapping) else dict.fromkeys(shown.fits, theory)
        for arm, slope in stated.items():
            if not isinstance(theory, Mapping) and not fits(arm, arms):
                continue
            _theory(ax or figure.axes[0], shown.fits[arm_of(arm, [*shown.fits])], slope, REFERENCE)
    return figure


def lines(
    ds: xr.Dataset, variable: str, *, over: str, arms: Sequence[str] = ("*",), ax: Axes | None = None, **options: Any
) -> Figure:
    """Draw the mean of a variable with its interval over any axis; ``hue`` names what the lines differ in.

    ``ax`` and the errors are those of :func:`rates`.
    """
    return _draw(ds, "lines", variable, over, arms, ax, {"logx": False, "logy": False} | options)


def heatmap(ds: xr.Dataset, variable: str, *, x: str, y: str, arms: Sequence[str] = ("*",), **options: Any) -> Figure:
    """Draw the mean of a variable over two axes, one panel per arm."""
    return _draw(ds, "heatmap", variable, x, arms, None, {"y": y} | options)


def _draw(
    ds: Any, kind: str, variable: str, x: str, arms: Sequence[str], ax: Axes | None, options: dict[str, Any]
) -> Figure:
    """Draw one variable of any dataset, in a figure of its own or onto the user's axes."""
    ds = _complete(ds, variable, [x, options["y"]] if kind == "heatmap" else [x])
    arms = [arms] if isinstance(arms, str) else list(arms)
    if not chosen(ds, arms):
        raise FigureError(f"None of the arms {listed(arms)} is in the results, which have {listed(ds['arm'].values)}.")
    known = [*spec.Panel.model_fields, *spec.Figure.model_fields, *(OF_RATE if kind == "rates" else ())]
    for key in options:
        if key not in known:
            raise FigureError(f"There is no option {key!r}{nearest(key, known)}")
    of_rate = {key: options.pop(key) for key in OF_RATE if key in options}
    own = {key: options.pop(key) for key in [*options] if key in spec.Panel.model_fields}
    panel = spec.Panel.model_validate({"variable": variable, "arms": arms} | own)
    figure = spec.Figure.model_validate({"kind": kind, "x": x, "panels": [panel]} | options)
    stated = [spec.Rate.model_validate({"loss": variable, "over": x} | of_rate)] if kind == "rates" else []
    evidence = Evidence(ds, study_for(ds, stated), "quick")
    if ax is None:
        return draw_evidence(evidence, figure)[0]
    if not isinstance(ax, Axes):
        raise FigureError(f"ax is a {type(ax).__name__}; it takes matplotlib axes, as of plt.subplots().")
    with look():
        try:
            inches = ax.get_window_extent().width / ax.figure.dpi
            draw_panel(ax, evidence, figure, panel, names_of(ds, [panel], {})[0], inches)
        except ValueError as error:
            raise FigureError(str(error)) from None
        ax.legend()
    canvas = ax.get_figure(root=True)
    assert isinstance(canvas, Figure)
    return canvas


def _complete(ds: Any, variable: str, axes: Sequence[str] = ()) -> xr.Dataset:
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
        status = known.astype(int).where(known, NOT_COMPUTED).where(~known, int(Status.CONVERGED))
        ds = ds.assign(status=status)
    assert isinstance(ds, xr.Dataset)
    return ds


def study_for(ds: xr.Dataset, stated: Sequence[spec.Rate] = ()) -> spec.Study:
    """Return the study that a dataset is of as far as figures need it: its arms and replicates, and some rates."""
    told = {key: str(ds.attrs.get(key, "")) for key in ("title", "paper", "source")}
    presets = {"quick": {"replicates": ds.sizes["replicate"]}}
    # of any name: they are not read from a study file
    arms = [spec.Arm.model_construct(name=str(name), label="", settings={}) for name in ds["arm"].values]
    content = told | {"experiment": "none", "seed": 0, "arms": arms, "presets": presets, "rates": list(stated)}
    return spec.Study.model_validate(content)


def of_table(table: Table, ax: Axes | None = None) -> Figure:
    """Draw a table of rates: geometric means with t-intervals, fitted lines, and the slopes of the theory, dashed."""
    with look():
        height = ONE_COLUMN + LINE * (len(table.fits) - 1)
        axes = new_figure(1.3 * ONE_COLUMN, height).add_subplot() if ax is None else ax
        axes.set(xscale="log", yscale="log", xlabel=table.over, ylabel=table.loss)
        for place, (arm, fit) in enumerate(table.fits.items()):
            logs = np.log(fit.losses)
            mean, _, low, high = mean_interval(logs, fit.level)
            step = 0.03 * (place - (len(table.fits) - 1) / 2)  # the points of several arms at one size stand apart
            bars = np.nan_to_num(np.exp([mean, high]) - np.exp([low, mean]))
            x = fit.sizes * np.exp(step)
            axes.errorbar(x, np.exp(mean), bars, fmt="none", ecolor=colour(place), elinewidth=1.0)
            text = f"{arm}: {' '.join(rounded(fit.slope, fit.wider.low, fit.wider.high))}{', bent' * bool(fit.bend)}"
            axes.plot(x, np.exp(mean), color=colour(place), **(marker(place) | {"linestyle": "none", "label": text}))
            slope_line(axes, fit, fit.slope, color=colour(place))
            if arm in table.theory:
                _theory(axes, fit, table.theory[arm], colour(place))
        sizes = np.unique(np.concatenate([fit.sizes for fit in table.fits.values()]))
        ticks.logarithmic(axes.xaxis, sizes)
        ticks.logarithmic(axes.yaxis)
        level = f"{100 * next(iter(table.fits.values())).level:.4g} %"
        told = f"slope with {level} interval; bars: {level}\nt-intervals of the geometric means"
        how: dict[str, Any] = dict(title=told, title_fontsize="small", alignment="left")
        if ax is None:  # below, where it covers nothing
            axes.get_figure().legend(*axes.get_legend_handles_labels(), loc="outside lower center", **how)  # type: ignore[union-attr]
        else:
            axes.legend(**how)
        _apart(axes)
    canvas = axes.get_figure(root=True)
    assert isinstance(canvas, Figure)
    return canvas


def _apart(axes: Axes) -> None:
    """Move the names of theories, which stand at the right, up where they would lie upon each other."""
    names = [text for text in axes.texts if isinstance(text, Annotation)]
    figure = axes.get_figure(root=True)
    if len(names) < 2 or not isinstance(figure, Figure):
        return
    figure.draw_without_rendering()  # what stands where is known after the layout
    scale, lowest = figure.dpi / 72, -np.inf
    for text in sorted(names, key=lambda t: float(t.xy[1])):
        at = float(axes.transData.transform(text.xy)[1]) / scale
        lowest = max(at, lowest + HIGH)
        text.xyann = (text.xyann[0], lowest - at)


def _theory(axes: Axes, fit: RateFit, slope: float, colour: str) -> None:
    """Draw the slope of a theory through the centre of the points, and write its exponent at its right end.

    The line is dark, so that it can be seen upon a fitted one that it covers.
    """
    slope_line(axes, fit, slope, color=INK, linestyle="--", linewidth=1.0)
    x, centre = fit.sizes[-1], np.mean(np.log(fit.sizes))
    y = np.exp(fit.intercept + fit.slope * centre + slope * (np.log(x) - centre))
    text = f"theory $n^{{{slope:g}}}$".replace("$n^", f"${axes.get_xlabel() or 'n'}^")
    axes.annotate(text, (x, y), (6, 0), textcoords="offset points", color=colour, va="center", fontsize="small")

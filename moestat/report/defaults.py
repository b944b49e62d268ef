"""What a study shows that says nothing about it: means of its variables, and a figure of them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat.report.tables import DIAGNOSTICS
from moestat.report.tidy import ABOUT_RUNS
from moestat.study.spec import Figure, Study

MOST_MEANS = 12
MOST_PANELS = 4
DECADE = 10.0
OF_AN_ESTIMATE = ("reference", "low", "high")
"""Attributes of an estimate that name other variables; performance reads them."""


def filled(study: Study, ds: xr.Dataset) -> Study:
    """Return the study with means where it states neither rates nor means, and a figure where it states none."""
    changes: dict[str, object] = {}
    summaries = study.summaries
    if not study.rates and not study.parameters and not summaries:
        summaries = _numbers(ds)[:MOST_MEANS]
        changes["summaries"] = summaries
    if not study.figures and (study.rates or summaries):
        changes["figures"] = [_figure(study, ds, summaries[:MOST_PANELS])]
    return study.model_copy(update=changes) if changes else study


def _numbers(ds: xr.Dataset) -> list[str]:
    """Return the variables that each replicate of a cell has one number of, without the ends of others' intervals."""
    grid = set(ds["status"].dims)
    about = {str(array.attrs[key]) for array in ds.data_vars.values() for key in OF_AN_ESTIMATE if key in array.attrs}
    names = [str(name) for name in ds.data_vars if name not in (*ABOUT_RUNS, *DIAGNOSTICS, *about)]
    return [name for name in names if set(ds[name].dims) == grid and ds[name].dtype.kind in "fiub"]


def _figure(study: Study, ds: xr.Dataset, variables: list[str]) -> Figure:
    if study.rates:
        return Figure.model_validate({"kind": "rates", "x": study.rates[0].over})
    axes = [str(dim) for dim in ds["status"].dims if dim not in ("arm", "replicate")]
    numeric = [axis for axis in axes if ds[axis].dtype.kind in "fiu" and ds.sizes[axis] > 1]
    panels = [{"variable": name, "ylabel": str(ds[name].attrs.get("long_name", name))} for name in variables]
    said = "Means over replicates with their 95 % intervals."
    if len(axes) == 1 and numeric:
        values = ds[numeric[0]].values.astype(float)
        wide = bool(np.min(values) > 0 and np.max(values) >= DECADE * np.min(values))
        return Figure.model_validate(
            {"kind": "lines", "x": numeric[0], "logx": wide, "logy": False, "panels": panels, "caption": said}
        )
    function = "moestat.report.forest:means"
    options = {"variables": variables}
    return Figure.model_validate({"kind": "function", "function": function, "options": options, "caption": said})

"""The values of one variable for one arm, out of a collected dataset, or one sentence that says why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from moestat.claims.counts import is_at, planned
from moestat.runner.results import BINARY
from moestat.status import Status
from moestat.study.spec import Study


class NoAnswerError(ValueError):
    """The results cannot give the number that is asked for; the message says why in a sentence."""


def values(
    ds: xr.Dataset,
    study: Study,
    variable: str,
    arm: str | None = None,
    at: Mapping[str, Any] | None = None,
    *,
    converged_only: bool = False,
) -> xr.DataArray:
    """Return a variable as float64, with NaN where a replicate has no value.

    Parameters
    ----------
    variable : str
        A variable of the results.
    arm : str, optional
        The arm to select; its grid is cut to the points that belong to the study.
    at : mapping, optional
        Coordinates to select. Dimensions of length one that are not mentioned are kept.
    converged_only : bool, default False
        Whether replicates that have values but did not converge become NaN too.

    Returns
    -------
    DataArray
        Without the dimension ``arm`` when one is given; attribute ``binary`` if the variable holds truth values.

    Raises
    ------
    NoAnswerError
        If there is no such variable, arm or coordinate, or the variable is text.
    """
    if variable not in ds.data_vars:
        raise NoAnswerError(f"The results hold no variable {variable!r}.")
    array = _numbers(ds[variable])
    if set(ds["status"].dims) <= set(array.dims):
        array = array.where(_counted(ds, converged_only))
    if arm is not None:
        if arm not in ds["arm"].values:
            raise NoAnswerError(f"The arm {arm!r} is not part of this run.")
        inside = planned(ds, study).sel(arm=arm)
        array = array.sel(arm=arm) if "arm" in array.dims else array
        for axis in inside.dims:
            if axis in array.dims:
                array = array.isel({axis: np.flatnonzero(inside.any([d for d in inside.dims if d != axis]).values)})
    for axis, value in (at or {}).items():
        array = _at(array, str(axis), value)
    return array


def at_point(ds: xr.Dataset, variable: str, at: Mapping[str, Any]) -> xr.DataArray:
    """Return a variable at a point of the grid (and of an arm), as floats over the axes that are left.

    Raises
    ------
    NoAnswerError
        If the results have no such variable, axis or value.
    """
    if variable not in ds.data_vars:
        raise NoAnswerError(f"The results hold no variable {variable!r}.")
    array = ds[variable].astype(float)
    for axis, value in at.items():
        if axis not in array.dims:
            raise NoAnswerError(f"{variable} has no axis {axis!r}; it has {', '.join(map(str, array.dims))}.")
        here = np.flatnonzero(is_at(ds[axis], value).values)
        if here.size == 0:
            raise NoAnswerError(f"{axis} = {value!r} is not in the results, which have {ds[axis].values.tolist()}.")
        array = array.isel({axis: int(here[0])})
    return array


def usable(ds: xr.Dataset, *, converged_only: bool = False) -> xr.Dataset:
    """Return the results with NaN in every number of a replicate that has no values (or did not converge)."""
    mask = _counted(ds, converged_only)
    if bool(mask.all()):
        return ds
    masked = {
        name: array.where(mask)
        for name, array in ds.data_vars.items()
        if array.dtype.kind == "f" and set(mask.dims) <= set(array.dims)
    }
    return ds.assign(masked)


def _counted(ds: xr.Dataset, converged_only: bool) -> xr.DataArray:
    """Return which replicates have values that count."""
    allowed = [Status.CONVERGED] if converged_only else [status for status in Status if status.has_value]
    return ds["status"].isin([int(status) for status in allowed])


def _numbers(array: xr.DataArray) -> xr.DataArray:
    kind = array.dtype.kind
    if kind == "O":  # truth values beside cells that were not computed
        flat = array.values.ravel()
        known = np.array([isinstance(v, bool | np.bool_) for v in flat])
        empty = np.array([v is None or (isinstance(v, float) and np.isnan(v)) for v in flat])
        if not np.all(known | empty):
            raise NoAnswerError(f"The variable {array.name!r} is text, not a number.")
        numbers = np.array([float(v) if k else np.nan for v, k in zip(flat, known, strict=True)]).reshape(array.shape)
        return array.copy(data=numbers).assign_attrs({BINARY: 1})
    if kind not in "biuf":
        raise NoAnswerError(f"The variable {array.name!r} is not a number.")
    out = array.astype(np.float64)
    return out.assign_attrs({BINARY: 1}) if kind == "b" else out


def _at(array: xr.DataArray, axis: str, value: Any) -> xr.DataArray:
    if axis not in array.dims:
        if axis in array.coords and bool(np.all(is_at(array[axis], value))):
            return array
        raise NoAnswerError(f"The variable {array.name!r} has no axis {axis!r}; it has {_listed(array.dims)}.")
    if axis not in array.coords:
        raise NoAnswerError(f"The axis {axis!r} of the variable {array.name!r} has no coordinate.")
    found = np.flatnonzero(is_at(array[axis], value).values)
    if found.size == 0:
        raise NoAnswerError(
            f"{axis} = {value!r} is not on the grid of this run, which has {_listed(array[axis].values)}."
        )
    return array.isel({axis: int(found[0])})


def without_lengths_of_one(array: xr.DataArray, keep: tuple[str, ...]) -> xr.DataArray:
    """Drop dimensions of length one that are not in ``keep``, and refuse any other one that is left.

    Raises
    ------
    NoAnswerError
        If a dimension is left that is neither in ``keep`` nor of length one.
    """
    array = array.squeeze([d for d in array.dims if d not in keep and array.sizes[d] == 1], drop=True)
    left = [str(d) for d in array.dims if d not in keep]
    if left:
        raise NoAnswerError(
            f"The variable {array.name!r} also runs over {_listed(left)}; say under 'at' where it is taken."
        )
    return array


def _listed(items: Any, limit: int = 12) -> str:
    texts = [f"{item:g}" if isinstance(item, float | np.floating) else str(item) for item in items]
    more = [f"... ({len(texts)} in all)"] if len(texts) > limit else []
    return ", ".join(texts[:limit] + more) or "none"

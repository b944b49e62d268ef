"""What is looked at: a variable as floats at a point of the grid, or one sentence that says why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from moestat.runner.results import BINARY
from moestat.sentences import listed as listed
from moestat.sentences import nearest
from moestat.status import Status
from moestat.study.spec import Claim, fits

if TYPE_CHECKING:
    import xarray as xr

Data = TypeVar("Data", "xr.DataArray", "xr.Dataset")
Side = tuple[str, str, dict[str, Any]]
"""Variable, arm and coordinates."""
WITH_VALUES = tuple(int(status) for status in Status if status.has_value)


class NoAnswerError(ValueError):
    """The results cannot give the number that is asked for; the message says why in a sentence."""


def chosen(ds: xr.Dataset, patterns: Sequence[str]) -> list[str]:
    """Return the arms of the dataset that match a name or glob pattern, in the order of the dataset."""
    return [name for name in map(str, ds["arm"].values) if fits(name, patterns)]


def versus(claim: Claim) -> Side:
    """Return the second side of a comparison: what a claim does not say of it is as on the first one."""
    at = claim.at if claim.versus_at is None else claim.versus_at
    return claim.versus_variable or claim.variable, claim.versus or claim.arm, at


def is_at(coordinate: xr.DataArray, value: Any) -> xr.DataArray:
    """Return where a coordinate has a value; numbers are compared up to rounding."""
    if isinstance(value, int | float) and not isinstance(value, bool) and coordinate.dtype.kind in "iuf":
        close = np.isclose(coordinate.values.astype(np.float64), float(value), rtol=1e-9, atol=0.0)
        return coordinate.copy(data=close)
    return coordinate == value


def at_point(data: Data, at: Mapping[str, Any]) -> Data:
    """Select one point of some axes, the arm among them; an axis that is fixed there already is passed over."""
    import xarray as xr

    for axis, value in at.items():
        if axis not in data.dims:
            if axis in data.coords and bool(np.all(is_at(data.coords[axis], value))):
                continue
            owner = f"The variable {data.name!r} has" if isinstance(data, xr.DataArray) else "The results have"
            raise NoAnswerError(f"{owner} no axis {axis!r}, only {listed(data.dims)}.")
        place = np.flatnonzero(is_at(data[axis], value).values)
        if place.size == 0:
            if axis == "arm":
                raise NoAnswerError(f"The arm {value!r} is not part of this run.")
            labels = listed(data[axis].values)
            raise NoAnswerError(f"{axis} = {value!r} is not on the grid of this run, which has {labels}.")
        data = data.isel({axis: int(place[0])})
    return data


def variable(ds: xr.Dataset, name: str, at: Mapping[str, Any] | None = None) -> xr.DataArray:
    """Return a variable as float64 at a point of some axes; truth values have the attribute ``binary``."""
    if name not in ds.data_vars:
        raise NoAnswerError(f"The results hold no variable {name!r}{nearest(name, map(str, ds.data_vars)) or '.'}")
    return at_point(as_float(ds[name]), at or {})


def as_float(array: xr.DataArray) -> xr.DataArray:
    """Return numbers and truth values as float64, NaN where nothing was computed; text has no answer."""
    kind = array.dtype.kind
    if kind == "O":  # truth values beside cells that were not computed
        flat = array.values.ravel()
        known = np.array([isinstance(v, bool | np.bool_) for v in flat])
        empty = np.array([v is None or (isinstance(v, float) and np.isnan(v)) for v in flat])
        if not np.all(known | empty):
            raise NoAnswerError(f"The variable {array.name!r} is text, not a number.")
        floats = np.array([float(v) if k else np.nan for v, k in zip(flat, known, strict=True)]).reshape(array.shape)
        return array.copy(data=floats).assign_attrs({BINARY: 1})
    if kind not in "biuf":
        raise NoAnswerError(f"The variable {array.name!r} is not a number.")
    out = array.astype(np.float64)
    return out.assign_attrs({BINARY: 1}) if kind == "b" else out


def usable(ds: xr.Dataset, *, converged_only: bool = False) -> xr.Dataset:
    """Return the results with NaN, as floats, in every number of a replicate without values (or not converged)."""
    mask = ds["status"].isin([int(Status.CONVERGED)] if converged_only else WITH_VALUES)
    if bool(mask.all()):
        return ds
    masked = {}
    for name, array in ds.data_vars.items():
        if name == "status" or not set(mask.dims) <= set(array.dims):
            continue
        try:
            numbers = array if array.dtype.kind in "fc" else as_float(array)
        except NoAnswerError:  # text
            continue
        masked[name] = numbers.where(mask)
    return ds.assign(masked)


def without_lengths_of_one(array: xr.DataArray, keep: tuple[str, ...]) -> xr.DataArray:
    """Drop dimensions of length one that are not in ``keep``, and refuse any other one that is left."""
    array = array.squeeze([d for d in array.dims if d not in keep and array.sizes[d] == 1], drop=True)
    left = [str(d) for d in array.dims if d not in keep]
    if left:
        raise NoAnswerError(
            f"The variable {array.name!r} also runs over {listed(left)}; say under 'at' where it is taken."
        )
    return array

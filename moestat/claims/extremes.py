"""The rule of claims about every run: the largest value of a variable, over all arms that match, with its place."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr


@dataclass(frozen=True)
class Extreme:
    """What a claim of kind ``function`` is answered with: a number without sampling error, and where it is."""

    value: float
    low: float
    high: float
    note: str


def largest(
    ds: xr.Dataset, claim: Any, *, arms: Sequence[str] = (), where: Mapping[str, float] | None = None
) -> Extreme:
    """Return the largest value of ``claim.variable``, and say where it is.

    A statement about every member of a family is refuted by one, so the number has no sampling error.

    Parameters
    ----------
    ds : xarray.Dataset
        Results; values that are NaN are passed over.
    claim : Claim
        Its ``variable``, ``arm`` and ``at`` say what is looked at.
    arms : sequence of str
        Names or patterns of arms, in place of ``claim.arm``.
    where : mapping, optional
        Upper ends of axes: ``{"t": 0.1}`` looks at t <= 0.1 only.

    Raises
    ------
    ValueError
        If no value is there.
    """
    patterns = list(arms) or [claim.arm or "*"]
    names = [a for a in ds["arm"].values.tolist() if any(fnmatch.fnmatchcase(a, pattern) for pattern in patterns)]
    array = ds[claim.variable].astype(float).sel(arm=names)
    for axis, value in claim.at.items():
        array = array.sel({axis: value})
    for axis, value in (where or {}).items():
        array = array.isel({axis: np.flatnonzero(ds[axis].values <= value)})
    values = array.values
    if not np.isfinite(values).any():
        raise ValueError(f"{claim.variable} has no value in the arms {', '.join(patterns)}")
    place = np.unravel_index(int(np.nanargmax(values)), values.shape)
    at = []
    for axis, k in zip(array.dims, place, strict=True):
        label = array[axis].values[k] if axis in array.coords else k
        at.append(f"{axis} {label:.3g}" if isinstance(label, np.floating) else f"{axis} {label}")
    value = float(np.nanmax(values))
    return Extreme(value, value, value, f"largest of {np.isfinite(values).sum()} values, at {', '.join(at)}")

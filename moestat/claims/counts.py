"""How the replicates of a collected dataset ended: the counts that stand beside every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from moestat.runner.results import NOT_COMPUTED
from moestat.status import Status
from moestat.study.patterns import fits
from moestat.study.spec import Study


@dataclass(frozen=True)
class Counts:
    """How many runs (replicates of cells) were asked for, and how they ended.

    Attributes
    ----------
    by_status : mapping
        Runs per :class:`moestat.status.Status`, zeros left out.
    missing : int
        Runs that were asked for and not computed.
    """

    by_status: Mapping[Status, int]
    missing: int

    @property
    def replicates(self) -> int:
        """Runs that were asked for."""
        return sum(self.by_status.values()) + self.missing

    @property
    def converged(self) -> int:
        """Runs that ended well."""
        return self.by_status.get(Status.CONVERGED, 0)

    @property
    def failed(self) -> int:
        """Runs that were computed and have no values."""
        return sum(count for status, count in self.by_status.items() if not status.has_value)

    @property
    def not_converged(self) -> int:
        """Runs that have values and did not converge."""
        return self.replicates - self.missing - self.failed - self.converged

    def __add__(self, other: Counts) -> Counts:
        tally = {status: self.by_status.get(status, 0) + other.by_status.get(status, 0) for status in Status}
        return Counts({status: count for status, count in tally.items() if count}, self.missing + other.missing)

    def __str__(self) -> str:
        text = f"{self.failed} failed, {self.not_converged} not converged"
        return f"{text}, {self.missing} missing" if self.missing else text


def planned(ds: xr.Dataset, study: Study) -> xr.DataArray:
    """Return which points of arms x grid belong to the study.

    An arm that sets an axis of the grid itself lives only at those values; what was computed all the same counts too.

    Returns
    -------
    DataArray of bool, with the dimensions of ``status`` but ``replicate``.
    """
    status = ds["status"]
    computed = (status != NOT_COMPUTED).any("replicate")
    wanted = xr.ones_like(computed)
    settings = {arm.name: arm.settings for arm in study.arms}
    for axis in computed.dims:
        if axis == "arm":
            continue
        for name in ds["arm"].values.tolist():
            own = settings.get(name, {}).get(str(axis))
            if own is not None:
                inside = ds[axis].isin(own if isinstance(own, list) else [own])
                wanted = wanted & ((ds["arm"] != name) | inside)
    return (wanted | computed).transpose(*computed.dims)


def chosen(ds: xr.Dataset, patterns: Sequence[str]) -> list[str]:
    """Return the arms of the dataset that match a name or glob pattern, in the order of the dataset."""
    names = [str(name) for name in ds["arm"].values]
    return [name for name in names if fits(name, patterns)]


def count(
    ds: xr.Dataset,
    study: Study,
    arms: Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    window: tuple[str, tuple[float, float] | None] | None = None,
    *,
    planned_points: xr.DataArray | None = None,
) -> Counts:
    """Count how the replicates of some cells ended.

    Parameters
    ----------
    arms : sequence of str, optional
        Names of the arms that are counted; all when absent.
    at : mapping, optional
        Coordinates of the grid that are counted; names that are not on the grid are ignored.
    window : (axis, (low, high) or None), optional
        Part of an axis that is counted.
    planned_points : DataArray of bool, optional
        From :func:`planned`, where it is known already.
    """
    mask = planned(ds, study) if planned_points is None else planned_points
    if arms is not None:
        mask = mask & ds["arm"].isin(list(arms))
    for axis, value in (at or {}).items():
        if axis in mask.dims:
            mask = mask & is_at(ds[axis], value)
    if window is not None and window[1] is not None and window[0] in mask.dims:
        low, high = window[1]
        mask = mask & (ds[window[0]] >= low) & (ds[window[0]] <= high)
    codes = ds["status"].transpose(*mask.dims, "replicate").values[mask.values]
    tally = {int(code): int(runs) for code, runs in zip(*np.unique(codes, return_counts=True), strict=True)}
    missing = tally.pop(NOT_COMPUTED, 0)
    return Counts({Status(code): number for code, number in tally.items()}, missing)


def is_at(coordinate: xr.DataArray, value: Any) -> xr.DataArray:
    """Return where a coordinate has a value; numbers are compared up to rounding."""
    if isinstance(value, int | float) and not isinstance(value, bool) and coordinate.dtype.kind in "iuf":
        return xr.apply_ufunc(
            np.isclose, coordinate.astype(np.float64), float(value), kwargs={"rtol": 1e-9, "atol": 0.0}
        )
    return coordinate == value

"""A replicate computed again, beside its record: what is equal, what is rounding, and what is another result.

Other processors round differently, and an iterative fit then stops at another point of its tolerance, or in another
minimum. What matters is whether an interval could tell: a difference of a hundredth of the spread over replicates
cannot be seen in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from moestat.runner import labels, own_labels
from moestat.runner.cells import PlannedCell
from moestat.runner.difference import ROUNDING, difference, relative
from moestat.runner.shard import Variable
from moestat.sentences import counted

SPREAD = 0.01
"""Share of the standard deviation over a cell's replicates below which a difference moves no verdict."""
FEWEST = 3
"""Replicates of a cell, fewer of which tell no spread."""
SHOWN = 4
"""Variables that are named; further ones are counted."""


@dataclass
class Difference:
    """What a replicate computed again differs in.

    Attributes
    ----------
    other : dict
        Variable -> in words: another result.
    close : dict
        Variable -> largest relative difference, where it is at most 1 % of the spread over replicates.
    rounding : dict
        Variable -> largest relative difference, where it is at most 1e-6.
    path : list of str
        Variables that say how the computation went (iterations, gradients), and differ.
    """

    other: dict[str, str] = field(default_factory=dict)
    close: dict[str, float] = field(default_factory=dict)
    rounding: dict[str, float] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether everything is equal, bit for bit."""
        return not (self.other or self.close or self.rounding or self.path)

    def __str__(self) -> str:
        """Say so on one line."""
        if self.equal:
            return "equal, bit for bit"
        parts = []
        if self.other:
            names = "; ".join(f"{name} {text}" for name, text in list(self.other.items())[:SHOWN])
            more = f"; and {len(self.other) - SHOWN} more" if len(self.other) > SHOWN else ""
            parts.append(f"another result: {names}{more}")
        small = {"of less than 1 % of the spread over replicates": self.close, "of rounding": self.rounding}
        for what, found in small.items():
            if found:
                worst = max(found, key=lambda name: found[name])
                named = f"{worst} by {found[worst]:.2g} of its value"
                parts.append(f"{counted(len(found), 'variable')} with a difference {what} ({named})")
        if self.path:
            parts.append(f"another way there ({', '.join(self.path[:SHOWN])})")
        return "; ".join(parts)


def compare(
    record: xr.Dataset, planned: PlannedCell, replicate: int, computed: Mapping[str, Variable], left_out: Sequence[str]
) -> Difference:
    """Compare a replicate that was computed again with its record.

    Parameters
    ----------
    record : xarray.Dataset
    planned : PlannedCell
    replicate : int
    computed : mapping
        Name -> variable, attributes included.
    left_out : sequence of str
        Variables that the record does not keep.
    """
    found = Difference()
    module = str(record.attrs.get("experiment", ""))
    for name in sorted(computed):
        new = computed[name]
        if name in left_out or new.measured or new.dims == (name,):
            continue
        if name not in record.variables:
            found.other[name] = "is not in the record"
            continue
        now = new.values[0] if "replicate" in new.dims else new.values
        own = [dim for dim in new.dims if dim != "replicate"]
        stored = _placed(at(record[name], planned), own, np.shape(now), computed)
        old = stored.isel(replicate=replicate) if "replicate" in stored.dims else stored
        pair = Variable(tuple(own), np.asarray(old.values)), Variable(tuple(own), np.asarray(now))
        text = difference(*pair)
        if not text:
            continue
        resolved = labels.resolved(module, name)
        if resolved is None:
            found.path.append(name)
            continue
        apart = relative(*pair, resolved)
        if apart <= ROUNDING:
            found.rounding[name] = apart
        elif within_spread(pair, stored, resolved):
            found.close[name] = apart
        else:
            found.other[name] = text
    for name in map(str, record.data_vars):
        derived = record[name].attrs.get("derived")  # from others, for a reader of the record
        if name not in computed and not derived and not _is_gap(at(record[name], planned), replicate):
            found.other[name] = "is not computed any more"
    return found


def at(array: xr.DataArray, planned: PlannedCell) -> xr.DataArray:
    """Return what a variable of a record holds of a cell."""
    arm = array["arm"].values.tolist().index(planned.cell.arm)
    places = {axis: array[axis].values.tolist().index(value) for axis, value in planned.cell.coords.items()}
    return array.isel({"arm": arm, **places})


def within_spread(pair: tuple[Variable, Variable], stored: xr.DataArray, resolved: tuple[float, float]) -> bool:
    """Return whether two numbers differ by rounding, or by at most 1 % of the spread over a cell's replicates."""
    a, b = (np.asarray(variable.values) for variable in pair)
    if stored.dtype.kind != "f" or a.shape != b.shape or "replicate" not in stored.dims:
        return False
    values = stored.transpose("replicate", ...).values
    known = np.isfinite(values)
    if np.any(known.sum(axis=0)[np.isfinite(a)] < FEWEST):
        return False
    counted = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / counted
    spread = np.sqrt(np.where(known, (values - mean) ** 2, 0.0).sum(axis=0) / counted)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= np.maximum(SPREAD * spread, np.maximum(ROUNDING * np.abs(a), resolved[0]))
    return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def _placed(
    old: xr.DataArray, own: Sequence[str], shape: tuple[int, ...], computed: Mapping[str, Variable]
) -> xr.DataArray:
    """Return the entries of a record that a computed variable has, by their labels if they have some."""
    for dim, size in zip(own, shape, strict=True):
        labelled = dim in computed and dim in old.coords
        places = own_labels.positions(old[dim].values, computed[dim].values) if labelled else slice(0, size)
        old = old.isel({dim: slice(0, 0) if places is None else places})  # without a label: of another shape
    return old.transpose(..., *own)


def _is_gap(array: xr.DataArray, replicate: int) -> bool:
    """Whether a variable says nothing of a replicate: another arm has it."""
    values = array.isel(replicate=replicate).values if "replicate" in array.dims else array.values
    if values.dtype.kind in "fc":
        return bool(np.isnan(values).all())
    return values.dtype.kind in "OUT" and not any(map(str, values.ravel()))

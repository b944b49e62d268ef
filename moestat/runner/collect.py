"""From shards to one tidy dataset with the dimensions (arm, *axes of the grid, replicate, *the experiment's own).

What was not computed is NaN (text: empty) with status -1; an integer or truth-value variable with such gaps becomes a
float. A variable without the dimension ``replicate`` is a property of the cell and must be the same in every shard of
it; so must the attributes, which become variables of the cell. Where the experiment's own dimensions differ between
cells, the union of their coordinates is taken. What machines of two kinds round differently counts as the same.

Arrays are allocated once and filled: to concatenate one dataset a shard takes xarray seven times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from moestat.errors import UserError
from moestat.runner import contract, origin, shard
from moestat.runner.difference import close, difference, positions, united
from moestat.runner.plan import PlannedCell
from moestat.runner.results import BINARY, NOT_COMPUTED
from moestat.runner.shard import Variable
from moestat.runner.store import FAILED_FOR_GOOD, Entry, Scan
from moestat.status import Status


def collect(scan: Scan) -> tuple[xr.Dataset, list[str]]:
    """Read the usable shards of a scan into one dataset, and say which replicates two shards hold with other values.

    Raises UserError if shards contradict each other in what is a property of the cell, or in names, dimensions or
    types.
    """
    collector = _Collector(scan)
    return collector.collect(), collector.remarks


@dataclass
class _Table:
    """One variable of the results: its own dimensions, and its values once they are allocated."""

    own: tuple[str, ...]
    replicate: bool
    dtype: np.dtype
    attrs: Mapping[str, Any]
    coord: bool
    values: np.ndarray = field(default_factory=lambda: np.empty(0))

    def allocate(self, shape: tuple[int, ...]) -> None:
        """Fill the table with gaps; whole numbers and truth values are exact as floats."""
        if self.dtype.kind in "biu":
            self.values = np.full(shape, np.nan)
        else:
            self.values = np.full(shape, "" if self.dtype.kind == "O" else np.nan, dtype=self.dtype)

    def finished(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return values and attributes; truth values that became numbers say so, for their intervals."""
        attrs = dict(self.attrs)
        if self.dtype.kind not in "biu" or not np.isnan(self.values).any():
            return self.values.astype(self.dtype, copy=False), attrs
        return self.values, attrs | ({BINARY: 1} if self.dtype.kind == "b" else {})


class _Collector:
    def __init__(self, scan: Scan) -> None:
        self.plan = scan.plan
        self.shards = [
            (group[0], entry, *_read(entry))
            for digest, group in scan.plan.by_digest.items()
            for entry in scan.usable.get(digest, [])
        ]
        self.tables: dict[str, _Table] = {}
        self.labels: dict[str, _Table] = {}
        self.sequences: dict[str, dict[tuple[Any, ...], Any]] = {}
        """Of each own dimension with labels the sequences that shards have, each with its places in the union."""
        self.sizes: dict[str, int] = {}
        self.properties: dict[tuple[str, str], tuple[Variable, Entry]] = {}
        self.remarks: list[str] = []
        self.grid = (len(self.plan.arms), *(len(values) for values in self.plan.axes.values()))
        self.status = np.full((*self.grid, self.plan.replicates), NOT_COMPUTED, dtype=np.int64)

    def collect(self) -> xr.Dataset:
        for *_, variables in self.shards:
            for name, variable in variables.items():
                if name != "status":  # that of the header
                    self._declare(name, variable)
        for dim, sequences in self.sequences.items():
            union = united(list(sequences))
            self.labels[dim].values, self.sizes[dim] = np.asarray(union, self.labels[dim].dtype), len(union)
            for sequence in sequences:
                sequences[sequence] = positions(union, sequence)
        for table in self.tables.values():
            replicates = (self.plan.replicates,) if table.replicate else ()
            table.allocate((*self.grid, *replicates, *(self.sizes[dim] for dim in table.own)))
        for planned, entry, header, variables in self.shards:
            self._fill(planned, entry, header, variables)
        for first, *twins in self.plan.by_digest.values():
            for twin in twins:
                for values in (self.status, *(table.values for table in self.tables.values())):
                    values[twin.position] = values[first.position]
        return self._dataset()

    def _declare(self, name: str, variable: Variable) -> None:
        """Learn dimensions, type and size of a variable of one shard."""
        dims, values = variable.dims, variable.values
        own = tuple(dim for dim in dims if dim != "replicate")
        new = _Table(own, "replicate" in dims, values.dtype, variable.attrs, variable.coord)
        label = variable.coord and dims == (name,)
        if label:
            self.sequences.setdefault(name, {})[tuple(values.tolist())] = None
        for dim, size in zip(dims, values.shape, strict=True):
            self.sizes[dim] = max(self.sizes.get(dim, 0), size)
        problem = next((text for pair in new.attrs.items() if (text := contract.attribute_problem(*pair))), "")
        if problem:  # no experiment's: somebody made this shard
            raise UserError(f"the variable '{name}' has an attribute that {problem}; compute its results again")
        old = (self.labels if label else self.tables).setdefault(name, new)
        if (old.own, old.replicate, old.dtype.kind == "O") != (new.own, new.replicate, new.dtype.kind == "O"):
            raise UserError(
                f"the variable '{name}' has other dimensions, or another type, in some cells than in others; "
                "an experiment must return it in one shape everywhere"
            )
        old.dtype = np.promote_types(old.dtype, new.dtype)

    def _fill(self, planned: PlannedCell, entry: Entry, header: shard.Header, variables: dict[str, Variable]) -> None:
        """Put one shard in its place; of a replicate that is there already, say if it has other values."""
        rows, status = np.asarray(header.replicates), np.asarray(header.status)
        inside, seen = np.flatnonzero(rows < self.plan.replicates), self.status[planned.position]  # a view
        there = seen[rows[inside]]
        fresh, again = inside[there == NOT_COMPUTED], inside[there != NOT_COMPUTED]
        twice = again[~np.isin(seen[rows[again]], FAILED_FOR_GOOD) & ~np.isin(status[again], FAILED_FOR_GOOD)]
        differing = []
        for name, variable in variables.items():
            if (table := self.tables.get(name)) is None:  # the status, or the labels of an own dimension
                continue
            index: Any = (*planned.position, ...)  # a view, also of a single number
            place, own = table.values[index], self._own(variable, variables)
            if not table.replicate:
                known, first = self.properties.setdefault((planned.digest, name), (variable, entry))
                if known is variable:
                    place[np.ix_(*own) if own else ...] = variable.values
                elif not _agree(known, first, variable, entry):
                    raise UserError(
                        f"'{name}' of {planned.cell.label} differs between the shards {first.path} and {entry.path}: a "
                        "variable without the dimension replicate, or an attribute, must be the same whatever the "
                        "replicates are"
                    )
                continue
            place[np.ix_(rows[fresh], *own)] = variable.values[fresh]
            if not variable.measured and difference(place[np.ix_(rows[twice], *own)], variable.values[twice]):
                differing.append(name)
        if differing:  # the computation is not repeatable
            self.remarks.append(
                f"{planned.cell.label}: '{differing[0]}' differs between shards of equal code ({entry.path.name})"
            )
        seen[rows[fresh]] = status[fresh]

    def _own(self, variable: Variable, variables: Mapping[str, Variable]) -> list[np.ndarray]:
        """Return where the entries of own dimensions go: by their labels if they have some, else the first ones."""
        sizes = [(dim, n) for dim, n in zip(variable.dims, variable.values.shape, strict=True) if dim != "replicate"]
        return [
            self.sequences[dim][tuple(variables[dim].values.tolist())]
            if dim in self.sequences and dim in variables
            else np.arange(size)
            for dim, size in sizes
        ]

    def _dataset(self) -> xr.Dataset:
        plan, grid = self.plan, ("arm", *self.plan.axes)
        data: dict[str, Any] = {}
        coords: dict[str, Any] = {}
        for name, table in self.tables.items():
            dims = (*grid, *(("replicate",) if table.replicate else ()), *table.own)
            (coords if table.coord else data)[name] = (dims, *table.finished())
        flags = {
            "flag_values": [NOT_COMPUTED, *(int(s) for s in Status)],
            "flag_meanings": " ".join(["NOT_COMPUTED", *(s.name for s in Status)]),
        }
        data["status"] = (*grid, "replicate"), self.status, flags
        coords["arm"] = ("arm", np.asarray([arm.name for arm in plan.arms], dtype=object))
        coords["arm_label"] = ("arm", np.asarray([arm.label or arm.name for arm in plan.arms], dtype=object))
        for axis, points in plan.axes.items():
            texts = any(isinstance(v, str) for v in points)
            coords[axis] = (axis, np.asarray(points, dtype=object if texts else None))
        coords["replicate"] = ("replicate", np.arange(plan.replicates, dtype=np.int64))
        coords |= {dim: (dim, label.values, dict(label.attrs)) for dim, label in self.labels.items()}
        order = sorted(data, key=lambda name: (name not in ("status", "message", "iterations"), name))
        try:
            return xr.Dataset({name: data[name] for name in order}, coords=coords)
        except ValueError as error:  # a name that is a variable in one cell and a dimension in another
            raise UserError(f"the variables of the cells do not fit together: {error}") from None


def _read(entry: Entry) -> tuple[shard.Header, dict[str, Variable]]:
    try:
        return shard.read(entry.path)
    except (shard.DamagedShardError, FileNotFoundError) as error:
        raise UserError(f"{entry.path} changed while it was read ({error}); run the same command again") from None


def _agree(old: Variable, first: Entry, new: Variable, entry: Entry) -> bool:
    """Whether a property of a cell is the same in two shards, but for what their machines round differently."""
    if not difference(old.values, new.values):
        return True
    return bool(origin.differences(first.provenance, entry.provenance)) and close(old.values, new.values)

"""From shards to one tidy dataset with the dimensions (arm, *axes of the grid, replicate, *the experiment's own).

What was not computed is NaN (text: empty) with status -1; an integer or truth-value variable with such gaps becomes a
float. A variable without the dimension ``replicate`` is a property of the cell and must be the same in every shard of
it; so must the attributes, which become variables of the cell. Where the experiment's own dimensions differ between
cells, the union of their coordinates is taken. What machines of two kinds round differently counts as the same.

Arrays are allocated once and filled: to concatenate one dataset a shard takes xarray seven times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from moestat.errors import UserError
from moestat.runner import contract, origin, shard
from moestat.runner.difference import ROUNDING, difference, positions, relative, united
from moestat.runner.plan import PlannedCell
from moestat.runner.results import BINARY, NOT_COMPUTED
from moestat.runner.shard import Variable
from moestat.runner.store import FAILED_FOR_GOOD, Entry, Scan, in_order
from moestat.status import Status

AGAIN = "change the experiment, and compute its results again"


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
    coord: bool = False
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    present: np.ndarray = field(default_factory=lambda: np.empty(0))

    def allocate(self, shape: tuple[int, ...]) -> None:
        """Fill the table with gaps."""
        kind = self.dtype.kind
        fill: Any = "" if kind == "O" else np.nan if kind in "fc" else 0
        self.values = np.full(shape, fill, dtype=self.dtype)
        self.present = np.zeros(shape, dtype=bool) if kind in "biu" else np.ones(1, dtype=bool)

    def put(self, at: tuple[Any, ...], values: Any) -> None:
        """Write values at a place."""
        self.values[at] = values
        if self.dtype.kind in "biu":
            self.present[at] = True

    def finished(self) -> np.ndarray:
        """Return the values, with gaps as NaN."""
        return self.values if self.present.all() else np.where(self.present, self.values, np.nan)


class _Collector:
    def __init__(self, scan: Scan) -> None:
        self.plan, self.scan = scan.plan, scan
        self.tables: dict[str, _Table] = {}
        self.sizes: dict[str, int] = {}
        self.sequences: dict[str, dict[tuple[Any, ...], Any]] = {}
        """Of each own dimension with labels the sequences that shards have, each with its places in the union."""
        self.label_types: dict[str, tuple[np.dtype, Mapping[str, Any]]] = {}
        self.remarks: list[str] = []
        self.grid = (len(self.plan.arms), *(len(values) for values in self.plan.axes.values()))
        self.status = np.full((*self.grid, self.plan.replicates), NOT_COMPUTED, dtype=np.int64)

    def collect(self) -> xr.Dataset:
        cells = [(group, in_order(self.scan.usable.get(digest, []))) for digest, group in self.plan.by_digest.items()]
        for _, entries in cells:
            for entry in entries:
                self._declare(_read(entry)[1])
        labels = {dim: united(list(sequences)) for dim, sequences in self.sequences.items()}
        for dim, sequences in self.sequences.items():
            self.sizes[dim] = max(self.sizes.get(dim, 0), len(labels[dim]))
            for sequence in sequences:
                sequences[sequence] = positions(labels[dim], sequence)
        for table in self.tables.values():
            replicates = (self.plan.replicates,) if table.replicate else ()
            table.allocate((*self.grid, *replicates, *(self.sizes[dim] for dim in table.own)))
        for group, entries in cells:
            self._fill_cell(group, entries)
        return self._dataset(labels)

    def _declare(self, variables: Mapping[str, Variable]) -> None:
        """Learn the names, types and sizes of one shard."""
        for name, variable in variables.items():
            dims, dtype = variable.dims, variable.values.dtype
            if variable.coord and dims == (name,):
                self.sequences.setdefault(name, {})[tuple(variable.values.tolist())] = None
                known, attrs = self.label_types.setdefault(name, (dtype, variable.attrs))
                if (known.kind == "O") != (dtype.kind == "O"):
                    raise UserError(f"the labels of '{name}' are text in some cells and numbers in others; {AGAIN}")
                self.label_types[name] = np.promote_types(known, dtype), attrs
                continue
            if name == "status":  # that of the header
                continue
            for dim, size in zip(dims, variable.values.shape, strict=True):
                self.sizes[dim] = max(self.sizes.get(dim, 0), size)
            own = tuple(dim for dim in dims if dim != "replicate")
            self._declare_one(name, _Table(own, "replicate" in dims, dtype, variable.attrs, variable.coord))

    def _declare_one(self, name: str, new: _Table) -> None:
        problem = next((text for pair in new.attrs.items() if (text := contract.attribute_problem(*pair))), "")
        if problem:  # no experiment's: somebody made this shard
            raise UserError(f"the variable '{name}' has an attribute that {problem}; {AGAIN}")
        old = self.tables.setdefault(name, new)
        texts = {table.dtype.kind == "O" for table in (old, new)}
        if (old.own, old.replicate) != (new.own, new.replicate) or len(texts) > 1:
            raise UserError(
                f"the variable '{name}' has other dimensions, or another type, in some cells than in others; "
                "an experiment must return it in one shape everywhere"
            )
        old.dtype = np.promote_types(old.dtype, new.dtype)

    def _fill_cell(self, group: list[PlannedCell], entries: list[Entry]) -> None:
        """Fill one cell, and copy it to the arms that have the same settings."""
        position = group[0].position
        seen = self.status[position]  # a view
        single: dict[str, tuple[Variable, Entry]] = {}
        for entry in entries:
            header, variables = _read(entry)
            rows, status = np.asarray(header.replicates), np.asarray(header.status)
            inside = np.flatnonzero(rows < self.plan.replicates)
            fresh = inside[seen[rows[inside]] == NOT_COMPUTED]
            again = inside[seen[rows[inside]] != NOT_COMPUTED]
            twice = again[~np.isin(seen[rows[again]], FAILED_FOR_GOOD) & ~np.isin(status[again], FAILED_FOR_GOOD)]
            differing = []
            for name, variable in variables.items():
                table = self.tables.get(name)
                if table is None:  # the status, or the labels of an own dimension
                    continue
                if not table.replicate:
                    self._put_single(group[0], name, variable, entry, single, self._own(variable, variables))
                    continue
                own = self._own(variable, variables)
                if len(fresh):
                    table.put((*position, *_joint([rows[fresh], *own])), variable.values[fresh])
                if len(twice) and not variable.measured:
                    there = table.values[(*position, *_joint([rows[twice], *own]))]
                    if difference(Variable((), there), Variable((), variable.values[twice])):
                        differing.append(name)
            if differing:  # the computation is not repeatable
                self.remarks.append(
                    f"{group[0].label}: '{differing[0]}' differs between shards of equal code ({entry.path.name})"
                )
            seen[rows[fresh]] = status[fresh]
        for twin in group[1:]:
            self.status[twin.position] = seen
            for table in self.tables.values():
                table.values[twin.position] = table.values[position]
                if table.dtype.kind in "biu":
                    table.present[twin.position] = table.present[position]

    def _own(self, variable: Variable, variables: Mapping[str, Variable]) -> list[np.ndarray]:
        """Where the entries of own dimensions go: by their labels if they have some, else the first ones."""
        places = []
        for dim, size in zip(variable.dims, variable.values.shape, strict=True):
            if dim in self.sequences and dim in variables:
                places.append(self.sequences[dim][tuple(variables[dim].values.tolist())])
            elif dim != "replicate":
                places.append(np.arange(size))
        return places

    def _put_single(
        self,
        planned: PlannedCell,
        name: str,
        new: Variable,
        entry: Entry,
        single: dict[str, tuple[Variable, Entry]],
        own: Sequence[np.ndarray],
    ) -> None:
        """Write a property of the cell the first time it is met; later ones must be equal."""
        if name not in single:
            single[name] = new, entry
            self.tables[name].put((*planned.position, *_joint(own)), new.values if own else new.values[()])
            return
        old, first = single[name]
        rounded = bool(origin.differences(first.provenance, entry.provenance)) and relative(old, new) <= ROUNDING
        if difference(old, new) and not rounded:
            raise UserError(
                f"'{name}' of {planned.label} differs between the shards {first.path} and {entry.path}: a variable "
                "without the dimension replicate, or an attribute, must be the same whatever the replicates are"
            )

    def _dataset(self, labels: Mapping[str, list[Any]]) -> xr.Dataset:
        plan = self.plan
        grid = ("arm", *plan.axes)
        data: dict[str, Any] = {}
        coords: dict[str, Any] = {}
        for name, table in self.tables.items():
            dims = (*grid, *(("replicate",) if table.replicate else ()), *table.own)
            values = table.finished()
            # truth values with gaps become numbers; what they are decides which interval is theirs
            binary = {BINARY: 1} if table.dtype.kind == "b" and values.dtype.kind == "f" else {}
            (coords if table.coord else data)[name] = (dims, values, dict(table.attrs) | binary)
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
        for dim, sequence in labels.items():
            dtype, attrs = self.label_types[dim]
            coords[dim] = (dim, np.asarray(sequence, dtype=dtype), dict(attrs))
        order = sorted(data, key=lambda name: (name not in ("status", "message", "iterations"), name))
        try:
            return xr.Dataset({name: data[name] for name in order}, coords=coords)
        except ValueError as error:  # a name that is a variable in one cell and a dimension in another
            raise UserError(f"the variables of the cells do not fit together ({error}); {AGAIN}") from None


def _read(entry: Entry) -> tuple[shard.Header, dict[str, Variable]]:
    """Read a shard; the attributes of its dataset are properties of the cell, like other variables."""
    try:
        header, variables = shard.read(entry.path)
        attrs = {name: Variable((), contract.as_array(value)) for name, value in header.attrs.items()}
        return header, variables | attrs
    except (shard.DamagedShardError, FileNotFoundError) as error:
        raise UserError(f"{entry.path} changed while it was read ({error}); run the same command again") from None


def _joint(parts: Sequence[np.ndarray]) -> tuple[Any, ...]:
    """Index several axes at once, each by its own numbers; consecutive ones as a slice, which is much faster."""
    runs = [
        slice(int(part[0]), int(part[-1]) + 1) if len(part) and np.all(np.diff(part) == 1) else part for part in parts
    ]
    return tuple(runs) if all(isinstance(run, slice) for run in runs) else np.ix_(*parts)

"""From shards to one tidy dataset with the dimensions (arm, *axes of the grid, replicate, *the experiment's own).

What was not computed is NaN (text: empty) with status -1; an integer or truth-value variable with such gaps becomes a
float. A variable without the dimension ``replicate`` is a property of the cell and must be the same in every shard of
it; so must the attributes, which become variables of the cell. Where the experiment's own dimensions differ between
cells, the union of their coordinates is taken. What machines of two kinds round differently counts as the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from moestat.errors import UserError
from moestat.runner import origin, own_labels, shard, storable
from moestat.runner.cells import PlannedCell
from moestat.runner.difference import ROUNDING, relative
from moestat.runner.results import BINARY, NOT_COMPUTED
from moestat.runner.shard import Variable
from moestat.runner.store import FAILED_FOR_GOOD, Entry, Scan, in_order
from moestat.status import Status

Index = slice | np.ndarray
AGAIN = "change the experiment, and compute its results again"


def collect(scan: Scan) -> tuple[xr.Dataset, list[str]]:
    """Read the usable shards of a scan into one dataset.

    Returns
    -------
    dataset : xarray.Dataset
    remarks : list of str
        What is odd, in sentences: replicates that two shards hold with different values.

    Raises
    ------
    UserError
        If shards contradict each other.
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
    present: np.ndarray | None = None

    def allocate(self, shape: tuple[int, ...]) -> None:
        """Fill the table with gaps."""
        kind = self.dtype.kind
        fill: Any = "" if kind == "O" else np.nan if kind in "fc" else 0
        self.values = np.full(shape, fill, dtype=self.dtype)
        if kind in "biu":
            self.present = np.zeros(shape, dtype=bool)

    def put(self, at: tuple[Any, ...], values: np.ndarray) -> None:
        """Write values at a place."""
        self.values[at] = values
        if self.present is not None:
            self.present[at] = True

    def finished(self) -> np.ndarray:
        """Return the values, with gaps as NaN."""
        if self.present is None or self.present.all():
            return self.values
        return np.where(self.present, self.values, np.nan)


class _Collector:
    def __init__(self, scan: Scan) -> None:
        self.plan, self.scan = scan.plan, scan
        self.tables: dict[str, _Table] = {}
        self.sizes: dict[str, int] = {}
        self.sequences: dict[str, dict[tuple[Any, ...], None]] = {}
        self.label_types: dict[str, tuple[np.dtype, Mapping[str, Any]]] = {}
        self.labels: dict[str, dict[Any, int]] = {}
        self.remarks: list[str] = []

    def collect(self) -> xr.Dataset:
        cells = [(group, in_order(self.scan.usable.get(digest, []))) for digest, group in self.plan.by_digest.items()]
        for _, entries in cells:
            for entry in entries:
                self._declare(*_read(entry))
        self.labels = {dim: own_labels.numbered(list(sequences)) for dim, sequences in self.sequences.items()}
        self.sizes |= {dim: len(own_labels.standing(labels)) for dim, labels in self.labels.items()}
        grid = (len(self.plan.arms), *(len(values) for values in self.plan.axes.values()))
        for table in self.tables.values():
            replicates = (self.plan.replicates,) if table.replicate else ()
            table.allocate((*grid, *replicates, *(self.sizes[dim] for dim in table.own)))
        for group, entries in cells:
            self._fill_cell(group, entries)
        return self._dataset()

    def _declare(self, header: shard.Header, payload: memoryview) -> None:
        """Learn the names, types and sizes of one shard."""
        for item in header.arrays:
            dims = tuple(item["dims"])
            if item["coord"] and dims == (item["name"],):
                self._declare_labels(item, shard.unpack(item, payload))
                continue
            for dim, size in zip(dims, item["shape"], strict=True):
                if dim != "replicate":
                    self.sizes[dim] = max(self.sizes.get(dim, 0), size)
            own = tuple(dim for dim in dims if dim != "replicate")
            dtype = np.dtype(object if item["type"] == "text" else item["type"])
            self._declare_one(item["name"], _Table(own, "replicate" in dims, dtype, item["attrs"], item["coord"]))
        for name, value in header.attrs.items():
            self._declare_one(name, _Table((), False, _attribute(value).dtype, {}, False))

    def _declare_labels(self, item: Mapping[str, Any], labels: np.ndarray) -> None:
        """Learn the labels of an own dimension, their type and their attributes."""
        name = item["name"]
        self.sequences.setdefault(name, {})[tuple(labels.tolist())] = None
        dtype, attrs = self.label_types.setdefault(name, (labels.dtype, item["attrs"]))
        if (dtype.kind == "O") != (labels.dtype.kind == "O"):
            raise UserError(f"the labels of '{name}' are text in some cells and numbers in others; make them one kind")
        self.label_types[name] = np.promote_types(dtype, labels.dtype), attrs

    def _declare_one(self, name: str, new: _Table) -> None:
        for key, value in new.attrs.items():
            if problem := storable.attribute_problem(key, value):
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
        seen = np.full(self.plan.replicates, NOT_COMPUTED)  # the status that was kept of each replicate
        single: dict[str, tuple[Variable, Entry]] = {}
        for entry in entries:
            header, payload = _read(entry)
            variables = shard.variables(header, payload)
            rows = np.asarray(header.replicates)
            inside = np.flatnonzero(rows < self.plan.replicates)
            fresh = inside[seen[rows[inside]] == NOT_COMPUTED]
            again = inside[seen[rows[inside]] != NOT_COMPUTED]
            status = np.asarray(header.status)
            if len(again) and not entry.why:
                twice = again[~np.isin(seen[rows[again]], FAILED_FOR_GOOD) & ~np.isin(status[again], FAILED_FOR_GOOD)]
                self._compare(group[0], entry, variables, rows, twice)
            for name, variable in variables.items():
                table = self.tables.get(name)
                if table is None:  # the labels of an own dimension
                    continue
                own = [self._own(dim, size, variables) for dim, size in _own_sizes(variable)]
                if not table.replicate:
                    if self._agrees(group[0], name, variable, entry, single):
                        table.put((*position, *_joint(own)), variable.values)
                elif len(fresh):
                    table.put((*position, *_joint([_run(rows[fresh]), *own])), variable.values[_run(fresh)])
            for name, value in header.attrs.items():
                variable = Variable((), _attribute(value))
                if self._agrees(group[0], name, variable, entry, single):
                    self.tables[name].put(position, variable.values[()])
            seen[rows[fresh]] = status[fresh]
        for twin in group[1:]:
            for table in self.tables.values():
                table.values[twin.position] = table.values[position]
                if table.present is not None:
                    table.present[twin.position] = table.present[position]

    def _own(self, dim: str, size: int, variables: Mapping[str, Variable]) -> Index:
        """Where the entries of an own dimension go: by their labels if it has some, else the first ``size``."""
        labels = self.labels.get(dim)
        if labels is None or dim not in variables:
            return slice(0, size)
        return _run(np.asarray([labels[label] for label in variables[dim].values.tolist()], dtype=np.intp))

    def _agrees(
        self, planned: PlannedCell, name: str, new: Variable, entry: Entry, single: dict[str, tuple[Variable, Entry]]
    ) -> bool:
        """Whether a property of the cell is to be written: the first time it is met. Later ones must be equal."""
        if name not in single:
            single[name] = (new, entry)
            return True
        old, first = single[name]
        rounded = bool(origin.differences(first.provenance, entry.provenance)) and relative(old, new) <= ROUNDING
        if not _same(old.values, new.values) and not rounded and not entry.why:
            raise UserError(
                f"'{name}' of {planned.label} differs between the shards {first.path} and {entry.path}: a variable "
                "without the dimension replicate, or an attribute, must be the same whatever the replicates are"
            )
        return False

    def _compare(
        self, planned: PlannedCell, entry: Entry, variables: Mapping[str, Variable], rows: np.ndarray, twice: np.ndarray
    ) -> None:
        """Remark on replicates that two valid shards hold with different values: the computation is not repeatable."""
        if not len(twice):
            return
        for name, variable in variables.items():
            table = self.tables.get(name)
            if table is None or not table.replicate or variable.measured:
                continue
            own = [self._own(dim, size, variables) for dim, size in _own_sizes(variable)]
            kept = table.values[(*planned.position, *_joint([_run(rows[twice]), *own]))]
            if not _same(kept, variable.values[twice]):
                self.remarks.append(
                    f"{planned.label}: '{name}' differs between shards of equal code ({entry.path.name})"
                )
                return

    def _dataset(self) -> xr.Dataset:
        plan = self.plan
        grid = ("arm", *plan.axes)
        data: dict[str, Any] = {}
        coords: dict[str, Any] = {}
        for name, table in self.tables.items():
            dims = (*grid, *(("replicate",) if table.replicate else ()), *table.own)
            values = table.finished()
            if name == "status":
                values = (
                    np.where(np.isnan(values), NOT_COMPUTED, values).astype(np.int64)
                    if values.dtype.kind == "f"
                    else values
                )
            # truth values with gaps become numbers; what they are decides which interval is theirs
            binary = {BINARY: 1} if table.dtype.kind == "b" and values.dtype.kind == "f" else {}
            (coords if table.coord else data)[name] = (dims, values, dict(table.attrs) | binary)
        shape = (*(len(v) for v in (plan.arms, *plan.axes.values())), plan.replicates)
        if "status" not in data:
            data["status"] = ((*grid, "replicate"), np.full(shape, NOT_COMPUTED, dtype=np.int64), {})
        data["status"][2].update(
            flag_values=[NOT_COMPUTED, *(int(s) for s in Status)],
            flag_meanings=" ".join(["NOT_COMPUTED", *(s.name for s in Status)]),
        )
        coords["arm"] = ("arm", np.asarray([arm.name for arm in plan.arms], dtype=object))
        coords["arm_label"] = ("arm", np.asarray([arm.label or arm.name for arm in plan.arms], dtype=object))
        for axis, points in plan.axes.items():
            texts = any(isinstance(v, str) for v in points)
            coords[axis] = (axis, np.asarray(points, dtype=object if texts else None))
        coords["replicate"] = ("replicate", np.arange(plan.replicates, dtype=np.int64))
        for dim, labels in self.labels.items():
            dtype, attrs = self.label_types[dim]
            coords[dim] = (dim, np.asarray(own_labels.standing(labels), dtype=dtype), dict(attrs))
        order = sorted(data, key=lambda name: (name not in ("status", "message", "iterations"), name))
        try:
            return xr.Dataset({name: data[name] for name in order}, coords=coords)
        except ValueError as error:  # a name that is a variable in one cell and a dimension in another
            raise UserError(f"the variables of the cells do not fit together ({error}); {AGAIN}") from None


def _read(entry: Entry) -> tuple[shard.Header, memoryview]:
    try:
        return shard.verified(shard.contents(entry.path))
    except (shard.DamagedShardError, FileNotFoundError) as error:
        raise UserError(f"{entry.path} changed while it was read ({error}); run the same command again") from None


def _attribute(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=object if isinstance(value, str) else None)


def _own_sizes(variable: Variable) -> list[tuple[str, int]]:
    return [(d, n) for d, n in zip(variable.dims, variable.values.shape, strict=True) if d != "replicate"]


def _run(numbers: np.ndarray) -> Index:
    """Return consecutive numbers as a slice, which is much faster to assign to."""
    first = int(numbers[0]) if len(numbers) else 0
    if len(numbers) and np.array_equal(numbers, np.arange(first, first + len(numbers))):
        return slice(first, first + len(numbers))
    return numbers


def _joint(parts: list[Index]) -> tuple[Any, ...]:
    """Index several axes at once, each by its own numbers."""
    if sum(not isinstance(part, slice) for part in parts) == 0:
        return tuple(parts)
    arrays = [np.arange(part.start, part.stop) if isinstance(part, slice) else part for part in parts]
    return np.ix_(*arrays)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit, NaN included."""
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "fc" or b.dtype.kind in "fc":
        return bool(np.array_equal(a, b, equal_nan=True))
    return bool(np.array_equal(a, b))

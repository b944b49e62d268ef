"""A replicate computed again from its identity alone, and compared with what results or a record hold of it.

Other processors round differently, and an iterative fit then stops at another point of its tolerance, or in another
minimum. What matters is whether an interval could tell: a difference of a hundredth of the spread over replicates
cannot be seen in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from moestat import versions
from moestat.errors import InputError
from moestat.runner import contract, labels, manifest_file, origin, records, results, worker
from moestat.runner.begin import context_of, make_plan, resolve_device, version_of
from moestat.runner.difference import ROUNDING, difference, positions, relative
from moestat.runner.overview import recorded
from moestat.runner.plan import Plan, PlannedCell, slot_text
from moestat.runner.request import Request
from moestat.runner.shard import Variable
from moestat.sentences import listed, nearest
from moestat.status import Status

SPREAD = 0.01
"""Share of the standard deviation over a cell's replicates below which a difference moves no verdict."""
FEWEST = 3
"""Replicates of a cell, fewer of which tell no spread."""
KINDS = {
    "other": "another result",
    "close": "rounding, or less than 1 % of the spread over replicates",
    "path": "another way there",
}


@dataclass
class Comparison:
    """What a replicate computed again differs in: by variable of which of the ``KINDS`` it is, and how in words.

    What is another way there says how the computation went (iterations, gradients), and not what it found.
    """

    found: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Whether everything is equal, bit for bit."""
        return not self.found

    @property
    def other(self) -> bool:
        """Whether something is another result."""
        return any(kind == "other" for kind, _ in self.found.values())

    def __str__(self) -> str:
        """Say so on one line."""
        parts = []
        for kind, words in KINDS.items():
            if texts := [f"{name} {text}" for name, (of, text) in self.found.items() if of == kind]:
                parts.append(f"{words}: {listed(texts, 4)}")
        return "; ".join(parts) or "equal, bit for bit"


def parse_place(plan: Plan, words: Sequence[str]) -> tuple[PlannedCell, int]:
    """Understand ``ARM VALUE... REPLICATE``, one value for each axis of the grid."""
    axes, names = list(plan.axes), [arm.name for arm in plan.arms]
    usage = f"the study needs: replay {plan.study_file.name} ARM {' '.join(a.upper() for a in axes)} REPLICATE"
    if len(words) != len(axes) + 2:
        raise InputError(f"{usage}; {len(words)} words were given")
    arm, *values, replicate = words
    if arm not in names:
        raise InputError(f"there is no arm {arm!r}{nearest(arm, names) or ';'} allowed are {listed(names)}")
    coords = {axis: _coordinate(plan, axis, text) for axis, text in zip(axes, values, strict=True)}
    planned = plan.by_slot.get(slot_text(arm, coords))
    if planned is None:
        raise InputError(f"arm {arm!r} has no cell at {coords}")
    if not replicate.isdigit() or int(replicate) >= 2**32:
        raise InputError(f"the replicate is {replicate!r}; allowed are 0 to 4294967295")
    return planned, int(replicate)


def _coordinate(plan: Plan, axis: str, text: str) -> Any:
    for value in plan.axes[axis]:
        with suppress(ValueError):  # of a text that is no number
            if text in (str(value), str(value).lower()) or float(text) == value:
                return value
    raise InputError(f"{axis} is {text!r}; on the grid are {listed(plan.axes[axis])}")


def compute(plan: Plan, request: Request, planned: PlannedCell, replicate: int) -> dict[str, Variable]:
    """Return the variables of one replicate, computed alone, attributes included; one that raises is a result, too."""
    version_of(plan)  # refuses code that changed since it was imported
    context = context_of(request, plan, Path(), resolve_device(request.device, plan))
    with worker.cache_kept():
        module = worker.enter_process(context)
        variables, attrs, problem = worker.attempt(module, planned.cell, [replicate], context.device)
    if problem:
        return contract.failed([replicate], Status.RAISED, problem)
    return variables | {name: Variable((), contract.as_array(value)) for name, value in attrs.items()}


def replay(request: Request, words: Sequence[str]) -> tuple[list[str], Comparison | None]:
    """Compute the replicate at a place again, beside the collected results of the request or their record.

    Returns
    -------
    lines : list of str
        What is to be printed.
    found : Comparison or None
        None where nothing is stored of this replicate of this very cell.
    """
    request = recorded(request)
    plan = make_plan(request)
    planned, replicate = parse_place(plan, words)
    computed = compute(plan, request, planned, replicate)
    found, remarks = _beside_stored(plan, request, planned, replicate, computed)
    status = Status(int(computed["status"].values[0]))
    lines = [
        f"{planned.label}, replicate {replicate} (seed {plan.seed}, cell {planned.digest[:12]})",
        f"status: {status.name}. {status.sentence}",
    ]
    for name, variable in computed.items():
        if variable.values.size == 1 and name != "status":
            value = variable.values.ravel()[0]
            mark = f"   <- {found.found[name][1]}" if found is not None and name in found.found else ""
            lines.append(f"  {name:24} {value if isinstance(value, str) else repr(value.item())}{mark}")
    return lines + [f"note: {remark}" for remark in remarks], found


def _beside_stored(
    plan: Plan, request: Request, planned: PlannedCell, replicate: int, computed: Mapping[str, Variable]
) -> tuple[Comparison | None, list[str]]:
    folder = records.results_folder(request.out, plan.study_file.name, request.preset)
    kept = manifest_file.read(folder)
    cells = kept.get("cells") or []
    digests = cells if isinstance(cells, dict) else [row["digest"][:16] for row in cells]
    if planned.digest[:16] not in digests or not (folder / results.NAME).is_file():
        return None, []
    dataset = results.read(folder / results.NAME)
    if replicate >= dataset.sizes["replicate"] or at(dataset["status"], planned)[replicate] == results.NOT_COMPUTED:
        return None, []
    found = compare(dataset, planned, replicate, computed, kept.get("left_out") or ())
    remarks = [f"it is compared with {folder / results.NAME}"]
    if changes := versions.since(kept.get("code") or {}, version_of(plan)):
        remarks.append(f"changed since: {'; '.join(changes[:5])}")
    if not found.equal:
        remarks += origins(kept, resolve_device(request.device, plan))[1]
    return found, remarks


def origins(kept: Mapping[str, Any], device: str) -> tuple[list[str], list[str]]:
    """Return what differs from the machines that a manifest names and may change a last digit, and all in sentences."""
    here = origin.here() | {"device": device}
    made = kept.get("origins") or []
    elsewhere = list(dict.fromkeys(line for facts in made for line in origin.differences(facts, here)))
    lines = [f"what is stored was computed by {origin.text({'host': 'a machine with'} | facts)}" for facts in made]
    lines.append(f"here it was computed by {origin.text(here | {'host': 'a machine with'})}")
    if not elsewhere:
        lines.append("both name the same kernels and versions: the code gives other numbers now")
    return elsewhere, lines


def compare(
    record: xr.Dataset, planned: PlannedCell, replicate: int, computed: Mapping[str, Variable], left_out: Sequence[str]
) -> Comparison:
    """Compare a replicate that was computed again with its record, but for what the record leaves out."""
    found, module = Comparison(), str(record.attrs.get("experiment", ""))
    for name, new in sorted(computed.items()):
        if name in left_out or new.measured or new.dims == (name,):
            continue
        if name not in record.variables:
            found.found[name] = "other", "is not stored"
            continue
        now = new.values[0] if "replicate" in new.dims else new.values
        own = tuple(dim for dim in new.dims if dim != "replicate")
        stored = _placed(at(record[name], planned), own, np.shape(now), computed)
        old = stored.isel(replicate=replicate) if "replicate" in stored.dims else stored
        pair = Variable(own, np.asarray(old.values)), Variable(own, np.asarray(now))
        if not (text := difference(*pair)):
            continue
        resolved = labels.resolved(module, name)
        kind = "path"
        if resolved is not None:
            close = relative(*pair, resolved) <= ROUNDING or within_spread(pair, stored, resolved)
            kind = "close" if close else "other"
        found.found[name] = kind, text
    has_value = Status(int(computed["status"].values[0])).has_value
    for name in map(str, record.data_vars if has_value else ()):
        derived = record[name].attrs.get("derived")  # from others, for a reader of the record
        array = at(record[name], planned)
        values = array.isel(replicate=replicate).values if "replicate" in array.dims else array.values
        said = ~np.isnan(values) if values.dtype.kind in "fc" else values.dtype.kind not in "OUT" or values != ""
        if name not in computed and not derived and np.any(said):  # else another arm has it
            found.found[name] = "other", "is not computed any more"
    return found


def within_spread(pair: tuple[Variable, Variable], stored: xr.DataArray, resolved: tuple[float, float]) -> bool:
    """Return whether two numbers differ by rounding, or by at most 1 % of the spread over a cell's replicates."""
    a, b = (variable.values for variable in pair)
    if stored.dtype.kind != "f" or a.shape != b.shape or "replicate" not in stored.dims:
        return False
    values = stored.where(np.isfinite(stored))
    spread = values.std("replicate").where(values.count("replicate") >= FEWEST, 0.0).values
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= np.maximum(SPREAD * spread, np.maximum(ROUNDING * np.abs(a), resolved[0]))
    return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def at(array: xr.DataArray, planned: PlannedCell) -> xr.DataArray:
    """Return what a variable of a record holds of a cell."""
    places = {"arm": planned.cell.arm} | dict(planned.cell.coords)
    return array.isel({axis: array[axis].values.tolist().index(value) for axis, value in places.items()})


def _placed(
    old: xr.DataArray, own: Sequence[str], shape: tuple[int, ...], computed: Mapping[str, Variable]
) -> xr.DataArray:
    """Return the entries of a record that a computed variable has, by their labels if they have some."""
    for dim, size in zip(own, shape, strict=True):
        places: Any = slice(0, size)
        if dim in computed and dim in old.coords:
            places = positions(old[dim].values.tolist(), computed[dim].values.tolist())
        old = old.isel({dim: slice(0, 0) if places is None else places})  # without a label: of another shape
    return old.transpose(..., *own)

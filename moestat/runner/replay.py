"""Replicates computed again from their identity alone, and compared with what results or a record hold of them.

Other processors round differently, and an iterative fit then stops at another point of its tolerance, or in another
minimum. What matters is whether an interval could tell: a difference of a hundredth of the spread over replicates
cannot be seen in one.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from moestat import bounded, versions
from moestat.errors import InputError
from moestat.runner import begin, contract, labels, manifest_file, origin, records, results, rounded, worker
from moestat.runner import plan as plans
from moestat.runner.difference import close, difference, positions
from moestat.runner.overview import recorded
from moestat.runner.plan import Plan, PlannedCell, slot_text
from moestat.runner.request import Request
from moestat.runner.shard import Variable
from moestat.sentences import listed, nearest
from moestat.status import Status
from moestat.study import load

SPREAD, FEWEST = 0.01, 3
"""Share of the standard deviation over a cell's replicates, so many at least, below which nothing moves a verdict."""
KINDS = {
    "other": "another result",
    "close": "rounding, or less than 1 % of the spread over replicates",
    "path": "another way there",
}
NO_REPLAY = (results.NOT_COMPUTED, Status.WORKER_DIED, Status.TIMED_OUT)
"""What says nothing of the numbers."""


class Comparison(dict[str, tuple[str, str]]):
    """The variables in which a replicate computed again differs: of which of the ``KINDS`` each is, and how in words.

    What is another way there says how the computation went (iterations, gradients), and not what it found. ``gone``
    has variables of the record that are not computed any more, and so cannot be compared.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gone: list[str] = []

    @property
    def other(self) -> bool:
        """Whether something is another result."""
        return any(kind == "other" for kind, _ in self.values())

    def __str__(self) -> str:
        """Say so on one line."""
        parts = []
        for kind, words in KINDS.items():
            if texts := [f"{name} {text}" for name, (of, text) in self.items() if of == kind]:
                parts.append(f"{words}: {listed(texts, 4)}")
        return "; ".join(parts) or "equal, bit for bit"


def compute(plan: Plan, planned: PlannedCell, replicate: int) -> dict[str, Variable]:
    """Return the variables of one replicate, computed alone, attributes included; one that raises is a result, too."""
    context = begin.context_of(plan)
    with worker.cache_kept():
        module = worker.enter_process(context)
        variables, problem = worker.attempt(module, planned.cell, [replicate], context.device)
    return contract.failed([replicate], Status.RAISED, problem) if problem else variables


# -- one replicate ----------------------------------------------------------------------------------------------------


def replay(request: Request, words: Sequence[str]) -> tuple[list[str], Comparison | None]:
    """Compute the replicate at a place again, beside the collected results of the request or their record.

    Return the lines to be printed, and what it differs in: None where nothing is stored of this replicate of this very
    cell.
    """
    request = recorded(request)
    plan = plans.of(request)
    planned, replicate = parse_place(plan, words)
    computed = compute(plan, planned, replicate)
    status = _status(computed)
    lines = [
        f"{planned.cell.label}, replicate {replicate} (seed {plan.seed}, cell {planned.digest[:12]})",
        f"status: {status.name}. {status.sentence}",
    ]
    folder = records.results_folder(request.out, plan.study_file.name, request.preset)
    kept, found = manifest_file.read(folder), None
    if planned.digest[:16] in kept.get("cells", {}) and results.of(folder).is_file():
        dataset = results.read(results.of(folder))
        there = at(dataset["status"], planned).values
        if replicate < len(there) and there[replicate] != results.NOT_COMPUTED:
            found = compare(dataset, planned, replicate, computed, kept.get("left_out") or ())
    for name, variable in computed.items():
        if variable.values.size == 1 and name != "status":
            value = variable.values.ravel()[0]
            mark = f"   <- {found[name][1]}" if found and name in found else ""
            lines.append(f"  {name:24} {value if isinstance(value, str) else repr(value.item())}{mark}")
    if found is not None:
        lines += [f"it is compared with {results.of(folder)}", *_changes(kept, plan)]
        if found:
            lines += origins(kept, begin.resolve_device(request.device, plan))[1]
    return lines, found


def parse_place(plan: Plan, words: Sequence[str]) -> tuple[PlannedCell, int]:
    """Understand ``ARM VALUE... REPLICATE``, one value for each axis of the grid."""
    axes, names = list(plan.axes), [arm.name for arm in plan.arms]
    if len(words) != len(axes) + 2:
        usage = f"replay {plan.study_file.name} ARM {' '.join(a.upper() for a in axes)} REPLICATE"
        raise InputError(f"the study needs: {usage}; {len(words)} words were given")
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


def _status(computed: Mapping[str, Variable]) -> Status:
    return Status(int(computed["status"].values[0]))


def _changes(kept: Mapping[str, Any], plan: Plan) -> list[str]:
    """Say what changed in the code since a manifest was written, where that can be told."""
    changes = versions.since(kept.get("code") or {}, begin.version_of(plan))
    return [f"changed since: {'; '.join(changes[:5])}"] if changes else []


def origins(kept: Mapping[str, Any], device: str) -> tuple[list[str], list[str]]:
    """Return what differs from the machines that a manifest names and may change a last digit, and all in sentences."""
    here = origin.here() | {"device": device}
    made = kept.get("origins") or []
    elsewhere = list(dict.fromkeys(line for facts in made for line in origin.differences(facts, here)))
    lines = [f"what is stored was computed by {origin.text({'host': 'a machine'} | facts)}" for facts in made]
    lines.append(f"here it was computed by {origin.text(here | {'host': 'a machine'})}")
    if not elsewhere:
        lines.append("both name the same kernels and versions: the code gives other numbers now")
    return elsewhere, lines


# -- a sample of a record ---------------------------------------------------------------------------------------------


@dataclass
class Verification:
    """What a check of a record showed, of each replicate that was computed again.

    ``elsewhere`` says what differs from the machine that made the record and may change a last digit, ``told`` which
    both are.
    """

    folder: Path
    found: list[Comparison] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    @property
    def equal(self) -> int:
        """How many are equal to the record, bit for bit."""
        return sum(not one for one in self.found)

    @property
    def other(self) -> int:
        """How many have another result."""
        return sum(one.other for one in self.found)

    @property
    def holds(self) -> bool:
        """Whether the record stands: equal bit for bit, or on another machine to what moves no verdict."""
        return self.equal == len(self.found) or bool(self.elsewhere) and not self.other

    @property
    def lines(self) -> list[str]:
        """What is to be said of it."""
        lines = [f"{self.equal} of {len(self.found)} replicates are equal to the record, bit for bit"]
        if gone := dict.fromkeys(name for one in self.found for name in one.gone):
            lines.append(f"not compared, since it is not computed any more: {listed(gone, 8)}")
        if self.equal == len(self.found):
            return lines
        others = f"{self.other} of {len(self.found)} have another result"
        return [*lines, others if self.other else "the others differ by what moves no verdict", *self.told]


def verify(request: Request, count: int, seed: int, say: Callable[[str], None] = lambda text: None) -> Verification:
    """Compute ``count`` replicates of the record of a study again, and compare; ``seed`` is that of the draw.

    ``say`` is told what is about to be computed, and of each replicate what came out. Raises InputError or StaleError
    if there is no record, it was changed, or is not of the study file, or the study reads the results of others.
    """
    study_file = load.read(request.study)
    load.need_preset(study_file, request.preset)
    folder = records.place(request.out, study_file.name, request.preset)
    if not records.is_record(folder):
        raise InputError(f"there is no record in {folder}; {records.others(request.out, study_file)}")
    if study_file.study.reads:
        raise InputError(f"{study_file.shown} reads the results of others; verify {', '.join(study_file.study.needs)}")
    records.check(folder)
    dataset, kept = records.read(folder, study_file, request), manifest_file.read(folder)
    plan = plans.of(recorded(request, folder))
    places = [
        (planned, replicate)
        for planned in plan.cells
        for replicate in np.flatnonzero(~np.isin(at(dataset["status"], planned).values, NO_REPLAY)).tolist()
    ]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    made = str(kept.get("updated", ""))[:10]
    say(f"{folder}, made {made}: {len(chosen)} of {len(places)} replicates drawn with seed {seed}")
    for line in _changes(kept, plan):
        say(line)
    result = Verification(folder)
    for planned, replicate in chosen:
        computed = compute(plan, planned, replicate)
        found = compare(dataset, planned, replicate, computed, kept.get("left_out") or ())
        result.found.append(found)
        say(f"{planned.cell.label}, replicate {replicate}: {found}")
    result.elsewhere, result.told = origins(kept, begin.resolve_device(request.device, plan))
    return result


def certify(found: Verification) -> str:
    """Write into the manifest of a record when, and at which commit, how many replicates were found equal, and say so.

    Where none is equal, what stands there from before is left.
    """
    if not found.equal:
        return f"{found.folder}: no replicate is equal, so nothing is certified"
    verified = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "commit": origin.commit(),
        "replicates": len(found.found),
        "equal": found.equal,
    }
    content = {name: bounded.read(found.folder / name) for name in records.FILES}
    manifest = manifest_file.read(found.folder) | {"verified": verified}
    content[manifest_file.NAME] = (json.dumps(manifest, indent=1) + "\n").encode()
    records.write(found.folder, content)
    return f"{found.folder}: certified at {verified['commit']}"


# -- how far a replicate is from what is stored -----------------------------------------------------------------------


def compare(
    record: xr.Dataset, planned: PlannedCell, replicate: int, computed: Mapping[str, Variable], left_out: Sequence[str]
) -> Comparison:
    """Compare a replicate that was computed again with its record, but for what the record leaves out."""
    found, module = Comparison(), str(record.attrs.get("experiment", ""))
    short, summed = {*rounded.names(record)}, list[tuple[Any, Any]]()
    for name, new in sorted(computed.items()):
        if name in left_out or new.measured or new.dims == (name,):
            continue
        if name not in record.variables:
            found[name] = "other", "is not stored"
            continue
        now = new.values[0] if "replicate" in new.dims else new.values
        own = tuple(dim for dim in new.dims if dim != "replicate")
        stored = _placed(at(record[name], planned), own, np.shape(now), computed)
        if name in short:
            weights = _placed(rounded.weights_of(record, name), own, np.shape(now), computed)
            summed.append((now, weights.values))
            now = rounded.kept(np.asarray(now))
        old = stored.isel(replicate=replicate) if "replicate" in stored.dims else stored
        pair = np.asarray(old.values), np.asarray(now)
        if text := difference(*pair):
            resolved = labels.resolved(module, name)
            near = resolved is not None and close(*pair, resolved, SPREAD * _spread(stored))
            found[name] = "path" if resolved is None else "close" if near else "other", text
    for name in map(str, record.data_vars if _status(computed).has_value else ()):
        derived = record[name].attrs.get("derived")  # from others, for a reader of the record
        array = at(record[name], planned)
        values = array.isel(replicate=replicate).values if "replicate" in array.dims else array.values
        said = ~np.isnan(values) if values.dtype.kind in "fc" else values.dtype.kind not in "OUT" or values != ""
        if name not in computed and not derived and np.any(said):  # else another arm has it
            found.gone.append(name)
    comparable = short and not found and not found.gone
    if comparable and rounded.checksum(summed) != at(record[rounded.CHECKSUM], planned)[replicate]:
        found["what lies beyond seven digits"] = "close", "differs"
    return found


def _spread(stored: xr.DataArray) -> Any:
    """Return the standard deviation over a cell's replicates, 0 where there is none."""
    if stored.dtype.kind != "f" or "replicate" not in stored.dims:
        return 0.0
    values = stored.where(np.isfinite(stored))
    return values.std("replicate").where(values.count("replicate") >= FEWEST, 0.0).values


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

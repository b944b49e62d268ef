"""``verify``: a random sample of a record's replicates computed again by today's code, and compared with the record.

The sample is drawn from a seed that is stated, among all replicates that were computed to an end. Where the machine is
another one than the record's, both are named, and a difference of the last digits is told as what it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from moestat import fingerprint
from moestat.errors import InputError
from moestat.runner import begin, belongs, manifest, origin, records, replay, results, store
from moestat.runner.cells import PlannedCell
from moestat.runner.devices import resolve_device
from moestat.runner.difference import difference, relative
from moestat.runner.overview import recorded_in
from moestat.runner.plan import Plan
from moestat.runner.progress import duration
from moestat.runner.request import Request
from moestat.runner.shard import Variable
from moestat.status import Status, Stopped
from moestat.study import load

ROUNDING = 1e-6
"""Largest relative difference that is put down to other kernels or versions, where there are any."""
NO_REPLAY = (results.NOT_COMPUTED, Status.WORKER_DIED, Stopped.TIMED_OUT)
"""What says nothing of the numbers."""


@dataclass
class Verification:
    """What a check of a record showed.

    Attributes
    ----------
    lines : list of str
    compared, equal : int
        Replicates that were computed again, and of these the ones that are equal bit for bit.
    largest : float
        The largest relative difference; infinite where a variable has another shape, text or gap.
    elsewhere : list of str
        What differs from the machine that made the record and may change a last digit.
    """

    lines: list[str] = field(default_factory=list)
    compared: int = 0
    equal: int = 0
    largest: float = 0.0
    elsewhere: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the record stands: equal bit for bit, or to rounding on another machine."""
        return self.largest == 0.0 or bool(self.elsewhere) and self.largest <= ROUNDING


def verify(request: Request, count: int, seed: int, say: Callable[[str], None] = lambda text: None) -> Verification:
    """Compute replicates of the record of a study again, and compare.

    Parameters
    ----------
    request : Request
        The study, its preset, the outputs folder and the device.
    count : int
        How many replicates; all where there are fewer.
    seed : int
        Of the sample.
    say : callable
        Is told what is about to be computed, and of each replicate what came out.

    Raises
    ------
    InputError
        If there is no record, or the study reads the results of others.
    StaleError
        If the record was changed, or is not of the study file.
    """
    study_file = load.read(request.study)
    load.need_preset(study_file, request.preset)
    folder = records.path(request.out, study_file.name, request.preset)
    if not records.is_record(folder):
        raise InputError(f"there is no record in {folder}; records are made with: moestat ship {study_file.name}")
    if study_file.study.reads:
        raise InputError(f"{study_file.shown} reads the results of others; verify {', '.join(study_file.study.needs)}")
    records.check(folder)
    dataset = results.read(folder / results.NAME)
    belongs.refuse_foreign(dataset, study_file, request, folder)
    kept = manifest.read(folder)
    plan = begin.make_plan(recorded_in(request, folder))
    result = Verification()
    places = [
        (planned, replicate)
        for planned in plan.cells
        for replicate in np.flatnonzero(~np.isin(_at(dataset["status"], planned).values, NO_REPLAY)).tolist()
    ]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    took = sum(_seconds(kept, planned, plan) for planned, _ in chosen)
    say(
        f"{folder}, made {str(kept.get('updated', ''))[:10]}: {len(chosen)} of {len(places)} replicates drawn with "
        f"seed {seed}; they took {duration(took)}"
    )
    changes = fingerprint.changes(kept.get("code") or {}, begin.version_of(plan))
    if changes:
        say(f"the code has changed since: {'; '.join(changes[:5])}")
    left_out = set(kept.get("left_out") or ())
    for planned, replicate in chosen:
        again = replay.replay(plan, store.Scan(plan), request.out, planned, replicate, request.device)
        differences = _differences(dataset, planned, replicate, again, left_out, result)
        result.compared += 1
        result.equal += not differences
        text = "; ".join(differences) or "equal, bit for bit"
        say(f"{planned.label}, replicate {replicate}: {text}")
    here = origin.here() | {"device": resolve_device(request.device, plan)}
    made = [facts for facts in kept.get("origins", []) if isinstance(facts, dict)]
    result.elsewhere = list(dict.fromkeys(line for facts in made for line in origin.differences(facts, here)))
    result.lines.append(f"{result.equal} of {result.compared} replicates are equal to the record, bit for bit")
    if result.largest:
        result.lines.append(f"the largest relative difference is {result.largest:.3g}")
        result.lines += [f"the record was made by {origin.text({'host': 'a machine with'} | facts)}" for facts in made]
        result.lines.append(f"here it was computed by {origin.text(here | {'host': 'a machine with'})}")
        if not result.elsewhere:
            result.lines.append("both name the same kernels and versions: the code gives other numbers now")
    return result


def _at(array: xr.DataArray, planned: PlannedCell) -> xr.DataArray:
    """Return what a variable holds of a cell."""
    arm = array["arm"].values.tolist().index(planned.cell.arm)
    places = {axis: array[axis].values.tolist().index(value) for axis, value in planned.cell.coords.items()}
    return array.isel({"arm": arm, **places})


def _seconds(kept: Mapping[str, Any], planned: PlannedCell, plan: Plan) -> float:
    """Return what one replicate of a cell took, by the manifest."""
    cells = kept.get("cells")
    return float(cells.get(planned.digest[:16], 0.0)) / plan.replicates if isinstance(cells, dict) else 0.0


def _differences(
    dataset: xr.Dataset,
    planned: PlannedCell,
    replicate: int,
    again: replay.Replay,
    left_out: set[str],
    result: Verification,
) -> list[str]:
    """Say in what a replicate differs from the record, variable by variable."""
    computed = again.variables | replay.as_variables(again.attrs)
    texts = []
    for name in sorted(computed):
        new = computed[name]
        if name in left_out or new.measured or new.dims == (name,):
            continue
        now = new.values[0] if "replicate" in new.dims else new.values
        own = [dim for dim in new.dims if dim != "replicate"]
        if name not in dataset.variables:
            texts.append(f"{name} is not in the record")
            result.largest = np.inf
            continue
        old = _at(dataset[name], planned)
        if "replicate" in old.dims:
            old = old.isel(replicate=replicate)
        for dim, size in zip(own, np.shape(now), strict=True):
            old = old.sel({dim: computed[dim].values}) if dim in computed else old.isel({dim: slice(0, size)})
        pair = Variable(tuple(own), np.asarray(old.values)), Variable(tuple(own), np.asarray(now))
        if text := difference(*pair):
            texts.append(f"{name} {text}")
            result.largest = max(result.largest, relative(*pair))
    for name in map(str, dataset.data_vars):
        if name not in computed and not _is_gap(_at(dataset[name], planned), replicate):
            texts.append(f"{name} is not computed any more")
            result.largest = np.inf
    return texts


def _is_gap(array: xr.DataArray, replicate: int) -> bool:
    """Whether a variable says nothing of a replicate: another arm has it."""
    values = array.isel(replicate=replicate).values if "replicate" in array.dims else array.values
    if values.dtype.kind in "fc":
        return bool(np.isnan(values).all())
    return values.dtype.kind in "OUT" and not any(map(str, values.ravel()))

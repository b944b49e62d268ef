"""``verify``: a random sample of a record's replicates computed again by today's code, and compared with the record.

The sample is drawn from a seed that is stated, among all replicates that were computed to an end. Where the machine is
another one than the record's, both are named, and a difference of the last digits is told as what it is.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from moestat import bounded, versions
from moestat.errors import InputError
from moestat.runner import begin, belongs, manifest_file, origin, recomputed, records, replay, results, store
from moestat.runner.cells import PlannedCell
from moestat.runner.devices import resolve_device
from moestat.runner.overview import recorded_in
from moestat.runner.plan import Plan
from moestat.runner.progress import duration
from moestat.runner.request import Request
from moestat.status import Status
from moestat.study import load

NO_REPLAY = (results.NOT_COMPUTED, Status.WORKER_DIED, Status.TIMED_OUT)
"""What says nothing of the numbers."""


@dataclass
class Verification:
    """What a check of a record showed.

    Attributes
    ----------
    folder : Path
        Of the record.
    lines : list of str
    compared, equal : int
        Replicates that were computed again, and of these the ones that are equal bit for bit.
    other : int
        Replicates that have another result: a difference that is neither rounding nor small beside the spread.
    largest : float
        The largest relative difference of what is no other result.
    elsewhere : list of str
        What differs from the machine that made the record and may change a last digit.
    """

    folder: Path
    lines: list[str] = field(default_factory=list)
    compared: int = 0
    equal: int = 0
    other: int = 0
    largest: float = 0.0
    elsewhere: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the record stands: equal bit for bit, or on another machine to what moves no verdict."""
        return self.equal == self.compared or bool(self.elsewhere) and not self.other


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
    kept = manifest_file.read(folder)
    plan = begin.make_plan(recorded_in(request, folder))
    result, status = Verification(folder), dataset["status"]
    places = [
        (planned, replicate)
        for planned in plan.cells
        for replicate in np.flatnonzero(~np.isin(recomputed.at(status, planned).values, NO_REPLAY)).tolist()
    ]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    took = sum(_seconds(kept, planned, plan) for planned, _ in chosen)
    say(
        f"{folder}, made {str(kept.get('updated', ''))[:10]}: {len(chosen)} of {len(places)} replicates drawn with "
        f"seed {seed}; they took {duration(took)}"
    )
    changes = versions.since(kept.get("code") or {}, begin.version_of(plan))
    if changes:
        say(f"changed since: {'; '.join(changes[:5])}")
    left_out = list(kept.get("left_out") or ())
    for planned, replicate in chosen:
        again = replay.replay(plan, store.Scan(plan), request.out, planned, replicate, request.device)
        computed = again.variables | replay.as_variables(again.attrs)
        found = recomputed.compare(dataset, planned, replicate, computed, left_out)
        result.compared += 1
        result.equal += found.equal
        result.other += bool(found.other)
        result.largest = max(result.largest, *found.rounding.values(), *found.close.values(), 0.0)
        say(f"{planned.label}, replicate {replicate}: {found}")
    here = origin.here() | {"device": resolve_device(request.device, plan)}
    made = [facts for facts in kept.get("origins", []) if isinstance(facts, dict)]
    result.elsewhere = list(dict.fromkeys(line for facts in made for line in origin.differences(facts, here)))
    result.lines.append(f"{result.equal} of {result.compared} replicates are equal to the record, bit for bit")
    if result.equal < result.compared:
        if result.elsewhere and not result.other:
            result.lines.append(
                f"the others differ by what moves no verdict, at most {result.largest:.3g} of the value"
            )
        if result.elsewhere and result.other:
            result.lines.append(
                f"{result.other} of {result.compared} have another result: on other kernels a fit may end in another "
                "minimum"
            )
        result.lines += [f"the record was made by {origin.text({'host': 'a machine with'} | facts)}" for facts in made]
        result.lines.append(f"here it was computed by {origin.text(here | {'host': 'a machine with'})}")
        if not result.elsewhere:
            result.lines.append("both name the same kernels and versions: the code gives other numbers now")
    return result


def certify(found: Verification) -> str:
    """Write into the manifest of a record when, and at which commit, how many replicates were found equal.

    Returns
    -------
    str
        What was written, in a sentence. Where no replicate is equal, what stands there from before is left.
    """
    if not found.equal:
        return f"{found.folder}: no replicate is equal, so nothing is certified"
    content = {name: bounded.read(found.folder / name) for name in records.FILES}
    verified = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "commit": origin.commit(),
        "replicates": found.compared,
        "equal": found.equal,
    }
    manifest = manifest_file.read(found.folder) | {"verified": verified}
    content[manifest_file.NAME] = (json.dumps(manifest, indent=1) + "\n").encode()
    records.write(found.folder, content)
    return f"{found.folder}: certified at {verified['commit']}"


def _seconds(kept: Mapping[str, Any], planned: PlannedCell, plan: Plan) -> float:
    """Return what one replicate of a cell took, by the manifest."""
    cells = kept.get("cells")
    return float(cells.get(planned.digest[:16], 0.0)) / plan.replicates if isinstance(cells, dict) else 0.0

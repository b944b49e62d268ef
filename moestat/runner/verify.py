"""``verify``: a random sample of a record's replicates computed again by today's code, and compared with the record."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from moestat import bounded, versions
from moestat.errors import InputError
from moestat.runner import begin, belongs, manifest_file, origin, records, replay, results
from moestat.runner.overview import recorded
from moestat.runner.request import Request
from moestat.status import Status
from moestat.study import load

NO_REPLAY = (results.NOT_COMPUTED, Status.WORKER_DIED, Status.TIMED_OUT)
"""What says nothing of the numbers."""


@dataclass
class Verification:
    """What a check of a record showed, and in ``lines`` what is to be said of it.

    Replicates that were computed again are counted: all, those that are equal bit for bit, those that have another
    result. ``elsewhere`` says what differs from the machine that made the record and may change a last digit.
    """

    folder: Path
    lines: list[str] = field(default_factory=list)
    compared: int = 0
    equal: int = 0
    other: int = 0
    elsewhere: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the record stands: equal bit for bit, or on another machine to what moves no verdict."""
        return self.equal == self.compared or bool(self.elsewhere) and not self.other


def verify(request: Request, count: int, seed: int, say: Callable[[str], None] = lambda text: None) -> Verification:
    """Compute ``count`` replicates of the record of a study again, and compare; ``seed`` is that of the draw.

    ``say`` is told what is about to be computed, and of each replicate what came out. Raises InputError or StaleError
    if there is no record, it was changed, or is not of the study file, or the study reads the results of others.
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
    plan = begin.make_plan(recorded(request, folder))
    places = [
        (planned, replicate)
        for planned in plan.cells
        for replicate in np.flatnonzero(~np.isin(replay.at(dataset["status"], planned).values, NO_REPLAY)).tolist()
    ]
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    made = str(kept.get("updated", ""))[:10]
    say(f"{folder}, made {made}: {len(chosen)} of {len(places)} replicates drawn with seed {seed}")
    if changes := versions.since(kept.get("code") or {}, begin.version_of(plan)):
        say(f"changed since: {'; '.join(changes[:5])}")
    result, left_out = Verification(folder), kept.get("left_out") or ()
    for planned, replicate in chosen:
        computed = replay.compute(plan, request, planned, replicate)
        found = replay.compare(dataset, planned, replicate, computed, left_out)
        result.compared += 1
        result.equal += found.equal
        result.other += found.other
        say(f"{planned.label}, replicate {replicate}: {found}")
    result.elsewhere, told = replay.origins(kept, begin.resolve_device(request.device, plan))
    result.lines.append(f"{result.equal} of {result.compared} replicates are equal to the record, bit for bit")
    if result.other:
        result.lines.append(f"{result.other} of {result.compared} have another result")
    elif result.equal < result.compared:
        result.lines.append("the others differ by what moves no verdict")
    if result.equal < result.compared:
        result.lines += told
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
        "replicates": found.compared,
        "equal": found.equal,
    }
    content = {name: bounded.read(found.folder / name) for name in records.FILES}
    manifest = manifest_file.read(found.folder) | {"verified": verified}
    content[manifest_file.NAME] = (json.dumps(manifest, indent=1) + "\n").encode()
    records.write(found.folder, content)
    return f"{found.folder}: certified at {verified['commit']}"

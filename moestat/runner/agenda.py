"""Every study in turn: which first, and how long the rest of each that was begun will take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from moestat.arrays import resolve_device
from moestat.errors import InputError, UserError
from moestat.runner import begin, manifest_file, overview, store
from moestat.runner.devices import default_jobs, for_gpu
from moestat.runner.progress import Estimate
from moestat.runner.request import Request
from moestat.study import load
from moestat.study.load import StudyFile


@dataclass(frozen=True)
class Entry:
    """A study on the list.

    Attributes
    ----------
    name : str
    request : Request
    needs : tuple of str
        Studies of the list whose results it reads.
    left : float or None
        Seconds that the rest will take, by what is there already; None where nothing is.
    expected : str
        What its preset says of its time.
    """

    name: str
    request: Request
    needs: tuple[str, ...]
    left: float | None
    expected: str = ""


def beyond(request: Request, study_file: StudyFile) -> str:
    """Say why a study cannot be run at a preset here; an empty text where it can."""
    known = study_file.study.presets
    if request.preset not in known:
        return f"it has no preset {request.preset!r}; it has {', '.join(known)}"
    if for_gpu(begin.make_plan(request)) and resolve_device("auto") == "cpu":
        return f"it computes on a GPU; its command: {request.command()}"
    return ""


def entry(name: str, request: Request, study_file: StudyFile, others: Iterable[str]) -> Entry:
    """Return a study with the time that it needs; what cannot be estimated is told when the study is run."""
    left = None
    if (begin.folder_of(request, study_file.name) / "shards").is_dir():
        with contextlib.suppress(UserError, OSError):
            left = remaining(request, request.jobs or default_jobs())
    study = study_file.study
    needs = tuple(other for other in study.needs if other in others)
    return Entry(name, request, needs, left, study.presets[request.preset].expected)


def remaining(request: Request, jobs: int) -> float | None:
    """Return the seconds that the rest of a study will take, from what its finished replicates took.

    Raises
    ------
    UserError
        If the study or its folder stands in the way.
    """
    plan = begin.make_plan(overview.recorded(request, load.find(request.study).stem))
    root = begin.folder_of(request, plan.study_file.name)
    scan = store.scan(root, plan, begin.version_of(plan), move=False)
    left = {digest: plan.replicates - sum(scan.done(digest)) for digest in plan.by_digest}
    sizes = {planned.digest: planned.size or 1.0 for planned in plan.cells}
    estimate = Estimate(sizes, left, jobs, {planned.digest: planned.cell.arm for planned in plan.cells})
    for digest, entries in scan.usable.items():
        for found in entries:
            estimate.learn(digest, len(found.replicates), found.seconds)
    return estimate.remaining()


def ordered(entries: Iterable[Entry]) -> list[Entry]:
    """Order studies by the time that they need, those without an estimate last, and none before what it reads.

    Raises
    ------
    InputError
        If studies need each other in a circle.
    """
    known = {entry.name: entry for entry in entries}
    rank: dict[str, tuple[float, int]] = {}
    try:
        for name in TopologicalSorter({name: entry.needs for name, entry in known.items()}).static_order():
            before = [rank[other] for other in known[name].needs]
            own = known[name].left
            latest = max([float("inf") if own is None else own, *(time for time, _ in before)])
            rank[name] = latest, 1 + max((depth for _, depth in before), default=0)
    except CycleError as error:
        raise InputError(f"studies need each other in a circle: {' -> '.join(error.args[1])}") from None
    return [known[name] for name in sorted(known, key=lambda name: (*rank[name], name))]


def measured(request: Request) -> float | None:
    """Return the seconds that the replicates of a study took, over all its runs, on the processes of this request."""
    cells = manifest_file.cached(begin.folder_of(request, load.find(request.study).stem)).get("cells")
    if not isinstance(cells, list) or not cells:
        return None
    took = [cell.get("seconds") for cell in cells if isinstance(cell, Mapping)]
    seconds = sum(number for number in took if isinstance(number, int | float))
    return seconds / (request.jobs or default_jobs())

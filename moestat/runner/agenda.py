"""Every study in turn: which first, and how long the rest of each that was begun will take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
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
    """A study on the list, with those of the list whose results it reads.

    ``left`` are the seconds that the rest will take, by what is there already, None where nothing is; ``expected`` is
    what its preset says of its time.
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
            left = _remaining(request)
    study = study_file.study
    needs = tuple(other for other in study.needs if other in others)
    return Entry(name, request, needs, left, study.presets[request.preset].expected)


def _remaining(request: Request) -> float | None:
    plan = begin.make_plan(overview.recorded(request, load.find(request.study).stem))
    root = begin.folder_of(request, plan.study_file.name)
    scan = store.scan(root, plan, begin.version_of(plan), move=False)
    left = {digest: plan.replicates - sum(scan.done(digest)) for digest in plan.by_digest}
    return Estimate.of(plan, scan, left, request.jobs or default_jobs()).remaining()


def ordered(entries: Iterable[Entry]) -> list[Entry]:
    """Order studies by the time that they need, those without an estimate last, and none before what it reads."""
    known = {entry.name: entry for entry in sorted(entries, key=lambda entry: entry.name)}
    latest: dict[str, float] = {}
    try:
        for name in TopologicalSorter({name: entry.needs for name, entry in known.items()}).static_order():
            own = known[name].left
            latest[name] = max([float("inf") if own is None else own, *(latest[other] for other in known[name].needs)])
    except CycleError as error:
        raise InputError(f"studies need each other in a circle: {' -> '.join(error.args[1])}") from None
    return [known[name] for name in sorted(latest, key=lambda name: latest[name])]  # stable: readers stay behind


def measured(request: Request) -> float | None:
    """Return the seconds that the replicates of a study took, over all its runs, on the processes of this request."""
    cells = manifest_file.cached(begin.folder_of(request, load.find(request.study).stem)).get("cells")
    if not isinstance(cells, list) or not cells:
        return None
    return float(sum(cell["seconds"] for cell in cells)) / (request.jobs or default_jobs())

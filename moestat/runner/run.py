"""Run a study: compute what is missing, collect, report.

The order of events: read the study file, make the plan, take the lock, look at what is there, compute the missing
blocks (the worker writes each shard as soon as it is done), collect the shards into ``results.nc``, report. It can be
killed anywhere; the next run computes what is missing.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import xarray as xr

from moestat import files, versions
from moestat.errors import InputError, UserError
from moestat.runner import begin, collect, labels, lock, manifest_file, needs, origin, pool, results, store, worker
from moestat.runner import plan as plans
from moestat.runner.progress import Progress
from moestat.runner.request import Request
from moestat.status import LOST, Status, lost
from moestat.study import seal

SHOWN = 3  # exceptions that are shown while a study runs


class InterruptedRunError(UserError):
    """The user (or the batch system) stopped the run."""

    exit_code = 130


@dataclass
class Result:
    """What a run left behind; ``dataset`` and ``report`` are None for one part of a study."""

    plan: plans.Plan
    tally: dict[str, int]
    notes: list[str] = field(default_factory=list)
    dataset: xr.Dataset | None = None
    report: Any = None


Reporter = Callable[[Result, Mapping[str, Any]], Any]
"""Writes the report of a result with its provenance, and returns what prints it."""


Notes = Callable[[xr.Dataset], list[str]]
"""Returns what is to be said about collected results."""


def run(request: Request, report: Reporter | None = None, told: Notes = lambda dataset: []) -> Result:
    """Compute what is missing of a study, collect it and let ``report`` report, with what is ``told`` among the notes.

    Raises InputError or StaleError or UserError if the study file or the request is wrong, the folder holds stale
    results, or the disk or the lock stands in the way. What was computed is kept in every case.
    """
    if request.fresh and request.part:
        raise InputError("--fresh sets everything aside, so it cannot be given to one part of a study (--part)")
    plan = plans.of(request)
    needs.refuse_missing(plan.study_file, request)
    context, why = begin.context_of(plan), ""
    if request.device == "auto" and request.backend != "dask":
        device, why = begin.auto_device(plan, request.jobs or joblib.cpu_count())
        context = replace(context, device=device)
    plan = plan.on(context.device)
    begin.refuse_bad_data(plan)
    if request.backend != "dask":
        begin.refuse_without_libraries(plan)
    try:
        plan.root.mkdir(parents=True, exist_ok=True)
        with lock.held(plan.root, request.part_name):
            files.clean(plan.root)
            running = _Run(plan, context)
            if why:
                running.progress.say(f"computes on {context.device}: {why}; --device says otherwise")
            return running.result(report, told)
    except OSError as error:
        raise files.disk_problem(error, plan.root) from None


class _Run:
    """A run that holds the lock of its folder."""

    def __init__(self, plan: plans.Plan, context: worker.Context) -> None:
        self.request, self.plan, self.context, self.root = plan.request, plan, context, plan.root
        self.notes: list[str] = []
        self.shown = 0
        self.least = 0.01 * max((planned.size for planned in plan.cells), default=1.0)
        self.scan = store.Scan(plan, plan.root, context.code)
        self.progress = self._progress([])

    def result(self, report: Reporter | None, told: Notes) -> Result:
        self._look()
        if seal.read(self.root) is None or not self.scan.usable:  # the rules as they are before there are numbers
            seal.write(self.root, seal.make(self.plan.study_file.study, self.plan.preset_name))
        self._save_manifest("running")
        try:
            with worker.cache_kept():
                self._compute(self._tasks())
        except KeyboardInterrupt as error:
            done, total = self.progress.done, self.progress.total
            stopped = InterruptedRunError(
                f"interrupted: {done} of {total} replicates are done and kept in {self.root}. "
                f"Go on with: {self.request.command()}"
            )
            stopped.exit_code = getattr(error, "exit_code", 130)
            raise stopped from None
        except (pool.PoolError, OSError) as error:
            problem = files.disk_problem(error, self.root) if isinstance(error, OSError) else error
            raise UserError(f"{problem}. What is done is kept; go on with: {self.request.command()}") from None
        finally:
            files.clean(self.root)  # of workers that were killed while they wrote
        self.scan = store.scan(self.root, self.plan, self.context.code)
        result = Result(self.plan, self.scan.tally(), self.notes)
        if self.request.part is not None:
            self._save_manifest("parts")
            missing, total = result.tally["missing"], result.tally["replicates"]
            rest = f"{missing} of {total} replicates are still missing" if missing else "all are done"
            again = self.request.command("collect")
            self.progress.say(f"{self.request.part_name} is finished, {rest}; collect with: {again}")
        else:
            finish(result, self.scan, report, told)
            for line in self.scan.warnings():
                self.progress.say(line)
        return result

    def _note(self, text: str) -> None:
        """Tell something now, and in the report."""
        self.notes.append(text)
        self.progress.say(text)

    def _save_manifest(self, state: str) -> None:
        manifest_file.write_of(self.scan, state=state, notes=self.notes)

    def _look(self) -> None:
        """See what is there, and deal with what is stale as the request says."""
        request, root = self.request, self.root
        if request.fresh and (paths := store.listing(root)):
            self._note(f"--fresh: {len(paths)} shards were set aside in {store.set_aside(root, paths)}")
        self.scan = store.scan(root, self.plan, self.context.code)
        for line in self.scan.quarantined:
            self._note(f"set aside a damaged shard, to be computed again: {line}")
        if self.scan.stale and request.replace_stale:
            old = [entry.path for found in self.scan.stale.values() for _, entry in found]
            where, why = store.set_aside(root, old), "; ".join(self.scan.reasons())
            self._note(f"--replace-stale: {len(old)} shards were set aside in {where} ({why})")
            self.scan.stale = {}
        self.scan.refuse_stale()

    def _tasks(self) -> list[worker.Task]:
        """The blocks with missing replicates, cut down to these; of one part, if a part is asked for."""
        again = store.FAILED_FOR_GOOD if self.request.retry_failed else ()
        done = {
            digest: {r for r, status in self.scan.done(digest).items() if status not in again}
            for digest in self.plan.by_digest
        }
        part, parts = self.request.part or (1, 1)
        tasks = []
        for number, (planned, replicates) in enumerate(self.plan.blocks()):
            missing = [r for r in replicates if r not in done[planned.digest]]
            if missing and number % parts == part - 1:
                tasks.append(worker.Task(self.context, planned.cell, missing))
        return tasks

    def _compute(self, tasks: list[worker.Task]) -> None:
        cells = {task.cell.digest: task.cell for task in tasks}.values()
        shared = begin.prerequisites(self.plan.experiment, cells, self._note)
        with (
            pool.opened(self.request, self.context, len(tasks), self.progress.say) as workers,
            self._progress(tasks) as self.progress,
        ):
            if shared:
                self.progress.say(f"{len(shared)} results that cells share come first")
            pool.run_prepare(workers, self.context, shared, self._note)
            self.progress.start()
            with contextlib.closing(pool.run(workers, tasks, self._note)) as outcomes:
                for outcome in outcomes:
                    self._take(outcome)

    def _progress(self, tasks: list[worker.Task]) -> Progress:
        tally, left = self.scan.tally(), sum(len(task.replicates) for task in tasks)
        title, total = f"{self.plan.study_file.name}/{self.request.preset}", tally["replicates"]
        counts = {how: tally[how] for how in LOST}
        if self.request.part is not None:
            title, total, counts = f"{title}/{self.request.part_name}", left, lost([])
        work = sum(self._work(task.cell.digest, len(task.replicates)) for task in tasks)
        return Progress(title, total=total, done=total - left, work=work, lost=counts, quiet=self.request.quiet)

    def _work(self, digest: str, replicates: int) -> float:
        """What a block takes beside others: the size of its cell, and what even the smallest takes."""
        return replicates * (self.plan.by_digest[digest][0].size + self.least)

    def _take(self, outcome: worker.Outcome) -> None:
        for replicate, status in zip(outcome.replicates, outcome.status, strict=True):
            if status == Status.RAISED and self.shown < SHOWN:  # a mistake should not wait for the end of the study
                self.shown += 1
                label = self.plan.by_digest[outcome.digest][0].cell.label
                last = "; further ones are in the results only" if self.shown == SHOWN else ""
                self.progress.say(f"{label}, replicate {replicate} raised {outcome.messages.get(replicate, '')}{last}")
        work = self._work(outcome.digest, len(outcome.replicates))
        self.progress.add(len(outcome.replicates), lost(outcome.status), work)


def finish(result: Result, scan: store.Scan, report: Reporter | None = None, told: Notes = lambda dataset: []) -> None:
    """Collect a scan into ``results.nc``, write the manifest, and let ``report`` (if the request wants one) report."""
    plan = result.plan
    if plan.study_file.study.reads:
        dataset = needs.dataset(plan)
        result.tally = needs.tally(dataset)
    else:
        dataset, remarks = collect.collect(scan)
        result.notes.extend([*remarks, *origin.remarks(scan.used), *scan.warnings()])
        dataset = labels.attach(dataset, plan.module_name, plan.cells)
        result.notes.extend(told(dataset))
    provenance = _provenance(result, scan)
    dataset.attrs = {k: "\n".join(value) if isinstance(value, list) else value for k, value in provenance.items()}
    extra: dict[str, Any] = {"results_sha256": results.write(scan.root, dataset), "tally": result.tally}
    manifest_file.write_of(scan, state="collected", notes=result.notes, **extra)
    result.dataset = dataset
    if plan.request.report and report is not None:
        result.report = report(result, provenance)


def _provenance(result: Result, scan: store.Scan) -> dict[str, Any]:
    """Return the provenance of a dataset: what it is, what made it, and what is to be said about it."""
    request, plan, study = result.plan.request, result.plan, result.plan.study_file.study
    made = origin.versions(scan.used)  # of what computed, wherever it is collected
    sealed = seal.read(scan.root)
    settings = {arm.name: dict(arm.settings) for arm in plan.arms}  # every one, but for the axes of the grid
    for planned in plan.cells:
        kept = planned.cell.settings.items()
        settings[planned.cell.arm] = {key: value for key, value in kept if key not in plan.axes}
    return {
        "title": study.title,
        "study": plan.study_file.name,
        "preset": plan.preset_name,
        "paper": study.paper,
        "source": study.source,
        "experiment": plan.module_name,
        "seed": plan.seed,
        "command": request.command(part=False),
        "settings": json.dumps(settings),
        "set": request.pairs,
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": ", ".join(f"{name} {number}" for name, number in made.items()),
        "moestat_version": made["moestat"],
        "code": versions.text(scan.code),
        "rules": sealed.digest if sealed is not None else "",
        "rules_sealed": sealed.date if sealed is not None else "",
        "problem": [f"{key}={text}" for key, text in seal.problem(study, plan.preset_name).items()],
        **{f"count_{key}": value for key, value in result.tally.items()},
        "notes": list(result.notes),
    }

"""Run a study: compute what is missing, collect, report.

The order of events: read the study file, make the plan, take the lock, look at what is there, compute the missing
blocks (the worker writes each shard as soon as it is done), collect the shards into ``results.nc``, report. It can be
killed anywhere; the next run computes what is missing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moestat import files, versions
from moestat.errors import InputError, StaleError, UserError
from moestat.fit import kernel
from moestat.runner import (
    begin,
    experiments,
    lock,
    manifest_file,
    needs,
    origin,
    pool,
    store,
    worker,
)
from moestat.runner import plan as plans
from moestat.runner.begin import cache_of, folder_of, make_plan, refuse_bad_data, refuse_without_libraries, version_of
from moestat.runner.devices import resolve_device
from moestat.runner.finish import Reporter, Result, finish, part_line
from moestat.runner.progress import Estimate, Progress
from moestat.runner.request import Request
from moestat.status import Status
from moestat.study import seal

SHOWN = 3  # exceptions that are shown while a study runs


class InterruptedRunError(UserError):
    """The user (or the batch system) stopped the run."""

    exit_code = 130


def run(request: Request, report: Reporter | None = None) -> Result:
    """Compute what is missing of a study, collect it and let ``report`` report.

    Raises
    ------
    InputError, StaleError, UserError
        If the study file or the request is wrong, the folder holds stale results, or the disk or the lock stands in
        the way. What was computed is kept in every case.
    """
    if request.fresh and request.part:
        raise InputError("--fresh sets everything aside, so it cannot be given to one part of a study (--part)")
    plan = make_plan(request)
    needs.refuse_missing(plan.study_file, request)
    root = folder_of(request, plan.study_file.name)
    device = resolve_device(request.device, plan)
    refuse_bad_data(plan)
    code = version_of(plan)
    if not (root / "shards").is_dir() and request.backend != "dask":  # before anything is written
        refuse_without_libraries(plan)
    try:
        root.mkdir(parents=True, exist_ok=True)
        return _Run(request, plan, root, device, code, report).locked()
    except OSError as error:
        raise files.disk_problem(error, root) from None


class _Run:
    def __init__(
        self,
        request: Request,
        plan: plans.Plan,
        root: Path,
        device: str,
        code: Mapping[str, str],
        report: Reporter | None = None,
    ) -> None:
        self.request, self.plan, self.root, self.device = request, plan, root, device
        self.report = report
        self.code = code
        self.notes: list[str] = []
        self.shown = 0
        self.scan = store.Scan(plan)

    def say(self, text: str) -> None:
        """Tell something now."""
        self.progress.say(text)

    def note(self, text: str) -> None:
        """Tell something now, and in the report."""
        self.notes.append(text)
        self.say(text)

    def locked(self) -> Result:
        """Run under the lock of the folder."""
        request = self.request
        head = {"study": self.plan.study_file.name, "preset": request.preset, "pid": os.getpid()}
        if request.part:
            head["part"] = request.part_name
        self.progress = Progress(None, head, total=0, done=0, failed=0, estimate=Estimate({}, {}), quiet=request.quiet)
        name = "progress.json" if request.part is None else f"progress-{request.part_name}.json"
        with lock.Lock(self.root, request.part_name, say=self.say) as held:
            files.clean(self.root)
            self._look()
            self._seal()
            tasks = self._tasks()
            if tasks:
                if self.request.backend != "dask":
                    refuse_without_libraries(self.plan)
                self._tell_origin()
            self._save_manifest("running")
            cache = os.environ.get("MOESTAT_CACHE")
            try:
                self._compute(tasks, held, self.root / name, head)
            except KeyboardInterrupt as error:
                raise self._interrupted(error) from None
            finally:
                files.clean(self.root)  # of workers that were killed while they wrote
                if tasks:
                    files.flush(self.root)  # what small shards were not flushed one by one
                set_or_drop("MOESTAT_CACHE", cache)
                for task in tasks:
                    task.marker.unlink(missing_ok=True)
            return self._finish()

    def _tell_origin(self) -> None:
        """Say so if what is there was computed by another kernel, or other versions, than compute the rest."""
        entries = self.scan.used
        if not entries or self.request.backend == "dask":  # the workers of a cluster tell in their shards
            return
        import scipy.linalg  # noqa: F401  SciPy's own BLAS is to be seen

        now = origin.here() | {"device": self.device}
        if any(entry.provenance.get("kernel") for entry in entries):
            now["kernel"] = kernel.describe()
        for old, replicates in origin.groups(entries):
            if changes := origin.differences(old, now):
                self.note(
                    f"{replicates} replicates that are there were computed otherwise than the rest will be "
                    f"({', '.join(changes)}), which may round differently"
                )

    # -- before -------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """See what is there, and deal with what is stale as the request says."""
        request, root = self.request, self.root
        if request.fresh and (paths := list(store.listing(root))):
            self.note(f"--fresh: {len(paths)} shards were set aside in {store.set_aside(root, paths)}")
        self.scan = store.scan(root, self.plan, self.code)
        for line in self.scan.quarantined:
            self.note(f"set aside a damaged shard, to be computed again: {line}")
        if self.scan.stale and request.replace_stale:
            changes = "; ".join(store.reasons(self.scan))
            where = store.set_aside(root, [entry.path for entry in self.scan.stale_entries])
            self.note(f"--replace-stale: {len(self.scan.stale_entries)} shards were set aside in {where} ({changes})")
            self.scan.stale = {}
        store.refuse_stale(self.scan, root)

    def _seal(self) -> None:
        """Keep the rules of the claims as they are before there are numbers; shards that are there keep their seal."""
        if seal.read(self.root) is None or not self.scan.usable:
            seal.write(self.root, seal.make(self.plan.study_file.study, self.plan.preset_name))

    def _tasks(self) -> list[worker.Task]:
        """The blocks with missing replicates, cut down to these; of one part, if a part is asked for."""
        self.context = worker.Context(
            module_name=self.plan.module_name,
            search_path=tuple(experiments.search_path(self.plan.study_file)),
            root=str(self.root.resolve()),
            cache=cache_of(self.request.out),
            device=self.device,
            parent=0 if self.request.backend == "dask" else os.getpid(),
        )
        digest, flags, some = "", bytearray(), False
        tasks = []
        for number, block in enumerate(self.plan.blocks()):
            if self.request.part is not None and number % self.request.part[1] != self.request.part[0] - 1:
                continue
            if digest != block.planned.digest:  # the blocks of a cell follow each other
                digest = block.planned.digest
                flags = self.scan.done(digest, retry=self.request.retry_failed)
                some = any(flags)
            missing = [r for r in block.replicates if not flags[r]] if some else block.replicates
            if len(missing):
                tasks.append(worker.Task(number, self.context, block.planned.cell, digest, missing))
        for task in tasks:
            task.marker.unlink(missing_ok=True)
        return tasks

    # -- the work -----------------------------------------------------------------------------------------------

    def _compute(self, tasks: list[worker.Task], held: lock.Lock, path: Path, head: Mapping[str, Any]) -> None:
        with pool.opened(begin.place(self.request, self.device, len(tasks))) as workers:
            if not workers.ready:
                self.say(f"the scheduler {self.request.scheduler} has no workers yet; waiting for the first one")
            self._prepare(workers, tasks, path, head)
            left: dict[str, int] = {}
            for task in tasks:
                left[task.digest] = left.get(task.digest, 0) + len(task.replicates)
            tally = self.scan.tally()
            sizes = {p.digest: p.size or 1.0 for p in self.plan.cells}
            arms = {p.digest: p.cell.arm for p in self.plan.cells}
            estimate = Estimate(sizes, left, workers.jobs, arms)
            for digest, entries in self.scan.usable.items():
                for entry in entries:
                    estimate.learn(digest, len(entry.replicates), entry.seconds)
            mine = sum(left.values())
            total = tally["replicates"] if self.request.part is None else mine
            self.progress = Progress(
                path,
                head,
                total=total,
                done=total - mine,
                failed=tally["failed"] if self.request.part is None else 0,
                estimate=estimate,
                quiet=self.request.quiet,
            )
            outcomes = pool.run(workers, tasks, self._already_done, self.note)
            with self.progress, contextlib.closing(outcomes):
                for outcome in outcomes:
                    self._take(outcome, held)

    def _prepare(self, workers: pool.Pool, tasks: list[worker.Task], path: Path, head: Mapping[str, Any]) -> None:
        """Do once what several cells share. What fails here the cells will meet again, and record."""
        wanted = getattr(self.plan.experiment, "prerequisites", None)
        if wanted is None or not tasks:
            return
        unique = begin.prerequisites(wanted, {task.digest: task.cell for task in tasks}.values(), self.note)
        if not unique:
            return
        estimate = Estimate({}, {"shared": len(unique)}, workers.jobs)
        quiet, unit = self.request.quiet, "results that cells share"
        self.progress = Progress(
            path, head, total=len(unique), done=0, failed=0, estimate=estimate, quiet=quiet, unit=unit
        )
        outcomes = pool.run_prepare(workers, self.context, list(unique.values()), self.note)
        with self.progress, contextlib.closing(outcomes):
            for problem, seconds in outcomes:
                self.progress.add("shared", 1, bool(problem), seconds)

    def _take(self, outcome: worker.Outcome, held: lock.Lock) -> None:
        if outcome.disk:
            raise UserError(f"{outcome.disk}. {self._resume()}")
        failed = sum(s != Status.CONVERGED for s in outcome.status)
        self._show_raised(outcome)
        self.progress.add(outcome.digest, len(outcome.replicates), failed, outcome.seconds)
        if outcome.code and not versions.equal(outcome.code, self.code):
            changes = ", ".join(versions.changes(self.code, outcome.code))
            raise StaleError(
                "the code that computes changed while the study was running, or is another one on a worker "
                f"({changes}); start again in a fresh process"
            )
        if held.lost:
            raise UserError(f"another run took over {self.root}; this one ends, and its shards are kept")

    def _show_raised(self, outcome: worker.Outcome) -> None:
        """Show the first exceptions at once: a mistake in an experiment should not wait for the end of the study."""
        for replicate, status in zip(outcome.replicates, outcome.status, strict=True):
            if status == Status.RAISED and self.shown < SHOWN:
                self.shown += 1
                label = self.plan.by_digest[outcome.digest][0].label
                last = "; further ones are in the results only" if self.shown == SHOWN else ""
                self.say(f"{label}, replicate {replicate} raised {outcome.messages.get(replicate, '')}{last}")

    def _already_done(self, task: worker.Task) -> worker.Outcome | None:
        """Find the shards of a task whose outcome was lost with its worker."""
        status = store.stored(self.root, task.digest, self.code)
        if not all(r in status for r in task.replicates):
            return None
        return worker.Outcome(task.number, task.digest, task.replicates, [status[r] for r in task.replicates])

    # -- after --------------------------------------------------------------------------------------------------

    def _finish(self) -> Result:
        self.scan = store.scan(self.root, self.plan, self.code)
        tally = self.scan.tally()
        result = Result(self.request, self.plan, self.root, tally, notes=self.notes)
        if self.request.part is not None:
            self._save_manifest("parts")
            self.say(part_line(self.request, tally))
            return result
        finish(result, self.scan, self.code, self.report)
        return result

    def _save_manifest(self, state: str) -> None:
        extra = {"state": state, "notes": self.notes, "updated": time.strftime("%Y-%m-%dT%H:%M:%S%z")}
        manifest_file.write(
            self.root, manifest_file.describe(self.root, self.request, self.plan, self.scan, self.code, extra)
        )

    def _resume(self) -> str:
        return f"What is done is kept; go on with: {self.request.command()}"

    def _interrupted(self, error: KeyboardInterrupt) -> InterruptedRunError:
        progress = self.progress
        stopped = InterruptedRunError(
            f"interrupted: {progress.done} of {progress.total} {progress.unit} are done and kept in {self.root}. "
            f"Go on with: {self.request.command()}"
        )
        stopped.exit_code = getattr(error, "exit_code", 130)
        return stopped


def set_or_drop(variable: str, value: str | None) -> None:
    """Give a variable of the environment its value back, or none."""
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value

"""Where tasks are computed: here, in worker processes, on a dask cluster, or in one process per GPU.

Every way yields the same outcomes; only the order differs. A worker that dies (out of memory, a crash in compiled
code), or takes longer than it may, costs its own block alone. At the end such blocks are tried again in halves, side by
side, until the replicates that end their worker are known. These are recorded, the rest goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moestat.errors import UserError
from moestat.runner import cluster
from moestat.runner.cluster import Lost
from moestat.runner.crew import Crew
from moestat.runner.worker import Context, Outcome, Task, compute, prepare, record_end
from moestat.status import Status

Say = Callable[[str], None]
HOPELESS = 3
"""Times the number of workers: so many that end before they compute anything, and none that does, stop the run."""


class WorkerDiedError(UserError):
    """A worker ended."""


@dataclass(frozen=True)
class Place:
    """Where to compute: ``backend`` is ``"here"``, ``"loky"``, ``"dask"`` or ``"gpus"``.

    ``timeout`` is how many seconds a replicate may take, which needs workers of this machine.
    """

    backend: str
    jobs: int
    scheduler: str = ""
    devices: tuple[str, ...] = ()
    timeout: float | None = None


@contextlib.contextmanager
def opened(place: Place) -> Iterator[Pool]:
    """Open a pool; on the way out no worker of ours is left."""
    pool = Pool(place)
    try:
        yield pool
    finally:
        pool.close()


class Pool:
    """Runs functions at a :class:`Place`."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.client: Any = None
        self.crew: Crew | None = None
        if place.backend == "dask":
            self.client = cluster.connect(place.scheduler)
        elif place.backend == "gpus":
            self.crew = Crew([{"CUDA_VISIBLE_DEVICES": device} for device in place.devices], place.timeout)
        elif place.backend == "loky":
            self.crew = Crew([{}] * place.jobs, place.timeout)

    @property
    def jobs(self) -> int:
        """How many tasks run at a time."""
        if self.client is not None:
            return max(1, sum(self.client.ncores().values()))
        return len(self.crew.members) if self.crew is not None else 1

    @property
    def ready(self) -> bool:
        """Whether there is a worker (a cluster may start its own only when there is work)."""
        return self.client is None or bool(self.client.ncores())

    def results(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results in the order in which they are done, :class:`Lost` for what was lost with a worker."""
        if self.crew is not None:
            yield from self.crew.results(function, arguments)
        elif self.client is not None:
            yield from cluster.results(self.client, function, arguments)
        else:
            for argument in arguments:
                yield function(*argument)

    def may_blame_others(self, lost: Lost) -> bool:
        """Whether something beside a task may have ended its worker, so that it must be tried with nothing beside it.

        A process that was killed may have lacked the memory that others took; dask counts the death of a worker against
        every task that it had been handed.
        """
        return self.client is not None or (self.jobs > 1 and "SIGKILL" in lost.why)

    def close(self) -> None:
        """End the workers, also in the middle of a task: a shard is whole or not there."""
        if self.crew is not None:
            self.crew.close()
        if self.client is not None:
            self.client.close()


def run(
    pool: Pool, tasks: Sequence[Task], is_done: Callable[[Task], Outcome | None], say: Say
) -> Generator[Outcome, None, None]:
    """Compute the tasks and yield one outcome for each, surviving the end of workers.

    Parameters
    ----------
    pool : Pool
    tasks : sequence of Task
    is_done : callable
        Looks on the disk whether a task's shards are there, for tasks whose outcome was lost with a worker.
    say : callable
        Told, in one sentence, of each end.

    Raises
    ------
    WorkerDiedError
        If workers end before they compute anything, and none computes.
    """
    deaths = _Deaths(pool.jobs)
    suspects: list[Task] = []
    waiting, first = list(tasks), True
    while waiting:
        again: list[Task] = []
        for result in pool.results(compute, [(task,) for task in waiting]):
            deaths.count(result)
            if not isinstance(result, Lost):
                yield result
            elif (stored := is_done(task := _task(result))) is not None:
                yield stored
            elif len(task.replicates) > 1:
                half = len(task.replicates) // 2
                again += [replace(task, replicates=part) for part in (task.replicates[:half], task.replicates[half:])]
                say(f"a worker died or was ended ({result.why}); trying again in halves, at the end: {_label(task)}")
            elif first and not result.timed_out:
                again.append(task)
                say(f"a worker died ({result.why}); trying again at the end: {_label(task)}")
            elif not result.timed_out and pool.may_blame_others(result):
                suspects.append(task)
            else:
                say(f"recorded as failed ({result.why}): {_label(task)}")
                yield _recorded(task, result)
        waiting, first = again, False
    for task in suspects:
        for result in pool.results(compute, [(task,)]):
            if isinstance(result, Lost):
                say(f"recorded as failed ({result.why}, also with nothing beside it): {_label(_task(result))}")
            yield _recorded(task, result) if isinstance(result, Lost) else result


def _task(lost: Lost) -> Task:
    task: Task = lost.arguments[0]
    task.marker.unlink(missing_ok=True)
    return task


class _Deaths:
    """Counts workers that end before they compute anything, until one computes."""

    def __init__(self, jobs: int) -> None:
        self.most, self.number = HOPELESS * jobs, 0

    def count(self, result: Outcome | Lost) -> None:
        """Take notice of a result, and give up if nothing computes."""
        if not isinstance(result, Lost) or result.began:
            self.number = -(10**9)
            return
        self.number += 1
        if self.number >= self.most:
            raise WorkerDiedError(
                f"workers end before they compute anything ({result.why}); is there enough memory, and does the "
                "experiment load by itself (--jobs 1)?"
            )


def _recorded(task: Task, lost: Lost) -> Outcome:
    if lost.timed_out:
        return record_end(task, Status.TIMED_OUT, f"The replicate was ended: {lost.why}.")
    return record_end(
        task, Status.WORKER_DIED, f"The worker process died twice while computing this replicate ({lost.why})."
    )


def run_prepare(
    pool: Pool, context: Context, prerequisites: Sequence[Mapping[str, Any]], say: Say
) -> Generator[tuple[str, float], None, None]:
    """Do the work that cells share, and yield (problem, seconds) for each; a problem is told too."""
    for result in pool.results(prepare, [(context, dict(p)) for p in prerequisites]):
        problem, seconds = (f"its worker died ({result.why})", 0.0) if isinstance(result, Lost) else result
        if problem:
            say(f"preparing what cells share failed: {problem}; the cells will compute it themselves")
        yield problem, seconds


def in_processes(tasks: Sequence[Task], jobs: int, environment: Mapping[str, str]) -> Iterator[Outcome]:
    """Compute tasks in fresh processes, whose environment differs as said before they import anything.

    Raises
    ------
    WorkerDiedError
        If a process ended before its task did.
    """
    with Crew([environment] * jobs) as crew:
        for result in crew.results(compute, [(task,) for task in tasks]):
            if isinstance(result, Lost):
                raise WorkerDiedError(f"a worker died ({result.why}) while it computed {_label(result.arguments[0])}")
            yield result


def _label(task: Task) -> str:
    return (
        f"arm {task.cell.arm}{''.join(f', {k} = {v}' for k, v in task.cell.coords.items())}, replicates "
        f"{task.replicates[0]} to {task.replicates[-1]}"
    )

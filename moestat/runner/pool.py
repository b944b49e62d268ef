"""Where tasks are computed: here, in loky workers (joblib), on a dask cluster, or in one process per GPU.

Every way yields the same outcomes; only the order differs. A worker that dies (out of memory, a crash in compiled
code) takes its pool with it, so the pool is started again, and what was being computed is retried alone, in halves
where it dies again, until the replicates that kill their worker are known. These are recorded, the rest goes on.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moestat.errors import UserError
from moestat.runner import cluster
from moestat.runner.cluster import Lost, flat
from moestat.runner.worker import Context, Outcome, Task, compute, prepare, record_death, watch_parent

Say = Callable[[str], None]


class WorkerDiedError(UserError):
    """A pool lost a worker."""


@dataclass(frozen=True)
class Place:
    """Where to compute: ``backend`` is ``"here"``, ``"loky"``, ``"dask"`` or ``"gpus"``."""

    backend: str
    jobs: int
    scheduler: str = ""
    devices: tuple[str, ...] = ()


@contextlib.contextmanager
def opened(place: Place) -> Iterator[Pool]:
    """Open a pool; on the way out no worker of ours is left."""
    pool = Pool(place)
    with warnings.catch_warnings():
        # joblib warns of results that nobody fetched when a run is stopped: their shards are on the disk
        warnings.filterwarnings("ignore", message=".*tasks (have been|which were still).*")
        try:
            yield pool
        finally:
            pool.close()


class Pool:
    """Runs functions of one argument at a :class:`Place`."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.client: Any = None
        if place.backend == "dask":
            self.client = cluster.connect(place.scheduler)

    @property
    def jobs(self) -> int:
        """How many tasks run at a time."""
        if self.client is not None:
            return max(1, sum(self.client.ncores().values()))
        return len(self.place.devices) if self.place.backend == "gpus" else self.place.jobs

    @property
    def ready(self) -> bool:
        """Whether there is a worker (a cluster may start its own only when there is work)."""
        return self.client is None or bool(self.client.ncores())

    def results(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results in the order in which they are done.

        Raises
        ------
        WorkerDiedError
            If a worker process ended before its task did.
        """
        if self.place.backend == "here":
            for argument in arguments:
                yield function(*argument)
        elif self.place.backend == "gpus":
            yield from _on_gpus(function, arguments, self.place.devices)
        elif self.place.backend == "dask":
            yield from cluster.results(self.client, function, arguments)
        else:
            yield from self._with_joblib(function, arguments, self.place.jobs)

    def alone(self, task: Task) -> Outcome:
        """Compute one task in a worker of its own."""
        if self.place.backend != "dask":
            return _in_own_process(task)
        (result,) = cluster.results(self.client, compute, [(task,)])
        if isinstance(result, Lost):
            raise WorkerDiedError(result.why)
        return result

    def close(self) -> None:
        """End the workers, also in the middle of a task: a shard is whole or not there."""
        if self.place.backend == "loky":
            _kill_loky()
        if self.client is not None:
            self.client.close()

    def _with_joblib(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], jobs: int
    ) -> Iterator[Any]:
        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            with parallel_config(
                backend="loky",
                n_jobs=jobs,
                inner_max_num_threads=1,
                initializer=watch_parent,
                initargs=(os.getpid(),),
            ):
                parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
                yield from parallel(delayed(function)(*argument) for argument in arguments)
        except BrokenProcessPool as error:
            raise WorkerDiedError(flat(error)) from None


def run(
    pool: Pool, tasks: Sequence[Task], is_done: Callable[[Task], Outcome | None], say: Say
) -> Generator[Outcome, None, None]:
    """Compute the tasks and yield one outcome for each, surviving the death of workers.

    Parameters
    ----------
    pool : Pool
    tasks : sequence of Task
    is_done : callable
        Looks on the disk whether a task's shards are there, for tasks whose outcome was lost with a pool.
    say : callable
        Told, in one sentence, of each death.
    """
    waiting = {task.number: task for task in tasks}
    while waiting:
        lost: list[Task] = []
        try:
            for outcome in pool.results(compute, [(task,) for task in waiting.values()]):
                if isinstance(outcome, Lost):
                    lost.append(waiting.pop(outcome.arguments[0].number))
                    say(f"a worker died ({outcome.why}); to be tried again at the end: {_labels(lost[-1:])}")
                    continue
                waiting.pop(outcome.number, None)
                yield outcome
            for task in lost:
                yield from _retry(pool, task, say)
        except WorkerDiedError as error:
            suspects = _suspects(waiting)
            say(f"a worker died ({error}); trying again what it computed: {_labels(suspects)}")
            for task in list(waiting.values()):
                if (stored := is_done(task)) is not None:
                    del waiting[task.number]
                    yield stored
            for task in suspects:
                if task.number in waiting:
                    del waiting[task.number]
                    yield from _retry(pool, task, say)


def run_prepare(
    pool: Pool, context: Context, prerequisites: Sequence[Mapping[str, Any]], say: Say
) -> Generator[tuple[str, float], None, None]:
    """Do the work that cells share, and yield (problem, seconds) for each; a problem is told too."""
    try:
        for result in pool.results(prepare, [(context, dict(p)) for p in prerequisites]):
            problem, seconds = (f"its worker died ({result.why})", 0.0) if isinstance(result, Lost) else result
            if problem:
                say(f"preparing what cells share failed: {problem}")
            yield problem, seconds
    except WorkerDiedError as error:
        say(f"a worker died while it prepared what cells share ({error}); the cells will compute it themselves")


def _suspects(waiting: Mapping[int, Task]) -> list[Task]:
    """Return the tasks that were being computed when a worker died: those with the most attempts begun, not ended."""
    attempts = {}
    for number, task in waiting.items():
        with contextlib.suppress(OSError):
            attempts[number] = len(task.marker.read_text().splitlines())
    most = max(attempts.values(), default=0)
    suspects = [waiting[number] for number, count in attempts.items() if count == most]
    return suspects or list(waiting.values())[:1]  # it died before the first line of a task: blame the first


def _retry(pool: Pool, task: Task, say: Say) -> Iterator[Outcome]:
    """Compute a task alone; where its worker dies again, halve it; record a replicate that kills its worker."""
    task.marker.unlink(missing_ok=True)
    try:
        yield pool.alone(task)
        return
    except WorkerDiedError as error:
        task.marker.unlink(missing_ok=True)
        if len(task.replicates) == 1:
            message = f"The worker process died twice while computing this replicate ({error})."
            say(f"recorded as failed: {_labels([task])}")
            yield record_death(task, message)
            return
    half = len(task.replicates) // 2
    for part in (task.replicates[:half], task.replicates[half:]):
        yield from _retry(pool, replace(task, replicates=part), say)


def _labels(tasks: Sequence[Task]) -> str:
    texts = [
        f"arm {task.cell.arm}{''.join(f', {k} = {v}' for k, v in task.cell.coords.items())}, replicates "
        f"{task.replicates[0]} to {task.replicates[-1]}"
        for task in tasks
    ]
    return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more blocks" if len(texts) > 3 else "")


def _in_own_process(task: Task) -> Outcome:
    (outcome,) = in_processes([task], 1)
    return outcome


def in_processes(tasks: Sequence[Task], jobs: int, environment: Mapping[str, str] | None = None) -> Iterator[Outcome]:
    """Compute tasks in fresh processes, whose environment differs as said before they import anything.

    Raises
    ------
    WorkerDiedError
        If a process ended before its task did.
    """
    from concurrent.futures import as_completed

    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    variables = dict.fromkeys(THREADS, "1") | dict(environment or {})
    with ProcessPoolExecutor(max_workers=jobs, env=variables) as executor:
        try:
            for future in as_completed([executor.submit(compute, task) for task in tasks]):
                yield future.result()
        except BrokenProcessPool as error:
            raise WorkerDiedError(flat(error)) from None


def _on_gpus(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], devices: Sequence[str]
) -> Iterator[Any]:
    """One spawned process per GPU: a process must not be forked after CUDA has started."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("spawn")
    free = context.Queue()
    for device in devices:
        free.put(device)
    with ProcessPoolExecutor(len(devices), mp_context=context, initializer=_take_gpu, initargs=(free,)) as executor:
        futures = [executor.submit(function, *argument) for argument in arguments]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise WorkerDiedError(flat(error)) from None
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def _take_gpu(free: Any) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = free.get()


def _kill_loky() -> None:
    """End the loky workers without waiting for what they compute."""
    from joblib.externals.loky import reusable_executor

    executor = reusable_executor._executor  # asking loky for "the" executor would start one
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS")

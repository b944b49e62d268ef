"""Where tasks are computed: in this process, in worker processes of this machine, one per GPU, or on a dask cluster.

Every way yields the same outcomes; only the order differs. A worker that dies (out of memory, a crash in compiled
code), or takes longer than it may, costs its own block alone. At the end such blocks are tried again in halves, until
the replicates that end their worker are known; these are recorded, the rest goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, replace
from typing import Any

import joblib

from moestat.errors import UserError
from moestat.runner.request import Request
from moestat.runner.worker import Context, Outcome, Task, begin, compute, prepare, record_end
from moestat.status import Status
from moestat.threads import VARIABLES

Say = Callable[[str], None]
ATTEMPTS = 3
"""Workers that end one after the other before they can compute anything, and then stop the run."""
TICK = 0.5
"""Seconds between looks at workers that are to end."""
SERVE = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from moestat.runner.worker import serve; serve()"


class PoolError(UserError):
    """Nobody is left that computes."""


@dataclass(frozen=True)
class Lost:
    """A task whose worker died, or was ended, where the pool itself lives on."""

    arguments: tuple[Any, ...]
    why: str
    timed_out: bool = False


class Here:
    """The process that runs the study; and what every pool has."""

    def results(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results in the order in which they are done, :class:`Lost` for what was lost with a worker."""
        return (function(*argument) for argument in arguments)

    def close(self) -> None:
        """End the workers, also in the middle of a task: a shard is whole or not there."""


class Crew(Here):
    """Worker processes of this machine, as many as ``environments``: what that of each differs in.

    A thread waits for each that computes. On Linux a process ends with the thread that started it: these last.
    """

    def __init__(self, context: Context, environments: Sequence[Mapping[str, str]], timeout: float | None) -> None:
        self.members = [_Member(context, environment, timeout) for environment in environments]
        self.idle: queue.SimpleQueue[_Member] = queue.SimpleQueue()
        for member in self.members:
            self.idle.put(member)
        self.threads = ThreadPoolExecutor(len(environments))
        self.futures: list[Future[Any]] = []

    def results(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Do as :meth:`Here.results`."""
        self.futures = [self.threads.submit(self._call, function, argument) for argument in arguments]
        for future in as_completed(self.futures):
            yield future.result()

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        member = self.idle.get()
        try:
            return member.call(function, arguments)
        finally:
            self.idle.put(member)

    def close(self) -> None:
        """Do as :meth:`Here.close`."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        while True:
            for member in self.members:
                if member.process is not None:
                    member.process.kill()
            begun = [future for future in self.futures if not future.cancelled()]
            if not wait(begun, TICK).not_done:  # also those whose worker was just being started
                break
        for member in self.members:
            member.end()


class _Member:
    """One worker process, started when there is something to do."""

    def __init__(self, context: Context, environment: Mapping[str, str], timeout: float | None) -> None:
        self.context, self.timeout = context, timeout
        self.environment = os.environ | dict.fromkeys(VARIABLES, "1") | dict(environment)
        self.process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return what a function returns in the worker, or :class:`Lost`; raise what it raises."""
        if self.process is None or self.process.poll() is not None:  # it may have died when it had nothing to do
            self._start()
        replicates = getattr(arguments[0], "replicates", ())
        return self._ask(function, arguments, self.timeout * len(replicates) if self.timeout and replicates else None)

    def end(self) -> int:
        """End the process, and return its exit code."""
        if (process := self.process) is None:
            return 0
        process.kill()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not read
                stream.close()  # type: ignore[union-attr]
        return process.wait()

    def _start(self) -> None:
        words = [sys.executable, "-c", SERVE, json.dumps([str(folder) for folder in sys.path])]
        options: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}  # Ctrl-C is not theirs
        for _ in range(ATTEMPTS):
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment, **options
            )
            if not isinstance(lost := self._ask(begin, (self.context,), None), Lost):
                return
        raise PoolError(
            f"workers end before they compute anything ({lost.why}); is there enough memory, and does the experiment "
            "load by itself (--jobs 1)?"
        )

    def _ask(self, function: Callable[..., Any], arguments: tuple[Any, ...], budget: float | None) -> Any:
        process = self.process
        assert process is not None and process.stdin is not None and process.stdout is not None
        timer, began = threading.Timer(budget or 0.0, process.kill), time.monotonic()
        if budget is not None:
            timer.start()
        try:
            process.stdin.write(pickle.dumps((function, arguments)))
            process.stdin.flush()
            fine, answer = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            code, late = self.end(), budget is not None and time.monotonic() - began >= budget
            ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return Lost(arguments, f"it took longer than {budget:.4g} s" if late else f"it ended with {ended}", late)
        finally:
            timer.cancel()
        if not fine:
            raise answer
        return answer


@contextlib.contextmanager
def opened(request: Request, context: Context, tasks: int, say: Say) -> Iterator[Here]:
    """Open the pool that a request asks for; on the way out no worker of ours is left."""
    pool = Here()
    if tasks and request.backend == "dask":
        from moestat.runner.cluster import Cluster

        pool = Cluster(request.scheduler, request.jobs, say)
    elif tasks:
        differences = environments(request, context.device)
        if len(differences) > 1 or request.timeout is not None:  # the main process cannot end itself in time
            pool = Crew(context, differences, request.timeout)
    try:
        yield pool
    finally:
        pool.close()


def environments(request: Request, device: str) -> list[dict[str, str]]:
    """Return what the environment of each process of a run differs in: the GPU that it sees."""
    if device != "cuda":
        return [{}] * (request.jobs or joblib.cpu_count())
    if (named := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        gpus = [part.strip() for part in named.split(",") if part.strip()]
    else:
        import cupy

        gpus = [str(number) for number in range(cupy.cuda.runtime.getDeviceCount())]
    jobs = request.jobs or len(gpus)  # more than there are share them: one scores while another one fits
    return [{"CUDA_VISIBLE_DEVICES": gpus[k % len(gpus)]} for k in range(jobs)]


def run(pool: Here, tasks: Sequence[Task], say: Say) -> Generator[Outcome, None, None]:
    """Compute the tasks and yield outcomes of all their replicates; the end of a worker is told, and survived."""
    waiting, suspects = list(tasks), []
    while waiting:
        halves: list[Task] = []
        for result in pool.results(compute, [(task,) for task in waiting]):
            if not isinstance(result, Lost):
                yield result
                continue
            task: Task = result.arguments[0]
            if (half := len(task.replicates) // 2) > 0:
                halves += [replace(task, replicates=part) for part in (task.replicates[:half], task.replicates[half:])]
                say(f"a worker died or was ended ({result.why}); trying again in halves, at the end: {task.label}")
            elif result.timed_out:
                yield _recorded(task, result, say)
            else:  # others may have taken its memory, and dask counts a death against every task that it had handed out
                suspects.append(task)
                say(f"a worker died ({result.why}); trying again at the end, with nothing beside it: {task.label}")
        waiting = halves
    for task in suspects:
        for result in pool.results(compute, [(task,)]):
            yield _recorded(task, result, say) if isinstance(result, Lost) else result


def _recorded(task: Task, lost: Lost, say: Say) -> Outcome:
    say(f"recorded as failed ({lost.why}): {task.label}")
    if lost.timed_out:
        return record_end(task, Status.TIMED_OUT, f"The replicate was ended: {lost.why}.")
    message = f"The worker process died twice while computing this replicate ({lost.why})."
    return record_end(task, Status.WORKER_DIED, message)


def run_prepare(pool: Here, context: Context, prerequisites: Sequence[Mapping[str, Any]], say: Say) -> None:
    """Do the work that cells share; a problem is told. What fails here the cells will meet again, and record."""
    for result in pool.results(prepare, [(context, dict(p)) for p in prerequisites]):
        if problem := f"its worker died ({result.why})" if isinstance(result, Lost) else result:
            say(f"preparing what cells share failed: {problem}; the cells will compute it themselves")

"""Worker processes of this machine, each with an executor of its own, so that the death of one is nobody else's.

A thread of the parent leads each worker: it hands it tasks, hears whether it is alive, and ends it when a task takes
longer than it may or the worker gives no sign of life (it was stopped, or hangs in compiled code). What is lost with a
worker comes back as :class:`~moestat.runner.cluster.Lost`; a new worker takes its place.
"""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from moestat.runner.cluster import Lost, flat
from moestat.runner.life import begin
from moestat.threads import VARIABLES

TICK = 0.5
"""Seconds between looks at a worker."""
PATIENCE = 60.0
"""Seconds without a sign of life after which a worker is ended."""
AHEAD = 2
"""Quick tasks that a worker has been handed, the one that it computes among them: it need not wait for the next."""
QUICK = 0.1
"""Seconds of a task after which the next is handed ahead; longer ones are better left to whoever is free."""


class Crew:
    """Some workers; a context manager, on the way out of which none of them is left.

    Parameters
    ----------
    environments : sequence of mapping
        What the environment of each worker differs in, before it imports anything; their number is that of workers.
    timeout : float or None
        Seconds that a replicate may take; a block may take as many times that as it has replicates.
    """

    def __init__(self, environments: Sequence[Mapping[str, str]], timeout: float | None = None) -> None:
        self.members = [_Member(environment, timeout) for environment in environments]

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def results(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results in the order in which they are done, :class:`Lost` for those that were lost."""
        waiting = deque(arguments)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        stop = threading.Event()
        leaders = [
            member.leader.submit(member.lead, function, waiting, done, stop)
            for member in self.members[: len(arguments)]
        ]
        finished = False
        try:
            for _ in arguments:
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
            finished = True
        finally:
            stop.set()
            if not finished:
                self._end()
            wait(leaders)
            if not finished:
                self._end()  # of a worker that was just being started

    def close(self) -> None:
        """End the workers, also in the middle of a task: a shard is whole or not there."""
        self._end()
        for member in self.members:
            member.leader.shutdown(wait=False)

    def _end(self) -> None:
        for member in self.members:
            member.end()


class _Member:
    """One worker process, started when there is something to do, and the thread that leads it.

    The thread is the same as long as there are workers: on Linux a process ends with the thread that started it.
    """

    def __init__(self, environment: Mapping[str, str], timeout: float | None) -> None:
        self.environment = dict.fromkeys(VARIABLES, "1") | dict(environment)
        self.timeout = timeout
        self.leader = ThreadPoolExecutor(1)
        self.executor: Any = None

    def lead(
        self, function: Callable[..., Any], waiting: deque[Any], done: queue.SimpleQueue[Any], stop: threading.Event
    ) -> None:
        """Hand tasks to the worker until none is left."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        handed: deque[tuple[tuple[Any, ...], Future[Any]]] = deque()
        quick = False
        try:
            while not stop.is_set():
                while len(handed) < (AHEAD if quick else 1) and (argument := _next(waiting)) is not None:
                    handed.append((argument, self._submit(function, argument)))
                if not handed:
                    return
                begun = time.monotonic()
                argument, future = handed[0]
                why, late = self._watched(argument, future, stop)
                if stop.is_set():
                    return
                handed.popleft()
                error = None if why else future.exception()
                if not why and error is None:
                    quick = time.monotonic() - begun < QUICK
                    done.put(future.result())
                    continue
                if error is not None and not isinstance(error, BrokenProcessPool):
                    raise error
                self.end()
                waiting.extendleft(other for other, _ in reversed(handed))  # they had not begun
                handed.clear()
                began = getattr(argument[0], "marker", Path()).exists()
                done.put(Lost(argument, why or _exit(error), timed_out=late, began=began))
        except BaseException as error:  # it is raised where the results are awaited
            done.put(error)

    def _submit(self, function: Callable[..., Any], argument: tuple[Any, ...]) -> Future[Any]:
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        if self.executor is not None:
            try:
                return self.executor.submit(function, *argument)
            except BrokenProcessPool:  # it died when it had nothing to do
                self.end()
        self.executor = ProcessPoolExecutor(
            max_workers=1, env=self.environment, initializer=begin, initargs=(os.getpid(),)
        )
        return self.executor.submit(function, *argument)

    def _watched(self, argument: tuple[Any, ...], future: Future[Any], stop: threading.Event) -> tuple[str, bool]:
        """Wait for a result; end the worker, and say why, and whether it took too long, or gave no sign of life."""
        task = argument[0]
        marker = getattr(task, "marker", None)
        budget = None if marker is None or self.timeout is None else self.timeout * len(task.replicates)
        watch = Watch(marker, budget)
        while not wait([future], timeout=TICK).done and not stop.is_set():
            if why := watch.problem():
                self.end()
                return why, watch.late
        return "", False

    def end(self) -> None:
        """End the process."""
        executor, self.executor = self.executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=True)


class Watch:
    """Looks at a worker now and then, and knows when it must be ended.

    Time is counted in looks, so that a run that was stopped together with its workers, and goes on, blames nobody.

    Parameters
    ----------
    marker : Path or None
        The file that exists while the task is computed, holds the id of the process, and is touched by it.
    budget : float or None
        Seconds that the task may take.
    clock : callable
        Monotonic seconds.
    """

    def __init__(self, marker: Path | None, budget: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.marker, self.budget, self.clock = marker, budget, clock
        self.last = clock()
        self.took = self.silent = 0.0
        self.signs: tuple[Any, ...] = ()

    @property
    def late(self) -> bool:
        """Whether the task has taken longer than it may."""
        return self.budget is not None and self.took > self.budget

    def problem(self) -> str:
        """Say why the worker must be ended, or return an empty text."""
        now = self.clock()
        step, self.last = min(now - self.last, 2 * TICK), now
        if self.marker is None:
            return ""
        try:
            beat, pid = self.marker.stat().st_mtime_ns, self.marker.read_text().strip()
        except OSError:  # it has not begun, or has just ended
            self.signs = ()
            return ""
        self.took += step
        signs = (beat, _processor_time(pid))
        self.silent = 0.0 if signs != self.signs else self.silent + step
        self.signs = signs
        if self.late:
            return f"it took longer than {self.budget:.4g} s"
        if self.silent > PATIENCE:
            return f"it gave no sign of life for {PATIENCE:.0f} s"
        return ""


def _next(waiting: deque[Any]) -> Any:
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _exit(error: BaseException | None) -> str:
    """Return how a process ended, from what its executor says: ``it ended with SIGKILL(-9)``."""
    codes = re.search(r"exit codes of the workers are \{(.*?)\}", flat(error) if error is not None else "")
    return f"it ended with {codes[1]}" if codes else "it ended"


def _processor_time(pid: str) -> str:
    """Return the time that a process has computed, as text, or an empty one where that is not known."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return f"{words[11]} {words[12]}"
    except (OSError, IndexError):
        return ""

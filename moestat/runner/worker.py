"""What a worker does: compute one block of one cell and put it on the disk, whatever happens on the way.

The worker, not the parent, writes the shard, as soon as it is done. An exception in a block of several replicates
halves the block, so that in the end only the replicates that cannot be computed carry the status ``RAISED``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from moestat import callables, versions, warned
from moestat.errors import StaleError
from moestat.experiment import Cell, code_version
from moestat.runner import contract, experiments, origin, shard
from moestat.status import Status
from moestat.threads import one_thread


@dataclass(frozen=True)
class Context:
    """What all tasks of a run share; ``code`` is the version of what is to compute."""

    module_name: str
    search_path: tuple[str, ...]
    root: str
    cache: str
    device: str
    code: Mapping[str, str]
    sent: Mapping[str, str] = field(default_factory=dict)  #: What :func:`moestat.callables.send` returned.


@dataclass(frozen=True)
class Task:
    """One block of one cell."""

    context: Context
    cell: Cell
    replicates: Sequence[int]

    @property
    def label(self) -> str:
        """The task as it is printed."""
        return f"{self.cell.label}, replicates {self.replicates[0]} to {self.replicates[-1]}"


@dataclass(frozen=True)
class Outcome:
    """What came out of a task: the status of each replicate, and the messages of some that did not converge."""

    digest: str
    replicates: Sequence[int]
    status: Sequence[int]
    messages: Mapping[int, str] = field(default_factory=dict)


def compute(task: Task) -> Outcome:
    """Compute a task and write its shards; raises for what stands in the way of the disk, and no failure else."""
    module = enter_process(task.context)
    status: dict[int, int] = {}
    messages: dict[int, str] = {}
    waiting = [task.replicates]
    while waiting:
        piece, started = waiting.pop(), time.perf_counter()
        with warned.counted(len(piece)) as warnings:
            variables, problem = attempt(module, task.cell, piece, task.context.device)
        if problem and (half := len(piece) // 2):
            waiting += [piece[half:], piece[:half]]
            continue
        if problem:
            variables = contract.failed(piece, Status.RAISED, problem)
        _store(task, piece, variables, time.perf_counter() - started, warnings)
        status |= zip(piece, variables["status"].values.tolist(), strict=True)
        if "message" in variables:
            told = zip(piece, variables["message"].values, strict=True)
            messages |= {r: str(text) for r, text in told if status[r] != Status.CONVERGED}
    found, messages = [status[r] for r in task.replicates], dict(list(messages.items())[:20])
    return Outcome(task.cell.digest, task.replicates, found, messages)


def prepare(context: Context, prerequisite: dict[str, Any]) -> str:
    """Do work that several cells share; return what went wrong, or an empty text."""
    module = enter_process(context)
    try:
        with one_thread():
            module.prepare(prerequisite, device=context.device)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the cells that need it will meet it again, and record it
        return describe(error)
    return ""


def record_end(task: Task, status: Status, message: str) -> Outcome:
    """Write down how these replicates ended, whose worker cannot: it died twice, or they took longer than they may."""
    _store(task, task.replicates, contract.failed(task.replicates, status, message), 0.0)
    count = len(task.replicates)
    return Outcome(task.cell.digest, task.replicates, [int(status)] * count, dict.fromkeys(task.replicates, message))


def describe(error: BaseException) -> str:
    """Return an exception as a sentence: type, text, and where it was raised."""
    try:
        text = contract.readable(" ".join(str(error).split())[:500])
    except Exception:  # an exception of the user's own may fail to tell what it is
        text = ""
    return f"{type(error).__name__}{': ' * bool(text)}{text}{experiments.place(error)}"


def attempt(module: Any, cell: Cell, replicates: Sequence[int], device: str) -> tuple[Any, str]:
    """Compute some replicates once; return variables, and what went wrong, in a sentence.

    Nothing of the attempt is left when it returns: a second one beside what an exception keeps would lack the memory.
    """
    try:
        with one_thread():
            dataset = module.run(cell, list(replicates), device=device)
        return contract.check(dataset, cell, replicates), ""
    except KeyboardInterrupt:  # the user's; workers are not sent one
        raise
    except BaseException as error:  # what an experiment raises costs its replicate alone, whatever it is
        problem, lack = describe(error), isinstance(error, MemoryError)
    if lack:
        gc.collect()
    return {}, problem


def _store(
    task: Task, replicates: Sequence[int], variables: Any, seconds: float, warnings: Mapping[str, int] | None = None
) -> None:
    context = task.context
    made = {"created": time.time(), "seconds": seconds, "device": context.device, "pid": os.getpid(), **origin.here()}
    made |= {"warned": dict(warnings)} if warnings else {}
    content = shard.encode(task.cell, replicates, variables, context.code, made)
    shard.write(Path(context.root), task.cell.digest, content, replicates, context.code)


_code_of = functools.cache(code_version)  # as it was when this process first used it: the disk may be newer


def enter_process(context: Context) -> ModuleType:
    """Make a process fit to compute, and return the experiment's module. Cheap to repeat.

    Raises StaleError if the code of this process is not the one that the run began with.
    """
    os.environ["MOESTAT_CACHE"] = context.cache
    callables.expect(context.sent)
    experiments.extend_path(context.search_path)
    module = experiments.load(context.module_name, context.module_name)
    if changes := versions.changes(context.code, _code_of(context.module_name)):
        raise StaleError(
            "the code that computes changed while the study was running, or is another one on a worker "
            f"({', '.join(changes)}); start again in a fresh process"
        )
    return module


@contextlib.contextmanager
def cache_kept() -> Iterator[None]:
    """Give the variable that names the cache its value back, which computing in this process changes."""
    before = {name: os.environ[name] for name in ["MOESTAT_CACHE"] if name in os.environ}
    try:
        yield
    finally:
        os.environ.pop("MOESTAT_CACHE", None)
        os.environ.update(before)


def begin(context: Context) -> None:
    """Import what the tasks need, before the first one: what fails here is nobody's replicate, nor is its time."""
    with one_thread():
        enter_process(context)
    gc.collect()
    gc.freeze()  # what is imported lasts, and is not searched for cycles again and again


def serve() -> None:
    """Compute what is asked for on standard input, call after call, until it is closed: the parent has ended then."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to hear
    with contextlib.suppress(OSError, AttributeError, TypeError):  # Linux ends us even while compiled code runs
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    sys.stdin = open(os.devnull)  # noqa: SIM115  an experiment finds nothing to read, and what it prints is no answer
    os.dup2(2, 1)
    asked: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                asked.put(pickle.load(calls))
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    while True:
        function, arguments = asked.get()
        try:
            answer = True, function(*arguments)
        except BaseException as error:
            answer = False, error
        answers.write(pickle.dumps(answer))
        answers.flush()

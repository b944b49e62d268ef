"""What a worker does: compute one block of one cell and put it on the disk, whatever happens on the way.

The worker, not the parent, writes the shard, as soon as it is done. An exception in a block of several replicates
halves the block, so that in the end only the replicates that cannot be computed carry the status ``RAISED``.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from moestat import files
from moestat.experiment import Cell, code_version
from moestat.runner import experiments, life
from moestat.runner.single import one_thread
from moestat.status import Status


@dataclass(frozen=True)
class Context:
    """What all tasks of a run share."""

    module_name: str
    search_path: tuple[str, ...]
    root: str
    cache: str
    device: str
    parent: int


@dataclass(frozen=True)
class Task:
    """One block of one cell."""

    number: int
    context: Context
    cell: Cell
    digest: str
    replicates: Sequence[int]

    @property
    def marker(self) -> Path:
        """The file that exists while the task is computed, and that its worker touches."""
        reps = self.replicates
        return Path(self.context.root) / "running" / f"{self.digest[:20]}-{reps[0]}-{reps[-1]}-{len(reps)}"


@dataclass(frozen=True)
class Outcome:
    """What came out of a task: the status of each replicate, and what the parent must know."""

    number: int
    digest: str
    replicates: Sequence[int] = ()
    status: Sequence[int] = ()
    messages: Mapping[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    code: Mapping[str, str] = field(default_factory=dict)
    disk: str = ""


def compute(task: Task) -> Outcome:
    """Compute a task and write its shards; never raises for a failure of the experiment or of the disk."""
    try:
        return _compute(task, enter_process(task.context))
    except OSError as error:
        return Outcome(task.number, task.digest, disk=str(files.disk_problem(error, Path(task.context.root))))


def prepare(context: Context, prerequisite: dict[str, Any]) -> tuple[str, float]:
    """Do work that several cells share; return what went wrong, or an empty text, and the seconds it took."""
    module = enter_process(context)
    begin, problem = time.perf_counter(), ""
    try:
        with one_thread():
            module.prepare(prerequisite, device=context.device)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the cells that need it will meet it again, and record it
        problem = describe(error)
    return problem, time.perf_counter() - begin


def record_end(task: Task, status: Status, message: str) -> Outcome:
    """Write down how these replicates ended, whose worker cannot: it died twice, or they took longer than they may."""
    from moestat.runner import contract

    variables = contract.failed(task.replicates, status, message)
    code = code_version(task.context.module_name)
    _store(task, task.replicates, variables, {}, code, 0.0)
    return Outcome(
        number=task.number,
        digest=task.digest,
        replicates=task.replicates,
        status=[int(status)] * len(task.replicates),
        messages=dict.fromkeys(task.replicates, message),
        code=code,
    )


def describe(error: BaseException) -> str:
    """Return an exception as a sentence: type, text, and where it was raised."""
    from moestat.runner import contract

    try:
        text = contract.readable(" ".join(str(error).split())[:500])
    except Exception:  # an exception of the user's own may fail to tell what it is
        text = ""
    return (
        f"{type(error).__name__}: {text}{experiments.place(error)}"
        if text
        else f"{type(error).__name__}{experiments.place(error)}"
    )


def _compute(task: Task, module: ModuleType) -> Outcome:
    code = _code_at_import(task.context.module_name)
    begin = time.perf_counter()
    status: dict[int, int] = {}
    messages: dict[int, str] = {}
    task.marker.parent.mkdir(parents=True, exist_ok=True)
    task.marker.write_text(f"{os.getpid()}\n")
    life.beat(task.marker if task.context.parent not in (0, os.getpid()) else None)
    for replicates, variables, attrs, seconds in _pieces(module, task.cell, task.replicates, task.context.device):
        _store(task, replicates, variables, attrs, code, seconds)
        status |= dict(zip(replicates, [int(s) for s in variables["status"].values], strict=True))
        if "message" in variables:
            bad = zip(replicates, variables["message"].values, strict=True)
            messages |= {r: str(m) for r, m in bad if status[r] != Status.CONVERGED}
    life.beat(None)
    task.marker.unlink(missing_ok=True)
    return Outcome(
        number=task.number,
        digest=task.digest,
        replicates=task.replicates,
        status=[status[r] for r in task.replicates],
        messages=dict(list(messages.items())[:20]),
        seconds=time.perf_counter() - begin,
        code=code,
    )


def _pieces(module: Any, cell: Cell, replicates: Sequence[int], device: str) -> Iterator[tuple[Any, ...]]:
    """Yield (replicates, variables, attributes, seconds); the union of the pieces is the block."""
    from moestat.runner import contract

    waiting = [replicates]
    while waiting:
        piece = waiting.pop()
        begin = time.perf_counter()
        variables, attrs, problem = _attempt(module, cell, piece, device)
        if problem and len(piece) > 1:
            half = len(piece) // 2
            waiting += [piece[half:], piece[:half]]
            continue
        if problem:
            variables = contract.failed(piece, Status.RAISED, problem)
        yield piece, variables, attrs, time.perf_counter() - begin


def _attempt(
    module: Any, cell: Cell, replicates: Sequence[int], device: str
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Compute some replicates once; return variables, attributes, and what went wrong, in a sentence.

    Nothing of the attempt is left when it returns: an exception keeps all that was in memory when it was raised, and a
    second attempt beside it would lack this memory too.
    """
    from moestat.runner import contract

    try:
        with one_thread():
            dataset = module.run(cell, list(replicates), device=device)
        return *contract.check(dataset, cell, replicates), ""
    except KeyboardInterrupt:  # the user's; workers are not sent one
        raise
    except BaseException as error:  # what an experiment raises costs its replicate alone, whatever it is
        problem = describe(error)
        lack = isinstance(error, MemoryError)
    if lack:
        gc.collect()
    return {}, {}, problem


def _store(
    task: Task,
    replicates: Sequence[int],
    variables: Mapping[str, Any],
    attrs: Mapping[str, Any],
    code: Mapping[str, str],
    seconds: float,
) -> None:
    from moestat.runner import contract, shard

    content = shard.encode(
        cell=task.cell.canonical,
        arm=task.cell.arm,
        coords=task.cell.coords,
        code=code,
        replicates=replicates,
        status=contract.statuses(variables),
        variables=variables,
        attrs=attrs,
        seconds=seconds,
        created=time.time(),
        device=task.context.device,
    )
    shard.write(Path(task.context.root), task.digest, content, replicates, code)


_codes: dict[str, dict[str, str]] = {}
_entered: set[Context] = set()
_modules: dict[Context, ModuleType] = {}


def _code_at_import(module_name: str) -> dict[str, str]:
    """Return the version as it was when this process first used it: what is on the disk may be newer."""
    if module_name not in _codes:
        _codes[module_name] = code_version(module_name)
    return _codes[module_name]


def enter_process(context: Context) -> ModuleType:
    """Make a process fit to compute, and return the experiment's module. Cheap to repeat.

    A worker process gets one thread for good, ignores Ctrl-C (which reaches the whole group: the parent decides), and
    ends when its parent ends.
    """
    os.environ["MOESTAT_CACHE"] = context.cache
    module = _modules.get(context)
    if module is None or sys.modules.get(context.module_name) is not module:
        experiments.extend_path(context.search_path)
        module = _modules[context] = experiments.load(context.module_name, context.module_name)
        _code_at_import(context.module_name)
    if os.getpid() != context.parent and context not in _entered:
        _entered.add(context)
        _limit_for_good()
        life.begin(context.parent)
    return module


def _limit_for_good() -> None:
    import scipy.linalg  # noqa: F401  see one_thread
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)

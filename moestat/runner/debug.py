"""One replicate of every cell, in this process and without a store: the first failure stops, with its traceback."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from moestat.experiment import Cell
from moestat.runner import contract, experiments, worker
from moestat.runner.begin import cache_of, key_of, make_plan, refuse_without_libraries, version_of
from moestat.runner.cells import PlannedCell
from moestat.runner.devices import resolve_device
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.runner.run import set_or_drop
from moestat.status import Status
from moestat.threads import one_thread


@dataclass(frozen=True)
class Failure:
    """What went wrong first: where, in a sentence, and the exception if there was one."""

    where: str
    sentence: str
    error: BaseException | None = None

    @property
    def trace(self) -> TracebackType | None:
        """The traceback from the experiment on, without the frames that called it."""
        trace = self.error.__traceback__ if self.error is not None else None
        while trace is not None and trace.tb_next is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        return trace

    @property
    def text(self) -> str:
        """The traceback as Python prints it; empty without an exception."""
        return "".join(traceback.format_exception(type(self.error), self.error, self.trace)) if self.error else ""


def debug(request: Request, say: Callable[[str], None]) -> Failure | None:
    """Compute the first replicates of every cell, the smallest cells first, and stop at the first failure.

    Parameters
    ----------
    request : Request
        Its ``replicates`` are computed of each cell, one if it asks for no number.
    say : callable
        Told what is computed.

    Returns
    -------
    Failure or None
        A replicate that raises, returns what an experiment must not, or ends without a value.
    """
    plan = make_plan(request)
    if plan.experiment is None:
        return None
    refuse_without_libraries(plan)
    version_of(plan)  # refuses code that changed since it was imported
    device = resolve_device(request.device, plan)
    search_path = tuple(experiments.search_path(plan.study_file))
    context = worker.Context(plan.module_name, search_path, "", cache_of(request.out), device, os.getpid())
    cache = os.environ.get("MOESTAT_CACHE")
    try:
        return _first_failure(request, plan, worker.enter_process(context), device, say)
    finally:
        set_or_drop("MOESTAT_CACHE", cache)


def _first_failure(
    request: Request, plan: Plan, module: ModuleType, device: str, say: Callable[[str], None]
) -> Failure | None:
    ready: set[str] = set()
    cells = sorted((group[0] for group in plan.by_digest.values()), key=lambda planned: planned.size)
    for planned in cells:
        for replicate in range(request.replicates or 1):
            where = f"{planned.label}, replicate {replicate}"
            say(where)
            try:
                for wanted in _prerequisites(module, planned.cell, ready):
                    module.prepare(wanted, device=device)
                failure = _compute(module, planned, replicate, where, device)
            except (Exception, SystemExit) as error:
                return Failure(where, worker.describe(error), error)
            if failure is not None:
                return failure
    return None


def _prerequisites(module: Any, cell: Cell, ready: set[str]) -> Iterator[dict[str, Any]]:
    """Yield what a cell shares with others, once."""
    for wanted in module.prerequisites(cell) if hasattr(module, "prerequisites") else ():
        key = key_of(wanted)
        if key not in ready:
            ready.add(key)
            yield wanted


def _compute(module: Any, planned: PlannedCell, replicate: int, where: str, device: str) -> Failure | None:
    with one_thread():
        dataset = module.run(planned.cell, [replicate], device=device)
    variables, _ = contract.check(dataset, planned.cell, [replicate])
    status = Status(int(variables["status"].values[0]))
    if status.has_value:
        return None
    message = str(variables["message"].values[0]) if "message" in variables else ""
    return Failure(where, f"{status.name}: {message or status.sentence}")

"""One replicate of every cell, in this process and without a store: the first failure stops, with its traceback."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from moestat.runner import begin, contract, worker
from moestat.runner.request import Request
from moestat.status import Status
from moestat.threads import one_thread


class Failure(NamedTuple):
    """What went wrong first: where, in a sentence, and the traceback if there is one."""

    where: str
    sentence: str
    text: str = ""


def debug(request: Request, say: Callable[[str], None]) -> Failure | None:
    """Compute the first replicates of every cell (one, if none is asked for) up to a failure."""
    plan = begin.make_plan(request)
    if plan.experiment is None:
        return None
    begin.refuse_without_libraries(plan)
    begin.version_of(plan)  # refuses code that changed since it was imported
    context = begin.context_of(request, plan, Path(), begin.resolve_device(request.device, plan))
    cells = [group[0] for group in plan.by_digest.values()]
    with worker.cache_kept(), one_thread():
        module = worker.enter_process(context)
        where = "what cells share"
        try:
            for piece in begin.prerequisites(module, [planned.cell for planned in cells], say):
                module.prepare(piece, device=context.device)
            for planned in cells:
                for replicate in range(request.replicates or 1):
                    say(where := f"{planned.label}, replicate {replicate}")
                    dataset = module.run(planned.cell, [replicate], device=context.device)
                    variables, _ = contract.check(dataset, planned.cell, [replicate])
                    status = Status(int(variables["status"].values[0]))
                    if not status.has_value:
                        message = str(variables["message"].values[0]) if "message" in variables else ""
                        return Failure(where, f"{status.name}: {message or status.sentence}")
        except (Exception, SystemExit) as error:
            trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
            text = "".join(traceback.format_exception(type(error), error, trace))
            return Failure(where, worker.describe(error), text)
    return None

"""One replicate of every cell, in this process and without a store: the first failure stops, with its traceback."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable

from moestat.errors import UserError
from moestat.runner import begin, contract, worker
from moestat.runner import plan as plans
from moestat.runner.request import Request
from moestat.status import Status
from moestat.threads import one_thread


def debug(request: Request, say: Callable[[str], None]) -> None:
    """Compute the first replicates of every cell (one, if none is asked for).

    Raises UserError with the first failure; ``say`` is told its traceback, and each replicate before it is computed.
    """
    plan = plans.of(request)
    if plan.experiment is None:
        return
    begin.refuse_without_libraries(plan)
    context = begin.context_of(plan)
    cells = [group[0] for group in plan.by_digest.values()]
    where, problem = "what cells share", ""
    with worker.cache_kept(), one_thread():
        module = worker.enter_process(context)
        try:
            for piece in begin.prerequisites(module, [planned.cell for planned in cells], say):
                module.prepare(piece, device=context.device)
            for planned, replicate in itertools.product(cells, range(request.replicates or 1)):
                say(where := f"{planned.cell.label}, replicate {replicate}")
                dataset = module.run(planned.cell, [replicate], device=context.device)
                variables = contract.check(dataset, planned.cell, [replicate])
                status = Status(int(variables["status"].values[0]))
                if not status.has_value:
                    message = str(variables["message"].values[0]) if "message" in variables else ""
                    problem = f"{status.name}: {message or status.sentence}"
                    break
        except (Exception, SystemExit) as error:
            trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
            say("".join(traceback.format_exception(type(error), error, trace)))
            problem = worker.describe(error)
    if problem:
        raise UserError(f"{where}: {problem}; nothing was stored")

"""Computing on a cluster, through the client of dask.distributed."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from moestat import extras
from moestat.errors import UserError

PATIENCE = "10s"
WITHOUT_WORKERS = 15.0
"""Seconds after which a cluster whose workers are all gone is given up; one that never had any is waited for."""
LOOK = 2.0


class PoolError(UserError):
    """Nobody is left that computes."""


def connect(scheduler: str) -> Any:
    """Return a client of the scheduler at an address, or raise a sentence."""
    try:
        from distributed import Client
    except ImportError:
        raise UserError(
            f"--backend dask needs dask.distributed; install it with: {extras.command('cluster')}"
        ) from None
    for name in [*logging.root.manager.loggerDict]:  # it logs tracebacks of what we tell in a sentence
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UserError(f"no dask scheduler answers at {scheduler!r}: {_flat(error)}") from None


def results(
    client: Any, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[tuple[Any, ...], Any, str]]:
    """Yield (arguments, result, why): of a task that killed several workers there is no result, but a reason.

    The client is used directly: joblib's dask backend does not hear of such a task and waits for it for ever.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    where = client.scheduler.address
    futures = {client.submit(function, *argument, pure=False): argument for argument in arguments}
    try:
        for future in _watched(client, as_completed(list(futures), loop=client.loop)):
            argument = futures.pop(future)
            if future.cancelled():  # by nobody of us: the scheduler does not know it any more
                raise ConnectionError("a task was cancelled")
            error = future.exception()
            if isinstance(error, KilledWorker):
                yield argument, None, _flat(error)
            elif error is not None:
                raise UserError(f"a worker of the cluster cannot compute: {type(error).__name__}: {_flat(error)}")
            else:
                yield argument, future.result(), ""
            future.release()
    except OSError as error:
        raise PoolError(
            f"the scheduler {where} was lost, or was started anew ({_flat(error)}): start it again; its new address, "
            "if that changed, belongs after --scheduler"
        ) from None
    finally:
        with contextlib.suppress(Exception):  # a scheduler that is lost cannot hear of it
            client.cancel(list(futures))


def _watched(client: Any, completed: Any) -> Iterator[Any]:
    """Yield futures as they are done, as long as there are workers."""
    there, looked = float("inf"), -LOOK  # when there was a worker
    while not completed.is_empty():
        now = time.monotonic()
        if completed.has_ready():
            yield next(completed)
            continue
        if now - looked >= LOOK:
            looked = now
            there = now if client.ncores() else there
        if now - there > WITHOUT_WORKERS:
            raise PoolError(f"the workers of the scheduler {client.scheduler.address} are all gone: start some")
        time.sleep(0.02)


def _flat(error: BaseException) -> str:
    """Return the text of an exception on one line."""
    return " ".join(str(error).split())[:300]

"""Computing on a cluster, through the client of dask.distributed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from moestat import extras
from moestat.errors import UserError

PATIENCE = "10s"


@dataclass(frozen=True)
class Lost:
    """A task whose worker died, or was ended, where the pool itself lives on."""

    arguments: tuple[Any, ...]
    why: str
    timed_out: bool = False
    began: bool = True


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
        raise UserError(f"no dask scheduler answers at {scheduler!r}: {flat(error)}") from None


def results(client: Any, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Compute on a cluster; a task that killed several workers comes back as :class:`Lost`, the others go on.

    The client is used directly: joblib's dask backend does not hear of such a task and waits for it for ever.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    where = client.scheduler.address
    futures = {client.submit(function, *argument, pure=False): argument for argument in arguments}
    try:
        for future in as_completed(list(futures), loop=client.loop):
            argument = futures.pop(future)
            if future.cancelled():  # by nobody of us: the scheduler does not know it any more
                raise ConnectionError("a task was cancelled")
            error = future.exception()
            if isinstance(error, KilledWorker):
                yield Lost(argument, flat(error))
            elif error is not None:
                raise UserError(f"a worker of the cluster cannot compute: {type(error).__name__}: {flat(error)}")
            else:
                yield future.result()
            future.release()
    except OSError as error:
        raise UserError(
            f"the scheduler {where} was lost, or was started anew ({flat(error)}); what is done is kept: start it "
            "again, and give the same command (with its new address as --scheduler, if that changed)"
        ) from None
    finally:
        with contextlib.suppress(Exception):  # a scheduler that is lost cannot hear of it
            client.cancel(list(futures))


def flat(error: BaseException) -> str:
    """Return the text of an exception on one line."""
    return " ".join(str(error).split())[:300]

"""The workers of a dask scheduler, which are not ours, or of a cluster that is started on this machine.

Its client is used directly: joblib's dask backend does not hear of a task that killed its workers, and waits for it for
ever.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import joblib

from moestat import extras
from moestat.errors import UserError
from moestat.runner.pool import Here, Lost, PoolError, Say

PATIENCE = "10s"
"""Time in which a scheduler must answer."""
WITHOUT_WORKERS = 15.0
"""Seconds after which a cluster whose workers are all gone is given up; one that never had any is waited for."""
LOOK, TICK = 2.0, 0.02
"""Seconds between looks at the workers, and at what they did."""


class Cluster(Here):
    """What answers at the address of a scheduler; without one, as many processes of this machine as jobs."""

    def __init__(self, scheduler: str, jobs: int | None, say: Say) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            install = extras.command("cluster")
            raise UserError(f"--backend dask needs dask.distributed; install it with: {install}") from None
        self.local: Any = None
        for name in [*logging.root.manager.loggerDict]:  # it logs tracebacks of what we tell in a sentence
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        if not scheduler:
            count, quiet = jobs or joblib.cpu_count(), logging.CRITICAL + 1
            size: dict[str, Any] = {"n_workers": count, "threads_per_worker": 1, "memory_limit": 0}
            self.local = LocalCluster(**size, dashboard_address=None, silence_logs=quiet)
            scheduler = self.local.scheduler_address
        try:
            self.client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UserError(f"no dask scheduler answers at {scheduler!r}: {_flat(error)}") from None
        workers = self.client.ncores()  # a cluster may start them only when there is work
        self.looked = time.monotonic()  # when workers were looked for, and below when they were there
        self.seen = self.looked if workers else math.inf
        self.joined = self._last_joined()
        if not workers:
            say(f"the scheduler {scheduler} has no workers yet; waiting for the first")

    def results(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Do as :meth:`Here.results`."""
        from distributed.scheduler import KilledWorker

        where = self.client.scheduler.address
        futures = {self.client.submit(function, *argument, pure=False): argument for argument in arguments}
        fetched: dict[Any, Future[Any]] = {}
        try:
            while futures:
                self._look()
                time.sleep(TICK)
                for future in [future for future in futures if future not in fetched and future.done()]:
                    if future.cancelled():  # by nobody of us: the scheduler does not know it any more
                        raise ConnectionError("a task was cancelled")
                    fetched[future] = _fetch(future)
                for future in [future for future in fetched if fetched[future].done()]:
                    try:
                        result = fetched.pop(future).result()
                    except KilledWorker as error:
                        result = Lost(futures[future], _flat(error))
                    except Exception as error:
                        if future.status == "error":
                            told = f"{type(error).__name__}: {_flat(error)}"
                            raise UserError(f"a worker of the cluster cannot compute: {told}") from None
                        raise ConnectionError(_flat(error)) from None
                    del futures[future]
                    yield result
        except OSError as error:
            raise PoolError(
                f"the scheduler {where} was lost, or was started anew ({_flat(error)}): start it again; its new "
                "address, if that changed, belongs after --scheduler"
            ) from None
        finally:
            with contextlib.suppress(Exception):  # a scheduler that is lost cannot hear of it
                self.client.cancel(list(futures))

    def _look(self) -> None:
        if (now := time.monotonic()) - self.looked < LOOK:
            return
        self.looked = now
        if self.client.ncores():
            self.seen = now
        elif math.isinf(self.seen):
            if self._last_joined() > self.joined:  # and was gone before the next look
                self.seen = now
        elif now - self.seen > WITHOUT_WORKERS:
            raise PoolError(f"the workers of the scheduler {self.client.scheduler.address} are all gone: start some")

    def _last_joined(self) -> float:
        """Return when a worker last came, by the scheduler's clock."""
        events = self.client.get_events("all")
        return max((at for at, event in events if event.get("action") == "add-worker"), default=0.0)

    def close(self) -> None:
        """Leave the cluster; end it, if it is ours."""
        self.client.close()
        if self.local is not None:
            self.local.close()


def _fetch(task: Any) -> Future[Any]:
    """Ask for a result in a thread that may wait: where it was lost with its worker, another has to compute it again.

    A time limit would not do: what it breaks off in the middle, the library may leave waiting for ever.
    """
    found: Future[Any] = Future()

    def ask() -> None:
        try:
            found.set_result(task.result())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return found


def _flat(error: BaseException) -> str:
    """Return the text of an exception on one line."""
    return " ".join(str(error).split())[:300]

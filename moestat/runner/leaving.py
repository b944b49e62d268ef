"""No code of an experiment ends the process that runs the study: an exit code of 0 without results would be a lie.

``sys.exit`` is an exception like others. ``os._exit`` is none, so it is put behind a function that raises while an
experiment computes, and does what it always did elsewhere, in other processes (a forked one ends that way) too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, NoReturn

leave = os._exit
_refusing: set[int] = set()


class LeftError(RuntimeError):
    """Code of an experiment called ``os._exit``."""


def install() -> None:
    """Put ``os._exit`` behind a function that can refuse; before an experiment is imported, which may take its name."""
    if os._exit is leave:
        os._exit = _leave


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """Let ``os._exit`` raise inside the block, in this process."""
    install()
    new = os.getpid() not in _refusing
    _refusing.add(os.getpid())
    try:
        yield
    finally:
        if new:
            _refusing.discard(os.getpid())


def _leave(status: Any) -> NoReturn:
    if os.getpid() in _refusing:
        raise LeftError(f"os._exit({status!r}) was called; an experiment must return or raise")
    leave(status)

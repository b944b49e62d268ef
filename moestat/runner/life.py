"""What a worker and its parent know of each other's life: the one's heartbeat, the other's end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from pathlib import Path

HEARTBEAT = 5.0
"""Seconds between a worker's signs of life."""
PR_SET_PDEATHSIG = 1


def begin(parent: int) -> None:
    """Begin as a worker process of ``parent`` (0: of another machine's).

    Ctrl-C, which reaches the whole group of processes, is the parent's to hear, and its end is ours.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if parent:
        watch_parent(parent)


_beating: list[Path | None] = []


def beat(marker: Path | None) -> None:
    """Touch a file every few seconds from now on, or nothing: a sign of life for the parent."""

    def touch() -> None:
        while True:
            time.sleep(HEARTBEAT)
            if (path := _beating[0]) is not None:
                with contextlib.suppress(OSError):  # it has just been removed
                    os.utime(path)

    if _beating:
        _beating[0] = marker
    elif marker is not None:
        _beating.append(marker)
        threading.Thread(target=touch, daemon=True).start()


_watched: set[int] = set()


def watch_parent(parent: int) -> None:
    """End this process when its parent was killed, so that no orphan computes what the next run computes too.

    Linux does so itself, at once, even while compiled code lets no thread of ours run.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    if parent not in _watched:
        _watched.add(parent)
        with contextlib.suppress(OSError, AttributeError, TypeError):  # no Linux
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        threading.Thread(target=watch, daemon=True).start()

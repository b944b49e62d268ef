"""One run at a time in a folder; parts of a study (``--part``) beside each other, but not beside a whole run.

The operating system releases the lock of a process that ends, however it ends. Beside each lock lies a note that names
its owner.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, SoftFileLock, Timeout

from moestat import bounded, files
from moestat.errors import UserError

PATIENCE = 1.0
"""Seconds that a lock is waited for: others hold one for a moment to look at it."""
NO_FLOCK = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)


class LockedError(UserError):
    """Another run works in the folder."""


@contextmanager
def held(root: Path, part: str = "all") -> Iterator[None]:
    """Hold the lock of a preset's folder, or of one part of its study.

    Raises LockedError if another run holds it; the message names its process and machine.
    """
    folder = root / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder, *folder.iterdir()):
        if path.is_symlink():  # in results that somebody else made it may lead to any file, which would be emptied
            raise UserError(f"{path} is a link to somewhere else, and no lock; remove it")
    own = _taken(folder / "all.lock")  # a part holds it for a moment: nobody begins with the whole meanwhile
    try:
        if part == "all":
            for path in folder.glob("part-*.lock"):
                _taken(path).release()
        else:
            whole, own = own, _taken(folder / f"{part}.lock")
            whole.release()
        note = folder / f"{part}.txt"
        told = f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}"
        files.write(note, told.encode(), durable=False)
        try:
            yield
        finally:
            with suppress(OSError):
                note.unlink()
    finally:
        own.release()


def owners(root: Path) -> dict[str, str]:
    """Say who works in a folder: part -> process, machine, time."""
    found = {}
    for path in sorted((root / "locks").glob("*.lock")):
        try:
            _locked(path, 0.0).release()
        except Timeout:
            found[path.stem] = _owner(path)
        except OSError:  # a folder that cannot be written
            continue
    return found


def _taken(path: Path) -> Any:
    try:
        return _locked(path, PATIENCE)
    except Timeout:
        told = f"another run works in {path.parents[1]}: {_owner(path)}; wait for it, or use another --out"
        raise LockedError(told) from None


def _locked(path: Path, patience: float) -> Any:
    lock: Any = FileLock(path, timeout=patience)
    try:
        lock.acquire()
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in NO_FLOCK:
            raise
        lock = SoftFileLock(path.with_suffix(".soft"), timeout=patience)
        lock.acquire()
    return lock


def _owner(path: Path) -> str:
    try:
        return bounded.text(path.with_suffix(".txt")).strip() or "a process that has just begun"
    except ValueError:  # it has just begun, or is just ending
        return "a process that has just begun"

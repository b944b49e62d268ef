"""Files that are whole or not there: written to a temporary name, flushed to the disk, then put in place."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import socket
import time
import uuid
from pathlib import Path
from typing import Any

from moestat.errors import UserError

TEMPORARY = ".tmp"
_WHY = {errno.ENOSPC: "the disk is full", errno.EROFS: "the file system is read-only"}
_WHY |= {errno.EACCES: "permission is denied", errno.ENOTDIR: "a part of the path is a file"}


def write(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put ``content`` in place at ``path``: a reader sees the old file or all of the new one, never a part.

    The temporary file lies in the same folder and carries machine and process, so that the next run can tell whether
    its writer is still alive. With ``durable`` the file and its folder are flushed, which survives a power cut.
    """
    temporary = path.with_name(f".{path.name}~{_machine()}~{os.getpid()}~{uuid.uuid4().hex[:8]}{TEMPORARY}")
    try:
        with open(temporary, "xb") as stream:
            stream.write(content)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_json(path: Path, content: Any) -> None:
    """Write ``content`` as indented JSON, see :func:`write`."""
    write(path, (json.dumps(content, indent=2) + "\n").encode())


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, where folders can be opened and flushed."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def clean(folder: Path) -> int:
    """Remove temporary files in and below ``folder`` whose writer is gone, or that are a day old; return how many."""
    removed = 0
    for path in folder.rglob(f".*{TEMPORARY}"):
        where, pid = (["", "", *path.name.split("~")])[-3:-1]
        with contextlib.suppress(FileNotFoundError):  # its writer has just put it in place
            ours = os.name == "posix" and where == _machine() and pid.isdigit()  # elsewhere, to ask may end a process
            if (ours and not alive(int(pid))) or time.time() - path.stat().st_mtime > 86_400.0:
                path.unlink()
                removed += 1
    return removed


def alive(pid: int) -> bool:
    """Whether a process of this machine with this id exists; one that has ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, OverflowError):
        return False
    except (OSError, IndexError):  # not ours to ask, or no /proc
        return True


def _machine() -> str:
    """Return what process ids are numbers of, a machine or a container, as one word."""
    containers = os.readlink("/proc/self/ns/pid") if os.path.lexists("/proc/self/ns/pid") else ""
    return re.sub(r"[^\w.+-]", "", f"{socket.gethostname()}+{containers}")


def disk_problem(error: OSError, folder: Path) -> UserError:
    """Turn an operating-system error while writing into one sentence."""
    return UserError(f"cannot write to {folder}: {_WHY.get(error.errno or 0, error.strerror or error)}")

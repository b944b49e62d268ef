"""Files that are whole or not there: written to a temporary name, flushed to the disk, then put in place."""

from __future__ import annotations

import ctypes
import errno
import functools
import json
import math
import os
import socket
import time
import uuid
from pathlib import Path
from typing import Any

from moestat.errors import UserError

TEMPORARY = ".tmp"
KNOWS_PROCESSES = os.name == "posix"  # elsewhere, asking whether a process lives may end it
FLUSH_EVERY = 1.0
"""Seconds after which a small shard is flushed by itself; a flush takes longer than a small replicate."""
_DAY = 86_400.0


def write(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put ``content`` in place at ``path``: a reader sees the old file or all of the new one, never a part.

    The temporary file lies in the same folder and carries machine and process, so that the next run can tell whether
    its writer is still alive. With ``durable`` the file and its folder are flushed, which survives a power cut.
    """
    temporary = path.with_name(f".{path.name}~{place()}~{os.getpid()}~{uuid.uuid4().hex[:8]}{TEMPORARY}")
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


def write_json(path: Path, content: Any, *, durable: bool = True) -> None:
    """Write ``content`` as indented JSON, see :func:`write`."""
    write(path, (json.dumps(content, indent=2) + "\n").encode(), durable=durable)


_flushed = -math.inf


def due() -> bool:
    """Whether this process has flushed nothing for ``FLUSH_EVERY`` seconds; then it is expected to."""
    global _flushed
    now = time.monotonic()
    if now - _flushed < FLUSH_EVERY:
        return False
    _flushed = now
    return True


def flush(folder: Path) -> None:
    """Flush all that was written to the file system of a folder, by any process."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(handle) and (number := ctypes.get_errno()):
            raise OSError(number, os.strerror(number), str(folder))
    except AttributeError:  # no Linux
        if hasattr(os, "sync"):
            os.sync()
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk (a no-op where folders cannot be opened)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # some file systems cannot flush a folder
            raise
    finally:
        os.close(handle)


def clean(folder: Path) -> int:
    """Remove the temporary files in and below ``folder`` whose writer is gone; return how many."""
    removed = 0
    for path in folder.rglob(f".*{TEMPORARY}"):
        parts = path.name.removesuffix(TEMPORARY).split("~")
        where, pid = (parts[-3], parts[-2]) if len(parts) >= 4 else ("", "")
        ours = KNOWS_PROCESSES and where == place() and pid.isdigit()
        try:
            gone = not alive(int(pid)) if ours else time.time() - path.stat().st_mtime > _DAY
            if gone:
                path.unlink(missing_ok=True)
                removed += 1
        except FileNotFoundError:  # its writer has just put it in place
            continue
    return removed


@functools.cache
def machine() -> dict[str, str]:
    """Return what process ids are numbers of: the host's name, its boot, and the namespace of its processes.

    Two machines, or two containers on one, can have equal names. Where boot or namespace is not known (no Linux), its
    text is empty.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot = namespace = ""
    return {"host": socket.gethostname(), "boot": boot, "namespace": namespace}


def place() -> str:
    """Return :func:`machine` as one word of a file's name."""
    known = machine()
    number = "".join(letter for letter in known["namespace"] if letter.isdigit())
    return f"{known['host'].replace('~', '-')}+{known['boot'][:8]}+{number}"


def alive(pid: int) -> bool:
    """Whether a process of this machine with this id exists."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return _state(pid) != "Z"


def started(pid: int) -> str:
    """Return a text that tells two processes with the same id apart, or an empty one where that is not known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def disk_problem(error: OSError, folder: Path) -> UserError:
    """Turn an operating-system error while writing into one sentence."""
    reasons = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EROFS: "the file system is read-only",
        errno.EACCES: "permission is denied",
        errno.EPERM: "permission is denied",
        errno.ENOTDIR: "a part of the path is a file",
        errno.EEXIST: "a file of that name is in the way",
        errno.EFBIG: "the file would be larger than this account may write",
        errno.ENAMETOOLONG: "the name is too long",
    }
    reason = reasons.get(error.errno or 0, str(error.strerror or error))
    return UserError(f"cannot write to {folder}: {reason}")

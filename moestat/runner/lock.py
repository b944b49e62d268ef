"""One run at a time in a folder: a lock file with owner and heartbeat.

The owner touches the file every few seconds. Whether it is alive is decided without comparing clocks: on the same
machine by its process, on another one by watching for a while whether the file is touched. A lock whose owner is dead
is taken over, and the new owner says so. The parts of a study (``--part``) write disjoint shards and have a lock each.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from moestat import files
from moestat.errors import UserError

HEARTBEAT = 5.0
PATIENCE = 4 * HEARTBEAT


class LockedError(UserError):
    """Another run works in the folder."""


class Lock:
    """The lock of a folder, or of one part of a study in it; a context manager.

    Parameters
    ----------
    root : Path
        The folder of a preset.
    part : str
        ``"all"``, or the name of a part, e.g. ``"part-2-of-8"``.
    say : callable
        Told, in one sentence, when a stale lock is taken over.
    heartbeat, patience : float
        Seconds between touches, and seconds that a silent lock of another machine is watched.
    """

    def __init__(
        self,
        root: Path,
        part: str = "all",
        *,
        say: Callable[[str], None] = lambda text: None,
        heartbeat: float = HEARTBEAT,
        patience: float = PATIENCE,
    ) -> None:
        self.folder = root / "locks"
        self.path = self.folder / f"{part}.json"
        self.part = part
        self.say = say
        self.heartbeat = heartbeat
        self.patience = patience
        self.token = uuid.uuid4().hex
        self.lost = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lock:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._guard():
            for path in sorted(self.folder.glob("*.json")):
                if path == self.path or self.part == "all" or path.stem == "all":
                    self._clear(path)
            self._create()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if _read(self.path).get("token") == self.token:
            self.path.unlink(missing_ok=True)

    def _create(self) -> None:
        owner = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "process_started": files.started(os.getpid()),
            "token": self.token,
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        draft = self.folder / f".{self.part}.{self.token}"
        draft.write_text(json.dumps(owner, indent=2) + "\n")
        try:
            os.link(draft, self.path)  # fails if the lock exists, and shows it only with its content
        except FileExistsError:
            raise LockedError(_owner_text(_read(self.path), self.folder.parent)) from None
        except OSError:  # a file system without hard links
            with open(self.path, "x") as stream:
                stream.write(draft.read_text())
        finally:
            draft.unlink(missing_ok=True)

    def _clear(self, path: Path) -> None:
        """Remove the lock at ``path`` if its owner is dead.

        Raises
        ------
        LockedError
            If the owner is alive.
        """
        owner = _read(path)
        if not path.exists():
            return
        dead, how = ended(owner), "has ended"
        if dead is None:
            dead = not self._touched(path)
            how = f"gave no sign of life for {self.patience:.0f} s"
        if not dead:
            raise LockedError(_owner_text(owner, self.folder.parent))
        path.unlink(missing_ok=True)
        self.say(
            f"took over the lock of process {owner.get('pid', 'unknown')} on {owner.get('host', 'an unknown machine')} "
            f"(since {owner.get('since', 'an unknown time')}), which {how}"
        )

    def _touched(self, path: Path) -> bool:
        """Watch whether the owner touches its lock; by the monotonic clock, as wall clocks differ and jump."""
        before = _stamp(path)
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            time.sleep(min(0.2, self.heartbeat))
            now = _stamp(path)
            if now is None:
                return False
            if now != before:
                return True
        return False

    def _beat(self) -> None:
        while not self._stop.wait(self.heartbeat):
            try:
                owner = _read(self.path)
                if (owner and owner.get("token") != self.token) or not self.path.parent.exists():
                    self.lost = True
                    return
                os.utime(self.path)  # needs no space, so it works on a full disk
            except OSError:  # a hiccup of the file system; the next beat may pass
                continue

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Let one process at a time judge and replace locks (where the platform has flock)."""
        try:
            import fcntl
        except ImportError:
            yield
            return
        with open(self.folder / ".guard", "a") as stream:
            with contextlib.suppress(OSError):  # some network file systems have no flock; os.link still decides
                fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def ended(owner: dict[str, Any]) -> bool | None:
    """Say whether the process of a lock has ended; None if this machine cannot know."""
    pid = owner.get("pid")
    if not files.KNOWS_PROCESSES or owner.get("host") != socket.gethostname() or not isinstance(pid, int):
        return None
    return not files.alive(pid) or files.started(pid) != owner.get("process_started", files.started(pid))


def _read(path: Path) -> dict[str, Any]:
    try:
        owner = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _stamp(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _owner_text(owner: dict[str, Any], folder: Path) -> str:
    return (
        f"another run works in {folder}: process {owner.get('pid', 'unknown')} on "
        f"{owner.get('host', 'an unknown machine')}, since {owner.get('since', 'an unknown time')}; "
        "wait for it, or use another --out"
    )

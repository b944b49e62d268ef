"""One run at a time in a folder: a lock file with owner and heartbeat.

The owner touches the file every few seconds. Whether it is alive is decided without comparing clocks: by its process,
where boot and namespace of processes are ours, else by watching for a while whether the file is touched. A lock whose
owner is dead is taken over, and the new owner says so. The parts of a study (``--part``) write disjoint shards and have
a lock each.

Locks are judged and replaced by one process at a time: under ``flock``, where there is one, and in any case in turns,
which need no more than that a file that was created is seen by who lists its folder afterwards.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from moestat import bounded, files
from moestat.errors import UserError

HEARTBEAT = 5.0
PATIENCE = 4 * HEARTBEAT
TURN = ".turn."


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
        Seconds between touches, and seconds that a silent lock of another machine, or another container, is watched.
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
        self.turn = self.folder / f"{TURN}{self.token}"
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
            **files.machine(),
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
            with contextlib.suppress(OSError):  # others see that our turn lasts
                os.utime(self.turn)
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
                if not owner and not self.path.exists():  # somebody removed it: it is ours as long as nobody took it
                    self._create()
                os.utime(self.path)  # needs no space, so it works on a full disk
            except LockedError:
                self.lost = True
                return
            except OSError:  # a hiccup of the file system; the next beat may pass
                continue

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Let one process at a time judge and replace locks."""
        with open(self.folder / ".guard", "a") as stream:
            try:
                import fcntl

                fcntl.flock(stream, fcntl.LOCK_EX)  # waits without polling; on one machine that is all it takes
            except (ImportError, OSError):  # Windows, and some network file systems
                pass
            try:
                self._await_turn()
                yield
            finally:
                self.turn.unlink(missing_ok=True)

    def _await_turn(self) -> None:
        """Wait until nobody else has a file that says he is about to judge the locks.

        Of two, at least one sees the other's file, as each writes its own before it looks. Who sees a smaller name
        takes his own file back and begins anew; who sees larger ones waits for them to go, as one that did not see him
        may be at work. So nobody enters beside another.
        """
        watched: dict[Path, tuple[int | None, float]] = {}
        while True:
            self.turn.write_text(
                json.dumps(files.machine() | {"pid": os.getpid(), "process_started": files.started(os.getpid())})
            )
            while others := [path for path in self.folder.glob(f"{TURN}*") if path != self.turn]:
                for path in others:
                    self._drop_dead_turn(path, watched)
                if any(path.name < self.turn.name and path.exists() for path in others):
                    self.turn.unlink(missing_ok=True)
                    time.sleep(random.uniform(0.01, 0.05))
                    break
                time.sleep(0.01)
            else:
                return

    def _drop_dead_turn(self, path: Path, watched: dict[Path, tuple[int | None, float]]) -> None:
        """Remove the file of a turn whose owner is dead: by its process, or because nobody touches it for long."""
        owner = _read(path)
        dead = ended(owner) if owner else None
        stamp, now = _stamp(path), time.monotonic()
        seen, since = watched.setdefault(path, (stamp, now))
        if stamp != seen:
            watched[path] = (stamp, now)
        if dead or (dead is None and stamp == seen and now - since > 2 * self.patience):
            path.unlink(missing_ok=True)


def ended(owner: dict[str, Any]) -> bool | None:
    """Say whether the process of a lock has ended; None if this machine cannot know."""
    pid = owner.get("pid")
    known = files.machine()
    if not files.KNOWS_PROCESSES or owner.get("host") != known["host"] or type(pid) is not int:
        return None
    gone = not files.alive(pid) or files.started(pid) != owner.get("process_started", files.started(pid))
    if "boot" not in owner:  # of an older moestat: what runs here is alive, what does not may run in a container
        return None if gone else False
    return gone if all(owner.get(key) == known[key] for key in ("boot", "namespace")) else None


def _read(path: Path) -> dict[str, Any]:
    try:
        owner = json.loads(bounded.text(path))
    except (ValueError, RecursionError):
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

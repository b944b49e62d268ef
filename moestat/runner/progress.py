"""How far a run is: a live bar on a terminal, one plain line a minute in a log file, and always ``progress.json``."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from moestat import files

LINE_EVERY = 60.0
FILE_EVERY = 1.0
STEEPEST = 3.0
"""Largest power of a cell's size that its time is taken to grow with."""
ROOMY = 100
"""Columns of a terminal that has room for the time that has passed."""


@dataclass
class Estimate:
    """How long the rest will take, from what each cell took so far.

    A cell that was not computed yet is guessed from its size, with what the cells of its own arm took, or all cells
    where its arm has none: arms can differ a thousandfold. One size that was measured means time in proportion to size;
    from two sizes on, the power of it that fits them.
    """

    sizes: Mapping[str, float]
    left: dict[str, int]
    jobs: int = 1
    arms: Mapping[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    computed: dict[str, int] = field(default_factory=dict)

    def learn(self, digest: str, replicates: int, seconds: float) -> None:
        """Add a measured block."""
        self.seconds[digest] = self.seconds.get(digest, 0.0) + seconds
        self.computed[digest] = self.computed.get(digest, 0) + replicates

    def remaining(self) -> float | None:
        """Seconds that the rest will take, or None while nothing is known."""
        left = {digest: count for digest, count in self.left.items() if count > 0}
        if not left:
            return 0.0
        known = {digest for digest, count in self.computed.items() if count}
        if not known:
            return None
        total = 0.0
        for digest, count in left.items():
            if digest in known:
                alike = [digest]
            else:
                alike = [d for d in known if d in self.arms and self.arms[d] == self.arms.get(digest)] or sorted(known)
            total += count * self._guess(self._size(digest), alike)
        return total / max(1, min(self.jobs, sum(left.values())))

    def _size(self, digest: str) -> float:
        return max(self.sizes.get(digest, 1.0), 1e-12)

    def _guess(self, size: float, alike: Sequence[str]) -> float:
        """Seconds of a replicate of a size, from measured cells: seconds = a * size^p, p between 0 and ``STEEPEST``."""
        rows = [(self._size(d), self.computed[d], self.seconds[d]) for d in alike]
        power = 1.0
        one_arm = len({self.arms.get(d) for d in alike}) == 1
        if one_arm and len({s for s, *_ in rows}) > 1 and all(seconds > 0 for *_, seconds in rows):
            weight = sum(count for _, count, _ in rows)
            logs = [(math.log(s), math.log(seconds / count), count) for s, count, seconds in rows]
            x = sum(c * a for a, _, c in logs) / weight
            y = sum(c * b for _, b, c in logs) / weight
            power = sum(c * (a - x) * (b - y) for a, b, c in logs) / sum(c * (a - x) ** 2 for a, _, c in logs)
            power = min(max(power, 0.0), STEEPEST)
        # so that what is known comes out right in sum
        return size**power * sum(seconds for *_, seconds in rows) / sum(c * s**power for s, c, _ in rows)


def duration(seconds: float | None) -> str:
    """Write seconds as a person says them."""
    if seconds is None:
        return "unknown"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """Reports on a run; a context manager.

    Parameters
    ----------
    path : Path or None
        Where ``progress.json`` is kept.
    head : mapping
        What identifies the run in that file: study, preset, part.
    total, done, failed : int
        Replicates in all, there already, and of these not converged.
    estimate : Estimate
        The clock of the rest.
    stream : text stream
        Where lines and the live bar go.
    quiet : bool
        Show nothing (``progress.json`` is kept).
    unit : str
        What is counted.
    clock : callable
        Monotonic seconds.
    """

    def __init__(
        self,
        path: Path | None,
        head: Mapping[str, Any],
        *,
        total: int,
        done: int,
        failed: int,
        estimate: Estimate,
        stream: TextIO | None = None,
        quiet: bool = False,
        unit: str = "replicates",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self.head, self.estimate = path, dict(head), estimate
        self.total, self.done, self.failed = total, done, failed
        self.stream = sys.stderr if stream is None else stream
        self.quiet, self.clock, self.unit = quiet, clock, unit
        self.computed = 0
        self.began = clock()
        self._last_line = self._last_file = self.began
        self._live: Any = None
        self._task: Any = None
        self._guard = threading.RLock()
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None

    @property
    def title(self) -> str:
        """Study, preset and part, as printed."""
        return "/".join(str(self.head[key]) for key in ("study", "preset", "part") if self.head.get(key))

    def __enter__(self) -> Progress:
        if not self.quiet and self.total > self.done:
            if self.stream.isatty():
                self._start_live()
            else:
                self.say(self.line())
        self._save("running")
        self._ticker = threading.Thread(target=self._keep_ticking, daemon=True)
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._stop.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._live is not None:
            self._live.stop()
            self._live = None
        if kind is None and self.computed and not self.quiet:
            self.say(self.line())
        stopped = "interrupted" if kind is not None and issubclass(kind, KeyboardInterrupt) else "stopped"
        self._save("finished" if kind is None else stopped)

    def _keep_ticking(self) -> None:
        """Refresh between blocks too: one block can take an hour."""
        while not self._stop.wait(FILE_EVERY):
            self.tick()

    def say(self, text: str) -> None:
        """Print one line, above the live bar if there is one."""
        if self.quiet:
            return
        try:
            if self._live is not None:
                self._live.console.print(text, markup=False, highlight=False)
            else:
                print(text, file=self.stream, flush=True)
        except (OSError, ValueError):  # who read it has left, or closed it: no reason to lose what is computed
            self.quiet = True

    def add(self, digest: str, replicates: int, failed: int, seconds: float) -> None:
        """Count a block that is done."""
        with self._guard:
            self.done += replicates
            self.failed += failed
            self.computed += replicates
            self.estimate.left[digest] = self.estimate.left.get(digest, 0) - replicates
            self.estimate.learn(digest, replicates, seconds)
        self.tick()

    def tick(self) -> None:
        """Refresh what is due."""
        with self._guard:
            self._tick()

    def _tick(self) -> None:
        now = self.clock()
        if self._live is not None:
            left = duration(self.estimate.remaining())
            self._live.update(self._task, completed=self.done, failed=self.failed, left=left)
        elif not self.quiet and now - self._last_line >= LINE_EVERY:
            self._last_line = now
            self.say(self.line())
        if now - self._last_file >= FILE_EVERY:
            self._last_file = now
            self._save("running")

    def line(self) -> str:
        """Return the state in one line."""
        percent = 100 * self.done // max(1, self.total)
        left = self.estimate.remaining()
        rest = "" if self.done >= self.total else "" if left is None else f", about {duration(left)} left"
        return (
            f"{time.strftime('%H:%M:%S')} {self.title}: {self.done:,} of {self.total:,} {self.unit} ({percent} %), "
            f"{self.failed:,} failed, {duration(self.clock() - self.began)} elapsed{rest}"
        )

    def _start_live(self) -> None:
        from rich import progress as bars
        from rich.console import Console
        from rich.markup import escape

        console = Console(file=self.stream)
        elapsed = [bars.TimeElapsedColumn()] if console.width >= ROOMY else []  # the rest of the time says more
        self._live = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(bar_width=None),  # what the words leave of the line
            bars.TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
            bars.TextColumn("{task.fields[failed]:,} failed"),
            *elapsed,
            bars.TextColumn("{task.fields[left]} left"),
            console=console,
            transient=True,
            expand=True,
        )
        self._task = self._live.add_task(
            escape(self.title if self.unit == "replicates" else f"{self.title}: {self.unit}"),
            total=self.total,
            completed=self.done,
            failed=self.failed,
            left="unknown",
        )
        self._live.start()

    def _save(self, state: str) -> None:
        if self.path is None:
            return
        content = self.head | {
            "state": state,
            "unit": self.unit,
            "total": self.total,
            "done": self.done,
            "failed": self.failed,
            "computed_now": self.computed,
            "elapsed_seconds": round(self.clock() - self.began, 3),
            "seconds_left": None if (left := self.estimate.remaining()) is None else round(left, 1),
            "updated": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }
        try:
            files.write_json(self.path, content, durable=False)
        except OSError:  # a shard that meets the same problem stops the run; a progress file must not
            return

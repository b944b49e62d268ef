"""How far a run is: a live bar on a terminal, plain lines in a log file."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from moestat.runner.plan import Plan
    from moestat.runner.store import Scan

FIRST_LINE, LINE_EVERY = 5.0, 60.0
"""Seconds after which a log gets its first line, and those between lines later on."""
LOOK_EVERY = 1.0


@dataclass
class Estimate:
    """How long the rest will take, from what each cell took so far.

    A cell that was not computed yet is guessed by its size from those of its own arm, or from all where its arm has
    none: arms can differ a thousandfold. Time is taken to grow with the power of size that fits the arms best.
    """

    sizes: Mapping[str, float]
    left: dict[str, int]
    jobs: int = 1
    arms: Mapping[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    computed: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, scan: Scan, left: dict[str, int], jobs: int) -> Estimate:
        """Return the estimate of what is left of a plan, from the shards that are there."""
        sizes = {planned.digest: planned.size or 1.0 for planned in plan.cells}
        estimate = cls(sizes, left, jobs, {planned.digest: planned.cell.arm for planned in plan.cells})
        for digest, entries in scan.usable.items():
            for entry in entries:
                estimate.learn(digest, len(entry.replicates), entry.seconds)
        return estimate

    def learn(self, digest: str, replicates: int, seconds: float) -> None:
        """Add a measured block."""
        self.seconds[digest] = self.seconds.get(digest, 0.0) + seconds
        self.computed[digest] = self.computed.get(digest, 0) + replicates

    def remaining(self) -> float | None:
        """Seconds that the rest will take, or None while nothing is known, as how time grows with size."""
        left = {digest: count for digest, count in self.left.items() if count > 0}
        took = {digest: self.seconds[digest] / count for digest, count in self.computed.items() if count}
        power, total = self._power(took), 0.0
        for digest, count in left.items():
            arm = [other for other in took if self.arms.get(other) == self.arms.get(digest)]
            known = [digest] if digest in took else arm or list(took)
            growth = [self.sizes[digest] / self.sizes[other] for other in known]
            if not known or (power is None and set(growth) != {1.0}):
                return None
            total += count * sum(took[o] * g ** (power or 0.0) for o, g in zip(known, growth, strict=True)) / len(known)
        return total / max(1, min(self.jobs, sum(left.values())))

    def _power(self, took: Mapping[str, float]) -> float | None:
        """The slope of log seconds on log size within arms, between 0 and 3; None where no arm has two sizes."""
        rows: dict[str | None, list[tuple[float, float]]] = {}
        for digest, seconds in took.items():
            rows.setdefault(self.arms.get(digest), []).append(
                (math.log(self.sizes[digest]), math.log(max(seconds, 1e-9)))
            )
        top = bottom = 0.0
        for arm in rows.values():
            x, y = (sum(column) / len(arm) for column in zip(*arm, strict=True))
            top += sum((a - x) * (b - y) for a, b in arm)
            bottom += sum((a - x) ** 2 for a, _ in arm)
        return min(max(top / bottom, 0.0), 3.0) if bottom else None


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

    ``total``, ``done`` and ``failed`` count replicates, ``shared`` the results that cells share, which come first.
    """

    def __init__(
        self,
        title: str,
        estimate: Estimate,
        *,
        total: int,
        done: int = 0,
        failed: int = 0,
        shared: int = 0,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title, self.estimate, self.quiet, self.clock = title, estimate, quiet, clock
        self.total, self.done, self.failed, self.shared = total, done, failed, shared
        self.shared_done, self.before = 0, done
        self.stream = sys.stderr if stream is None else stream
        self.began = clock()
        self._next_line = self.began + FIRST_LINE
        self._live: Any = None
        self._guard, self._stop = threading.RLock(), threading.Event()
        self._ticker = threading.Thread(target=self._keep_ticking, daemon=True)

    def __enter__(self) -> Progress:
        if not self.quiet and self.total > self.done:
            if self.stream.isatty():
                self._start_live()
            else:
                self.say(self.line())
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._stop.set()
        self._ticker.join()
        if self._live is not None:
            self._live.stop()
            self._live = None
        if kind is None and self.done > self.before:
            self.say(self.line())

    def _keep_ticking(self) -> None:
        """Refresh between blocks too: one block can take an hour."""
        while not self._stop.wait(LOOK_EVERY):
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

    def share(self) -> None:
        """Count a result that cells share."""
        self.shared_done += 1
        self.tick()

    def add(self, digest: str, replicates: int, failed: int, seconds: float) -> None:
        """Count a block that is done."""
        with self._guard:
            self.done += replicates
            self.failed += failed
            self.estimate.left[digest] -= replicates
            self.estimate.learn(digest, replicates, seconds)
        self.tick()

    def tick(self) -> None:
        """Refresh what is due."""
        with self._guard:
            if self._live is not None:
                left = duration(self.estimate.remaining())
                self._live.update(0, completed=self.done + self.shared_done, text=self.counts(), left=left)
            elif self.clock() >= self._next_line:
                self._next_line = self.clock() + LINE_EVERY
                self.say(self.line())

    def counts(self) -> str:
        """Return what is done, in words."""
        shared = f"{self.shared_done:,} of {self.shared:,} shared results, " if self.shared_done < self.shared else ""
        percent = 100 * self.done // max(1, self.total)
        return f"{shared}{self.done:,} of {self.total:,} replicates ({percent} %), {self.failed:,} failed"

    def line(self) -> str:
        """Return the state in one line."""
        left = self.estimate.remaining()
        rest = "" if self.done >= self.total or left is None else f", about {duration(left)} left"
        now, passed = time.strftime("%H:%M:%S"), duration(self.clock() - self.began)
        return f"{now} {self.title}: {self.counts()}, {passed} elapsed{rest}"

    def _start_live(self) -> None:
        from rich import progress as bars
        from rich.console import Console
        from rich.markup import escape

        self._live = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(bar_width=None),  # what the words leave of the line
            bars.TextColumn("{task.fields[text]}, {task.fields[left]} left"),
            console=Console(file=self.stream),
            transient=True,
            expand=True,
        )
        total, done = self.total + self.shared, self.done + self.shared_done
        self._live.add_task(escape(self.title), total=total, completed=done, text=self.counts(), left="unknown")
        self._live.start()

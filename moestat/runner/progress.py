"""How far a run is: a live bar on a terminal, plain lines in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from moestat.runner.plan import PlannedCell

FIRST_LINE, LINE_EVERY = 5.0, 60.0
"""Seconds after which a log gets its first line, and those between lines later on."""


class Estimate:
    """How long the rest will take, from what each cell took so far; ``left`` counts replicates by digest.

    A cell of which nothing was computed is taken to cost what others did for each unit of size: the largest come first,
    so it is rather less.
    """

    def __init__(self, cells: Iterable[PlannedCell], left: dict[str, int], jobs: int = 1) -> None:
        self.size, self.left, self.jobs = {planned.digest: planned.size for planned in cells}, left, jobs
        self.took: dict[str, tuple[int, float]] = {}

    def learn(self, digest: str, replicates: int, seconds: float) -> None:
        """Add a measured block."""
        count, total = self.took.get(digest, (0, 0.0))
        self.took[digest] = count + replicates, total + seconds

    def remaining(self) -> float | None:
        """Seconds that the rest will take, or None while nothing was computed."""
        work = sum(count * self.size[digest] for digest, (count, _) in self.took.items())
        if not work:
            return None
        each = sum(seconds for _, seconds in self.took.values()) / work
        rest = 0.0
        for digest, left in self.left.items():
            count, seconds = self.took.get(digest, (1, each * self.size[digest]))
            rest += left * seconds / count
        return rest / max(1, min(self.jobs, sum(self.left.values())))


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
    """Reports on a run; a context manager. ``total``, ``done`` and ``failed`` count replicates."""

    def __init__(
        self,
        title: str,
        estimate: Estimate,
        *,
        total: int,
        done: int = 0,
        failed: int = 0,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title, self.estimate, self.quiet, self.clock = title, estimate, quiet, clock
        self.total, self.done, self.failed, self.before = total, done, failed, done
        self.stream = sys.stderr if stream is None else stream
        self.began = clock()
        self._next_line = self.began + FIRST_LINE
        self._live: Any = None

    def __enter__(self) -> Progress:
        if not self.quiet and self.total > self.done:
            if self.stream.isatty():
                self._start_live()
            else:
                self.say(self.line())
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if kind is None and self.done > self.before:
            self.say(self.line())

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
        self.done += replicates
        self.failed += failed
        self.estimate.left[digest] -= replicates
        self.estimate.learn(digest, replicates, seconds)
        if self._live is not None:
            left = duration(self.estimate.remaining())
            self._live.update(0, completed=self.done, text=self.counts(), left=left)
        elif self.clock() >= self._next_line:
            self._next_line = self.clock() + LINE_EVERY
            self.say(self.line())

    def counts(self) -> str:
        """Return what is done, in words."""
        percent = 100 * self.done // max(1, self.total)
        return f"{self.done:,} of {self.total:,} replicates ({percent} %), {self.failed:,} failed"

    def line(self) -> str:
        """Return the state in one line."""
        left = self.estimate.remaining()
        rest = "" if self.done >= self.total or left is None else f", about {duration(left)} left"
        passed = duration(self.clock() - self.began)
        return f"{time.strftime('%H:%M:%S')} {self.title}: {self.counts()}, {passed} elapsed{rest}"

    def _start_live(self) -> None:
        from rich import progress as bars
        from rich.console import Console
        from rich.markup import escape

        words = bars.TextColumn("{task.fields[text]}, {task.fields[left]} left")
        bar = bars.BarColumn(bar_width=None)  # what the words leave of the line
        console = Console(file=self.stream)
        self._live = bars.Progress(
            bars.TextColumn("{task.description}"), bar, words, console=console, transient=True, expand=True
        )
        self._live.add_task(
            escape(self.title), total=self.total, completed=self.done, text=self.counts(), left="unknown"
        )
        self._live.start()

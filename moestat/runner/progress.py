"""How far a run is: a live bar on a terminal, plain lines in a log file."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from moestat import status

FIRST_LINE, LINE_EVERY = 5.0, 60.0
"""Seconds after which a log gets its first line, and those between lines later on."""


def duration(seconds: float) -> str:
    """Write seconds as a person says them."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """Reports on a run; a context manager. ``total`` and ``done`` count replicates, ``lost`` those that ended badly.

    The time that is left is to the time since :meth:`start` as the ``work`` that is left is to that which is done.
    """

    def __init__(
        self,
        title: str,
        *,
        total: int,
        done: int = 0,
        work: float = 1.0,
        lost: Mapping[str, int] | None = None,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title, self.quiet, self.clock = title, quiet, clock
        self.total, self.done, self.before = total, done, done
        self.lost = Counter(lost or status.lost([]))
        self.stream = sys.stderr if stream is None else stream
        self.work, self.worked, self.began = work, 0.0, clock()
        self.started = self.began
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

    def start(self) -> None:
        """Say that what blocks share is done, and the first of them begins."""
        self.started = self.clock()

    def add(self, replicates: int, lost: Mapping[str, int], work: float) -> None:
        """Count a block that is done."""
        self.done += replicates
        self.lost.update(lost)
        self.worked += work
        if self._live is not None:
            self._live.update(0, completed=self.done, text=self.counts())
        elif self.clock() >= self._next_line:
            self._next_line = self.clock() + LINE_EVERY
            self.say(self.line())

    def counts(self) -> str:
        """Return what is done, in words, and how long the rest may take."""
        percent, left = 100 * self.done // max(1, self.total), self.total - self.done
        text = f"{self.done:,} of {self.total:,} replicates ({percent} %), {status.told(self.lost)}"
        now = self.clock()
        rest = (now - self.started) * (self.work - self.worked) / self.worked if left and self.worked else None
        about = "" if rest is None else f", about {duration(rest)} left"
        return f"{text}, {duration(now - self.began)} elapsed{about}"

    def line(self) -> str:
        """Return the state in one line."""
        return f"{time.strftime('%H:%M:%S')} {self.title}: {self.counts()}"

    def _start_live(self) -> None:
        from rich import progress as bars
        from rich.console import Console
        from rich.markup import escape

        words = (
            bars.TextColumn("{task.description}"),
            bars.BarColumn(bar_width=None),
            bars.TextColumn("{task.fields[text]}"),
        )
        self._live = bars.Progress(*words, console=Console(file=self.stream), transient=True, expand=True)
        self._live.add_task(escape(self.title), total=self.total, completed=self.done, text=self.counts())
        self._live.start()

"""The command line while an experiment is being written: stop at the first failure, run again after each change."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from moestat.errors import UserError
from moestat.runner.request import Request

PAUSE = 0.5
"""Seconds between two looks at the files."""


def debug(request: Request, *, post_mortem: bool) -> int:
    """Compute one replicate of every cell in this process; the first failure ends it, with its traceback."""
    from moestat.runner import debug as runner

    failure = runner.debug(request, lambda text: None if request.quiet else print(text, file=sys.stderr, flush=True))
    if failure is None:
        last = (request.replicates or 1) - 1
        tried = f"replicates 0 to {last}" if last else "replicate 0"
        print(f"no failure in {tried} of each cell (--replicates R for more); nothing was stored")
        return 0
    if failure.text:
        print(failure.text, file=sys.stderr)
    if post_mortem and failure.trace is not None:
        import pdb

        pdb.post_mortem(failure.trace)
    hint = "" if post_mortem or failure.error is None else "; --debug --pdb opens the debugger there"
    raise UserError(f"{failure.where}: {failure.sentence}; nothing was stored{hint}")


def watch(words: Sequence[str], study: Path, *, rounds: int | None = None, pause: float = PAUSE) -> int:
    """Run a study in a fresh process, again after each change of its file or of Python code beside it, until Ctrl-C.

    What a change makes stale is set aside and computed again; the rest is kept.

    Parameters
    ----------
    words : sequence of str
        The command line without ``--watch``.
    study : Path
        The study file.
    rounds : int, optional
        Runs after which it ends; it goes on for ever otherwise.
    pause : float
        Seconds between two looks at the files.
    """
    more = [] if "--replace-stale" in words else ["--replace-stale"]
    command = [sys.executable, "-m", "moestat.study", *words, *more]
    code = 0
    number = 0
    while rounds is None or number < rounds:
        before = _times(study)
        code = subprocess.run(command).returncode
        number += 1
        if code >= 128:
            return code
        if rounds is None or number < rounds:
            print(f"watching {study} and the Python files beside it; Ctrl-C ends", file=sys.stderr, flush=True)
            _wait(lambda: _times(study), before, pause)
    return code


def _wait(look: Callable[[], Mapping[Path, float]], before: Mapping[Path, float], pause: float) -> None:
    while look() == before:
        time.sleep(pause)


def _times(study: Path) -> dict[Path, float]:
    """Return when each file that the study may depend on was changed last: its folder, and the shared texts."""
    folder = study.resolve().parent
    paths = [study.resolve(), *folder.glob("*.py"), *folder.glob("texts/*")]
    times = {}
    for path in paths:
        try:
            times[path] = path.stat().st_mtime
        except OSError:  # being written, or removed
            times[path] = 0.0
    return times

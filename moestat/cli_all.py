"""``--all``: every study in turn, the shortest rest first; it can be stopped at any moment and started again."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat import cli_claims, cli_options, cli_results
from moestat.api import write_report
from moestat.errors import InputError, UserError

if TYPE_CHECKING:
    from moestat.runner.agenda import Entry
    from moestat.runner.request import Request


def run_all(arguments: argparse.Namespace, known: Mapping[str, Path], dry_run: Callable[[Request], int]) -> int:
    """Run every study of ``known``, or print its plan, and fail at the end if one failed."""
    from moestat.runner import agenda
    from moestat.runner.run import run
    from moestat.study import lookup

    if arguments.study:
        raise InputError("--all runs every study; it takes no name")
    if not known:
        raise InputError("there are no studies to run")
    problems: dict[str, str] = {}
    entries, left_out = _agenda(arguments, known, problems)
    if not entries and not problems:
        raise InputError(f"no study can be run at the preset {arguments.preset!r}: {_listed(left_out)}")
    entries = agenda.ordered(entries)
    began, took = time.monotonic(), {}
    for number, entry in enumerate(entries):
        if not arguments.dry_run and not arguments.quiet:
            _say(_place(entries, number, time.monotonic() - began))
        start = time.monotonic()
        try:
            if arguments.dry_run:
                dry_run(entry.request)
            elif _reported(entry, known[entry.name]):
                _say(f"{entry.name}/{entry.request.preset} is done and reported: nothing to do")
            else:
                cli_results.tell(run(entry.request, write_report))
        except UserError as error:
            if error.exit_code >= 128:
                _say(f"{number} of {len(entries)} studies are done, and the same command goes on")
                raise
            problems[entry.name] = str(error)
            _say(f"error: {entry.name}: {error}")
        took[entry.name] = time.monotonic() - start
    if not arguments.dry_run:
        if not arguments.no_report:
            cli_claims.show(arguments.out, lookup.readable(known), first=arguments.preset)
        for line in _times(entries, took, problems):
            print(line)
    for name, why in left_out.items():
        _say(f"note: {name} was left out: {why}")
    if problems:
        total = len(entries) + len(set(problems) - {entry.name for entry in entries})
        raise UserError(f"{len(problems)} of {total} studies did not complete: {', '.join(problems)}")
    return 0


def _reported(entry: Entry, path: Path) -> bool:
    """Whether nothing is left of a study, and its report is of these results and of today's rules."""
    from moestat.report import ledger
    from moestat.runner import begin, manifest_file, results
    from moestat.study import load

    request = entry.request
    if entry.left != 0.0 or request.fresh or request.retry_failed or not request.report:
        return False
    root = begin.folder_of(request, entry.name)
    try:
        if (root / "report.html").stat().st_mtime < (root / results.NAME).stat().st_mtime:
            return False
    except OSError:
        return False
    tally = manifest_file.cached(root).get("tally")
    complete = isinstance(tally, Mapping) and tally.get("missing") == 0
    return complete and ledger.is_current(load.read(path), request.preset, root)


def _agenda(
    arguments: argparse.Namespace, known: Mapping[str, Path], problems: dict[str, str]
) -> tuple[list[Entry], dict[str, str]]:
    """Return what is to be run, and what is left out with the reason; broken files go to the problems."""
    from moestat.runner import agenda
    from moestat.study import load

    entries, left_out = [], {}
    for name, path in known.items():
        request: Any = cli_options.request(arguments, name)
        try:
            study_file = load.read(path)
            if why := agenda.beyond(request, study_file):
                left_out[name] = why
                continue
            entries.append(agenda.entry(name, request, study_file, known))
        except UserError as error:
            problems[name] = str(error)
            _say(f"error: {name}: {error}")
    names = {entry.name for entry in entries}
    return [_among(entry, names) for entry in entries], left_out


def _among(entry: Entry, names: set[str]) -> Entry:
    from dataclasses import replace

    return replace(entry, needs=tuple(name for name in entry.needs if name in names))


def _place(entries: Sequence[Entry], number: int, passed: float) -> str:
    """Say which study comes now, and how long it will take."""
    from moestat.runner.progress import duration

    entry = entries[number]
    time = (entry.expected or "time not stated") if entry.left is None else f"{duration(entry.left)} left"
    return f"[{number + 1} of {len(entries)}] {entry.name}/{entry.request.preset}: {time}; {duration(passed)} passed"


def _times(entries: Sequence[Entry], took: Mapping[str, float], problems: Mapping[str, str]) -> list[str]:
    """Say what the replicates took, over all runs, and what passed just now."""
    from moestat.runner import agenda
    from moestat.runner.progress import duration

    width = max((len(entry.name) for entry in entries), default=5)
    lines = [f"{'study':{width}} {'computing':>13} {'this run':>13}"]
    for entry in entries:
        computing = None
        with contextlib.suppress(UserError):
            computing = agenda.measured(entry.request)
        times = [duration(seconds) for seconds in (computing, took[entry.name])]
        failed = "  did not complete" if entry.name in problems else ""
        lines.append(f"{entry.name:{width}} {times[0]:>13} {times[1]:>13}{failed}")
    return lines


def _listed(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in left_out.items()) or "there is none"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

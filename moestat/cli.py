"""The command line. Heavy libraries are imported only when something is computed or collected."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from moestat import cli_look, cli_options, cli_rates, cli_run
from moestat.errors import InputError, UserError
from moestat.sentences import nearest
from moestat.threads import VARIABLES


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; a user's mistake is one sentence on stderr."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    for name in VARIABLES:  # before NumPy is imported: its BLAS reads them once
        os.environ.setdefault(name, "1")
    try:
        with _end_like_interrupt():
            return _dispatch(words)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as error:
        print("interrupted; what is done is kept, and the same command goes on", file=sys.stderr)
        return getattr(error, "exit_code", 130)
    except BrokenPipeError:  # the reader of our output has left, e.g. `| head`
        sys.stderr.close()
        return 1
    except OSError as error:
        from moestat.files import disk_problem

        print(f"error: {disk_problem(error, Path(error.filename or '.'))}", file=sys.stderr)
        return 1


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["help"]:  # as people type it
        if words[1:] and words[1] not in cli_options.VERBS:
            hint = nearest(words[1], cli_options.VERBS) or f"; the verbs: {cli_options.called()} help"
            raise InputError(f"there is no verb {words[1]!r}{hint}")
        words = [*words[1:2], "--help"]
    elif words[:1] == ["list"]:
        words = ["--list", *(["--paper"] if words[1:] and not words[1].startswith("-") else []), *words[1:]]
    near = difflib.get_close_matches(words[0], cli_options.VERBS, n=1, cutoff=0.75) if words else []
    if near and near[0] != words[0] and not words[0].startswith("-"):
        from moestat.study import load

        if words[0] not in load.known_studies():
            raise InputError(f"there is no subcommand or study {words[0]!r}; did you mean the subcommand {near[0]!r}?")
    arguments = cli_options.parse(words)
    try:
        _action(arguments)(arguments)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich makes this of it
            raise error.__context__ from None
        # of a user's own code, an own rule of a claim say; no results, so no success
        raise UserError(f"code that this study names called sys.exit({error}), which ended the run") from error
    return 0


def _action(arguments: argparse.Namespace) -> Callable[[argparse.Namespace], None]:
    """Return what does that which was asked for; each prints, and raises a UserError if it fails."""
    if arguments.verb != "run":
        found: Callable[[argparse.Namespace], None] = {**vars(cli_look), **vars(cli_run), **vars(cli_rates)}[
            arguments.verb
        ]
        return found
    if arguments.list:
        return cli_look.listing
    if arguments.claims:
        return cli_look.claims
    if arguments.all:
        return cli_run.run_all
    if arguments.paper is not None and not arguments.study:
        return cli_look.items
    if arguments.write:
        raise InputError("--write belongs to --claims, and to --paper")
    if not arguments.study:
        raise InputError(f"name a study, or see the list with: {cli_options.called()} --list")
    return cli_run.run


@contextlib.contextmanager
def _end_like_interrupt() -> Iterator[None]:
    """Let SIGTERM, which a batch system sends before it kills, and SIGHUP end a run as Ctrl-C does."""

    def stop(number: int, frame: object) -> NoReturn:
        interrupt = KeyboardInterrupt()
        setattr(interrupt, "exit_code", 128 + number)  # noqa: B010  no exception has such a thing
        raise interrupt

    before: dict[int, Any] = {}
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)):
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup has it ignored
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _open_streams() -> None:
    """Let closed standard streams go nowhere (a file opened meanwhile would get their number), and escape letters."""
    if os.name == "posix":
        for number in range(3):
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the smallest number that is free
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  as long as the process
        elif isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")

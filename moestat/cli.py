"""The command line. Heavy libraries are imported only when something is computed or collected."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from moestat import cli_all, cli_claims, cli_develop, cli_options, cli_results, cli_verbs
from moestat.api import write_report
from moestat.errors import InputError, UserError
from moestat.sentences import counted
from moestat.threads import VARIABLES

COMMANDS = (*cli_options.COMMANDS, *cli_verbs.ABOUT)
"""Every subcommand."""


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


def parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of a subcommand; that of ``run`` needs no word."""
    return cli_verbs.parser(command) if command in cli_verbs.ABOUT else cli_options.parser(command)


def _dispatch(words: list[str]) -> int:
    if words:
        _refuse_misspelt(words[0])
    command = words.pop(0) if words and words[0] in COMMANDS else "run"
    arguments = parser(command).parse_args(words)
    try:
        return _act(command, arguments, words)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich makes this of it
            raise error.__context__ from None
        # of a user's own code, an own rule of a claim say; no results, so no success
        raise UserError(f"code that this study names called sys.exit({error}), which ended the run") from error


def _refuse_misspelt(word: str) -> None:
    """Refuse a first word that is near a subcommand, and no study."""
    import difflib

    near = [] if word.startswith("-") else difflib.get_close_matches(word, COMMANDS, n=1, cutoff=0.75)
    if not near or near[0] == word:
        return
    from moestat.study import load

    if word not in load.known_studies():
        raise InputError(f"there is no subcommand or study {word!r}; did you mean the subcommand {near[0]!r}?")


def _act(command: str, arguments: argparse.Namespace, words: Sequence[str]) -> int:
    if command == "run" and arguments.list:
        return _list(arguments)
    if command in cli_verbs.ABOUT:
        return cli_verbs.act(command, arguments, cli_results.collect_request)
    if command == "claim":
        return cli_claims.card(arguments.claim, arguments.out)
    if command == "run" and arguments.claims:
        return cli_claims.claims(arguments.study, arguments.paper, arguments.out, arguments.write)
    if command == "run" and arguments.report:
        return cli_claims.report(arguments.paper, arguments.out, arguments.write)
    if command == "run" and arguments.write:
        raise InputError("--write belongs to --claims, and to --report")
    if command == "run" and arguments.all:
        return cli_all.run_all(arguments, _known(arguments), _dry_run)
    if command == "run" and arguments.paper and not arguments.study:
        return cli_claims.items(arguments.paper, arguments.out)
    if not arguments.study:
        raise InputError(f"name a study, or see the list with: {cli_options.called()} --list")
    if command == "run" and arguments.show:
        return _show(arguments)
    action = {
        "run": _run,
        "status": cli_results.status,
        "collect": cli_results.collect,
        "report": cli_results.report,
        "replay": cli_results.replay,
    }[command]
    return action(arguments)


# -- commands ---------------------------------------------------------------------------------------------------


def _known(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the known studies, or those of the paper that was asked for."""
    return cli_claims.known(arguments.paper)


def _list(arguments: argparse.Namespace) -> int:
    from moestat.study import load

    known = _known(arguments)
    width = max((len(name) for name in known), default=0)
    rows = {name: load.summary(path) for name, path in known.items()}
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000  # one line each for a program
    for name, (title, expected) in rows.items():
        text = f"{name:{width}}  {title}" + (f" ({expected})" if expected else "")
        indent = " " * (width + 2)
        print(textwrap.fill(text, max(60, columns), subsequent_indent=indent, break_on_hyphens=False))
    if known:
        print("in brackets: what the preset 'quick' states of its time", file=sys.stderr)
    else:
        print("no studies: there is no folder 'studies' here, and none in the package")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from moestat.study import load, toml_text

    print(toml_text.document(load.read(arguments.study).raw), end="")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    request = cli_options.request(arguments)
    if arguments.dry_run:
        return _dry_run(request)
    if arguments.debug or arguments.pdb:
        return cli_develop.debug(request, post_mortem=arguments.pdb)
    from moestat.runner.run import run

    if not request.quiet:
        cli_results.tell_record(request)
    result = run(request, write_report)
    return cli_results.tell(result)


def _dry_run(request: Any) -> int:
    from moestat.runner import returned
    from moestat.runner.begin import (
        cautions,
        folder_of,
        make_plan,
        refuse_bad_data,
        refuse_without_libraries,
    )

    plan = make_plan(request)
    if not plan.study_file.study.reads and request.backend != "dask":
        refuse_without_libraries(plan)
    refuse_bad_data(plan)
    returned.refuse_unknown(plan)
    study = plan.study_file.study
    print(f"{study.title}\n{plan.study_file.shown}, preset {plan.preset_name}: {plan.preset.about}".rstrip(": "))
    grid = ", ".join(f"{axis} = {', '.join(str(v) for v in values)}" for axis, values in plan.axes.items())
    print(f"experiment {plan.module_name}, seed {plan.seed}; grid: {grid or 'one point'}")
    print(f"{len(plan.arms)} arms: {', '.join(arm.name for arm in plan.arms)}")
    print(f"{len(plan.by_digest)} cells x {plan.replicates} replicates in blocks of {plan.block}")
    if plan.preset.expected:
        print(f"expected{_of_preset(plan)}: {plan.preset.expected}")
    else:
        print(f"expected: not stated; the key expected of presets.{plan.preset_name} would say it here")
    for text in [*cautions(plan), *returned.cautions(plan)]:
        print(f"caution: {text}")
    cli_results.tell_stale(request, plan)
    print(f"results would go to {folder_of(request, plan.study_file.name)}; nothing was written")
    return 0


def _of_preset(plan: Any) -> str:
    """Return what the time of a preset is stated for, where other work was asked for; it is nobody's guess there."""
    from moestat.runner import plan as plans

    try:
        plain = plans.make(plan.study_file, plan.preset_name, type(plan.request)(plan.request.study, seed=plan.seed))
    except InputError:  # without what was set there is no plan
        return " for the preset as it stands"
    if (plan.replicates, set(plan.by_digest)) == (plain.replicates, set(plain.by_digest)):
        return ""
    cells, replicates = counted(len(plain.by_digest), "cell"), counted(plain.replicates, "replicate")
    return f" for the preset as it stands ({cells} x {replicates})"


class _Terminated(KeyboardInterrupt):
    """SIGTERM, as a batch system sends it before it kills, or SIGHUP, when the terminal is closed."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


@contextlib.contextmanager
def _end_like_interrupt() -> Iterator[None]:
    def stop(number: int, frame: object) -> NoReturn:
        raise _Terminated(number)

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)):
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup has it ignored
                before[number] = signal.signal(number, stop)
    except ValueError:  # not in the main thread
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _open_streams() -> None:
    """See to it that what is printed can be: streams that are closed go nowhere, letters they lack are escaped.

    A file that is opened while the number of a standard stream is free gets that number, and what a library prints
    would be written into it.
    """
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
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")

"""The command line. Heavy libraries are imported only when something is computed or collected."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from moestat.study.errors import InputError, UserError

COMMANDS = ("run", "status", "collect", "report", "replay")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS")

ABOUT = """\
Run a simulation study, and judge the claims it was written for.

A run can be killed at any moment: the same command again computes only what is missing. The numbers depend on the
study file alone, not on the number of processes, the order of the work or the size of its blocks.
"""

EXAMPLES = """\
examples:
  python -m moestat.study --list                                  the studies, with their titles
  python -m moestat.study sigmoid_vs_softmax                      run one, at the preset 'quick'
  python -m moestat.study sigmoid_vs_softmax --preset paper       at the size of the paper
  python -m moestat.study sigmoid_vs_softmax --replicates 40      more replicates; those that exist are kept
  python -m moestat.study sigmoid_vs_softmax --set d=4 --out try  with another setting, in another folder
  python -m moestat.study my_study.toml --dry-run                 check a study file of your own; compute nothing
  python -m moestat.study --all --preset quick                    every study, and one table of all claims

other subcommands (each has its own --help):
  status STUDY                        what is done, missing, failed, stale, and the command that completes it
  collect STUDY                       gather the shards (of an array job, say) into results.nc, and report
  report STUDY                        tables, figures and report.html again, from results.nc
  replay STUDY ARM N REPLICATE        compute one replicate again and compare it with the stored one

exit codes: 0 done, 1 stopped (disk, lock, something missing), 2 wrong input, 3 stale results, 130 interrupted
"""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        known = [option for action in self._actions for option in action.option_strings]
        if message.startswith("unrecognized arguments: "):
            from moestat.study.located import nearest

            word = message.removeprefix("unrecognized arguments: ").split(" ")[0]
            message = f"unknown argument {word!r}{nearest(word, known)}"
        raise InputError(f"{message}; see: {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; a user's mistake is one sentence on stderr."""
    words = list(sys.argv[1:] if argv is None else argv)
    for name in THREADS:  # before NumPy is imported: its BLAS reads them once
        os.environ.setdefault(name, "1")
    try:
        with _terminate_like_interrupt():
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
        from moestat.study.files import disk_problem

        print(f"error: {disk_problem(error, Path(error.filename or '.'))}", file=sys.stderr)
        return 1


def _dispatch(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        command, words = words[0], words[1:]
    else:
        command = "run"
    arguments = _parser(command).parse_args(words)
    if command == "run" and arguments.list:
        return _list()
    if command == "run" and arguments.all:
        return _run_all(arguments)
    if not arguments.study:
        raise InputError("name a study, or see the list with: python -m moestat.study --list")
    action = {"run": _run, "status": _status, "collect": _collect, "report": _report, "replay": _replay}[command]
    return action(arguments)


# -- options ----------------------------------------------------------------------------------------------------


def _parser(command: str) -> argparse.ArgumentParser:
    about = {
        "run": ABOUT,
        "status": "Say what is done, missing, failed and stale, and print the command that completes the study.",
        "collect": "Gather the shards into results.nc, and report; for a study that was computed in parts.",
        "report": "Make tables, figures and report.html again from results.nc; nothing is computed.",
        "replay": "Compute one replicate again from its identity alone and compare it with the stored one.",
    }[command]
    parser = _Parser(
        prog="python -m moestat.study" + ("" if command == "run" else f" {command}"),
        description=about,
        epilog=EXAMPLES if command == "run" else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    optional = "?" if command == "run" else None
    parser.add_argument("study", nargs=optional, metavar="STUDY", help="name of a study, or path of a study file")
    if command == "replay":
        parser.add_argument(
            "place", nargs="+", metavar="PLACE", help="arm, one value for each axis (1000 or n=1000), replicate"
        )
    what = parser.add_argument_group("what is computed")
    what.add_argument("--preset", default="quick", metavar="NAME", help="size of the study (default: quick)")
    what.add_argument("--replicates", type=_count(1), metavar="R", help="replicates per cell, instead of the preset's")
    what.add_argument("--seed", type=_count(0), metavar="S", help="seed of the study, instead of the file's")
    what.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of every arm, or an axis: n=[100,200]",
    )
    what.add_argument(
        "--block", type=_count(1), metavar="B", help="replicates per shard; the numbers do not depend on it"
    )
    where = parser.add_argument_group("where")
    where.add_argument(
        "--out",
        type=_folder,
        default=Path("outputs"),
        metavar="FOLDER",
        help="folder of all results (default: outputs)",
    )
    if command in ("run", "replay"):
        where.add_argument(
            "--device", choices=("auto", "cpu", "cuda"), default="auto", help="what computes (default: auto)"
        )
    if command == "run":
        where.add_argument("--jobs", type=_count(1), metavar="J", help="processes (default: one per processor)")
        where.add_argument(
            "--backend", choices=("loky", "dask"), default="loky", help="loky: this machine; dask: a cluster"
        )
        where.add_argument(
            "--scheduler", default="", metavar="ADDRESS", help="address of the dask scheduler, tcp://host:port"
        )
        where.add_argument("--part", type=_part, metavar="I/K", help="compute the I-th of K parts; then use: collect")
        old = parser.add_argument_group("results that are there already")
        old.add_argument("--fresh", action="store_true", help="set every shard aside and compute everything again")
        old.add_argument(
            "--replace-stale", action="store_true", help="set aside what is out of date and compute it again"
        )
        old.add_argument(
            "--retry-failed", action="store_true", help="compute again, on the same data, what raised or died"
        )
        more = parser.add_argument_group("more")
        more.add_argument(
            "--dry-run", action="store_true", help="check the study file and print the plan; write nothing"
        )
        more.add_argument("--list", action="store_true", help="list the known studies with their titles")
        more.add_argument("--all", action="store_true", help="run every known study in turn")
    if command != "replay":
        parser.add_argument("--no-report", action="store_true", help="results.nc only, without tables and figures")
        parser.add_argument("--quiet", action="store_true", help="print no progress")
    parser.add_argument(
        "--accept-stale",
        action="store_true",
        help="use results of other settings or code as they are; the report says so",
    )
    return parser


def _count(least: int) -> Any:
    def count(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 2**63:
            raise argparse.ArgumentTypeError(
                f"it is {text[:40]!r}; allowed are whole numbers from {least} to 2**63 - 1"
            )
        return value

    return count


def _folder(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"it is {text!r}; allowed is the path of a folder")
    return Path(text).expanduser()


def _part(text: str) -> tuple[int, int]:
    first, slash, second = text.partition("/")
    if slash and first.isdecimal() and second.isdecimal() and len(text) < 20 and 1 <= int(first) <= int(second):
        return int(first), int(second)
    raise argparse.ArgumentTypeError(f"it is {text[:40]!r}; allowed is I/K with 1 <= I <= K, e.g. 3/20")


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read ``KEY=VALUE``: the value as in a study file, or as plain text."""
    import tomllib

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise InputError(f"--set is {pair[:60]!r}; allowed is KEY=VALUE, e.g. --set d=4")
        try:
            settings[key] = tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
        except (ValueError, RecursionError):
            settings[key] = text
    return settings


def _request(arguments: argparse.Namespace, study: str | None = None) -> Any:
    from moestat.study.request import Request

    given = vars(arguments)
    if given.get("backend") == "dask" and not given.get("scheduler"):
        raise InputError("--backend dask needs --scheduler ADDRESS, e.g. tcp://127.0.0.1:8786")
    if given.get("scheduler") and given.get("backend") != "dask":
        raise InputError("--scheduler belongs to --backend dask")
    names = ("preset", "replicates", "seed", "block", "out", "accept_stale")
    more = ("jobs", "device", "backend", "scheduler", "part", "fresh", "replace_stale", "retry_failed", "quiet")
    return Request(
        study=study or arguments.study,
        settings=_settings(arguments.set),
        report=not given.get("no_report", False),
        **{name: given[name] for name in (*names, *more) if name in given},
    )


# -- commands ---------------------------------------------------------------------------------------------------


def _list() -> int:
    from moestat.study import load

    known = load.known_studies()
    width = max((len(name) for name in known), default=0)
    for name, path in known.items():
        print(f"{name:{width}}  {load.title(path)}")
    if not known:
        print("no studies: there is no folder 'studies' here, and none in the package")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    request = _request(arguments)
    if arguments.dry_run:
        return _dry_run(request)
    from moestat.study.run import run

    result = run(request)
    return _tell(result)


def _dry_run(request: Any) -> int:
    from moestat.study.run import folder_of, make_plan

    made = make_plan(request)
    study = made.study_file.study
    print(f"{study.title}\n{made.study_file.shown}, preset {made.preset_name}: {made.preset.about}".rstrip(": "))
    grid = ", ".join(f"{axis} = {', '.join(str(v) for v in values)}" for axis, values in made.axes.items())
    print(f"experiment {made.module_name}, seed {made.seed}; grid: {grid or 'one point'}")
    print(f"{len(made.arms)} arms: {', '.join(arm.name for arm in made.arms)}")
    print(f"{len(made.by_digest)} cells x {made.replicates} replicates in blocks of {made.block}")
    if made.preset.expected:
        print(f"expected: {made.preset.expected}")
    print(f"results would go to {folder_of(request, made.study_file.name)}; nothing was written")
    return 0


def _tell(result: Any) -> int:
    """Print the tables and one closing line; return the exit code."""
    tally, quiet = result.tally, result.request.quiet
    if result.dataset is None:
        return 0
    if result.report is not None:
        _print_tables(result.report)
    counted = f"{tally['done']} of {tally['replicates']} replicates, {tally['failed']} failed"
    if not quiet:
        print(f"{result.plan.study_file.name}/{result.request.preset}: {counted}; results in {result.folder}")
    if tally["missing"]:
        raise UserError(f"{tally['missing']} replicates are missing; complete them with: {result.request.command()}")
    if tally["converged"] == 0 and tally["failed"] == tally["replicates"]:
        raise UserError(f"all {tally['failed']} replicates failed; the most frequent message: {_most_frequent(result)}")
    return 0


def _most_frequent(result: Any) -> str:
    if "message" not in result.dataset:
        return "(none)"
    texts = [str(text) for text in result.dataset["message"].values.ravel() if text]
    return max(texts, key=texts.count) if texts else "(none)"


def _print_tables(report: Any) -> None:
    from rich.console import Console

    console = Console()
    console.print(report.rates_table())
    console.print(report.claims_table())


def _run_all(arguments: argparse.Namespace) -> int:
    from moestat.study import load
    from moestat.study.run import run

    if arguments.study:
        raise InputError("--all runs every study; it takes no name")
    known = load.known_studies()
    if not known:
        raise InputError("there are no studies to run")
    rows: list[tuple[str, dict[str, str]]] = []
    problems: list[str] = []
    for name in known:
        request = _request(arguments, name)
        try:
            if arguments.dry_run:
                _dry_run(request)
                continue
            result = run(request)
            rows += [(name, row) for row in _claims(result.folder)]
            _tell(result)
        except UserError as error:
            if error.exit_code >= 128:
                raise
            problems.append(f"{name}: {error}")
            print(f"error: {name}: {error}", file=sys.stderr)
    if rows:
        _print_all_claims(rows)
    if problems:
        raise UserError(f"{len(problems)} of {len(known)} studies did not complete: {'; '.join(problems)}")
    return 0


def _claims(folder: Path) -> list[dict[str, str]]:
    import csv

    path = folder / "claims.csv"
    if not path.is_file():
        return []
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _print_all_claims(rows: Sequence[tuple[str, dict[str, str]]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="All claims")
    for column in ("study", "claim", "source", "predicted", "estimate", "interval", "verdict"):
        table.add_column(column)
    for study, row in rows:
        interval = f"[{_short(row.get('ci_low', ''))}, {_short(row.get('ci_high', ''))}]"
        cells = (
            study,
            row["claim"],
            row["source"],
            row["predicted"],
            _short(row["estimate"]),
            interval,
            row["verdict"],
        )
        table.add_row(*(cell.replace("[", "\\[") for cell in cells))
    Console().print(table)


def _short(text: str) -> str:
    try:
        return f"{float(text):.3g}"
    except ValueError:
        return text


def _status(arguments: argparse.Namespace) -> int:
    from moestat.study import overview, store

    request, made, root, scan, _ = overview.look(_request(arguments))
    if scan.stale and request.accept_stale:
        store.accept_stale(scan)
    from rich.console import Console
    from rich.table import Table

    console = Console()
    rows = overview.overview(made, scan)
    columns = ["arm", *made.axes, "done", "missing", "failed", "stale", "how"]
    table = Table(title=f"{made.study_file.name}/{request.preset} in {root}")
    for column in columns:
        table.add_column(column, justify="left" if column in ("arm", "how") else "right")
    for row in rows:
        table.add_row(*(str(row[column]) for column in columns))
    console.print(table)
    tally = scan.tally()
    print(
        f"{tally['replicates']} replicates: {tally['done']} done, {tally['missing']} missing, "
        f"{tally['failed']} failed, {sum(row['stale'] for row in rows)} stale"
    )
    if scan.unused:
        print(f"{len(scan.unused)} shards belong to cells outside this plan and are left alone")
    for line in scan.quarantined:
        print(f"set aside a damaged shard: {line}")
    for line in overview.running(root):
        print(f"at work: {line}")
    print(overview.advice(request, made, root, scan))
    return 0


def _collect(arguments: argparse.Namespace) -> int:
    from moestat.study import overview, store
    from moestat.study.run import Result, finish

    request, made, root, scan, code = overview.look(_request(arguments))
    if not root.is_dir():
        raise InputError(f"there is nothing to collect in {root}; run the study with: {request.command()}")
    for line in scan.quarantined:
        print(f"set aside a damaged shard: {line}", file=sys.stderr)
    if request.accept_stale:
        store.accept_stale(scan)
    store.refuse_stale(scan, root)
    result = Result(
        request, made, root, scan.tally(), notes=[f"set aside: {q}" for q in scan.quarantined] + scan.accepted
    )
    finish(result, scan, code)
    return _tell(result)


def _report(arguments: argparse.Namespace) -> int:
    from moestat.report.write import write_outputs
    from moestat.study import load, results
    from moestat.study.run import folder_of

    request = _request(arguments)
    study_file = load.read(request.study)
    if request.preset not in study_file.study.presets:
        raise InputError(f"there is no preset {request.preset!r}; allowed are {', '.join(study_file.study.presets)}")
    root = folder_of(request, study_file.name)
    dataset = results.read(root / results.NAME)
    provenance = {str(key): value for key, value in dataset.attrs.items()}
    for key in ("accepted_stale", "notes"):
        provenance[key] = [line for line in str(provenance.get(key, "")).split("\n") if line]
    report = write_outputs(dataset, study_file.study, request.preset, root, provenance=provenance)
    _print_tables(report)
    print(f"report in {root}")
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from moestat.status import Status
    from moestat.study import overview, replay

    request, made, _, scan, _ = overview.look(_request(arguments))
    planned, replicate = replay.parse_place(made, arguments.place)
    again = replay.replay(made, scan, request.out, planned, replicate, request.device)
    status = Status(int(again.variables["status"].values[0]))
    print(f"{planned.label}, replicate {replicate} (seed {made.seed}, cell {planned.digest[:12]})")
    print(f"status: {status.name}. {status.sentence}")
    for name, variable in again.variables.items():
        if variable.values.size == 1 and name != "status":
            value = variable.values.ravel()[0]
            mark = f"   <- {again.differences[name]}" if again.differences and name in again.differences else ""
            print(f"  {name:24} {value if isinstance(value, str) else repr(value.item())}{mark}")
    for name, value in again.attrs.items():
        print(f"  {name:24} {value}")
    for remark in again.remarks:
        print(f"note: {remark}")
    if again.differences is None:
        print("no stored replicate to compare with")
    elif again.equal:
        print("equal to the stored replicate, bit for bit")
    else:
        told = "; ".join(f"{name} {text}" for name, text in again.differences.items())
        raise UserError(f"the replicate is not equal to the stored one: {told}")
    return 0


class _Terminated(KeyboardInterrupt):
    """SIGTERM, as a batch system sends it before it kills."""

    exit_code = 143


@contextlib.contextmanager
def _terminate_like_interrupt() -> Iterator[None]:
    def stop(number: int, frame: object) -> NoReturn:
        raise _Terminated

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

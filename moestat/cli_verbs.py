"""The subcommands around a study: start one, look its settings up, compare, join, export, hand it to a scheduler."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from moestat import cli_options
from moestat.errors import InputError, UserError
from moestat.runner.request import Request

ABOUT = {
    "new": "Write NAME.toml, a commented study file that runs as it stands, to begin from.",
    "settings": "List every setting of an experiment (type, default, allowed values, meaning), and its variables.",
    "keys": "List the keys of a study file, table by table: default and meaning.",
    "diff": "Say in what two runs differ: settings, code, machine, numbers, rates, verdicts.",
    "merge": "Join runs of one study that were computed apart (other replicates or sizes) into one, and report.",
    "export": "Write results as a tidy table, one row for each replicate and loss: CSV, or Parquet with pyarrow.",
    "ship": "Make records: results that are complete, compressed and with digests, to be kept in version control.",
    "verify": "Compute a random sample of a record's replicates again, and compare it with the record bit for bit.",
}
"""Subcommand -> what it does."""

WIDTH = 80


def parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of one of these subcommands."""
    parser = cli_options.Parser(
        prog=f"{cli_options.called()} {command}", description=ABOUT[command], allow_abbrev=False
    )
    if command == "new":
        parser.add_argument("name", metavar="NAME", help="of the study; the file is NAME.toml")
    elif command == "settings":
        parser.add_argument(
            "experiment", nargs="?", metavar="EXPERIMENT", help="a name or an import path; without it, all names"
        )
    elif command == "keys":
        parser.add_argument(
            "table",
            nargs="?",
            metavar="TABLE",
            help="claims, rates, arms, ...; top for keys outside of tables (default: all)",
        )
    elif command == "diff":
        for name in ("a", "b"):
            parser.add_argument(
                name, metavar=name.upper(), type=Path, help="folder <outputs>/<study>/<preset>, or its results.nc"
            )
    elif command == "merge":
        parser.add_argument("study", metavar="STUDY", help="name of the study, or path of its file")
        parser.add_argument("folders", nargs="+", metavar="FOLDER", type=Path, help="folder <outputs>/<study>/<preset>")
        parser.add_argument("--out", type=Path, required=True, metavar="OUT", help="a new folder of results")
        parser.add_argument("--no-report", action="store_true", help="results.nc only, without tables and figures")
    elif command == "export":
        cli_options.add_study(parser)
        cli_options.add_out(parser)
        parser.add_argument(
            "--write",
            type=Path,
            metavar="FILE",
            help="FILE.csv or FILE.parquet (default: losses.csv beside the results)",
        )
        parser.add_argument("--variable", action="append", metavar="NAME", help="only this one; may be given again")
    else:
        _add_records(parser, command)
    return parser


def _add_records(parser: argparse.ArgumentParser, command: str) -> None:
    every = "every study that has results" if command == "ship" else "every record"
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"names of studies; without one, {every}")
    parser.add_argument("--preset", default="quick", metavar="NAME", help="size of the study (default: quick)")
    cli_options.add_out(parser)
    if command == "ship":
        parser.add_argument(
            "--to",
            type=Path,
            default=Path("outputs"),
            metavar="FOLDER",
            help="outputs folder whose records are written: FOLDER/records/STUDY/PRESET (default: outputs)",
        )
        parser.add_argument("--replace", action="store_true", help="a record with other numbers may be replaced")
    else:
        parser.add_argument("--replicates", type=int, default=3, metavar="K", help="of each record (default: 3)")
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the sample (default: 0)")
        parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="what computes")
        parser.add_argument(
            "--certify", action="store_true", help="write date, commit and outcome into the manifest of the record"
        )


def act(command: str, arguments: argparse.Namespace, collect: Callable[[Request], int]) -> int:
    """Do what a subcommand says; ``collect`` collects and reports a request."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "new": _new,
        "settings": _settings,
        "keys": _keys,
        "diff": _diff,
        "export": _export,
        "ship": _ship,
        "verify": _verify,
    }
    return _merge(arguments, collect) if command == "merge" else actions[command](arguments)


def _new(arguments: argparse.Namespace) -> int:
    from moestat.study import starter

    path = starter.write(arguments.name)
    print(f"{path} is written. Check it, and run it, with:\n  moestat {path} --dry-run\n  moestat {path}")
    return 0


def _settings(arguments: argparse.Namespace) -> int:
    from moestat.report import variables
    from moestat.runner import experiments, settings_table

    if not arguments.experiment:
        names = experiments.own_experiments()
        width = max(map(len, names))
        for name in names:
            _print_wrapped(f"{name:{width}}  {settings_table.about(name)}", width + 2)
        return 0
    about, rows = settings_table.of_experiment(arguments.experiment)
    _print_wrapped(about, 0)
    width = max(len(row.key) for row in rows)
    for row in rows:
        default = row.default if row.default in ("required", "") else f"default {row.default}"
        head = ", ".join(part for part in (row.kind, default) if part)
        parts = [part for part in (head, row.allowed and f"allowed: {row.allowed}", row.meaning) if part]
        _print_wrapped(f"{row.key:{width}}  {'; '.join(parts)}", width + 2)
    known = variables.of_experiment(arguments.experiment)
    print()
    _print_wrapped(variables.head(arguments.experiment), 0)
    width = max((len(variable.name) for variable in known), default=0)
    for variable in known:
        _print_wrapped(f"{variable.name:{width}}  {variable.words}", width + 2)
    return 0


def _keys(arguments: argparse.Namespace) -> int:
    from moestat.study import keys

    titles = [keys.find(arguments.table)] if arguments.table else list(keys.TABLES)
    for place, title in enumerate(titles):
        print("\n" * bool(place) + title)
        _print_wrapped(keys.about(title), 0)
        rows = keys.of(title)
        width = max(len(row.key) for row in rows)
        for row in rows:
            default = row.default if row.default in ("required", "") else f"default {row.default}"
            _print_wrapped(f"{row.key:{width}}  {'; '.join(filter(None, (default, row.meaning)))}", width + 2)
    return 0


def _print_wrapped(text: str, indent: int) -> None:
    """Print a text with a hanging indent, at the width of the terminal."""
    import shutil

    width = max(60, min(120, shutil.get_terminal_size((WIDTH, 24)).columns))
    for line in textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    ) or [""]:
        print(line)


def _diff(arguments: argparse.Namespace) -> int:
    from moestat.report import compare

    a, b = (compare.read(path.expanduser()) for path in (arguments.a, arguments.b))
    parts = compare.differences(a, b)
    _print_wrapped(f"A: {a.path}", 3)
    _print_wrapped(f"B: {b.path}", 3)
    for heading, lines in parts.items():
        print(heading if lines else f"{heading}: no difference")
        for line in lines:
            _print_wrapped(f"  {line}", 6)
    return 0


def _merge(arguments: argparse.Namespace, collect: Callable[[Request], int]) -> int:
    from dataclasses import replace

    from moestat.runner import merge

    if len(arguments.folders) < 2:
        raise InputError("merge takes a study and two folders or more: moestat merge STUDY A B --out C")
    folders = [path.expanduser() for path in arguments.folders]
    request, said = merge.merge(arguments.study, folders, arguments.out.expanduser())
    print(said)
    return collect(replace(request, report=not arguments.no_report))


def _export(arguments: argparse.Namespace) -> int:
    from moestat import extras, files
    from moestat.api import load
    from moestat.report import csv_text
    from moestat.report.tidy import tidy
    from moestat.study import load as studies

    dataset = load(arguments.study, arguments.preset, out=arguments.out)
    path = arguments.write
    if path is None:
        given = Path(arguments.study).expanduser()
        folder = given.parent if given.suffix == ".nc" else given
        if not folder.is_dir():
            folder = arguments.out / studies.find(arguments.study).stem / arguments.preset
        path = folder / "losses.csv"
    table = tidy(dataset, arguments.variable)
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"--write is {str(path)!r}; allowed are the paths FILE.csv and FILE.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        files.write(path, csv_text.dump(table).encode())
    else:
        try:
            table.to_parquet(path, index=False)
        except ImportError:
            raise InputError(f"Parquet needs pyarrow; install it with: {extras.command('parquet')}") from None
    print(f"{len(table)} rows (arm, axes, replicate, loss, value) are in {path}")
    return 0


def _ship(arguments: argparse.Namespace) -> int:
    from moestat.report import shipping
    from moestat.runner import results
    from moestat.study import load

    out, preset = arguments.out, arguments.preset
    there = [name for name in load.known_studies() if (out / name / preset / results.NAME).is_file()]
    studies = arguments.studies or there
    if not studies:
        raise InputError(f"there are no results of the preset {preset!r} in {out}")
    to = arguments.to.expanduser()
    _each(studies, lambda study: shipping.ship(study, preset, out, to, replace=arguments.replace))
    print(f"all records in {to / 'records'}: {shipping.total(to) / 1e6:.1f} MB of {shipping.MOST / 1e6:g}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from moestat.runner import records, verify
    from moestat.study import load

    if arguments.replicates < 1 or arguments.seed < 0:
        raise InputError("--replicates is at least 1, and --seed at least 0")
    known = [study for study, preset, _ in records.every(arguments.out) if preset == arguments.preset]
    studies = arguments.studies or [study for study in known if not load.read(study).study.reads]
    if not studies:
        raise InputError(f"there are no records of the preset {arguments.preset!r} in {arguments.out / records.FOLDER}")

    def one(study: str) -> list[str]:
        request = Request(study=study, preset=arguments.preset, out=arguments.out, device=arguments.device)
        found = verify.verify(request, arguments.replicates, arguments.seed, lambda text: print(text, flush=True))
        if arguments.certify:
            found.lines.append(verify.certify(found))
        if not found.holds:
            raise UserError("; ".join(found.lines))
        return found.lines

    _each(studies, one)
    return 0


def _each(studies: Sequence[str], act: Callable[[str], list[str]]) -> None:
    """Do something for every study, print what is to be said, and fail at the end if one of several failed."""
    failed = []
    for study in studies:
        try:
            for line in act(study):
                print(line, flush=True)
        except UserError as error:
            if len(studies) == 1 or error.exit_code >= 128:
                raise
            failed.append(study)
            print(f"error: {study}: {error}", file=sys.stderr, flush=True)
    if failed:
        raise UserError(f"{len(failed)} of {len(studies)} studies failed: {', '.join(failed)}")

"""The options of the command line, and the texts that teach it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NoReturn

from moestat import cli_values
from moestat.errors import InputError
from moestat.runner.request import Request

COMMANDS = ("run", "status", "collect", "report", "replay", "claim")

ABOUT = """\
Run a simulation study, and judge the claims it was written for.

A run can be killed at any moment: the same command again computes only what is
missing. The numbers depend on the study file alone, not on the number of
processes, the order of the work or the size of its blocks.
"""

ABOUT_OF = {
    "run": ABOUT,
    "status": "Say what is done, missing, failed and stale, and print the command that completes the study.",
    "collect": "Gather the shards into results.nc, and report; for a study that was computed in parts.",
    "report": "Make tables, figures and report.html again from results.nc; nothing is computed.",
    "replay": "Compute one replicate again from its identity alone and compare it with the stored one.",
    "claim": "Print one claim: statement, source, rule, interval, verdict, run, and the command that decides it.",
}

EXAMPLES = """\
examples ('moestat' is 'python -m moestat.study'):
  moestat --list                            the studies, with their titles
  moestat --claims                          every claim, with its verdict
  moestat --claims task-routing             of a paper, study, file, or an id
  moestat --claims "SA Theorem 1"           of a theorem, figure, table, section
  moestat --claims --write ledger.html      as a page with search and filters
  moestat --paper task-routing              the paper item by item: what holds, what does not, what is open
  moestat --paper task-routing --report     the same with numbers and figures, as a page
  moestat regression_rate                   run one, at the preset 'quick'
  moestat regression_rate --preset paper    at the size of the paper
  moestat report regression_rate --verbose  every table and reason of a run
  moestat regression_rate --replicates 40   more of them; those there are kept
  moestat regression_rate --set box=4 --out try
                                            another setting, in another folder
  moestat regression_rate --show            templates expanded
  moestat my_study.toml --dry-run           check a study file; compute nothing
  moestat my_study.toml --debug             stop at the first failure
  moestat --all --preset quick              every study, and a table of claims
  moestat --all --paper sigmoid-attention   every study of one paper

other subcommands (each has its own --help):
  status STUDY                  what is done, missing, failed, stale
  collect STUDY                 gather the shards (of an array job, say), report
  report STUDY                  tables, figures and report.html again
  replay STUDY ARM N REPLICATE  one replicate again, compared with its shard
  claim ID                      one claim: rule, interval, verdict, run
  claim "SA Theorem 1"          the ids of all that the paper says there
  new NAME                      a commented study file that runs, to begin from
  settings EXPERIMENT           every setting: type, default, allowed, meaning;
                                and the variables that claims may name
  keys [TABLE]                  the keys of a study file, what they mean
  diff A B                      two runs: settings, code, numbers, verdicts
  merge STUDY A B --out C       join runs that were computed apart
  export STUDY                  results as a tidy losses.csv (or Parquet)
  verify STUDY                  some replicates of a kept record, once more
  ship STUDY                    make the record that is kept, outputs/records

exit codes: 0 done, 1 stopped (disk, lock, something missing), 2 wrong input,
3 stale results, 130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as a sentence, with the option that may have been meant."""
        known = [option for action in self._actions for option in action.option_strings]
        if message.startswith("unrecognized arguments: "):
            from moestat.sentences import nearest

            word = message.removeprefix("unrecognized arguments: ").split(" ")[0]
            message = f"unknown argument {word!r}{nearest(word, known)}"
        raise InputError(f"{message}{'' if message.endswith('?') else '.'} See: {self.prog} --help")


class _Version(argparse.Action):
    """Print the version and what computes least squares here, and leave."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from moestat import __version__
        from moestat.fit import kernel

        print(f"moestat {__version__}; least squares by {kernel.describe()}")
        parser.exit()


def called() -> str:
    """Return what the user typed to come here: ``moestat``, or the module where that is not on the path."""
    return "moestat" if Path(sys.argv[0]).stem == "moestat" else "python -m moestat.study"


def parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of a subcommand."""
    made = Parser(
        prog=called() + ("" if command == "run" else f" {command}"),
        description=ABOUT_OF[command],
        epilog=EXAMPLES if command == "run" else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command == "claim":
        made.add_argument(
            "claim",
            metavar="ID",
            help="the claim; STUDY:ID or FILE.toml:ID where two studies have one of that name. Or, in quotes, where "
            "the paper says it: 'SA Theorem 1', which lists the ids of all claims there",
        )
        add_out(made)
        return made
    optional = "?" if command == "run" else None
    made.add_argument("study", nargs=optional, metavar="STUDY", help="name of a study, or path of a study file")
    if command == "replay":
        made.add_argument(
            "place", nargs="+", metavar="PLACE", help="arm, one value for each axis (1000 or n=1000), replicate"
        )
    _add_what(made.add_argument_group("what is computed"))
    where = made.add_argument_group("where")
    add_out(where)
    if command in ("run", "replay"):
        where.add_argument(
            "--device", choices=("auto", "cpu", "cuda"), default="auto", help="what computes (default: auto)"
        )
    if command == "run":
        made.add_argument("--version", action=_Version, nargs=0, help="say which version, and which code computes")
        _add_processes(where)
    old = made.add_argument_group("results that are there already")
    if command == "run":
        _add_old(old)
        _add_instead(made.add_argument_group("instead of running one study"))
    if command != "replay":
        made.add_argument("--no-report", action="store_true", help="results.nc only, without tables and figures")
        made.add_argument("--quiet", action="store_true", help="print no progress")
        made.add_argument(
            "--verbose", action="store_true", help="print every table and every reason, not the answer alone"
        )
    old.add_argument(
        "--accept-stale",
        action="store_true",
        help="use results of other settings or code as they are; the report says so",
    )
    return made


def _add_what(what: argparse._ArgumentGroup) -> None:
    """Add the options that change what is computed."""
    what.add_argument(
        "--preset", default="quick", metavar="NAME", help="size of the study: quick, paper, ... (default: quick)"
    )
    what.add_argument(
        "--replicates", type=cli_values.count(1), metavar="R", help="replicates per cell, instead of the preset's"
    )
    what.add_argument("--seed", type=cli_values.count(0), metavar="S", help="seed of the study, instead of the file's")
    what.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of every arm, or an axis: n=100,200 (several values make a setting an axis); give it "
        "again for another KEY",
    )
    what.add_argument(
        "--block", type=cli_values.count(1), metavar="B", help="replicates per shard; the numbers do not depend on it"
    )


def _add_processes(where: argparse._ArgumentGroup) -> None:
    """Add the options of a run that say which processes compute, for how long, and which part."""
    where.add_argument(
        "--jobs", type=cli_values.count(1), metavar="J", help="processes (default: one per processor, or GPU)"
    )
    where.add_argument(
        "--backend", choices=("loky", "dask"), default="loky", help="loky: this machine; dask: a cluster"
    )
    where.add_argument(
        "--scheduler", default="", metavar="ADDRESS", help="address of the dask scheduler, tcp://host:port"
    )
    where.add_argument(
        "--timeout",
        type=cli_values.seconds,
        metavar="SECONDS",
        help="what a replicate may take; then it is ended: TIMED_OUT",
    )
    where.add_argument(
        "--part", type=cli_values.part, metavar="I/K", help="compute the I-th of K parts; then use: collect"
    )


def _add_old(old: argparse._ArgumentGroup) -> None:
    """Add the options of a run that say what becomes of results that are there."""
    old.add_argument("--fresh", action="store_true", help="set every shard aside and compute everything again")
    old.add_argument("--replace-stale", action="store_true", help="set aside what is out of date and compute it again")
    old.add_argument(
        "--retry-failed",
        action="store_true",
        help="compute again, on the same data, what raised, died or timed out",
    )


def _add_instead(more: argparse._ArgumentGroup) -> None:
    """Add the options that do something else than to run a study."""
    more.add_argument("--dry-run", action="store_true", help="check the study file and print the plan; write nothing")
    more.add_argument(
        "--show", action="store_true", help="print the study file with its templates expanded; compute nothing"
    )
    more.add_argument(
        "--debug",
        action="store_true",
        help="one replicate of every cell in this process, nothing stored; the first failure stops, with traceback",
    )
    more.add_argument("--pdb", action="store_true", help="as --debug, and open the debugger at the failure")
    more.add_argument("--list", action="store_true", help="list the known studies with titles and times")
    more.add_argument("--all", action="store_true", help="run every known study in turn, the shortest rest first")
    more.add_argument(
        "--claims",
        action="store_true",
        help="every claim with its verdict or 'not run'; STUDY may then be a paper or the id of a claim, too, or, "
        "in quotes, a place: 'Theorem 1', 'SA Fig. 2b', 'Table 3' (the paper's abbreviation narrows it), or words of a "
        "source",
    )
    more.add_argument(
        "--paper",
        metavar="PAPER",
        help="alone: its theorems, tables and figures with how they stand; with --list, --all, --claims, --report: the "
        "studies of one paper",
    )
    more.add_argument(
        "--report",
        action="store_true",
        help="with --paper: the replication report, one page that goes through the paper item by item "
        "(outputs/PAPER.html, or --write FILE.html); with --write FILE.md: its items in a table, without --paper those "
        "of all papers",
    )
    more.add_argument(
        "--write",
        type=cli_values.file,
        action="append",
        default=[],
        metavar="FILE",
        help="with --claims: write them as a page (FILE.md, or FILE.html with search and filters) or as data "
        "(FILE.csv), and with --report the page (FILE.html, FILE.md); may be given again",
    )


def add_out(where: Any) -> None:
    """Add the option that says where results are."""
    where.add_argument(
        "--out",
        type=cli_values.folder,
        default=Path("outputs"),
        metavar="FOLDER",
        help="folder of all results (default: outputs)",
    )


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add the study and its preset to the parser of a subcommand."""
    parser.add_argument("study", metavar="STUDY", help="name of a study, or path of a study file")
    parser.add_argument("--preset", default="quick", metavar="NAME", help="size of the study (default: quick)")


def request(arguments: argparse.Namespace, study: str | None = None) -> Request:
    """Return what the options ask for; ``study`` replaces the study they name."""
    given = vars(arguments)
    if given.get("backend") == "dask" and not given.get("scheduler"):
        raise InputError("--backend dask needs --scheduler ADDRESS, e.g. tcp://127.0.0.1:8786")
    if given.get("scheduler") and given.get("backend") != "dask":
        raise InputError("--scheduler belongs to --backend dask")
    if given.get("backend") == "dask" and given.get("timeout") is not None:
        raise InputError("--timeout ends workers of this machine; on a dask cluster set the limits of its own jobs")
    names = ("preset", "replicates", "seed", "block", "out", "accept_stale")
    more = (
        "jobs",
        "device",
        "backend",
        "scheduler",
        "part",
        "fresh",
        "replace_stale",
        "retry_failed",
        "quiet",
        "verbose",
        "timeout",
    )
    return Request(
        study=study or arguments.study,
        settings=cli_values.settings(arguments.set),
        report=not given.get("no_report", False),
        **{name: given[name] for name in (*names, *more) if name in given},
    )

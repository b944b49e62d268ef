"""The options of the command line, the texts that teach it, and how the values of options are read."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from moestat import __version__
from moestat.errors import InputError
from moestat.runner.request import Request
from moestat.sentences import nearest

if TYPE_CHECKING:
    from rich.console import Console

ABOUT = "Run a simulation study and judge its claims. Killed at any moment, the same command goes on."
EXAMPLES = """\
examples:
  {0} regression_rate --preset paper         a study at the size of the paper
  {0} check "SA Fig. 1"                      does a figure stand? a short answer
  {0} rates errors.csv --within -0.6 -0.4    slopes of one's own errors: near -1/2?
exit codes: 0 done, 1 stopped or replicates lost, 2 wrong input, 3 stale, 130 interrupted
"""
WIDTH = 100
"""Columns of what has no terminal."""

# -- how values are read: each complaint says what was given and what is allowed ---------------------------------------


def _read(kind: Callable[[str], Any], allowed: str) -> Callable[[str], Any]:
    """Return a reader of values; whether a number is too small is told where Python's callers are told, too."""

    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"it is {text[:60]!r}; allowed is {allowed}") from None

    return read


def _path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError
    return Path(text).expanduser()


def _part(text: str) -> tuple[int, int]:
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal() and len(text) < 20 and 1 <= int(first) <= int(second)):
        raise ValueError
    return int(first), int(second)


def _half_width(text: str) -> float:
    name, equals, value = text.partition("=")
    if name.strip() != "half_width" or not equals:
        raise ValueError
    return float(value)


def settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read ``KEY=VALUE``: the value as in a study file, several numbers as a list, or as plain text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip().isidentifier():
            raise InputError(f"--set is {pair[:60]!r}; allowed is KEY=VALUE, e.g. --set d=4")
        found[key.strip()] = _value(text)
    return found


def _value(text: str) -> Any:
    for form in ("{}", "[{}]") if "\n" not in text else ():
        try:
            value = tomllib.loads(f"value = {form.format(text)}")["value"]
        except (ValueError, RecursionError):
            continue
        if form == "{}" or ("," in text and all(isinstance(one, bool | int | float) for one in value)):
            return value
    return text


# -- the options ------------------------------------------------------------------------------------------------------

_WHOLE = _read(int, "a whole number")
_PATH = _read(_path, "a path")
_NUMBER = _read(float, "a number")
_TWO: dict[str, Any] = {"nargs": 2, "type": _NUMBER, "metavar": ("LOW", "HIGH")}
_YES: dict[str, Any] = {"action": "store_true"}
_AGAIN: dict[str, Any] = {"action": "append", "default": []}
_FOLDER: dict[str, Any] = {"type": _PATH, "default": Path("outputs"), "metavar": "FOLDER"}
OPTIONS: dict[str, dict[str, Any]] = {
    "study": {"metavar": "STUDY", "help": "name of a study, or path of a study file"},
    "studies": {"metavar": "STUDY", "nargs": "+", "help": "one study or more, by name"},
    "place": {"metavar": "PLACE", "nargs": "+", "help": "arm, value on each axis, replicate"},
    "claim": {"metavar": "ID", "help": "a claim, STUDY:ID, or where the paper says it: 'SA Theorem 1'"},
    "item": {"metavar": "ITEM", "nargs": "+", "help": "'SA Fig. 1', 'MoT thm 1'; of a paper alone: its items"},
    "name": {"metavar": "NAME", "help": "of the new study"},
    "experiment": {"metavar": "EXPERIMENT", "nargs": "?", "help": "name, or import path; without one, all names"},
    "folders": {"metavar": "FOLDER", "nargs": "+", "type": _PATH, "help": "OUTPUTS/STUDY/PRESET, two or more"},
    "--preset": {"default": "quick", "metavar": "NAME", "help": "size of the study (default: quick)"},
    "--out": {**_FOLDER, "help": "folder of all results (default: outputs)"},
    "--replicates": {"type": _WHOLE, "metavar": "R", "help": "of each cell; more that are there stay, uncollected"},
    "--set": {**_AGAIN, "metavar": "KEY=VALUE", "help": "a setting, or an axis: n=100,200; may be repeated"},
    "--jobs": {"type": _WHOLE, "metavar": "J", "help": "processes (default: one per processor, or GPU)"},
    "--dry-run": {**_YES, "help": "check the study and print the plan; write nothing"},
    "--debug": {**_YES, "help": "one replicate of each cell; stop at the first failure"},
    "--list": {**_YES, "help": "the known studies, with titles and times"},
    "--all": {**_YES, "help": "run every known study; with --claims: every row"},
    "--claims": {**_YES, "help": "verdicts counted; of a study, paper, place, id, edited: a row each"},
    "--paper": {
        "nargs": "?",
        "const": "",
        "metavar": "NAME",
        "help": "items of a paper; with --list, --all, --claims: its own",
    },
    "--write": {**_AGAIN, "type": _PATH, "metavar": "FILE", "help": ".html or .csv of --claims, .md of --paper"},
    "--seed": {"type": _WHOLE, "metavar": "S", "help": "random seed, instead of the study's"},
    "--block": {"type": _WHOLE, "metavar": "B", "help": "replicates per shard; no number depends on it"},
    "--device": {"choices": ("auto", "cpu", "cuda"), "default": "auto", "help": "what computes (default: auto)"},
    "--backend": {"choices": ("processes", "dask"), "default": "processes", "help": "this machine, or a cluster"},
    "--scheduler": {"default": "", "metavar": "ADDRESS", "help": "dask at tcp://host:port (default: a cluster here)"},
    "--timeout": {"type": _read(float, "seconds above 0"), "metavar": "SECONDS", "help": "end a slower replicate"},
    "--until": {
        "type": _read(_half_width, "half_width=H, e.g. half_width=0.05"),
        "metavar": "half_width=H",
        "help": "add replicates until slopes have it",
    },
    "--part": {
        "type": _read(_part, "I/K with 1 <= I <= K, e.g. 3/20"),
        "metavar": "I/K",
        "help": "the I-th of K parts; then use: collect",
    },
    "--fresh": {**_YES, "help": "set everything aside and compute it again"},
    "--replace-stale": {**_YES, "help": "set aside what is out of date, compute that again"},
    "--retry-failed": {**_YES, "help": "compute again, on the same data, what raised or died"},
    "--no-report": {"dest": "report", "action": "store_false", "help": "results.nc alone"},
    "--quiet": {**_YES, "help": "no progress"},
    "--json": {**_YES, "help": "as JSON, a row for each cell"},
    "--verbose": {**_YES, "help": "every table and every reason"},
    "--variable": {**_AGAIN, "metavar": "NAME", "help": "only this loss; may be repeated"},
    "--certify": {**_YES, "help": "write date, commit and outcome into the record"},
    "--to": {**_FOLDER, "help": "outputs folder of the records"},
    "--whole": {"type": _PATH, "metavar": "FOLDER", "help": "package to which the whole results are added"},
    "--from": {
        "dest": "package",
        "required": True,
        "metavar": "PACKAGE",
        "help": "a folder, the address of one, or doi:DOI",
    },
    "--replace": {**_YES, "help": "a record with other numbers may be replaced"},
    "errors": {"metavar": "FILE.csv", "type": _PATH, "help": "a row for each run, or a column for each replicate"},
    "--over": {"default": "n", "metavar": "COLUMN", "help": "column of the sizes (default: n), or sizes: 100,1000"},
    "--theory": {**_AGAIN, "metavar": "SLOPE", "help": "slope of a theory, or ARM=SLOPE; may be repeated"},
    "--loss": {"default": "", "metavar": "COLUMN", "help": "column of the errors (default: each of numbers)"},
    "--replicate": {
        "default": "replicate",
        "metavar": "COLUMN",
        "help": "column of the replicates (default: replicate, else rep, run or seed)",
    },
    "--window": {**_TWO, "help": "the least and the largest size that are used"},
    "--arm": {**_AGAIN, "metavar": "NAME", "help": "judge only this row; may be repeated"},
    "--at-most": {"type": _NUMBER, "metavar": "SLOPE", "help": "judge: the slope is at most this"},
    "--at-least": {"type": _NUMBER, "metavar": "SLOPE", "help": "judge: the slope is at least this"},
    "--within": {**_TWO, "help": "judge: the slope is in between, e.g. -0.6 -0.4"},
    "--bent": {
        "choices": ("told", "inconclusive"),
        "default": "told",
        "help": "a bend is told, or stops a verdict (default: told)",
    },
    "--laws": {**_YES, "help": "compare laws: a power, a logarithm, a floor"},
    "--half-width": {"type": _NUMBER, "metavar": "H", "help": "how many replicates give slopes within H"},
    "--tex": {"type": _PATH, "metavar": "FILE.tex", "help": "write the table for LaTeX"},
    "--plot": {"type": _PATH, "metavar": "FILE.pdf", "help": "write the figure: .pdf, .png, .svg"},
}
RUN = {
    "what most users need": "--preset --out --replicates --set --jobs --dry-run --debug",
    "instead of running one study": "--list --all --claims --paper --write",
    "what is computed, and where": "--seed --until --block --device --backend --scheduler --timeout --part",
    "results that are there already": "--fresh --replace-stale --retry-failed",
    "what is said": "--no-report --quiet --verbose",
}
_LOOK = "study --preset --out --replicates --set --seed --block"
_SAID = "--no-report --quiet --verbose"
VERBS = {
    "run": ("run a study, or go on with it; the word may be left out", ""),
    "status": ("what is done, missing, failed, not converged, stale, and how to go on", f"{_LOOK} --json"),
    "report": ("tables, figures and report.html again; nothing is computed", f"{_LOOK} {_SAID}"),
    "replay": ("one replicate again, compared with the stored one", "study --preset --out --set --seed place --device"),
    "claim": ("one claim: statement, rule, interval, verdict, run", "claim --out"),
    "check": ("whether a theorem, figure or table of a paper stands", "item --out --verbose"),
    "new": ("write a commented study file that runs, to begin from", "name"),
    "settings": ("the settings of an experiment, and its variables", "experiment --verbose"),
    "export": (
        "results as a CSV table, a row for each replicate and loss",
        "study --preset --out --write --variable",
    ),
    "verify": (
        "a sample of a record's replicates again, compared",
        "studies --preset --out --replicates --seed --device --certify",
    ),
    "rates": (
        "slopes of any errors in a CSV file: judged, LaTeX, a figure",
        "errors --over --theory --loss --replicate --window --arm --at-most --at-least --within --bent --laws"
        " --half-width --tex --plot",
    ),
    "collect": ("gather what was computed in parts, and report", f"{_LOOK} {_SAID}"),
    "merge": ("join runs that were computed apart, and report", "study folders --out --no-report"),
    "ship": ("make the record of a complete run, for version control", "studies --preset --out --to --replace --whole"),
    "fetch": ("the whole results of a record, every bit, from a package", "studies --preset --out --from"),
}
"""Each verb: what it does, and the options that it takes; those of ``run`` are in groups."""
OWN = {
    "verify --replicates": "how many of the record's replicates (default: 3)",
    "verify --seed": "seed of the sample (default: 0)",
    "export --write": "the CSV file (default: losses.csv beside the results)",
    "settings --verbose": "types too, and variables in words",
    "check --verbose": "nothing is cut",
}
"""Helps of options that are something else to a verb."""

SHORT = {"--quiet": "-q", "--verbose": "-v"}
SHOWN = {
    "options of a run": "--preset --out --replicates --set --dry-run --verbose",
    "instead of a run": RUN["instead of running one study"],
}
"""What the help of the whole command line shows of the options."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_formatter, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as a sentence, with the option that may have been meant."""
        if message.startswith("unrecognized arguments: "):
            word = message.removeprefix("unrecognized arguments: ").split(" ")[0]
            known = [option.lstrip("-") for action in self._actions for option in action.option_strings]
            hint = nearest(word.lstrip("-"), known).replace("mean '", "mean '--")
            message = f"unknown argument {word!r}{hint}"
        raise InputError(f"{message}{'' if message.endswith('?') else '.'} See: {self.prog} --help")


class Overview(Parser):
    """The parser of the whole command line, whose help is one screen."""

    def format_help(self) -> str:
        """Return the verbs, the options that most users need, and examples."""
        rows = [f"  {verb:16} {about}" for verb, (about, _) in VERBS.items()]
        rows.insert([*VERBS].index("collect"), "for those who keep records, or compute in parts:")
        lines = [f"usage: {self.usage}", ABOUT, f"verbs ({self.prog} VERB --help has every option):", *rows]
        for title, names in SHOWN.items():
            lines.append(f"\n{title}:")
            for name in names.split():
                named = ", ".join([SHORT[name], name] if name in SHORT else [name])
                lines.append(f"  {named + ' ' + str(OPTIONS[name].get('metavar', '')):16} {OPTIONS[name]['help']}")
        return "\n".join([*lines, "", EXAMPLES.format(self.prog)])


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, width=WIDTH - 2, max_help_position=26)


def called() -> str:
    """Return what the user typed to come here: ``moestat``, or the module where that is not on the path."""
    return "moestat" if Path(sys.argv[0]).stem == "moestat" else "python -m moestat.study"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return what the words of a command line ask for; its ``verb`` is ``run`` where none is given."""
    if words and words[0] in ("-h", "--help", "--version"):
        return parser().parse_args(words)
    verb, words = (words[0], words[1:]) if words and words[0] in VERBS else ("run", words)
    prog, usage = (
        called() + f" {verb}" * (verb != "run"),
        f"{called()} [run] STUDY [options]" if verb == "run" else None,
    )
    made = Parser(prog=prog, usage=usage, description=ABOUT if verb == "run" else VERBS[verb][0])
    _add(made, verb)
    return made.parse_args(words, argparse.Namespace(verb=verb))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line, with every verb: for its help, and for completion."""
    name = called()
    made = Overview(prog=name, usage=f"{name} STUDY [options], or {name} VERB ...", description=ABOUT)
    made.add_argument("--version", action="version", version=f"moestat {__version__}")
    for title in list(RUN)[:2]:
        _group(made, title)
    verbs = made.add_subparsers(metavar="VERB", parser_class=Parser)
    for verb, (about, _) in VERBS.items():
        _add(verbs.add_parser(verb, help=about, description=about), verb)
    return made


def _add(made: argparse.ArgumentParser, verb: str) -> None:
    if verb == "run":
        made.add_argument("study", nargs="?", **OPTIONS["study"])
        for title in RUN:
            _group(made, title)
    for name in VERBS[verb][1].split():
        option = OPTIONS[name] | ({"help": OWN[own]} if (own := f"{verb} {name}") in OWN else {})
        made.add_argument(*filter(None, [SHORT.get(name), name]), **option)


def _group(made: argparse.ArgumentParser, title: str) -> None:
    group = made.add_argument_group(title)
    for name in RUN[title].split():
        group.add_argument(*filter(None, [SHORT.get(name), name]), **OPTIONS[name])


def console() -> Console:
    """Return what prints tables: as wide as the terminal, or 100 columns where there is none."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH)


def request(arguments: argparse.Namespace, study: str | None = None) -> Request:
    """Return what the options ask for; ``study`` replaces the study they name."""
    given = {**vars(arguments), "study": study or arguments.study, "settings": settings(arguments.set)}
    dask = given.get("backend") == "dask"
    if given.get("scheduler") and not dask:
        raise InputError("--scheduler belongs to --backend dask")
    if dask and given["timeout"] is not None:
        raise InputError("--timeout ends workers of this machine; on a dask cluster set the limits of its own jobs")
    known = {field.name for field in dataclasses.fields(Request)}
    return Request(**{name: value for name, value in given.items() if name in known})

"""The ledger as a page of the documentation: every claim with its verdict, and the run that decided it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import pandas as pd

from moestat.claims.sealed import count_written, written
from moestat.claims.verdicts import VERDICTS
from moestat.report import headline, views
from moestat.report.exponents import markdown
from moestat.rounding import estimate, number
from moestat.sentences import counted

COMMAND = "python -m moestat.study --claims --write docs/ledger.md --write docs/_static/ledger.html"
_LOCAL = ("--out", "--jobs", "--backend", "--scheduler")
_FLAGS = ("--no-report", "--quiet", "--fresh", "--replace-stale", "--retry-failed")
_HEAD = f"""\
# The claims ledger

<!-- made by `{COMMAND}`; do not edit -->

Every claim of the papers that a study of moestat judges: what the paper says, what the simulation finds, and the
verdict by the rule of the study file. A verdict is *supported* when the whole interval lies
inside the region of the rule, *not supported* when it lies outside, and *inconclusive* otherwise, or when something
stands in the way of an honest answer (a failed replicate, say). A statement about every case has *no counterexample*
or is *refuted*. A run that is not the paper's own problem says so: *not shown at reduced scale* is no verdict about
the paper's size. *Says* tells whose statement it is (stated or implied by the paper, or ours), and what it means for
the paper if it is supported (for, against, neutral). Of the runs of a study the one nearest to the paper's own problem
counts; each table names the run behind it. Behind each statement stands the id of its claim: one claim with its rule,
interval and runs is printed by `python -m moestat.study claim ID`, all those on a theorem or a figure by
`python -m moestat.study --claims "SA Theorem 1"`, and <a href="_static/ledger.html">one page</a> holds
all of them with search, filters and drawings. Both pages are made from the outputs folder, never typed:

```bash
{COMMAND}
```
"""


def page(table: pd.DataFrame) -> str:
    """Return the ledger as a Markdown page.

    Parameters
    ----------
    table : DataFrame
        From :func:`moestat.report.ledger.ledger`.

    Returns
    -------
    str
        A table of verdicts per paper, between the comments ``summary`` and ``/summary``; then one table of claims per
        run (study and preset), under a sentence with its preset, date, version, fingerprint of the code, seed and
        command; the id of a claim stands as code behind its statement. It depends on the table alone: the same outputs
        give the same page.
    """
    parts = [_HEAD, rules_of(table.to_dict("records")), "<!-- summary -->", _summary(table), "<!-- /summary -->"]
    for paper in sorted(set(table["paper"])):
        parts.append(f"## {markdown(paper)}")
        mine = table[table["paper"] == paper]
        for name in dict.fromkeys(mine["study"]):
            rows = mine[mine["study"] == name].to_dict("records")
            parts.append(f"### {markdown(rows[0]['title'])}")
            for ran, group in groupby(sorted(rows, key=_run, reverse=True), key=_run):
                parts += [_provenance(name, dict(zip(_RUN, ran, strict=True))), _claims(group)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def rules_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Say when the rules of the verdicts were written, and how many of the sealed say what was settled in hindsight."""
    judged = [row for row in rows if row["verdict"] in VERDICTS]
    if not judged:
        return "No claim has been judged yet."
    told = f"{counted(len(judged), 'verdict')}{views.of_rules(count_written(judged))}."
    seen = sum(bool(row["hindsight"]) and written(row) == "sealed" for row in judged)
    return f"{told} Of the sealed, {seen} say what was settled in hindsight." if seen else told


_RUN = ("date", "preset", "version", "code", "seed", "command")


def _run(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in _RUN)


def _summary(table: pd.DataFrame) -> str:
    """Count the statements of every paper by bearing and scale, variants of one statement once."""
    counts = headline.headline(table)
    heads = ["paper", "bearing", "scale", "statements", *headline.WORDS]
    lines = [_row(heads), _row([*["---"] * 3, *["---:"] * (len(heads) - 3)])]
    lines += [
        _row([markdown(row["paper"]), *(str(row[head]) for head in heads[1:])]) for row in counts.to_dict("records")
    ]
    return "\n".join(lines)


def _provenance(study: str, run: Mapping[str, str]) -> str:
    command = portable(run["command"])
    if not run["date"]:
        return f"Study `{study}`, **not run**. To run it: `{command}`"
    details = [f"preset `{run['preset']}`", f"run on {run['date']}"]
    details += [f"moestat {run['version']}"] if run["version"] else []
    details += [f"code `{run['code']}`"] if run["code"] else []
    details += [f"seed {run['seed']}"] if run["seed"] else []
    return f"Study `{study}`, {', '.join(details)}: `{command}`"


def portable(command: str) -> str:
    """Return a command without the options that belong to one machine or one call: folders, processes, addresses.

    >>> portable("python -m moestat.study toy --preset paper --out /scratch/me --jobs 4 --no-report --set d=4")
    'python -m moestat.study toy --preset paper --set d=4'
    """
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word in _LOCAL:
            next(words, None)
        elif word not in _FLAGS:
            kept.append(word)
    return shlex.join(kept)


def _claims(rows: Iterable[Mapping[str, Any]]) -> str:
    lines = [_row(["claim", "source", "says", "predicted", "estimate", "verdict"]), _row(["---"] * 6)]
    for row in rows:
        value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
        interval = "" if row["ci_low"] == row["ci_high"] else interval
        verdict = f"**{markdown(row['wording'])}**" + (f": {markdown(row['why'])}" if row["why"] else "")
        shown = f"{value} {interval}".strip()
        cells = (row["source"], views.says(row), number(row["predicted"]), shown)
        lines.append(_row([f"{markdown(row['statement'])} `{row['claim']}`", *map(markdown, cells), verdict]))
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"

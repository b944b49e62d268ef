"""One claim, looked up: who says it, the rule, the interval drawn on it, the runs, and the command that decides it.

Several, where a theorem or a figure was asked for, are listed with their ids.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moestat.claims.verdicts import written
from moestat.claims.wording import in_words
from moestat.report import ledger, stored_runs, views
from moestat.report.interval_text import draw
from moestat.report.meaning import of_run, says
from moestat.report.span import printed
from moestat.rounding import estimate, number
from moestat.runner import records
from moestat.sentences import counted
from moestat.study import presets
from moestat.study.spec import Claim, Study

WIDTH = 80
HEAD = 12
BY = {
    "sealed": "",
    "edited": " (by a rule that was changed after the run)",
    "added": " (the claim was added after the run)",
}


def card(out_root: Path, name: str, study: Study, claim: Claim) -> str:
    """Return all that is known of a claim as text of 80 columns.

    Parameters
    ----------
    out_root : Path
        The outputs folder; it need not exist.
    name : str
        The study as the command line names it.
    """
    row = ledger.ledger(out_root, {name: study.model_copy(update={"claims": [claim]})}).to_dict("records")[0]
    value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
    interval = "" if row["ci_low"] == row["ci_high"] else f", {100 * claim.level:.4g} % interval {interval}"
    lines = [f"{claim.id}  ({name}, {study.paper})", ""]
    lines += _entry("statement", claim.statement)
    lines += _entry("source", claim.source)
    lines += _entry("whose", says(claim.origin, claim.bearing, claim.because, study.paper))
    lines += _entry("group", f"counts once with the group {claim.group}" if claim.group else "")
    lines += _entry("rule", in_words(claim))
    lines += _entry("predicted", number(claim.predicted) + (" (printed in the paper)" if claim.printed else ""))
    lines += _entry("scale", of_run(row["scale"], study.paper))
    lines += _entry("estimate", f"{value}{interval}" if value else "none")
    drawing = draw(row["ci_low"], row["ci_high"], row["estimate"], claim.region, printed(claim.predicted), WIDTH)
    lines += ["", *drawing, ""] if drawing else []
    lines += _entry("verdict", views.marked(row) + BY[written(row)])
    lines += _entry("why", row["why"])
    lines += _entry("run", _run(out_root, name, row))
    for other in _others(out_root, name, study, claim, row):
        lines += _entry("also run", other)
    return "\n".join([*lines, "", *_decides(out_root, name, study, claim, row)])


def listing(out_root: Path, word: str, studies: Mapping[str, Study]) -> list[str]:
    """Return claims as lines of 80 columns: under paper and study the id and the verdict, and then the statement.

    Parameters
    ----------
    out_root : Path
        The outputs folder; it need not exist.
    word : str
        What was asked for.
    studies : mapping of str to Study
        The claims, in the studies that state them.
    """
    rows = ledger.ledger(out_root, studies).to_dict("records")
    lines = [f"{counted(len(rows), 'claim')} on {word!r}"]
    for name in sorted(studies, key=lambda name: studies[name].paper):
        lines += ["", f"{studies[name].paper}: {name}"]
        for row in (row for row in rows if row["study"] == name):
            lines.append(f"  {row['claim']}  [{views.marked(row)}]")
            lines += _wrapped(row["statement"], " " * 6, " " * 6)
    return [*lines, "", *views.notes_on(rows)]


def _entry(head: str, text: str) -> list[str]:
    """Return a named paragraph; a command in it is not broken at its hyphens."""
    if not text:
        return []
    return _wrapped(text, head.ljust(HEAD), " " * HEAD)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


def _run(out_root: Path, name: str, row: Mapping[str, Any]) -> str:
    if not row["date"] and row["verdict"] == ledger.NOT_RUN:
        return f"none in {out_root}" + (" that is of today's study file and rules" if row["why"] else "")
    folder = records.results_folder(out_root, stored_runs.folder_of(name), row["preset"])
    return f"{folder} (preset {row['preset']}, {row['date']}, moestat {row['version']})"


def _others(out_root: Path, name: str, study: Study, claim: Claim, row: Mapping[str, Any]) -> list[str]:
    """Say the verdicts of the other presets that were run."""
    alone = study.model_copy(update={"claims": [claim]})
    texts = []
    for preset in study.presets:
        other = ledger.ledger(out_root, {name: alone}, first=preset).to_dict("records")[0]
        if preset != row["preset"] and other["preset"] == preset and other["verdict"] != ledger.NOT_RUN:
            texts.append(f"preset {preset}, {other['date']}: {views.marked(other)}")
    return texts


def _decides(out_root: Path, name: str, study: Study, claim: Claim, row: Mapping[str, Any]) -> list[str]:
    """Name the cheapest preset that decides the claim, what it takes, and its command."""
    best = presets.decisive(study, claim)
    if not best:
        return ["No preset of the study judges it."]
    preset = study.presets[best]
    said = row["verdict"] != ledger.NOT_RUN and presets.strongest_first(study, claim, [best, row["preset"]])[0]
    done = said == row["preset"]
    cost = f", {preset.expected}" if preset.expected else ""
    head = f"Decided by preset {best}{cost}" + (", as it was or by more than it; again:" if done else ":")
    return [*textwrap.wrap(head, WIDTH), f"  {stored_runs.command(name, best, out_root)}"]

"""The ledger: every claim of every study, with the verdict of the run that decides it, or 'not run'; and one claim.

It is read from what the runs left behind (``claims.csv`` and ``manifest.json`` of each preset), never typed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from moestat.claims.verdicts import COLUMNS, count_written, written
from moestat.claims.wording import in_words, rule, tally
from moestat.report import render, views
from moestat.report.stored_runs import OUTPUTS, Run, command, folder_of, runs_and_records
from moestat.rounding import number
from moestat.runner import records
from moestat.sentences import listed
from moestat.study import presets
from moestat.study.seal import rule_digest
from moestat.study.spec import Claim, Study

NOT_RUN = "not run"
ABOUT = ("study", "title", "paper", "because", "hindsight", "low", "high", "region")
RUN = ("preset", "command", "date", "version", "code", "seed")
LEDGER_COLUMNS = (*ABOUT, *COLUMNS, *RUN, "decides", "decides_with")


def ledger(out_root: Path | str, studies: Mapping[str, Study], *, first: str = "") -> pd.DataFrame:
    """Return every claim of every study, one a row, with the verdict that decides it; without one it is 'not run'.

    The run of the preset ``first`` counts where it has judged a claim. Otherwise that counts which says most about the
    claim; but a run that could not decide it, with fewer replicates than a verdict needs or without an interval, never
    takes the place of one that did. A claim that differs from the one that was judged is not run; so are all claims
    where the run is of other settings than the study states; why says so.
    """
    out_root = Path(out_root)
    by_study: dict[str, list[Run]] = {}
    for run in runs_and_records(out_root):
        by_study.setdefault(run.study, []).append(run)
    rows = []
    for name, study in studies.items():
        ran = by_study.get(folder_of(name), [])
        foreign = {run.preset: _foreign(name, study, run, out_root) for run in ran}
        for claim in study.claims:
            rows.append(_about(name, study, claim) | _row(name, study, claim, ran, foreign, first, out_root))
    return pd.DataFrame(rows, columns=list(LEDGER_COLUMNS))


def _about(name: str, study: Study, claim: Claim) -> dict[str, Any]:
    told = ("source", "origin", "because", "hindsight", "bearing", "statement", "predicted")
    says = {key: getattr(claim, key) for key in told}
    says |= {"claim": claim.id, "group": claim.group or f"{name}/{claim.id}", "region": rule(claim)}
    best = presets.decisive(study, claim) or "quick"
    says |= {"study": name, "title": study.title, "paper": study.paper, "decides": best}
    return says | {"low": claim.region[0], "high": claim.region[1], "decides_with": command(name, best)}


def _row(
    name: str, study: Study, claim: Claim, ran: Iterable[Run], foreign: Mapping[str, str], first: str, out: Path
) -> dict[str, Any]:
    """Return what the run says that counts, or that there is none; ``foreign`` has why a preset's run does not."""
    by_preset = {run.preset: run for run in ran}
    order = presets.strongest_first(study, claim, by_preset)
    why = ""
    spare: dict[str, Any] | None = None
    for preset in sorted(order, key=lambda preset: preset != first):
        run = by_preset[preset]
        row = next((r for r in run.claims or [] if r["claim"] == claim.id), None)
        if row is None:
            continue
        problem = foreign[preset] or _outdated(name, study, claim, run, row, out)
        if not problem:
            judged = _judged(run, row)
            if preset == first:
                return judged
            if not _undecidable(judged):  # what is weaker than it says less than it, also where it is inconclusive
                return judged if spare is None or judged["verdict"] != "inconclusive" else spare
            spare = spare or judged
        why = why or problem
    if spare is not None:
        return spare
    best = presets.decisive(study, claim) or "quick"
    empty: dict[str, Any] = dict.fromkeys(("estimate", "ci_low", "ci_high"), math.nan)
    empty |= {"preset": best, "command": command(name, best), "date": "", "version": "", "code": "", "seed": ""}
    empty |= {"scale": study.scale_of(best, claim), "rule": rule_digest(study, best, claim), "reason": "", "sealed": ""}
    return empty | {"verdict": NOT_RUN, "wording": NOT_RUN, "why": why}


def _undecidable(row: Mapping[str, Any]) -> bool:
    """Return whether a run could not have decided a claim, whatever it had found."""
    known = math.isfinite(row["ci_low"]) or math.isfinite(row["ci_high"])
    return row["verdict"] == "inconclusive" and (not known or row["reason"] == "too few")


def _judged(run: Run, row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of ``claims.csv`` with its numbers as numbers, and the run that it is of."""
    kept = {key: row[key] for key in ("scale", "verdict", "wording", "reason", "why", "rule", "sealed")}
    numbers = {key: _float(row[key]) for key in ("estimate", "ci_low", "ci_high")}
    return kept | numbers | run.about


def _foreign(name: str, study: Study, run: Run, out: Path = OUTPUTS) -> str:
    """Say what a run is of that the study file is not; an empty text where it is of the same problem."""
    if run.claims is None or run.preset not in study.presets:
        return ""
    differing = records.differing(run.problem, study, run.preset)
    if not differing:
        return ""
    return (
        f"The run on {run.about['date']} ({run.preset}) is of {listed(differing)} than the study file now states, so "
        f"its verdict is not shown; run it again: {command(name, run.preset, out)}"
    )


def _outdated(name: str, study: Study, claim: Claim, run: Run, row: Mapping[str, str], out: Path = OUTPUTS) -> str:
    """Say what was changed since a claim was judged; an empty text for nothing."""
    now = (claim.source, claim.statement, str(claim.predicted), study.scale_of(run.preset, claim))
    if tuple(row[key] for key in ("source", "statement", "predicted", "scale")) != now:
        return f"The claim has been changed since it was judged in preset {run.preset} ({run.about['date']})."
    if row["rule"] != rule_digest(study, run.preset, claim):
        return (
            f"The rule was changed after the run on {run.about['date']} ({run.preset}); by the rule before the verdict "
            f"was: {row['wording']}. For the verdict by the new rule: {command(name, run.preset, out, verb='report')}"
        )
    return ""


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # an empty field: there is no number
        return math.nan


# --- the terminal ----------------------------------------------------------------------------------------------------


def title(table: pd.DataFrame) -> str:
    """Return how many claims there are, and how they stand."""
    counts = tally(table["verdict"], table["scale"]) | {NOT_RUN: int((table["verdict"] == NOT_RUN).sum())}
    return f"{len(table)} claims: {views.in_words(counts)}{views.of_rules(count_written(table.to_dict('records')))}"


def rich(table: pd.DataFrame) -> RenderableType:
    """Return the ledger for the terminal, one group of rows per paper and study, with the run in its heading."""
    groups, kept = [], table.to_dict("records")
    for row in kept:
        run = f" ({row['preset']}, {row['date']}, moestat {row['version']})" if row["date"] else ""
        groups.append(f"{row['paper']}: {row['study']}{run}")
    shown = views.claims(table, title=title(table), groups=groups, notes=_not_shown(kept))
    return render.rich(shown, spare=("statement", "says", "predicted"))


def _not_shown(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say why runs that are there do not count, each reason once, with the claims that it holds for."""
    claims: dict[str, list[str]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        claims.setdefault(row["study"], []).append(row["claim"])
        if row["verdict"] == NOT_RUN and row["why"]:
            reasons.setdefault((row["study"], row["why"]), []).append(row["claim"])
    return [
        f"{study}{'' if names == claims[study] else f' ({listed(names, 3)})'}: {why}"
        for (study, why), names in reasons.items()
    ]


# --- one claim -------------------------------------------------------------------------------------------------------


def card(out_root: Path, name: str, study: Study, claim: Claim) -> tuple[RenderableType, str]:
    """Return all that is known of a claim (rule, interval, runs), and the command that decides it."""
    alone = {name: study.model_copy(update={"claims": [claim]})}
    row = ledger(out_root, alone).to_dict("records")[0]
    group = f"counts once with the group {claim.group}" if claim.group else ""
    when, estimate = views.RULES[written(row)], views.estimated(row)
    told = {
        "statement": claim.statement,
        "source": claim.source,
        "says": "; ".join(filter(None, [views.says(row), claim.because, group])),
        "rule": in_words(claim),
        "predicted": number(claim.predicted) + (" (printed in the paper)" if claim.printed else ""),
        "scale": views.scale_of(row["scale"], study.paper),
        "estimate": f"{estimate} ({100 * claim.level:.4g} % interval)" if estimate else "none",
        "verdict": row["wording"] + (f" (rule: {when})" if when else ""),
        "why": row["why"],
        "run": _run(out_root, name, row),
    }
    grid = Table.grid(padding=(0, 2))
    for head, text in told.items():
        if text:
            grid.add_row(head, Text(text, overflow="fold"))
    for preset in study.presets:
        other = ledger(out_root, alone, first=preset).to_dict("records")[0]
        if preset != row["preset"] and other["preset"] == preset and other["verdict"] != NOT_RUN:
            grid.add_row("also run", f"preset {preset}, {other['date']}: {other['wording']}")
    best = presets.decisive(study, claim)
    decided = "No preset of the study judges it."
    if best:
        cost = f", {study.presets[best].expected}" if study.presets[best].expected else ""
        decided = f"Decided by preset {best}{cost}:\n  {command(name, best, out_root)}"
    return Group(Text(f"{claim.id}  ({name}, {study.paper})\n"), grid), decided


def _run(out_root: Path, name: str, row: Mapping[str, Any]) -> str:
    if not row["date"] and row["verdict"] == NOT_RUN:
        return f"none in {out_root}" + (" that is of today's study file and rules" if row["why"] else "")
    folder = records.results_folder(out_root, folder_of(name), row["preset"])
    return f"{folder} (preset {row['preset']}, {row['date']}, moestat {row['version']})"

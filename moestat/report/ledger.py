"""The ledger: every claim of every study, with the verdict of the run that decides it, or 'not run'.

It is read from what the runs left behind (``claims.csv`` and ``manifest.json`` of each preset), never typed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import RenderableType

from moestat.claims import verdicts
from moestat.claims.verdicts import COLUMNS, count_written
from moestat.claims.wording import rule, tally
from moestat.report import render, views
from moestat.report.stored_runs import OUTPUTS, Run, command, folder_of, read_claims, runs_and_records
from moestat.rounding import estimate, number
from moestat.runner import belongs, manifest_file
from moestat.sentences import listed
from moestat.study import presets
from moestat.study.load import StudyFile
from moestat.study.seal import rule_digest
from moestat.study.spec import Claim, Study

NOT_RUN = "not run"
ABOUT = ("study", "title", "paper", "because", "hindsight", "low", "high", "region")
RUN = ("preset", "command", "date", "version", "code", "seed")
LEDGER_COLUMNS = (*ABOUT, *COLUMNS, *RUN, "decides", "decides_with")


def ledger(out_root: Path | str, studies: Mapping[str, Study], *, first: str = "") -> pd.DataFrame:
    """Return every claim of every study with the verdict that decides it.

    Parameters
    ----------
    out_root : path
        The outputs folder; it need not exist.
    studies : mapping of str to Study
        The studies by name, or by the path of a study file.
    first : str, optional
        The preset whose run counts where it has judged a claim. Otherwise that counts which says most about the claim
        (:func:`moestat.study.presets.strongest_first`); but a run that could not decide it, with fewer replicates than
        a verdict needs or without an interval, never takes the place of one that did.

    Returns
    -------
    DataFrame
        One row per claim. study, title, paper, because and hindsight are those of the study file; low, high and region
        are the rule; then come the columns of claims.csv; preset, command, date, version, code (the version of what
        computed) and seed are of the run, and decides and decides_with the cheapest preset that decides the claim, and
        its command. The verdict of a claim without a run is 'not run'; so is that of a claim that differs from the one
        that was judged, and of all claims where the run is of other settings than the study file; why says so.
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
            judged = judged_by(run, row)
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


def is_current(study_file: StudyFile, preset: str, folder: Path) -> bool:
    """Return whether the claims in a folder are those of the study file, judged by its rules."""
    study, name = study_file.study, study_file.name
    run = Run(name, preset, folder, read_claims(folder / "claims.csv"), manifest_file.cached(folder))
    rows = {row["claim"]: row for row in run.claims or []}
    claims = verdicts.judged(study, preset)
    if _foreign(name, study, run):
        return False
    return all(claim.id in rows and not _outdated(name, study, claim, run, rows[claim.id]) for claim in claims)


def judged_by(run: Run, row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of ``claims.csv`` with its numbers as numbers, and the run that it is of."""
    kept = {key: row[key] for key in ("scale", "verdict", "wording", "reason", "why", "rule", "sealed")}
    numbers = {key: _float(row[key]) for key in ("estimate", "ci_low", "ci_high")}
    return kept | numbers | {key: getattr(run, key) for key in RUN}


def _foreign(name: str, study: Study, run: Run, out: Path = OUTPUTS) -> str:
    """Say what a run is of that the study file is not; an empty text where it is of the same problem."""
    if run.claims is None or run.preset not in study.presets:
        return ""
    differing = belongs.differing(run.problem, study, run.preset)
    if not differing:
        return ""
    return (
        f"The run on {run.date} ({run.preset}) is of {listed(differing)} than the study file now states, so its "
        f"verdict is not shown; run it again: {command(name, run.preset, out)}"
    )


def _outdated(name: str, study: Study, claim: Claim, run: Run, row: Mapping[str, str], out: Path = OUTPUTS) -> str:
    """Say what was changed since a claim was judged; an empty text for nothing."""
    now = (claim.source, claim.statement, str(claim.predicted), study.scale_of(run.preset, claim))
    if tuple(row[key] for key in ("source", "statement", "predicted", "scale")) != now:
        return f"The claim has been changed since it was judged in preset {run.preset} ({run.date})."
    if row["rule"] != rule_digest(study, run.preset, claim):
        return (
            f"The rule was changed after the run on {run.date} ({run.preset}); by the rule before the verdict was: "
            f"{row['wording']}. For the verdict by the new rule: {command(name, run.preset, out, verb='report')}"
        )
    return ""


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # an empty field: there is no number
        return math.nan


def title(table: pd.DataFrame) -> str:
    """Return how many claims there are, and how they stand."""
    counts = tally(table["verdict"], table["scale"]) | {NOT_RUN: int((table["verdict"] == NOT_RUN).sum())}
    return f"{len(table)} claims: {views.in_words(counts)}{views.of_rules(count_written(table.to_dict('records')))}"


def view(table: pd.DataFrame, *, statements: bool = True) -> views.View:
    """Show the ledger in a terminal, one group of rows per paper and study, with the run in its heading.

    Without ``statements`` a claim is told by its id alone, which fits a narrow one.
    """
    rows, groups, records = [], [], table.to_dict("records")
    for row in records:
        told = f"{row['statement']} ({row['claim']})" if statements else str(row["claim"])  # the id: what `claim` takes
        shown = shown_estimate(row)
        rows.append((told, views.says(row, brief=True), number(row["predicted"]), shown, views.marked(row)))
        run = f" ({row['preset']}, {row['date']}, moestat {row['version']})" if row["date"] else ""
        groups.append(f"{row['paper']}: {row['study']}{run}")
    columns = ("claim", "says", "predicted", "estimate", "verdict")
    return views.View(title(table), columns, rows, groups, [*views.notes_on(records), *_not_shown(records)])


def shown_estimate(row: Mapping[str, Any]) -> str:
    """Return the estimate of a claim, with its interval where it has one."""
    value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
    return value if row["ci_low"] == row["ci_high"] else f"{value} {interval}".strip()


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


def rich(table: pd.DataFrame) -> RenderableType:
    """Return the ledger for the terminal: statements where there is room, ids where there is not."""

    def fitting(width: int) -> views.View:
        shown = view(table, statements=width >= 110)
        if width >= 80:
            return shown
        return shown.of_columns([i for i, column in enumerate(shown.columns) if column != "predicted"])  # as of one run

    return render.by_width(fitting)

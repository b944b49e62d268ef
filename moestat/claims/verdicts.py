"""Verdicts: each claim of a study, judged by the rule that its file stated before the run.

The interval of the estimate is compared with the region of the rule: inside is *supported*, outside is *not
supported*, anything else is *inconclusive*. What stands in the way of an honest answer (an arm that was not run, a
missing or failed replicate, a rate that cannot be trusted) makes the verdict inconclusive, with the reason, and with
the number where there is one. Where some replicates have values but did not converge, the verdict must be the same
with and without them.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import xarray as xr

from moestat.claims.counts import Counts, chosen
from moestat.claims.estimates import estimate, window_of
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError
from moestat.rates import Estimate
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study.spec import Claim, Study

__all__ = ["COLUMNS", "Estimate", "Verdict", "judge", "judge_evidence", "judge_one", "judged", "rule"]

Word = Literal["supported", "not supported", "inconclusive"]
VERDICTS: tuple[Word, ...] = ("supported", "not supported", "inconclusive")
ACROSS = "only a part of the interval is"
"""What ``why`` says of an interval that lies across the edge of the region."""

COLUMNS = ("claim", "source", "statement", "predicted", "estimate", "ci_low", "ci_high", "verdict", "why")
"""The columns of claims.csv, in this order."""


@dataclass(frozen=True)
class Verdict:
    """A judged claim; its fields are the columns of claims.csv."""

    claim: str
    source: str
    statement: str
    predicted: str | float
    estimate: float
    ci_low: float
    ci_high: float
    verdict: Word
    why: str

    def row(self) -> dict[str, Any]:
        """Return the verdict as a row of claims.csv."""
        return asdict(self)


def judge(ds: xr.Dataset, study: Study, preset: str) -> list[Verdict]:
    """Judge every claim of a study that is judged at a preset.

    Parameters
    ----------
    ds : xarray.Dataset
        The collected results, with the dimensions arm, the grid's axes, replicate and the experiment's own.
    study : Study
    preset : str
        Name of the preset that was run.
    """
    return judge_evidence(Evidence(ds, study, preset))


def judge_evidence(evidence: Evidence) -> list[Verdict]:
    """Judge every claim of a run that is judged at its preset."""
    return [_judge(evidence, claim) for claim in judged(evidence.study, evidence.preset)]


def judged(study: Study, preset: str) -> list[Claim]:
    """Return the claims that are judged at a preset."""
    return [c for c in study.claims if any(fnmatch.fnmatchcase(preset, pattern) for pattern in c.presets)]


def judge_one(ds: xr.Dataset, study: Study, claim: Claim, preset: str) -> Verdict:
    """Judge one claim."""
    return _judge(Evidence(ds, study, preset), claim)


def _judge(evidence: Evidence, claim: Claim) -> Verdict:
    def verdict(word: Word, why: str, answer: Estimate | None = None) -> Verdict:
        interval = (answer.value, answer.low, answer.high) if answer else (math.nan,) * 3
        return Verdict(claim.id, claim.source, claim.statement, claim.predicted, *interval, word, why)

    try:
        answer = estimate(evidence, claim)
    except NoAnswerError as error:
        return verdict("inconclusive", f"There is no number to judge: {error}")
    counts = _counts(evidence, claim)
    sentence = _sentence(answer, claim)
    basis = "; ".join(text for text in (answer.note, str(counts)) if text)
    obstacles = _obstacles(answer, counts)
    if obstacles:
        return verdict("inconclusive", f"{sentence} ({basis}). It decides nothing: {' '.join(obstacles)}", answer)
    word = _word(answer, claim)
    if counts.not_converged and not answer.counts_failures:
        doubt = _without_the_rest(evidence, claim, word)
        if doubt:
            return verdict("inconclusive", f"{sentence} ({basis}). {doubt}", answer)
        basis += "; the verdict is the same without the replicates that did not converge"
    return verdict(word, f"{sentence}: {_place(answer, word)} {rule(claim)} ({basis}).", answer)


def rule(claim: Claim) -> str:
    """Return the rule of a claim in words: ``within [-0.61, -0.41]``, ``at most 0``, ``at least 2``."""
    if claim.within is not None:
        return f"within [{number(claim.within[0])}, {number(claim.within[1])}]"
    if claim.at_most is not None:
        return f"at most {number(claim.at_most)}"
    return f"at least {number(claim.at_least)}"


def _counts(evidence: Evidence, claim: Claim) -> Counts:
    """Count how the replicates ended that the estimate rests on."""
    if claim.kind == "function":
        names = [claim.arm, claim.versus] if claim.arm else []
        return evidence.count(chosen(evidence.ds, [name for name in names if name] or ["*"]), claim.at)
    part = (claim.over, window_of(evidence, claim)) if claim.kind.startswith("slope") else None
    places: Sequence[tuple[str, dict[str, Any]]] = [(claim.arm, claim.at)]
    if claim.kind not in ("slope", "mean"):
        versus_at = claim.at if claim.versus_at is None else claim.versus_at
        places = [*places, (claim.versus or claim.arm, versus_at)]
    distinct = [place for i, place in enumerate(places) if place not in places[:i]]
    total = Counts({}, 0)
    for arm, at in distinct:
        total = total + evidence.count([arm], at, part)
    return total


def _place(answer: Estimate, word: Word) -> str:
    if answer.low == answer.high:
        return "it is" if word == "supported" else "it is not"
    parts = {"supported": "the whole interval is", "not supported": "no part of the interval is"}
    return parts.get(word, ACROSS)


def _sentence(answer: Estimate, claim: Claim) -> str:
    value, interval = rounded(answer.value, answer.low, answer.high)
    if not value:
        return f"{answer.subject} is not a number"
    if answer.low == answer.high:
        return f"{answer.subject} is {value}"
    if not interval:
        return f"{answer.subject} is {value}, without an interval"
    return f"{answer.subject} is {value}, {100 * claim.level:.4g} % interval {interval}"


def _obstacles(answer: Estimate, counts: Counts) -> list[str]:
    """Say what forbids a verdict."""
    obstacles = list(answer.reasons)
    if not answer.counts_failures:
        if counts.missing:
            obstacles.append(f"{counts.missing} of {counts.replicates} runs are missing.")
        if counts.failed:
            obstacles.append(f"{counts.failed} of {counts.replicates} runs failed.")
    if not obstacles and not (math.isfinite(answer.value) and answer.low <= answer.value <= answer.high):
        obstacles.append("There is no interval around it.")
    return obstacles


def _word(answer: Estimate, claim: Claim) -> Word:
    low, high = claim.region
    if low <= answer.low and answer.high <= high:
        return "supported"
    return "not supported" if answer.high < low or answer.low > high else "inconclusive"


def _without_the_rest(evidence: Evidence, claim: Claim, word: Word) -> str:
    """Judge again without the replicates that did not converge; say what differs, or return an empty text."""
    try:
        answer = estimate(evidence, claim, converged_only=True)
    except NoAnswerError as error:
        return f"Without the replicates that did not converge there is no number: {error}"
    if not (math.isfinite(answer.low) and math.isfinite(answer.high)):
        return "Some replicates did not converge, and too few are left to judge without them."
    if _word(answer, claim) != word:
        value, interval = rounded(answer.value, answer.low, answer.high)
        other = _word(answer, claim)
        return f"The verdict hangs on replicates that did not converge: without them it is {value} {interval}, {other}."
    return ""

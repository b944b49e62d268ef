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

from moestat.claims.counts import Counts, chosen, count
from moestat.claims.estimates import Answer, Estimate, estimate
from moestat.claims.selection import NoAnswerError
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study.spec import Claim, Study

__all__ = ["COLUMNS", "Estimate", "Verdict", "judge", "judge_one", "rule", "window_of"]

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
    return [judge_one(ds, study, claim, preset) for claim in judged(study, preset)]


def judged(study: Study, preset: str) -> list[Claim]:
    """Return the claims that are judged at a preset."""
    return [c for c in study.claims if any(fnmatch.fnmatchcase(preset, pattern) for pattern in c.presets)]


def judge_one(ds: xr.Dataset, study: Study, claim: Claim, preset: str) -> Verdict:
    """Judge one claim."""

    def verdict(word: Word, why: str, answer: Answer | None = None) -> Verdict:
        numbers = (answer.value, answer.low, answer.high) if answer else (math.nan,) * 3
        return Verdict(claim.id, claim.source, claim.statement, claim.predicted, *numbers, word, why)

    window = window_of(claim, study, preset)
    try:
        answer = estimate(ds, study, claim, window)
    except NoAnswerError as error:
        return verdict("inconclusive", f"There is no number to judge: {error}")
    counts = _counts(ds, study, claim, window)
    told = _told(answer, claim)
    basis = "; ".join(text for text in (answer.basis, str(counts)) if text)
    obstacles = _obstacles(answer, counts)
    if obstacles:
        return verdict("inconclusive", f"{told} ({basis}). It decides nothing: {' '.join(obstacles)}", answer)
    word = _word(answer, claim)
    if counts.not_converged and not answer.counts_failures:
        doubt = _without_the_rest(ds, study, claim, window, word)
        if doubt:
            return verdict("inconclusive", f"{told} ({basis}). {doubt}", answer)
        basis += "; the verdict is the same without the replicates that did not converge"
    return verdict(word, f"{told}: {_place(answer, word)} {rule(claim)} ({basis}).", answer)


def rule(claim: Claim) -> str:
    """Return the rule of a claim in words: ``within [-0.61, -0.41]``, ``at most 0``, ``at least 2``."""
    if claim.within is not None:
        return f"within [{number(claim.within[0])}, {number(claim.within[1])}]"
    if claim.at_most is not None:
        return f"at most {number(claim.at_most)}"
    return f"at least {number(claim.at_least)}"


def window_of(claim: Claim, study: Study, preset: str) -> tuple[float, float] | None:
    """Return the fit window of a claim: its own, else the preset's, else that of the rate it belongs to."""
    if claim.window is not None:
        return claim.window
    if preset in study.presets and study.presets[preset].window is not None:
        return study.presets[preset].window
    for rate in study.rates:
        ours = rate.loss == claim.variable and rate.over == claim.over
        if ours and any(fnmatch.fnmatchcase(claim.arm, pattern) for pattern in rate.arms):
            return rate.window
    return None


def _counts(ds: xr.Dataset, study: Study, claim: Claim, window: tuple[float, float] | None) -> Counts:
    """Count how the replicates ended that the estimate rests on."""
    if claim.kind == "function":
        names = [claim.arm, claim.versus] if claim.arm else []
        return count(ds, study, chosen(ds, [name for name in names if name] or ["*"]), claim.at)
    part = (claim.over, window) if claim.kind.startswith("slope") else None
    places: Sequence[tuple[str, dict[str, Any]]] = [(claim.arm, claim.at)]
    if claim.kind not in ("slope", "mean"):
        versus_at = claim.at if claim.versus_at is None else claim.versus_at
        places = [*places, (claim.versus or claim.arm, versus_at)]
    distinct = [place for i, place in enumerate(places) if place not in places[:i]]
    total = Counts({}, 0)
    for arm, at in distinct:
        total = total + count(ds, study, [arm], at, part)
    return total


def _place(answer: Answer, word: Word) -> str:
    if answer.low == answer.high:
        return "it is" if word == "supported" else "it is not"
    parts = {"supported": "the whole interval is", "not supported": "no part of the interval is"}
    return parts.get(word, ACROSS)


def _told(answer: Answer, claim: Claim) -> str:
    value, interval = rounded(answer.value, answer.low, answer.high)
    if not value:
        return f"{answer.what} is not a number"
    if answer.low == answer.high:
        return f"{answer.what} is {value}"
    if not interval:
        return f"{answer.what} is {value}, without an interval"
    return f"{answer.what} is {value}, {100 * claim.level:.4g} % interval {interval}"


def _obstacles(answer: Answer, counts: Counts) -> list[str]:
    """Say what forbids a verdict."""
    found = list(answer.reasons)
    if not answer.counts_failures:
        if counts.missing:
            found.append(f"{counts.missing} of {counts.replicates} runs are missing.")
        if counts.failed:
            found.append(f"{counts.failed} of {counts.replicates} runs failed.")
    if not found and not (math.isfinite(answer.value) and answer.low <= answer.value <= answer.high):
        found.append("There is no interval around it.")
    return found


def _word(answer: Answer, claim: Claim) -> Word:
    low, high = claim.region
    if low <= answer.low and answer.high <= high:
        return "supported"
    return "not supported" if answer.high < low or answer.low > high else "inconclusive"


def _without_the_rest(
    ds: xr.Dataset, study: Study, claim: Claim, window: tuple[float, float] | None, word: Word
) -> str:
    """Judge again without the replicates that did not converge; say what differs, or return an empty text."""
    try:
        answer = estimate(ds, study, claim, window, converged_only=True)
    except NoAnswerError as error:
        return f"Without the replicates that did not converge there is no number: {error}"
    if not (math.isfinite(answer.low) and math.isfinite(answer.high)):
        return "Some replicates did not converge, and too few are left to judge without them."
    if _word(answer, claim) != word:
        value, interval = rounded(answer.value, answer.low, answer.high)
        other = _word(answer, claim)
        return f"The verdict hangs on replicates that did not converge: without them it is {value} {interval}, {other}."
    return ""

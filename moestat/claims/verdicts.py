"""Verdicts: each claim of a study, judged by its rule; :mod:`moestat.claims.sealed` tells when that was written.

The interval of the estimate is compared with the region of the rule: inside is *supported*, outside is *not
supported*, anything else is *inconclusive*. A statement about every case has *no counterexample* or is *refuted*. What
stands in the way of an honest answer (an arm that was not run, a missing or failed replicate, a rate that cannot be
trusted, fewer than three replicates, an interval without width) makes the verdict inconclusive, with the reason, and
with the number where there is one. Where some replicates have values but did not converge, the verdict must be the
same with and without them. How a verdict is worded depends on what the run is to the paper: its own problem, a
smaller one, or a stand-in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import xarray as xr
from scipy import stats

from moestat.claims import obstacles
from moestat.claims.counts import Counts, chosen
from moestat.claims.estimates import estimate, window_of
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError
from moestat.claims.wording import AT_SCALE, VERDICTS, Word, broad, rule, tally, verdict_of, wording
from moestat.rates import Cases, Estimate
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study.presets import named, runs_arms
from moestat.study.seal import rule_digest
from moestat.study.spec import Claim, Scale, Study

__all__ = [
    "AT_SCALE",
    "COLUMNS",
    "VERDICTS",
    "Estimate",
    "Verdict",
    "broad",
    "judge",
    "judge_claim",
    "judge_evidence",
    "judge_one",
    "judged",
    "rule",
    "tally",
    "verdict_of",
    "wording",
]

ACROSS = "only a part of the interval is"
"""What ``why`` says of an interval that lies across the edge of the region."""
COLUMNS = (
    "claim",
    "source",
    "origin",
    "bearing",
    "group",
    "scale",
    "statement",
    "predicted",
    "estimate",
    "ci_low",
    "ci_high",
    "verdict",
    "wording",
    "why",
    "rule",
    "changed",
)
"""The columns of claims.csv, in this order."""


@dataclass(frozen=True)
class Verdict:
    """A judged claim; its fields are the columns of claims.csv.

    ``verdict`` is one of :data:`VERDICTS`; ``wording`` is what is shown, which says at which scale the claim was
    judged and, for a statement about every case, on how many. ``rule`` is a hash of all that it was judged by, and
    ``changed`` the day of the run if that was changed after the run started. ``bend`` says how the lines bend whose
    slopes were judged, if they do; ``why`` has it, too.
    """

    claim: str
    source: str
    origin: str
    bearing: str
    group: str
    scale: Scale
    statement: str
    predicted: str | float
    estimate: float
    ci_low: float
    ci_high: float
    verdict: Word
    wording: str
    why: str
    rule: str
    changed: str = ""
    bend: str = ""

    def row(self) -> dict[str, Any]:
        """Return the verdict as a row of claims.csv."""
        return {name: getattr(self, name) for name in COLUMNS}


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
    return [judge_claim(evidence, claim) for claim in judged(evidence.study, evidence.preset)]


def judged(study: Study, preset: str) -> list[Claim]:
    """Return the claims that are judged at a preset: those that name it, unless it leaves their arms out."""
    return [claim for claim in study.claims if named(preset, claim) and runs_arms(study, preset, claim)]


def judge_one(ds: xr.Dataset, study: Study, claim: Claim, preset: str) -> Verdict:
    """Judge one claim."""
    return judge_claim(Evidence(ds, study, preset), claim)


def judge_claim(evidence: Evidence, claim: Claim) -> Verdict:
    """Judge one claim of a run."""
    scale = evidence.study.scale_of(evidence.preset, claim)

    def verdict(word: Word, why: str, answer: Estimate | None = None) -> Verdict:
        return Verdict(
            claim=claim.id,
            source=claim.source,
            origin=claim.origin,
            bearing=claim.bearing,
            group=claim.group or claim.id,
            scale=scale,
            statement=claim.statement,
            predicted=claim.predicted,
            estimate=answer.value if answer else math.nan,
            ci_low=answer.low if answer else math.nan,
            ci_high=answer.high if answer else math.nan,
            verdict=word,
            wording=wording(word, scale, answer.cases if answer else None),
            why=" ".join(text for text in (why, answer.bend if answer else "", claim.hindsight) if text),
            bend=answer.bend if answer else "",
            rule=rule_digest(evidence.study, evidence.preset, claim),
        )

    try:
        answer = estimate(evidence, claim)
    except NoAnswerError as error:
        return verdict("inconclusive", f"There is no number to judge: {error}")
    counts = _counts(evidence, claim)
    sentence = _sentence(answer, claim)
    basis = "; ".join(text for text in (answer.note, str(counts), _over_all_sizes(evidence, claim, answer)) if text)
    against = [*obstacles.of_numbers(answer, counts), *obstacles.of_search(evidence, claim)]
    if claim.printed and scale != "paper":
        against.append(
            f"The paper prints {number(claim.predicted)} for its own problem; a run{AT_SCALE[scale]} is not compared "
            "with it."
        )
    if against:
        return verdict("inconclusive", f"{sentence} ({basis}). It decides nothing: {' '.join(against)}", answer)
    word = _word(answer, claim)
    if counts.not_converged and not answer.counts_failures:
        doubt = _without_the_rest(evidence, claim, word)
        if doubt:
            return verdict("inconclusive", f"{sentence} ({basis}). {doubt}", answer)
        basis += "; the verdict is the same without the replicates that did not converge"
    if answer.cases is not None:
        return verdict(word, f"{sentence}; the rule is {rule(claim)} ({basis}). {_bound(answer.cases, claim)}", answer)
    return verdict(word, f"{sentence}: {_place(answer, word)} {rule(claim)} ({basis}).", answer)


def _over_all_sizes(evidence: Evidence, claim: Claim, answer: Estimate) -> str:
    """Say what a slope is without its window; an empty text where the window leaves no size out."""
    if claim.kind != "slope" or window_of(evidence, claim) is None:
        return ""
    try:
        whole = estimate(evidence, claim.model_copy(update={"window": (-math.inf, math.inf)}))
    except NoAnswerError:
        return ""
    value, interval = rounded(whole.value, whole.low, whole.high)
    return f"over all sizes the slope is {value} {interval}" if whole.note != answer.note and interval else ""


def _bound(cases: Cases, claim: Claim) -> str:
    """Say what the cases tell about the next one: the exact (Clopper-Pearson) bound of the share of such draws."""
    if not cases.every:
        return f"{cases.inside} of {cases.count} cases are as the statement says."
    if not cases.draws:
        return "The cases were chosen, not drawn, so they bound no probability."
    outside = cases.draws - cases.inside_draws
    side = "less" if outside == 0 else "two-sided"
    ends = stats.binomtest(outside, cases.draws, alternative=side).proportion_ci(claim.level, method="exact")
    low, high = 100 * ends.low, 100 * ends.high
    share = f"at most {high:.3g} %" if outside == 0 else f"{low:.3g} to {high:.3g} %"
    return f"{share[:1].upper()}{share[1:]} of such draws have a counterexample ({cases.draws} draws, exact bound)."


def _counts(evidence: Evidence, claim: Claim) -> Counts:
    """Count how the replicates ended that the estimate rests on."""
    if claim.kind == "function":
        names = [claim.arm, claim.versus] if claim.arm else []
        return evidence.count(chosen(evidence.ds, [name for name in names if name] or ["*"]), claim.at)
    part = (claim.over, window_of(evidence, claim)) if claim.kind.startswith("slope") else None
    total = Counts({}, 0)
    for arm, at in obstacles.places(claim):
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


def _word(answer: Estimate, claim: Claim) -> Word:
    low, high = claim.region
    if answer.cases is not None:
        cases = answer.cases
        if cases.every:
            return "no counterexample" if cases.inside == cases.count else "refuted"
        return "supported" if cases.inside else "inconclusive"
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

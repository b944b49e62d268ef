"""Verdicts: each claim of a study, judged by its rule.

The interval of the estimate is compared with the region of the rule: inside is *supported*, outside is *not
supported*, anything else *inconclusive*. A statement about every case has *no counterexample* or is *refuted*. What
stands in the way of an honest answer (:data:`Reason`) makes the verdict inconclusive, with the number where there is
one. Where some replicates have values but did not converge, the verdict must be the same with and without them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import xarray as xr
from scipy import stats

from moestat.claims.estimates import estimate
from moestat.claims.evidence import Counts, Evidence
from moestat.claims.selection import NoAnswerError
from moestat.claims.wording import AT_SCALE, VERDICTS, Word, rule, wording
from moestat.rates import Cases, Estimate
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study import seal
from moestat.study.presets import named, runs_arms
from moestat.study.seal import Seal, Written
from moestat.study.spec import Claim, Scale, Study

Reason = Literal[
    "",
    "across the edge",
    "no case",
    "no number",
    "not trusted",
    "missing",
    "failed",
    "no interval",
    "too few",
    "no width",
    "not settled",
    "other problem",
    "not converged",
]
"""Why a verdict is inconclusive; of several reasons the first. Empty for all other verdicts."""
LEAST = 3
"""Replicates that a decisive verdict needs at least."""
NOTHING = Estimate(math.nan, math.nan, math.nan)
WHEN: tuple[Written, ...] = get_args(Written)


@dataclass(frozen=True)
class Verdict:
    """A judged claim; its fields are the columns of claims.csv, and ``bend``.

    ``wording`` is the verdict as it is shown: with the scale of the run and, for a statement about every case, on how
    many. ``reason`` is what made it inconclusive, and ``why`` all of it in words. ``rule`` is a hash of all that it was
    judged by, and ``sealed`` says when that was written (empty where no seal is known). ``bend`` says how the lines
    bend whose slopes were judged, if they do; ``why`` has it, too.
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
    reason: Reason
    why: str
    rule: str
    sealed: Written | Literal[""] = ""
    bend: str = ""

    def row(self) -> dict[str, Any]:
        """Return the verdict as a row of claims.csv."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = tuple(Verdict.__dataclass_fields__)[:-1]


def judge(ds: xr.Dataset, study: Study, preset: str) -> list[Verdict]:
    """Judge every claim of a study that is judged at a preset, on its collected results."""
    return judge_sealed(Evidence(ds, study, preset), None)[0]


def judge_one(ds: xr.Dataset, study: Study, claim: Claim, preset: str) -> Verdict:
    """Judge one claim."""
    return judge_claim(Evidence(ds, study, preset), claim)


def judge_sealed(
    evidence: Evidence, sealed: Seal | None, before: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[list[Verdict], list[str]]:
    """Judge every claim of a run by its present rule, say when that was written, and which sealed claims are gone.

    ``before`` has rows of claims.csv of the same run by claim: a rule that was found edited once stays so.
    """
    study, known = evidence.study, before or {}
    verdicts = [judge_claim(evidence, claim, sealed, known.get(claim.id)) for claim in judged(study, evidence.preset)]
    gone = set(sealed.claims if sealed else ()) - {claim.id for claim in study.claims}
    return verdicts, [f"Sealed when the run started, and removed since: {', '.join(sorted(gone))}."] if gone else []


def judged(study: Study, preset: str) -> list[Claim]:
    """Return the claims that are judged at a preset: those that name it, unless it leaves their arms out."""
    return [claim for claim in study.claims if named(preset, claim) and runs_arms(study, preset, claim)]


def written(row: Mapping[str, Any]) -> Written:
    """Return when the rule of a judged row of claims.csv was written; where no seal is known, as if before the run."""
    found: Written = row.get("sealed") or "sealed"
    return found


def count_written(rows: Iterable[Mapping[str, Any]]) -> dict[Written, int]:
    """Count judged rows by when their rules were written; a claim without a run has no verdict, and is not counted."""
    found = [written(row) for row in rows if row["verdict"] in VERDICTS]
    return {when: found.count(when) for when in WHEN}


def judge_claim(
    evidence: Evidence, claim: Claim, sealed: Seal | None = None, before: Mapping[str, str] | None = None
) -> Verdict:
    """Judge one claim of a run; see :func:`judge_sealed` for the seal and the earlier row."""
    claim = seal.settled(evidence.study, evidence.preset, claim)
    scale, digest = evidence.study.scale_of(evidence.preset, claim), seal.digest_of(claim)
    when: Written | Literal[""] = seal.written(sealed, claim) if sealed else ""
    if when == "sealed" and before and (before["sealed"], before["rule"]) == ("edited", digest):
        when = "edited"
    answer, word, reason, why = _decided(evidence, claim, scale)
    found = answer or NOTHING
    return Verdict(
        claim=claim.id,
        source=claim.source,
        origin=claim.origin,
        bearing=claim.bearing,
        group=claim.group or claim.id,
        scale=scale,
        statement=claim.statement,
        predicted=claim.predicted,
        estimate=found.value,
        ci_low=found.low,
        ci_high=found.high,
        verdict=word,
        wording=wording(word, scale, found.cases),
        reason=reason,
        why=" ".join(filter(None, (why, found.bend, claim.hindsight))),
        rule=digest,
        sealed=when,
        bend=found.bend,
    )


def _decided(evidence: Evidence, claim: Claim, scale: Scale) -> tuple[Estimate | None, Word, Reason, str]:
    """Return the estimate of a claim, the verdict, why it is inconclusive if it is, and all of it in a sentence."""
    try:
        answer = estimate(evidence, claim)
    except NoAnswerError as error:
        return None, "inconclusive", "no number", f"There is no number to judge: {error}"
    counts = evidence.count_of(claim)
    said, basis = _sentence(answer, claim), [answer.note, str(counts)]
    if claim.kind == "slope" and claim.window is not None:
        basis.append(_over_all_sizes(evidence, claim, answer))
    rests = "; ".join(filter(None, basis))
    if obstacles := _obstacles(evidence, claim, scale, answer, counts):
        told = " ".join(text for _, text in obstacles)
        return answer, "inconclusive", obstacles[0][0], f"{said} ({rests}). It decides nothing: {told}"
    word, reason, place = compared(answer, claim)
    if counts.not_converged and not answer.counts_failures:
        if doubt := _without_the_rest(evidence, claim, word):
            return answer, "inconclusive", "not converged", f"{said} ({rests}). {doubt}"
        rests += "; the verdict is the same without the replicates that did not converge"
    if answer.cases is not None:
        bound = _bound(answer.cases, claim.level)
        return answer, word, reason, f"{said}; the rule is {rule(claim)} ({rests}). {bound}"
    return answer, word, reason, f"{said}: {place} {rule(claim)} ({rests})."


def compared(answer: Estimate, claim: Claim) -> tuple[Word, Reason, str]:
    """Compare an estimate with the region of a rule: the verdict, why it is inconclusive, and what lies where."""
    low, high = claim.region
    if (cases := answer.cases) is not None:
        if cases.every:
            return ("no counterexample" if cases.inside == cases.count else "refuted"), "", ""
        return ("supported", "", "") if cases.inside else ("inconclusive", "no case", "")
    point = answer.low == answer.high
    if low <= answer.low and answer.high <= high:
        return "supported", "", "it is" if point else "the whole interval is"
    if answer.high < low or answer.low > high:
        return "not supported", "", "it is not" if point else "no part of the interval is"
    return "inconclusive", "across the edge", "only a part of the interval is"


def _obstacles(
    evidence: Evidence, claim: Claim, scale: Scale, answer: Estimate, counts: Counts
) -> list[tuple[Reason, str]]:
    """Return what forbids a verdict, each with a sentence."""
    found: list[tuple[Reason, str]] = [("not trusted", text) for text in answer.reasons]
    if counts.missing and not answer.counts_failures:
        found.append(("missing", f"{counts.missing} of {counts.replicates} runs are missing."))
    if counts.failed and not answer.counts_failures:
        found.append(("failed", f"{counts.failed} of {counts.replicates} runs failed."))
    if not found and not (math.isfinite(answer.value) and answer.low <= answer.value <= answer.high):
        found.append(("no interval", "There is no interval around it."))
    if not found and answer.cases is None and not answer.exact:
        if answer.replicates is not None and answer.replicates < LEAST:
            text = f"{answer.replicates} replicates are too few; a verdict needs at least {LEAST}."
            found.append(("too few", text))
        elif answer.low == answer.high:
            text = "Its interval has no width, though it is not exact: all replicates may give one number."
            found.append(("no width", text))
    if text := evidence.unsettled_for(claim):
        found.append(("not settled", text))
    if claim.printed and scale != "paper":
        text = f"The paper prints {number(claim.predicted)} for its own problem; a run{AT_SCALE[scale]} is not compared"
        found.append(("other problem", f"{text} with it."))
    return found


def _over_all_sizes(evidence: Evidence, claim: Claim, answer: Estimate) -> str:
    """Say what a slope is without its window; an empty text where the window leaves no size out."""
    try:
        whole = estimate(evidence, claim.model_copy(update={"window": (-math.inf, math.inf)}))
    except NoAnswerError:
        return ""
    value, interval = rounded(whole.value, whole.low, whole.high)
    return f"over all sizes the slope is {value} {interval}" if whole.note != answer.note and interval else ""


def _without_the_rest(evidence: Evidence, claim: Claim, word: Word) -> str:
    """Judge again without the replicates that did not converge; say what differs, or return an empty text."""
    try:
        answer = estimate(evidence, claim, converged_only=True)
    except NoAnswerError as error:
        return f"Without the replicates that did not converge there is no number: {error}"
    if not (math.isfinite(answer.low) and math.isfinite(answer.high)):
        return "Some replicates did not converge, and too few are left to judge without them."
    other, *_ = compared(answer, claim)
    if other == word:
        return ""
    value, interval = rounded(answer.value, answer.low, answer.high)
    return f"The verdict hangs on replicates that did not converge: without them it is {value} {interval}, {other}."


def _sentence(answer: Estimate, claim: Claim) -> str:
    value, interval = rounded(answer.value, answer.low, answer.high)
    if not value:
        return f"{answer.subject} is not a number"
    if answer.low == answer.high:
        return f"{answer.subject} is {value}"
    told = f"{100 * claim.level:.4g} % interval {interval}" if interval else "without an interval"
    return f"{answer.subject} is {value}, {told}"


def _bound(cases: Cases, level: float) -> str:
    """Say what the cases tell about the next one: the exact (Clopper-Pearson) bound of the share of such draws."""
    if not cases.every:
        return f"{cases.inside} of {cases.count} cases are as the statement says."
    if not cases.draws:
        return "The cases were chosen, not drawn, so they bound no probability."
    outside = cases.draws - cases.inside_draws
    side = "less" if outside == 0 else "two-sided"
    ends = stats.binomtest(outside, cases.draws, alternative=side).proportion_ci(level, method="exact")
    low, high = 100 * ends.low, 100 * ends.high
    share = f"At most {high:.3g} %" if outside == 0 else f"{low:.3g} to {high:.3g} %"
    return f"{share} of such draws have a counterexample ({cases.draws} draws, exact bound)."

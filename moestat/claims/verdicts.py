"""Verdicts: each claim of a study, judged by its rule.

The interval of the estimate is compared with the region of the rule: inside is *supported*, outside is *not
supported*, anything else *inconclusive*. A statement about every case has *no counterexample* or is *refuted*. What
stands in the way of an honest answer (a missing or failed replicate, a rate that cannot be trusted, a search that has
not settled) makes the verdict inconclusive, with the reason, and with the number where there is one. Where some
replicates have values but did not converge, the verdict must be the same with and without them. How a verdict is worded
depends on what the run is to the paper: its own problem, a smaller one, or a stand-in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import xarray as xr
from scipy import stats

from moestat.claims.estimates import estimate, sides
from moestat.claims.evidence import FUNCTIONS, Evidence, counted, unsettled
from moestat.claims.selection import Counts, NoAnswerError, chosen, count
from moestat.claims.wording import AT_SCALE, VERDICTS, Word, broad, rule, tally, verdict_of, wording
from moestat.rates import Cases, Estimate
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study import seal
from moestat.study.presets import named, runs_arms
from moestat.study.seal import Seal, Written
from moestat.study.spec import Claim, Scale, Study

__all__ = [
    "AT_SCALE",
    "COLUMNS",
    "VERDICTS",
    "WHEN",
    "Estimate",
    "Reason",
    "Verdict",
    "Written",
    "broad",
    "count_written",
    "judge",
    "judge_claim",
    "judge_evidence",
    "judge_one",
    "judge_sealed",
    "judged",
    "rule",
    "tally",
    "verdict_of",
    "wording",
    "written",
]

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
UNITS = ("_to_bound", "_to_fisher")
"""Endings of losses in units of a bound or line."""
WHEN: tuple[Written, ...] = get_args(Written)
COLUMNS = (
    *("claim", "source", "origin", "bearing", "group", "scale", "statement", "predicted"),
    *("estimate", "ci_low", "ci_high", "verdict", "wording", "reason", "why", "rule", "sealed"),
)
"""The columns of claims.csv, in this order."""


@dataclass(frozen=True)
class Verdict:
    """A judged claim; its fields are the columns of claims.csv, and ``bend``.

    ``verdict`` is one of :data:`VERDICTS`; ``wording`` is what is shown, which says at which scale the claim was
    judged and, for a statement about every case, on how many. ``reason`` is what made it inconclusive, and ``why`` all
    of it in words. ``rule`` is a hash of all that it was judged by, and ``sealed`` says when that was written (empty
    where no seal is known). ``bend`` says how the lines bend whose slopes were judged, if they do; ``why`` has it, too.
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


def judge_one(ds: xr.Dataset, study: Study, claim: Claim, preset: str) -> Verdict:
    """Judge one claim."""
    return judge_claim(Evidence(ds, study, preset), claim)


def judge_sealed(
    evidence: Evidence, sealed: Seal | None, before: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[list[Verdict], list[str]]:
    """Judge every claim of a run by its present rule, and say when that was written.

    Parameters
    ----------
    evidence : Evidence
    sealed : Seal or None
        The rules at the start of the run.
    before : mapping, optional
        Rows of claims.csv of the same run by claim: a rule that was found edited once stays so.

    Returns
    -------
    verdicts : list of Verdict
    notes : list of str
        Which claims were sealed and are gone.
    """
    study, verdicts = evidence.study, []
    for claim in judged(study, evidence.preset):
        verdicts.append(judge_claim(evidence, claim, sealed, (before or {}).get(claim.id, {})))
    gone = [name for name in (sealed.claims if sealed else ()) if name not in {claim.id for claim in study.claims}]
    return verdicts, [f"Sealed when the run started, and removed since: {', '.join(gone)}."] if gone else []


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
    study, preset = evidence.study, evidence.preset
    claim = seal.settled(study, preset, claim)
    scale, digest = study.scale_of(preset, claim), seal.digest_of(claim)
    when: Written | Literal[""] = seal.written(sealed, claim) if sealed else ""
    if when == "sealed" and before and (before["sealed"], before["rule"]) == ("edited", digest):
        when = "edited"
    answer, word, reason, why = _decided(evidence, claim, scale)
    bend = answer.bend if answer else ""
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
        reason=reason,
        why=" ".join(text for text in (why, bend, claim.hindsight) if text),
        rule=digest,
        sealed=when,
        bend=bend,
    )


def _decided(evidence: Evidence, claim: Claim, scale: Scale) -> tuple[Estimate | None, Word, Reason, str]:
    """Return the estimate of a claim, the verdict, why it is inconclusive if it is, and all of it in a sentence."""
    try:
        answer = estimate(evidence, claim)
    except NoAnswerError as error:
        return None, "inconclusive", "no number", f"There is no number to judge: {error}"
    counts = _counts(evidence, claim)
    said, basis = _sentence(answer, claim), [answer.note, str(counts)]
    if claim.kind == "slope" and claim.window is not None:
        basis.append(_over_all_sizes(evidence, claim, answer))
    found = f"{said} ({'; '.join(filter(None, basis))})"
    if obstacles := _obstacles(evidence, claim, scale, answer, counts):
        told = " ".join(text for _, text in obstacles)
        return answer, "inconclusive", obstacles[0][0], f"{found}. It decides nothing: {told}"
    word, reason, place = _compared(answer, claim)
    if counts.not_converged and not answer.counts_failures:
        if doubt := _without_the_rest(evidence, claim, word):
            return answer, "inconclusive", "not converged", f"{found}. {doubt}"
        basis.append("the verdict is the same without the replicates that did not converge")
    rests = "; ".join(filter(None, basis))
    if answer.cases is not None:
        return answer, word, reason, f"{said}; the rule is {rule(claim)} ({rests}). {_bound(answer.cases, claim)}"
    return answer, word, reason, f"{said}: {place} {rule(claim)} ({rests})."


def _compared(answer: Estimate, claim: Claim) -> tuple[Word, Reason, str]:
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
    if claim.kind.startswith("slope") and counted(evidence.ds) and not _bounds_a_function(claim):
        places = [(arm, at) for _, arm, at in sides(claim)]
        places = places[:1] if places[0] == places[-1] else places
        again = [evidence.found_again(claim.over, arm, at) for arm, at in places]
        if text := unsettled([one for one in again if one is not None], claim.over, claim.window):
            found.append(("not settled", text))
    if claim.printed and scale != "paper":
        text = f"The paper prints {number(claim.predicted)} for its own problem; a run{AT_SCALE[scale]} is not compared"
        found.append(("other problem", f"{text} with it."))
    return found


def _bounds_a_function(claim: Claim) -> bool:
    """Whether a slope bounds the error of a function from above, as it does for every fit as good as the truth."""
    name = next((claim.variable.removesuffix(unit) for unit in UNITS if claim.variable.endswith(unit)), claim.variable)
    return claim.kind == "slope" and claim.at_most is not None and name in FUNCTIONS


def _counts(evidence: Evidence, claim: Claim) -> Counts:
    """Count how the replicates ended that the estimate rests on."""
    places: Iterable[tuple[str, Mapping[str, Any]]] = [(arm, at) for _, arm, at in sides(claim)]
    if claim.kind == "function":
        names = [name for name in (claim.arm, claim.versus) if name] if claim.arm else ["*"]
        places = [(arm, claim.at) for arm in chosen(evidence.ds, names)]
    window = (claim.over, claim.window) if claim.kind.startswith("slope") else None
    return count(evidence.ds, evidence.planned, list(places), window)


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
    other, *_ = _compared(answer, claim)
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
    share = f"At most {high:.3g} %" if outside == 0 else f"{low:.3g} to {high:.3g} %"
    return f"{share} of such draws have a counterexample ({cases.draws} draws, exact bound)."

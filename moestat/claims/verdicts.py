"""Verdicts: each claim of a study, judged by its rule.

The interval of the estimate is compared with the region of the rule: inside is *supported*, outside is *not
supported*, anything else *inconclusive*. A statement about every case has *no counterexample* or is *refuted*. What
stands in the way of an honest answer makes the verdict inconclusive, with the number where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import scipy

from moestat.claims.estimates import estimate
from moestat.claims.evidence import Counts, Evidence
from moestat.claims.selection import NoAnswerError, chosen, versus
from moestat.claims.wording import AT_SCALE, Verdict, rule, wording
from moestat.rates import Cases, Estimate
from moestat.rates.verdict import BENT, Word, compared, reasoned, said, unfit
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.sentences import listed
from moestat.study import seal
from moestat.study.presets import named, runs_arms
from moestat.study.seal import Seal, Written
from moestat.study.spec import Claim, Scale, Study

if TYPE_CHECKING:
    import xarray as xr

NOT_DELIVERED = "inconclusive: not delivered"
ABOUT = ("source", "origin", "bearing", "statement", "predicted")
"""What a verdict has from its claim as it is."""


def judge(ds: xr.Dataset, study: Study, preset: str) -> list[Verdict]:
    """Judge every claim of a study that is judged at a preset, on its collected results."""
    return judge_sealed(Evidence(ds, study, preset), None)[0]


def judge_sealed(
    evidence: Evidence, sealed: Seal | None, before: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[list[Verdict], list[str]]:
    """Judge every claim of a run by its present rule, say when that was written, and which sealed claims are gone.

    ``before`` has rows of claims.csv of the same run by claim: a rule that was found edited once stays so.
    """
    study, known = evidence.study, before or {}
    verdicts = []
    for claim in judged(study, evidence.preset):
        claim, row = seal.settled(study, evidence.preset, claim), known.get(claim.id)
        digest = seal.digest_of(claim)
        when: Written | Literal[""] = seal.written(sealed, claim) if sealed else ""
        if when == "sealed" and row and (row["sealed"], row["rule"]) == ("edited", digest):
            when = "edited"
        verdicts.append(replace(judge_claim(evidence, claim), rule=digest, sealed=when))
    words = {verdict.claim: verdict.verdict for verdict in verdicts}
    checks = {claim.id: claim.check for claim in study.claims if claim.check}
    verdicts = [_delivered(v, checks[v.claim], words) if v.claim in checks else v for v in verdicts]
    gone = sorted(set(sealed.claims if sealed else ()) - {claim.id for claim in study.claims})
    return verdicts, [f"Sealed when the run started, and removed since: {listed(gone, 6)}."] if gone else []


def _delivered(verdict: Verdict, check: str, words: Mapping[str, str]) -> Verdict:
    """Return a verdict on the effect of a treatment; where it was not delivered, none, whatever came out."""
    word = words.get(check, "not judged at this preset")
    if word == "supported":
        return verdict
    why = f"It decides nothing: the treatment was not delivered, since its check {check} is {word}. {verdict.why}"
    return replace(verdict, verdict="inconclusive", wording=NOT_DELIVERED, reason="not delivered", why=why)


def judged(study: Study, preset: str) -> list[Claim]:
    """Return the claims that are judged at a preset: those that name it, unless it leaves their arms out."""
    return [claim for claim in study.claims if named(preset, claim) and runs_arms(study, preset, claim)]


def judge_claim(evidence: Evidence, claim: Claim) -> Verdict:
    """Judge one claim of a run: the number with its interval, what forbids a verdict, the region of the rule."""
    study, preset = evidence.study, evidence.preset
    claim, is_slope = seal.settled(study, preset, claim), claim.kind.startswith("slope")
    scale = study.scale_of(preset, claim)
    about: dict[str, Any] = {name: getattr(claim, name) for name in ABOUT}
    about |= {"claim": claim.id, "scale": scale}
    try:
        answer = estimate(evidence, claim)
    except NoAnswerError as error:
        about["why"] = " ".join(filter(None, (f"There is no number to judge: {error}", claim.hindsight)))
        return Verdict(**about)

    places = [(claim.arm, claim.at)]
    if claim.kind == "function":
        names = [name for name in (claim.arm, claim.versus) if name] if claim.arm else ["*"]
        places = [(arm, claim.at) for arm in chosen(evidence.ds, names)]
    elif claim.kind not in ("slope", "mean"):
        places.append(versus(claim)[1:])
    counts = evidence.count(places, (claim.over, claim.window) if is_slope else None)
    unsettled = evidence.unsettled_for(claim, places) if is_slope and evidence.search else ""

    rests = f"{answer.note}; {counts.told}" if answer.note else counts.told
    if claim.kind == "slope" and claim.window is not None:  # whoever sets a window chooses sizes
        whole = estimate(evidence, claim.model_copy(update={"window": (-math.inf, math.inf)}))
        shown = rounded(whole.value, whole.low, whole.high)
        rests += f"; over all sizes the slope is {' '.join(shown)}" if whole.note != answer.note and shown[1] else ""

    word, reason, place = compared(answer, claim.region)
    doubt = ""
    if obstacles := list(_obstacles(answer, counts, claim, scale, unsettled)):
        word, reason = "inconclusive", obstacles[0][0]
        doubt = f"It decides nothing: {' '.join(text for _, text in obstacles)}"
    elif counts.not_converged and not answer.counts_failures:
        if doubt := _without_the_rest(evidence, claim, word):
            word, reason = "inconclusive", "not converged"
        else:
            rests += "; the verdict is the same without the replicates that did not converge"
    why = reasoned(answer, claim.level, rests, place, rule(claim), doubt)
    if answer.cases is not None and not doubt:
        why = f"{said(answer, claim.level)}; the rule is {rule(claim)} ({rests}). {_bound(answer.cases, claim.level)}"
    return Verdict(
        **about,
        estimate=answer.value,
        ci_low=answer.low,
        ci_high=answer.high,
        verdict=word,
        wording=wording(word, scale, answer.cases),
        reason=reason,
        why=" ".join(filter(None, (why, answer.bend, claim.hindsight))),
        bend=answer.bend,
    )


def _obstacles(
    answer: Estimate, counts: Counts, claim: Claim, scale: Scale, unsettled: str
) -> Iterator[tuple[str, str]]:
    """Yield what stands in the way of a verdict: a word and a sentence each."""
    trusted = not answer.reasons
    yield from (("not trusted", text) for text in answer.reasons)
    if not answer.counts_failures:
        for word, runs in (("missing", counts.missing), ("failed", counts.failed)):
            if runs:
                trusted = False
                verb = "are missing" if word == "missing" else "failed"
                yield word, f"{runs} of {counts.replicates} runs {verb}."
    if trusted:
        yield from unfit(answer)
    if answer.bend and claim.bent == "inconclusive":
        yield "bent", BENT
    if unsettled:
        yield "not settled", unsettled
    if claim.printed and scale != "paper":
        text = f"The paper prints {number(claim.predicted)} for its own problem; a run{AT_SCALE[scale]} is not compared"
        yield "other problem", f"{text} with it."


def _without_the_rest(evidence: Evidence, claim: Claim, word: Word) -> str:
    """Judge again without the replicates that did not converge; say what differs, or return an empty text."""
    try:
        answer = estimate(evidence, claim, converged_only=True)
    except NoAnswerError as error:
        return f"Without the replicates that did not converge there is no number: {error}"
    if not (math.isfinite(answer.low) and math.isfinite(answer.high)):
        return "Some replicates did not converge, and too few are left to judge without them."
    other, *_ = compared(answer, claim.region)
    if other == word:
        return ""
    value, interval = rounded(answer.value, answer.low, answer.high)
    return f"The verdict hangs on replicates that did not converge: without them it is {value} {interval}, {other}."


def _bound(cases: Cases, level: float) -> str:
    """Say what the cases tell about the next one: the exact (Clopper-Pearson) bound of the share of such draws."""
    if not cases.every:
        return f"{cases.inside} of {cases.count} cases are as the statement says."
    if not cases.draws:
        return "The cases were chosen, not drawn, so they bound no probability."
    outside = cases.draws - cases.inside_draws
    side = "less" if outside == 0 else "two-sided"
    ends = scipy.stats.binomtest(outside, cases.draws, alternative=side).proportion_ci(level, method="exact")
    low, high = 100 * ends.low, 100 * ends.high
    share = f"At most {high:.3g} %" if outside == 0 else f"{low:.3g} to {high:.3g} %"
    return f"{share} of such draws have a counterexample ({cases.draws} draws, exact bound)."

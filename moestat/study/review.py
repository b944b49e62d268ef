"""What a reader objects to in the claims of a study: those that cannot be told apart, looked up, or fail.

A test looks for objections over all studies; what a file is refused for is in :mod:`moestat.study.faults`.
"""

from __future__ import annotations

import re

from moestat.study import presets
from moestat.study.patterns import fits
from moestat.study.spec import Claim, Finding, Study

KEYS = re.compile(r"(SA|CS|EC|MT|TR|DS)\b")
"""How the place in a paper begins: the key of the paper."""
LEANING = re.compile(
    r"(the same|it|its|those|these|they|their|them|this|likewise|also|and|but|neither|nor|so)\b", re.IGNORECASE
)
"""How a statement begins that cannot be read without its neighbour."""


def objections(study: Study) -> list[str]:
    """Return what is to be said against the claims of a study and its findings, as ``claim: sentence``."""
    of_claims = [f"{claim.id}: {text}" for claim in study.claims for text in _of_claim(study, claim)]
    return of_claims + [text for finding in study.findings for text in _of_finding(study, finding)]


def _of_finding(study: Study, finding: Finding) -> list[str]:
    """A finding holds where all claims of its patterns are judged: a claim of another preset would switch it off."""
    bound = [claim for claim in study.claims if fits(claim.id, finding.when)]
    if any(all(presets.judges(study, preset, claim) for claim in bound) for preset in study.presets):
        return []
    told = f"no preset judges all claims of {', '.join(finding.when)}, so that this is never shown"
    return [f"findings: {told}: {finding.text!r}"]


def _of_claim(study: Study, claim: Claim) -> list[str]:
    texts = []
    twins = [c.id for c in study.claims if _plain(c.statement) == _plain(claim.statement) and c.id != claim.id]
    if twins:
        texts.append(f"its statement is also that of {', '.join(twins)}")
    if LEANING.match(claim.statement):
        texts.append(f"its statement leans on a neighbour: {claim.statement!r}")
    if claim.origin != "ours" and not KEYS.match(claim.source):
        texts.append(f"its source names no paper: {claim.source!r}")
    if not presets.able(study, claim):
        texts.append("no preset runs its arms at its points")
    if nothing_happens(claim):
        texts.append("its rule calls a loss that does not fall at all convergence")
    if fails_its_prediction(claim):
        texts.append(f"its rule is failed by the number that it predicts, {claim.predicted}")
    return texts


def _plain(statement: str) -> str:
    return " ".join(statement.lower().split()).rstrip(".")


def nothing_happens(claim: Claim) -> bool:
    """Return whether a claim of convergence is met by a loss that stays where it is.

    A claim of convergence is one about a slope whose prediction is a negative number, with an upper end. Slope 0 in
    the interior of its region means that the rule cannot tell convergence from nothing.

    >>> about = {"id": "c", "source": "s", "statement": "t", "kind": "slope", "variable": "L", "arm": "a"}
    >>> nothing_happens(Claim(**about, predicted=-0.07, within=(-0.17, 0.03)))
    True
    >>> nothing_happens(Claim(**about, predicted=-0.5, within=(-0.6, -0.4)))
    False
    """
    if claim.kind != "slope" or claim.at_least is not None:
        return False
    try:
        converges = float(claim.predicted) < 0
    except ValueError:
        return False
    low, high = claim.region
    return converges and low < 0 < high


def fails_its_prediction(claim: Claim) -> bool:
    """Return whether the number that a claim predicts, which the paper prints, lies outside the region of its rule.

    >>> about = {"id": "c", "source": "s", "statement": "t", "kind": "difference", "variable": "L", "arm": "a"}
    >>> fails_its_prediction(Claim(**about, versus="b", predicted="+0.001", at_most=0.0))
    True
    >>> fails_its_prediction(Claim(**about, versus="b", predicted="< 0", at_most=0.0))
    False
    """
    try:
        number = float(claim.predicted)
    except ValueError:  # in words
        return False
    low, high = claim.region
    return not low <= number <= high

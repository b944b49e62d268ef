"""Claims that a reader would object to: there is none, and none may be added."""

from __future__ import annotations

import re

import pytest

from moestat.study import load, presets
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
    """Return whether the number that a claim predicts, which the paper prints, lies outside the region of its rule."""
    try:
        number = float(claim.predicted)
    except ValueError:  # in words
        return False
    low, high = claim.region
    return not low <= number <= high


@pytest.mark.parametrize("name", sorted(load.known_studies()))
def test_every_claim_can_be_read_looked_up_judged_and_failed(name):
    assert not objections(load.read(name).study)


def of(*claims, **more):
    about = {"source": "SA Fig. 1", "statement": "Losses fall.", "kind": "slope", "variable": "L", "arm": "a"}
    claims = [about | {"id": f"c{i}", "at_most": 0.0} | claim for i, claim in enumerate(claims)]
    content = {"title": "t", "paper": "p", "source": "s", "experiment": "e", "seed": 1, "grid": {"n": [1, 2]}}
    content |= {"arms": [{"name": "a"}, {"name": "b"}], "presets": {"quick": {"replicates": 2, "arms": ["a"]}}}
    return [text.split(": ", 1)[1] for text in objections(Study.model_validate(content | {"claims": claims} | more))]


def test_what_is_objected_to():
    assert of({}) == []
    assert of({}, {"statement": "losses  fall"}) == [
        "its statement is also that of c1",
        "its statement is also that of c0",
    ]
    assert of({"statement": "The same for ReLU."}) == ["its statement leans on a neighbour: 'The same for ReLU.'"]
    assert of({"statement": "Those of GELU fall."})[0].startswith("its statement leans")
    assert of({"source": "Theorem 2"}) == ["its source names no paper: 'Theorem 2'"]
    assert of({"source": "a textbook", "origin": "ours"}) == []
    assert of({"arm": "b"}) == of({"arm": "a", "at": {"n": 3}}) == ["no preset runs its arms at its points"]
    loose = {"predicted": -0.07, "at_most": None, "within": [-0.17, 0.03]}
    assert of(loose) == ["its rule calls a loss that does not fall at all convergence"]
    assert of(loose | {"within": [-0.17, -0.01]}) == []
    above = {"predicted": "+0.001", "kind": "difference", "versus": "a"}
    assert of(above) == ["its rule is failed by the number that it predicts, +0.001"]
    assert of(above | {"predicted": "-0.001"}) == []


def test_a_finding_that_no_preset_can_show_is_objected_to():
    small = {"id": "low", "presets": ["quick"]}
    large = {"id": "low-large", "statement": "Losses fall far.", "presets": ["paper"]}
    sizes = {"presets": {"quick": {"replicates": 2}, "paper": {"replicates": 2}}}

    def finding(*patterns):
        return {"findings": [{"when": dict.fromkeys(patterns, "supported"), "text": "They fall."}]}

    assert of(small, large, **sizes, **finding("low*")) == [
        "no preset judges all claims of low*, so that this is never shown: 'They fall.'"
    ]
    assert of(small, large, **sizes, **finding("low", "low-large"))
    assert of(small, large, **sizes, **finding("low")) == of(small, large, **sizes, **finding("*-large")) == []

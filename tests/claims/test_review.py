"""Claims that a reader would object to: there is none, and none may be added."""

from __future__ import annotations

import re

import pytest

from moestat.study import load, presets
from moestat.study.spec import Claim, Study, fits

KEYS = re.compile(r"(SA|CS|EC|MT|TR|DS)\b")
"""How the place in a paper begins: the key of the paper."""
LEANING = re.compile(
    r"(the same|it|its|those|these|they|their|them|this|likewise|also|and|but|neither|nor|so)\b", re.IGNORECASE
)
"""How a statement begins that cannot be read without its neighbour."""


def objections(study: Study) -> list[str]:
    """Return what is to be said against the claims of a study and its findings, as ``claim: sentence``."""
    said = [f"{claim.id}: {text}" for claim in study.claims for text in of_claim(study, claim)]
    for finding in study.findings:  # it holds where all claims of its patterns are judged
        bound = [claim for claim in study.claims if fits(claim.id, finding.when)]
        if not any(all(presets.judges(study, preset, claim) for claim in bound) for preset in study.presets):
            said.append(f"findings: no preset judges all claims of {', '.join(finding.when)}: {finding.text!r}")
    return said


def of_claim(study: Study, claim: Claim) -> list[str]:
    low, high = claim.region
    try:
        predicted = float(claim.predicted)
    except ValueError:  # in words
        predicted = float("nan")
    twins = [c.id for c in study.claims if plain(c.statement) == plain(claim.statement) and c.id != claim.id]
    trend = claim.kind == "slope" and claim.at_least is None and predicted < 0
    against = {
        f"its statement is also that of {', '.join(twins)}": bool(twins),
        f"its statement leans on a neighbour: {claim.statement!r}": bool(LEANING.match(claim.statement)),
        f"its source names no paper: {claim.source!r}": claim.origin != "ours" and not KEYS.match(claim.source),
        "no preset runs its arms at its points": not presets.able(study, claim),
        # slope 0 in the interior of the region: the rule cannot tell convergence from nothing
        "its rule calls a loss that does not fall at all convergence": trend and low < 0 < high,
        f"its rule is failed by the number that it predicts, {claim.predicted}": predicted < low or predicted > high,
    }
    return [text for text, holds in against.items() if holds]


def plain(statement: str) -> str:
    return " ".join(statement.lower().split()).rstrip(".")


@pytest.mark.parametrize("name", sorted(load.known_studies()))
def test_every_claim_can_be_read_looked_up_judged_and_failed(name):
    assert not objections(load.read(name).study)


def of(*claims, **more):
    about = {"source": "SA Fig. 1", "statement": "Losses fall.", "kind": "slope", "variable": "L", "arm": "a"}
    claims = [about | {"id": f"c{i}", "at_most": 0.0} | claim for i, claim in enumerate(claims)]
    content = {"title": "t", "paper": "p", "source": "s", "experiment": "e", "seed": 1, "grid": {"n": [1, 2]}}
    content |= {"arms": [{"name": "a"}, {"name": "b"}], "presets": {"quick": {"replicates": 2, "arms": ["a"]}}}
    return [text.split(": ", 1)[1] for text in objections(Study.model_validate(content | {"claims": claims} | more))]


LOOSE = {"predicted": -0.07, "at_most": None, "within": [-0.17, 0.03]}
ABOVE = {"predicted": "+0.001", "kind": "difference", "versus": "a"}


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ([{}], []),
        ([{}, {"statement": "losses  fall"}], ["also that of c1", "also that of c0"]),
        ([{"statement": "The same for ReLU."}], ["leans on a neighbour"]),
        ([{"source": "Theorem 2"}], ["its source names no paper"]),
        ([{"source": "ours", "origin": "ours"}], []),
        ([{"arm": "b"}], ["no preset runs its arms at its points"]),
        ([{"at": {"n": 3}}], ["no preset runs its arms at its points"]),
        ([LOOSE], ["does not fall at all"]),
        ([LOOSE | {"within": [-0.17, -0.01]}], []),
        ([ABOVE], ["failed by the number that it predicts, +0.001"]),
        ([ABOVE | {"predicted": "-0.001"}], []),
    ],
)
def test_what_is_objected_to(claims, said):
    found = of(*claims)
    assert len(found) == len(said) and all(text in one for text, one in zip(said, found, strict=True))


def test_a_finding_that_no_preset_can_show_is_objected_to():
    small = {"id": "low", "presets": ["quick"]}
    large = {"id": "low-large", "statement": "Losses fall far.", "presets": ["paper"]}
    sizes = {"presets": {"quick": {"replicates": 2}, "paper": {"replicates": 2}}}
    for patterns, objected in ((["low*"], 1), (["low", "low-large"], 1), (["low"], 0), (["*-large"], 0)):
        finding = {"when": dict.fromkeys(patterns, "supported"), "text": "They fall."}
        assert len(of(small, large, **sizes, findings=[finding])) == objected

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

"""What stands in the way of a verdict: missing or failed runs, too few replicates, a search that has not settled."""

from __future__ import annotations

import math
from typing import Any

from moestat.claims.counts import Counts
from moestat.claims.estimates import window_of
from moestat.claims.evidence import AGAIN, Evidence
from moestat.rates import Estimate
from moestat.study.spec import Claim

LEAST = 3
"""Replicates that a decisive verdict needs at least."""
TOO_FEW = "replicates are too few; a verdict needs at least"
"""What ``why`` says of fewer."""
SETTLED = 0.95
"""Share of the data sets in which a search must have settled, for a verdict on the point that it looks for."""
FUNCTIONS = ("hellinger", "rmse")
"""Errors of a density or function: their bounds hold for every fit that is as good as the truth, found again or not."""


def places(claim: Claim) -> list[tuple[str, dict[str, Any]]]:
    """Return the arms and coordinates that a claim compares, each once."""
    both = [(claim.arm, claim.at)]
    if claim.kind not in ("slope", "mean"):
        versus_at = claim.at if claim.versus_at is None else claim.versus_at
        both.append((claim.versus or claim.arm, versus_at))
    return [place for i, place in enumerate(both) if place not in both[:i]]


def of_numbers(answer: Estimate, counts: Counts) -> list[str]:
    """Say what forbids a verdict in an estimate, and in how its runs ended."""
    obstacles = list(answer.reasons)
    if not answer.counts_failures:
        if counts.missing:
            obstacles.append(f"{counts.missing} of {counts.replicates} runs are missing.")
        if counts.failed:
            obstacles.append(f"{counts.failed} of {counts.replicates} runs failed.")
    if not obstacles and not (math.isfinite(answer.value) and answer.low <= answer.value <= answer.high):
        obstacles.append("There is no interval around it.")
    if answer.cases is not None or answer.exact or obstacles:
        return obstacles
    if answer.replicates is not None and answer.replicates < LEAST:
        obstacles.append(f"{answer.replicates} {TOO_FEW} {LEAST}.")
    elif answer.low == answer.high:
        obstacles.append("Its interval has no width, though it is not exact: all replicates may give one number.")
    return obstacles


def of_search(evidence: Evidence, claim: Claim) -> list[str]:
    """Say where a rate of parameters is that of the best points found, and a search has not settled on them.

    So are the ends of the band of near-minimisers (variables of the endings ``_low`` and ``_high``): a search that does
    not come back to its best point has not seen all others either, and the worst of those seen bounds nothing.
    """
    if claim.variable in FUNCTIONS or not claim.kind.startswith("slope"):
        return []
    low, high = window_of(evidence, claim) or (-math.inf, math.inf)
    settled = searched = 0
    for arm, at in places(claim):
        if (again := evidence.found_again(claim.over, arm, at)) is not None:
            again = again.where((again[claim.over] >= low) & (again[claim.over] <= high))
            settled += int((again >= AGAIN).sum())
            searched += int(again.notnull().sum())
    if settled >= SETTLED * searched:
        return []
    return [
        f"The search reached its best point from two independent starts in {settled} of {searched} data sets; in the "
        "others a better one may be left."
    ]

"""What stands in the way of a verdict: missing or failed runs, too few replicates, a search that has not settled."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import xarray as xr

from moestat.claims.counts import Counts
from moestat.claims.estimates import window_of
from moestat.claims.evidence import AGAIN, Evidence, Window
from moestat.rates import Estimate
from moestat.study.spec import Claim

LEAST = 3
"""Replicates that a decisive verdict needs at least."""
TOO_FEW = "replicates are too few; a verdict needs at least"
"""What ``why`` says of fewer."""
SETTLED = 0.95
"""Share of the data sets in which a search must have settled, for a verdict on the point that it looks for."""
FUNCTIONS = ("hellinger", "hellinger_squared", "root_hellinger_squared", "rmse")
"""Errors of a density or function: a bound from above holds for every fit that is as good as the truth, found again or
not. A bound from below, or a comparison, is about the best point."""
UNITS = ("_to_bound", "_to_fisher")
"""Endings of losses in units of a bound or line."""


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
    if not claim.kind.startswith("slope") or (claim.kind == "slope" and _bounds_a_function(claim)):
        return []
    window = window_of(evidence, claim)
    found = (evidence.found_again(claim.over, arm, at) for arm, at in places(claim))
    return of_points([within(again, claim.over, window) for again in found if again is not None])


def of_points(found: Iterable[xr.DataArray]) -> list[str]:
    """Say where best points were reached too seldom: from how many starts each was, NaN where nothing was searched."""
    settled = searched = 0
    for again in found:
        settled += int((again >= AGAIN).sum())
        searched += int(again.notnull().sum())
    if settled >= SETTLED * searched:
        return []
    return [
        f"The search came back to its best point in {settled} of {searched} data sets; in the others a better one may "
        "be left."
    ]


def within(found: xr.DataArray, over: str, window: Window) -> xr.DataArray:
    """Return it with NaN outside of the window of a fit."""
    low, high = window or (-math.inf, math.inf)
    return found.where((found[over] >= low) & (found[over] <= high))


def _bounds_a_function(claim: Claim) -> bool:
    name = next((claim.variable.removesuffix(unit) for unit in UNITS if claim.variable.endswith(unit)), claim.variable)
    return claim.at_most is not None and name in FUNCTIONS

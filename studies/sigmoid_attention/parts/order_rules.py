"""Rules of "faster" and "slower" that decide only where the slower side has an order of its own.

Section 4.1.1 and Table 1 of the paper set a fast order against a slow one. A series that does not fall at all is slower
than any other, and shows neither: a difference of slopes decides such a claim only where the interval of the slower
slope lies at most at ``slower_at_most``, the rule that the slow order has by itself.
"""

from __future__ import annotations

from dataclasses import replace

import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable, without_lengths_of_one
from moestat.rates import Estimate
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study.spec import Claim
from studies.sigmoid_attention.parts.rules import slope_lead


def ordered_series(ds: xr.Dataset, claim: Claim, *, slower_at_most: float) -> Estimate:
    """Estimate the difference of the slopes of two series, paired by replicate.

    ``claim``: as of kind ``slope_difference``: ``arm``, ``variable``, ``versus``, ``versus_variable``, ``at``,
    ``over``, ``window``. With the rule ``at_most`` the second side is the slower one, with ``at_least`` the first.
    ``slower_at_most``: the region of the slower slope.
    """
    names = (claim.variable, claim.versus_variable or claim.variable)
    arms = (claim.arm, claim.versus or claim.arm)
    sides = [
        without_lengths_of_one(variable(ds, name, {"arm": arm, **claim.at}), (claim.over, "replicate"))
        for name, arm in zip(names, arms, strict=True)
    ]
    found = rates.difference(*sides, over=claim.over, window=claim.window, level=claim.level)
    slower = (found.first, found.second)[_slower(claim)]
    note = f"{found.first.complete} complete replicates at {found.first.sizes.size} sizes"
    answer = replace(
        found.estimate,
        subject=f"The difference of the slopes of {names[0]} and {names[1]} over {claim.over}",
        note=note,
        reasons=found.reasons,
        replicates=found.first.complete,
    )
    return _beside(answer, slower.slope, slower.low, slower.high, slower_at_most)


def ordered_rows(ds: xr.Dataset, claim: Claim, *, slower_at_most: float) -> Estimate:
    """Estimate the difference of two rows' slopes as :func:`~.rules.slope_lead`; see :func:`ordered_series`."""
    answer = slope_lead(ds, claim)
    row = ds.sel(arm=(claim.arm, claim.versus)[_slower(claim)]).isel(replicate=0)
    slope, low, high = (float(row[name]) for name in ("slope", "slope_low", "slope_high"))
    return _beside(answer, slope, low, high, slower_at_most)


def _slower(claim: Claim) -> int:
    """Return which side a claim says is the slower one."""
    if claim.at_most is None and claim.at_least is None:
        raise NoAnswerError("That one side is slower is judged by at_most or at_least.")
    return int(claim.at_most is not None)


def _beside(answer: Estimate, slope: float, low: float, high: float, most: float) -> Estimate:
    if high <= most:
        return answer
    value, interval = rounded(slope, low, high)
    own = f"The slower side has a slope of {value} {interval} itself, where all of its interval should be at most"
    return replace(answer, reasons=(*answer.reasons, f"{own} {number(most)}: its failure alone may be the difference."))

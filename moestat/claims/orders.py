"""Claims about the order of a quantity: the exponent that it has between two points of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, sides, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def exponent(ds: xr.Dataset, claim: Claim, *, target: float, given: Mapping[str, Any] | None = None) -> Estimate:
    """Estimate the mean log ratio of ``claim.variable`` between two cells, judged against the log ratio of an order.

    Logarithms that an order leaves out may take a fifth of it: the limit of the rule is that far from ``target``. An
    interval within the limit that does not reach ``target`` decides nothing; short of the limit the order is not there.

    Parameters
    ----------
    ds : xarray.Dataset
    claim : Claim
        ``at`` and ``versus_at`` are the two cells, of ``arm`` and ``versus`` (else of ``arm``). With the rule
        ``at_least`` the log ratio is to be ``target`` or more, with ``at_most`` that or less.
    target : float
        The log ratio of the order itself.
    given : mapping, optional
        ``{"variable": name, "least": number}``: what has to hold at both cells for the order to be asked for.
    """
    values = []
    for _, arm, at in sides(claim):
        if given:
            held = variable(ds, given["variable"], {"arm": arm, **at}).transpose("replicate").values
            if not rates.mean_interval(held[np.isfinite(held)], claim.level)[2] >= given["least"]:
                raise NoAnswerError(f"{given['variable']} is not {given['least']:g} or more in {arm}.")
        values.append(variable(ds, claim.variable, {"arm": arm, **at}).transpose("replicate").values)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.log(values[0]) - np.log(values[1])
    return beside(each, claim, target, f"The mean log ratio of {claim.variable}")


def beside(each: np.ndarray, claim: Claim, target: float, subject: str) -> Estimate:
    """Return the mean of log ratios (replicates), which decides nothing short of ``target`` within the limit."""
    low_end, high_end = claim.region
    if not (low_end <= target <= high_end and np.isfinite([low_end, high_end]).sum() == 1):
        raise NoAnswerError(f"The rule must be one limit on this side of {target:g}.")
    kept = each[np.isfinite(each)]
    if kept.size < 2:
        raise NoAnswerError(f"Only {kept.size} of {each.size} replicates have a log ratio.")
    mean, _, low, high = (float(value) for value in rates.mean_interval(kept, claim.level))
    reasons: tuple[str, ...] = ()
    if kept.size < each.size:
        reasons += (f"{each.size - kept.size} of {each.size} replicates have no value.",)
    if low_end <= low and high <= high_end and not (high >= target if np.isfinite(low_end) else low <= target):
        reasons += (f"All of the interval is short of {target:g}, within what is left for logarithms.",)
    note = f"a ratio of {np.exp(mean):.3g}, {kept.size} replicates, paired"
    return Estimate(mean, low, high, note, reasons, subject=subject, replicates=kept.size)

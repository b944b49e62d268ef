"""Claims about the order of a quantity: the exponent that it has between two points of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.estimates import of_samples
from moestat.claims.selection import NoAnswerError, variable, versus
from moestat.rates import Estimate
from moestat.study.spec import Claim


def exponent(ds: xr.Dataset, claim: Claim, *, target: float, given: Mapping[str, Any] | None = None) -> Estimate:
    """Estimate the mean log ratio of ``claim.variable`` between two cells, judged against the log ratio of an order.

    Logarithms that an order leaves out may take a fifth of it: the limit of the rule is that far from ``target``. An
    interval within the limit that does not reach ``target`` decides nothing; short of the limit the order is not there.

    The cells are ``at`` of ``arm`` and ``versus_at`` of ``versus`` (else of ``arm``). With the rule ``at_least`` the
    log ratio is to be ``target`` or more, with ``at_most`` that or less. What is ``given``, ``{"variable": name,
    "least": number}``, has to hold at both cells for the order to be asked for.
    """
    values = []
    for _, arm, at in ((claim.variable, claim.arm, claim.at), versus(claim)):
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
    found = of_samples(each, claim.level, subject)
    if not found.replicates or found.replicates < 2:
        raise NoAnswerError(f"Only {found.replicates} of {each.size} replicates have a log ratio.")
    reasons, reached = found.reasons, found.high >= target if np.isfinite(low_end) else found.low <= target
    if low_end <= found.low and found.high <= high_end and not reached:
        reasons += (f"All of the interval is short of {target:g}, within what is left for logarithms.",)
    return replace(found, note=f"a ratio of {np.exp(found.value):.3g}, {found.note}, paired", reasons=reasons)

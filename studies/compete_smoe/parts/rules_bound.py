"""Claims about a ratio that is to be bounded from below: whether it falls where the parameters come near the truth."""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Cases, Estimate, replicate_slopes
from moestat.study.spec import Claim

ZERO = 1e-9  # a ratio below this one is 0 up to rounding


def steepest(ds: xr.Dataset, claim: Claim, *, shortest: int = 0) -> Estimate:
    """Return the largest of the slopes of ``claim.variable`` over ``claim.over`` in the replicates of ``claim.arm``.

    A ratio of two distances that is bounded from below does not fall as the moves become shorter: its exponent is at
    most 0, where that of a numerator of the order D^(1 + a) is a. A replicate is a direction or a truth, and a case;
    one that is above refutes. A ratio that is 0 at some length has no exponent, and counts as infinite.

    ``claim``: its rule must be ``at_most``. ``shortest``: look at so many of the shortest lengths only; at all of them
    if 0.
    """
    if claim.at_most is None:
        raise NoAnswerError("A bound from below in every case takes the rule at_most.")
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose(claim.over, "replicate")
    array = array.sortby(claim.over).isel({claim.over: slice(0, shortest or None)})
    values, lengths = array.values.astype(float), array[claim.over].values.astype(float)
    if len(lengths) < 2 or not values.size or not np.isfinite(values).all():
        raise NoAnswerError(f"{claim.variable} needs a value at two lengths or more in every replicate.")
    vanishes = (values < ZERO).any(axis=0)
    slopes = replicate_slopes(np.log(lengths), np.log(np.maximum(values, ZERO)))
    exponents = np.where(vanishes, np.inf, slopes)
    inside = int(np.sum(exponents <= claim.at_most))
    largest, count = float(exponents.max()), exponents.size
    note = f"exponents up to {largest:.3g} over the lengths {lengths[0]:.2g} to {lengths[-1]:.2g}, {count} replicates"
    note += f", in {int(vanishes.sum())} of which it is 0" if vanishes.any() else ""
    subject = f"The largest exponent of {claim.variable} over {claim.over}"
    return Estimate(
        largest, largest, largest, note, subject=subject, exact=True, cases=Cases(count, inside, count, inside)
    )

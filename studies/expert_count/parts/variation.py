"""Claims about expert count: how much more a metric varies, along the number of experts or between runs.

Functions for claims of kind ``function``: ``f(ds, claim, **options) -> Estimate``.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat.claims import rules
from moestat.claims.estimates import seen
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate, mean_interval
from moestat.study.spec import Claim

UNSEEN = "too small to be seen: a few test samples make it"
"""Why a small difference of a metric near its ceiling decides nothing."""


def spread(ds: xr.Dataset, claim: Claim, *, visible: float) -> Estimate:
    """Estimate how much more the runs scatter, as :func:`moestat.claims.rules.spread` does, if it can be seen.

    ``visible``: a smaller difference, either way, decides nothing: near the ceiling of a metric single test samples
    make it.
    """
    return seen(rules.spread(ds, claim), visible, UNSEEN)


def along(ds: xr.Dataset, claim: Claim, *, over: str = "experts", visible: float = 0.0) -> Estimate:
    """Estimate how much more ``claim.variable`` varies along ``over`` in ``claim.arm`` than in ``claim.versus``.

    The standard deviation over the points of ``over`` within each replicate, its difference between the two arms paired
    by replicate, with a t-interval. Noise within runs is part of both. A replicate with a hole in either arm is left
    out; the note has the number of the others. A difference below ``visible``, either way, decides nothing.
    """
    deviations = []
    for arm in (claim.arm, claim.versus):
        array = variable(ds, claim.variable, {"arm": arm, **claim.at})
        if set(array.dims) != {"replicate", over} or array.sizes[over] < 2:
            raise NoAnswerError(
                f"{claim.variable} runs over {', '.join(map(str, array.dims))}: replicates and two or more values of "
                f"{over} are needed, and all else fixed in 'at'."
            )
        deviations.append(np.std(array.transpose("replicate", over).values, axis=1, ddof=1))
    ours, theirs = deviations
    whole = np.isfinite(ours) & np.isfinite(theirs)
    mean, _, low, high = mean_interval((ours - theirs)[whole], claim.level)
    note = f"standard deviations {np.mean(ours[whole]):.3g} and {np.mean(theirs[whole]):.3g}, {whole.sum()} replicates"
    return seen(Estimate(float(mean), float(low), float(high), note, replicates=int(whole.sum())), visible, UNSEEN)

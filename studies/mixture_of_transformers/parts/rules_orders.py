"""Claims about upper bounds O(sigma_0^a N^b M^c): how large a quantity is over its bound, in the worst of all cells."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from moestat.claims import rules
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def largest_ratio(ds: xr.Dataset, claim: Claim, *, bound: Mapping[str, float]) -> Estimate:
    """Return the largest ratio of ``claim.variable`` to a bound, over all cells and replicates, and say where it is.

    A quantity that stops growing below its bound is of the order of the bound at most, and has no slope that would show
    it; its ratio to the bound does. The constant of the order is the limit of the rule: with ``at_most = 1`` it is 1.

    ``ds``: results; values that are NaN are passed over. ``claim``: its ``variable``, ``arm`` and ``at`` say what is
    looked at; all axes that are not fixed are run over. ``bound``: axes of the grid and the powers in which they stand
    in the bound: ``{"start_scale": 0.5, "experts": -2}`` is sigma_0^0.5 / M^2.
    """
    ratio = variable(ds, claim.variable)
    if missing := sorted(set(bound) - set(map(str, ratio.dims))):
        raise NoAnswerError(f"{claim.variable} does not run over {', '.join(missing)}, which the bound has.")
    for axis, power in bound.items():
        ratio = ratio / ds[axis].astype(float) ** power
    return rules.largest(ds.assign({claim.variable: ratio}), claim)

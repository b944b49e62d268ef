"""Claims that have two halves, of which either alone is easily had: one pair large and all others small, at once.

What is estimated is by which factor the worse of the two halves misses its bound: 1 or less where both hold.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.orders import beside
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def at_one_step(
    ds: xr.Dataset, claim: Claim, *, own: str, least: float, bounds: Mapping[str, float], over: str = "epoch"
) -> Estimate:
    """Estimate by what the worse half misses its bound, at the recorded step where it misses it by least.

    The halves are ``own`` at ``least`` or more, and ``claim.variable`` at the bound of the arm or less. In each
    replicate the best step of every arm is looked at, and of the arms the worst.

    ``own``: the variable that is to be large; ``bounds``: arms and the bounds of ``claim.variable`` in them, in place
    of ``claim.arm``; ``over``: the axis of the steps.
    """
    worst = []
    for arm, bound in bounds.items():
        at = {"arm": arm, **claim.at}
        large, small = (variable(ds, name, at).transpose("replicate", over).values for name in (own, claim.variable))
        each = np.maximum(small / bound, np.divide(least, large, out=np.full_like(large, np.inf), where=large > 0))
        each = np.where(np.isfinite(large) & np.isfinite(small), each, np.inf)
        worst.append(each.min(axis=1))
    found = np.max(worst, axis=0)
    return _mean(found, claim)


def weights(ds: xr.Dataset, claim: Claim, *, own: float, other: float) -> Estimate:
    """Estimate by what the worse half of eq. (11) misses its bound, means over the experts.

    The halves are an expert's largest <W, v_n>, that of its class (Definition 2), at ``own`` or more, and the next one
    at ``other`` or less. ``claim.variable`` is <W, v_n> by expert and class.
    """
    largest, second = _two_largest(ds, claim, claim.arm)
    short = np.divide(own, largest, out=np.full_like(largest, np.inf), where=largest > 0)
    return _mean(np.where(np.isfinite(largest), np.maximum(second / other, short), np.nan), claim)


def weights_order(ds: xr.Dataset, claim: Claim, *, own: float, target: float) -> Estimate:
    """Estimate the log ratio of the second largest <W, v_n> in ``claim.arm`` to that in ``claim.versus``.

    Means over the experts, as in :func:`weights`, and judged as :func:`rules_orders.exponent` judges.
    """
    logs = []
    for arm in (claim.arm, claim.versus):
        largest, second = _two_largest(ds, claim, arm)
        if not rates.mean_interval(largest[np.isfinite(largest)], claim.level)[2] >= own:
            raise NoAnswerError(f"The largest projection is not {own:g} or more in {arm}.")
        with np.errstate(invalid="ignore", divide="ignore"):
            logs.append(np.log(second))
    return beside(logs[0] - logs[1], claim, target, "The mean log ratio of the projections on other classes")


def _two_largest(ds: xr.Dataset, claim: Claim, arm: str) -> tuple[np.ndarray, np.ndarray]:
    labels = variable(ds, claim.variable, {"arm": arm, **claim.at}).transpose("replicate", "expert", "class")
    ordered = np.sort(labels.values, axis=-1)  # NaN, beyond M, in a whole row
    with np.errstate(invalid="ignore"):
        return _over_experts(ordered[..., -1]), _over_experts(ordered[..., -2])


def _over_experts(values: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    return np.where(known, values, 0.0).sum(axis=-1) / np.where(known.any(axis=-1), known.sum(axis=-1), np.nan)


def _mean(found: np.ndarray, claim: Claim) -> Estimate:
    usable = np.isfinite(found)
    if usable.sum() < 2:
        raise NoAnswerError(f"Only {usable.sum()} of {usable.size} replicates have both halves.")
    mean, _, low, high = (float(value) for value in rates.mean_interval(found[usable], claim.level))
    note = f"{usable.sum()} of {usable.size} replicates, both halves hold in {int((found[usable] <= 1).sum())}"
    subject = "What the worse half has of its bound"
    return Estimate(mean, low, high, note, subject=subject, replicates=int(usable.sum()))

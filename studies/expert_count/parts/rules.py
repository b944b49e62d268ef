"""Rules of Figures 1 and 2: replicates that chose nothing, spread that can be seen, entropy that mirrors accuracy.

Functions for claims of kind ``function``: ``f(ds, claim, **options) -> Estimate``; what any study can use is in
:mod:`moestat.claims.rules`. Where a run was started because its first replicates looked a certain way, these cannot be
evidence for what they looked like: ``after`` leaves so many out, and keeps a run of these alone as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from moestat import streams
from moestat.claims import rules
from moestat.claims.estimates import seen
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate, mean_interval
from moestat.study.spec import Claim, Scalar

UNSEEN = "too small to be seen: a few test samples make it"
DRAWS = 4000  # draws of replicates, and exchanges of the values of M


def difference(ds: xr.Dataset, claim: Claim, *, after: int) -> Estimate:
    """Estimate how much larger ``claim.variable`` is at ``claim.at`` than at ``versus_at``, paired by replicate."""
    kept = _fresh(ds, after)
    found = rules.gap(kept, claim.model_copy(update={"versus": claim.arm}), over=())
    left_out = ds.sizes["replicate"] - kept.sizes["replicate"]
    note = f"{found.note}, paired" + (f"; {left_out} that chose the run are left out" if left_out else "")
    return replace(found, note=note, subject=f"The difference of {claim.variable}")


def peak(ds: xr.Dataset, claim: Claim, *, value: Scalar, after: int) -> Estimate:
    """Estimate by how much the mean at M = ``value`` exceeds the best other: :func:`moestat.claims.rules.peak`."""
    return rules.peak(_fresh(ds, after), claim, value=value)


def spread(ds: xr.Dataset, claim: Claim, *, visible: float) -> Estimate:
    """Estimate how much more the runs scatter: :func:`moestat.claims.rules.spread`.

    A difference below ``visible``, either way, decides nothing: near a metric's ceiling single test samples make it.
    """
    return seen(rules.spread(ds, claim), visible, UNSEEN)


def spread_along(ds: xr.Dataset, claim: Claim, *, visible: float) -> Estimate:
    """Estimate how much more ``claim.variable`` varies along M in ``claim.arm`` than in ``claim.versus``.

    The standard deviation over M within each replicate, its difference paired by replicate; ``visible`` as above.
    """
    rows = [_along(ds, claim, claim.variable, arm) for arm in (claim.arm, claim.versus)]
    ours, theirs = (np.std(each, axis=1, ddof=1) for each in rows)
    whole = np.isfinite(ours) & np.isfinite(theirs)
    mean, _, low, high = mean_interval((ours - theirs)[whole], claim.level)
    note = f"standard deviations {np.mean(ours[whole]):.3g} and {np.mean(theirs[whole]):.3g}, {whole.sum()} replicates"
    return seen(Estimate(float(mean), float(low), float(high), note, replicates=int(whole.sum())), visible, UNSEEN)


def mirror(ds: xr.Dataset, claim: Claim, *, other: str, after: int = 0) -> Estimate:
    """Estimate Spearman's correlation along M of the means of ``claim.variable`` and ``other`` over replicates.

    The interval is that of a percentile bootstrap over replicates. A run whose routing fails has a low accuracy and a
    high entropy whatever its M, so that the two means, which are of the same runs, correlate where M does nothing. It
    decides nothing, then, unless M is seen to move both: with its values exchanged at random within each replicate, the
    covariance of the means is as far from 0 on the same side in at most (1 - level) / 2 of the draws.
    """
    pair = np.stack([_along(_fresh(ds, after), claim, name, claim.arm) for name in (claim.variable, other)])
    pair = pair[:, np.isfinite(pair).all(axis=(0, 2))]  # (2, replicates, points)
    count, points = pair.shape[1:]
    if points < 3 or count < 2:
        raise NoAnswerError(f"{points} values of experts and {count} complete replicates; 3 and 2 are needed.")
    value = float(_spearman(*pair.mean(axis=1)))
    if not np.isfinite(value):
        raise NoAnswerError(f"The mean of {claim.variable} or {other} is constant along experts.")
    rng = streams.generator(0, streams.key(use="expert_count.mirror"), 0, "bootstrap")
    weights = rng.multinomial(count, np.full(count, 1 / count), size=DRAWS) / count
    drawn = np.nan_to_num(_spearman(*(weights @ rows for rows in pair)))
    low, high = np.quantile(drawn, (0.5 - claim.level / 2, 0.5 + claim.level / 2))
    chance, side = _exchanged(pair, 1 if value > 0 else -1), (1 - claim.level) / 2
    as_much = f"exchanging experts within replicates does as much in {chance:.1%} of draws"
    reasons = () if chance <= side else (f"It is not seen to come from experts: {as_much}, more than {side:.1%}.",)
    estimate = Estimate(value, float(low), float(high), f"{count} replicates; {as_much}", reasons, replicates=count)
    return replace(estimate, subject="Spearman's correlation of the means")


def _fresh(ds: xr.Dataset, after: int) -> xr.Dataset:
    """Leave out the first ``after`` replicates, by which a run was chosen; a run of these alone stays as it is."""
    later = np.flatnonzero(ds["replicate"].values >= after)
    return ds.isel(replicate=later) if later.size else ds


def _along(ds: xr.Dataset, claim: Claim, name: str, arm: str) -> np.ndarray:
    """Return a variable of an arm as rows, (replicates, values of M)."""
    array = variable(ds, name, {"arm": arm, **claim.at})
    if set(array.dims) != {"replicate", "experts"} or array.sizes["experts"] < 2:
        has = ", ".join(map(str, array.dims))
        raise NoAnswerError(f"{name} runs over {has}: fix all but replicates and two or more experts in 'at'.")
    return np.asarray(array.transpose("replicate", "experts").values)


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation along the last axis; means that only rounding tells apart are ties."""
    return np.round(rules.spearman(np.round(first, 12), np.round(second, 12)), 12)


def _exchanged(pair: np.ndarray, sign: int) -> float:
    """Return how often exchanging points within each replicate gives means, of (2, R, points), as much on this side."""

    def covariance(means: np.ndarray) -> np.ndarray:
        return sign * np.sum((means[0] - means[0].mean(axis=-1, keepdims=True)) * means[1], axis=-1)

    rng = streams.generator(0, streams.key(use="expert_count.mirror"), 0, "exchange")
    order = np.argsort(rng.random((DRAWS, *pair.shape[1:])), axis=-1)
    exchanged = np.stack([np.take_along_axis(rows[None], order, axis=-1).mean(axis=1) for rows in pair])
    there = covariance(pair.mean(axis=1))
    return float((1 + np.sum(covariance(exchanged) >= there - 1e-12 * np.abs(there))) / (DRAWS + 1))

"""Claims about expert count: whether a metric falls along M where another one rises, as entropy and accuracy do.

Functions for claims of kind ``function``: ``f(ds, claim, **options) -> Estimate``. A run whose routing fails has a low
accuracy and a high entropy, whatever its M. So the two go against each other among any trainings, and among their means
over seeds as well; that M moves both is another statement, which :func:`of_means` asks for.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat import streams
from moestat.claims import rules
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim
from studies.expert_count.parts.contrasts import fresh

DRAWS = 4000  # draws of replicates, and exchanges of the values of M


def of_means(ds: xr.Dataset, claim: Claim, *, other: str, over: str = "experts", after: int = 0) -> Estimate:
    """Estimate Spearman's correlation along ``over`` of the means of ``claim.variable`` and ``other`` over replicates.

    The interval is that of a percentile bootstrap over replicates. It decides nothing unless ``over`` is seen to move
    the two together: with its values exchanged at random within each replicate, the covariance of the two means is as
    far from 0 on the same side in at most (1 - level) / 2 of the draws. Without that, the errors of the two means,
    which are of the same runs, would make a correlation where ``over`` does nothing, in the bootstrap as well.

    ``other``: the variable that ``claim.variable`` is correlated with; ``over``: the axis along which; ``after``:
    replicates that chose the run, see :func:`studies.expert_count.parts.contrasts.fresh`.
    """
    pair = np.stack([_rows(fresh(ds, after), claim, name, over) for name in (claim.variable, other)])  # (2, R, points)
    pair = pair[:, np.isfinite(pair).all(axis=(0, 2))]
    count, points = pair.shape[1:]
    if points < 3 or count < 2:
        raise NoAnswerError(f"{points} values of {over} and {count} complete replicates; 3 and 2 are needed.")
    value = float(_spearman(*pair.mean(axis=1)))
    if not np.isfinite(value):
        raise NoAnswerError(f"The mean of {claim.variable} or {other} is constant along {over}.")
    rng = streams.generator(0, streams.key(use="expert_count.mirror"), 0, "bootstrap")
    weights = rng.multinomial(count, np.full(count, 1 / count), size=DRAWS) / count
    drawn = np.nan_to_num(_spearman(*(weights @ rows for rows in pair)))
    low, high = np.quantile(drawn, (0.5 - claim.level / 2, 0.5 + claim.level / 2))
    chance = _exchanged(pair, 1 if value > 0 else -1)
    side = (1 - claim.level) / 2
    as_much = f"exchanging {over} within replicates does as much in {chance:.1%} of draws"
    reasons = () if chance <= side else (f"It is not seen to come from {over}: {as_much}, more than {side:.1%}.",)
    note = f"{count} replicates; {as_much}"
    subject = "Spearman's correlation of the means"
    return Estimate(value, float(low), float(high), note, reasons, subject=subject, replicates=count)


def within_seeds(ds: xr.Dataset, claim: Claim, *, other: str, visible: float, over: str = "experts") -> Estimate:
    """Estimate Spearman's correlation within a replicate, as :func:`moestat.claims.rules.rank_correlation` does.

    ``visible``: a replicate in which ``claim.variable`` spans less is left out: near its ceiling a few test samples
    order it.
    """
    array = variable(ds, claim.variable)
    seen = array.max(over) - array.min(over) >= visible
    return rules.rank_correlation(ds.assign({claim.variable: array.where(seen)}), claim, other=other, over=(over,))


def _rows(ds: xr.Dataset, claim: Claim, name: str, over: str) -> np.ndarray:
    """Return a variable of the claim's arm as rows, (replicates, points)."""
    array = variable(ds, name, {"arm": claim.arm, **claim.at})
    if set(array.dims) != {"replicate", over}:
        raise NoAnswerError(f"{name} runs over {', '.join(map(str, array.dims))}: fix all but replicates and {over}.")
    return np.asarray(array.transpose("replicate", over).values)


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

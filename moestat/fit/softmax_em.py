"""EM as published simulations use it: every start by itself until its steps are small, and the best end point counts.

It is here to be compared with :mod:`moestat.fit.softmax_mle`. A small step is not a maximum: where experts overlap, EM
moves by less than its tolerance long before it arrives.
"""

from __future__ import annotations

import math

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit.em import em
from moestat.fit.likelihood import LikelihoodFit, check_problem, check_variances, gain_over_truth, judge
from moestat.fit.softmax_likelihood import negative_log_likelihood, pack, prepare, unpack
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.status import Status

_EDGE = 1e-9  # within so much of a bound, in the logarithm, a variance is at it


@takes_float64("x", "y", "starts", "truth")
def expectation_maximisation(
    x: Array,
    y: Array,
    starts: Array,
    *,
    truth: Array | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 2000,
    variances: tuple[float, float] = (1e-2, 1e2),
) -> LikelihoodFit:
    """Run EM from every start, and return the end point with the largest likelihood of each replicate.

    Parameters
    ----------
    x : array (B, n, d)
    y : array (B, n)
    starts : array (B, S, N, P)
    truth : array (N*, P), optional
        For the gain; no start may be equal to it.
    tolerance, max_iterations, variances
        See :func:`moestat.fit.em.em`.

    Returns
    -------
    LikelihoodFit
        ``decrement`` is not computed: NaN. ``box_hits`` counts variances at their bounds.

    Raises
    ------
    ValueError
        See :func:`moestat.fit.likelihood.check_problem`; also if the bounds of the variances are not
        0 < lower < upper, or ``tolerance`` or ``max_iterations`` is negative.
    """
    model = SoftmaxGaussian(x.shape[-1])
    replicates, n, count, atoms = check_problem(model, x, y, starts, truth)
    check_variances(variances)
    for name, value in (("tolerance", tolerance), ("max_iterations", max_iterations)):
        if not value >= 0:
            raise ValueError(f"{name} is {value}; it must not be negative")
    xp = namespace(x, y, starts)
    free = xp.reshape(pack(starts), (replicates * count, -1))
    owner = xp.asarray(np.repeat(np.arange(replicates), count))
    data = prepare(x, y)
    run = em(data, free, owner, atoms, tolerance=tolerance, max_iterations=max_iterations, bounds=variances)
    reached = n * to_numpy(run.log_likelihood).reshape(replicates, count)
    reached = np.where(to_numpy(run.status).reshape(reached.shape) == Status.NOT_FINITE, -np.inf, reached)
    start = np.argmax(reached, axis=1)
    rows = xp.asarray(np.arange(replicates) * count + start)
    best = xp.take(run.free, rows, axis=0)
    problem = negative_log_likelihood(data, xp.take(owner, rows), atoms, variances[0])
    gradient = problem(best, xp.arange(replicates)).gradient
    lower, upper = (math.log(v) for v in variances)
    held = (best[:, -atoms:] <= lower + _EDGE) | (best[:, -atoms:] >= upper - _EDGE)
    outward = (gradient[:, -atoms:] > 0) == (best[:, -atoms:] < 0.5 * (lower + upper))
    at_bound = xp.where(held & outward, xp.zeros_like(gradient[:, -atoms:]), gradient[:, -atoms:])
    gradient = xp.concat([gradient[:, :-atoms], at_bound], axis=-1)
    log_likelihood = xp.take(run.log_likelihood, rows) * n
    gain = gain_over_truth(model, truth, x, y, log_likelihood)
    return LikelihoodFit(
        theta=unpack(best, atoms),
        log_likelihood=log_likelihood,
        gain=gain,
        gradient=xp.max(xp.abs(gradient), axis=-1),
        decrement=xp.full_like(gain, xp.nan),
        iterations=xp.take(run.iterations, rows),
        box_hits=xp.sum(xp.astype(held, xp.int64), axis=-1),
        start=xp.asarray(start),
        start_log_likelihood=xp.asarray(np.where(np.isfinite(reached), reached, np.nan)),
        status=judge(xp.take(run.status, rows), gain),
    )

r"""Maximum likelihood for softmax-gated Gaussian mixtures of experts, many replicates and starts at once.

EM crawls where experts overlap, and an over-fitted mixture is nothing but overlap: stopped at a relative change of
1e-6 it is often still next to its start. Here a few EM steps leave the start, and a trust-region Newton method with
the exact Hessian goes to the maximum. The work is done on a ladder of subsamples, each a few times larger than the one
before; of the points that the starts have led to, the best distinct ones go on. The way is computed in float32, the
winner is solved in float64.

The likelihood has no maximum without bounds (a variance can shrink onto two samples), so that parameters are kept in
a box; the theory assumes a compact parameter space as well.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit.em import em
from moestat.fit.likelihood import LikelihoodFit, Pool, Space, check_problem, check_settings, distinct
from moestat.fit.second_order import Ends, Gram
from moestat.fit.softmax_likelihood import Data, join, negative_log_likelihood, pack, prepare, space_of, unpack
from moestat.models.gaussian import LOG_2PI
from moestat.models.softmax_gaussian import SoftmaxGaussian

RATIO, RUNGS = 4, 3
"""Each rung of the ladder has so many times the samples of the one before; and there are at most so many rungs."""

KEPT = 2  #: Most points per replicate that go on to the next rung, when nothing else is said.
_ROUGH = 0.05  # log-likelihood units to which the lower rungs are solved
_ROUGH_STEPS = 100
_FEW_STEPS = 5  # from each start, before the best distinct points go on


@takes_float64("x", "y", "starts", "truth")
def maximum_likelihood(
    x: Array,
    y: Array,
    starts: Array,
    *,
    truth: Array | None = None,
    box: float = 100.0,
    variances: tuple[float, float] = (1e-2, 1e2),
    em_steps: int = 5,
    coarsest: int = 2000,
    max_iterations: int = 300,
    kept: int = KEPT,
) -> LikelihoodFit:
    """Fit softmax-gated Gaussian mixtures of experts; the gate of the last atom comes back as zero.

    Parameters
    ----------
    x, y : arrays (B, n, d), (B, n)
    starts : array (B, S, N, P)
        Atoms ``[c, b, a, beta, v]``, see :class:`moestat.models.softmax_gaussian.SoftmaxGaussian`.
    truth : array (N*, P), optional
        For the gain; no start may be equal to it.
    box, variances : float, (float, float)
        Bounds on the absolute value of gate (against the last atom's) and mean coordinates, and on the variances.
    em_steps : int
        EM steps from each start, on the lowest rung, after which Newton's method takes over.
    coarsest : int
        Fewest samples on the lowest rung.
    max_iterations : int
        Newton steps per rung.
    kept : int
        Most distinct points per replicate that go on to the next rung.
    """
    model = SoftmaxGaussian(x.shape[-1])
    replicates, n, count, atoms = check_problem(model, x, y, starts, truth, variances)
    check_settings(0, em_steps=em_steps)
    check_settings(1, coarsest=coarsest, max_iterations=max_iterations, kept=kept)
    xp = namespace(x, y, starts)
    free = xp.reshape(pack(starts), (replicates * count, -1))
    space = space_of(free, atoms, box, variances)
    pool = Pool.of(space.clip(free), replicates)
    ladder = [RATIO**k for k in reversed(range(RUNGS)) if k == 0 or n // RATIO**k >= coarsest]
    for thin in ladder:  # so many samples for each one used
        data = prepare(x, y, thin=thin, single=True)
        if thin == ladder[0]:
            pool = _after_em(data, pool, space, atoms, em_steps)
        pool = _climbed(data, pool, space, atoms, min(max_iterations, _ROUGH_STEPS))[0]
        if thin > 1:
            pool = pool.take(distinct(pool.owner, pool.loss, data.n, kept)[0])
    best, end = _climbed(prepare(x, y), pool.take(pool.best()), space, atoms, max_iterations, 1e-13, 1e-15)
    table = np.full((replicates, count), np.nan)
    for points in (pool, best):
        np.fmax.at(table, (points.owner, points.start), space.log_likelihood(points.loss, n))
    return LikelihoodFit.of(
        *(model, truth, x, y, xp.asarray(space.log_likelihood(best.loss, n)), end.status),
        theta=unpack(best.free, atoms),
        gradient=end.gradient,
        decrement=n * end.decrement,
        iterations=xp.asarray(best.iterations),
        box_hits=end.box_hits,
        start=xp.asarray(best.start),
        start_log_likelihood=xp.asarray(table),
    )


@takes_float64("x", "y", "starts")
def rough_maxima(
    x: Array, y: Array, starts: Array, *, box: float, variances: tuple[float, float], kept: int
) -> tuple[Array, Array]:
    """Go up from every start on all samples in float32: a few steps, and from the best distinct points to the maximum.

    At most ``kept`` points of a replicate go further than a few steps. Returns theta (B, S, N, P) and log-likelihoods
    (B, S), minus infinity where a start came to nothing.
    """
    xp = namespace(x, y, starts)
    replicates, count, atoms, _ = starts.shape
    free = xp.reshape(pack(starts), (replicates * count, -1))
    space = space_of(free, atoms, box, variances)
    data = prepare(x, y, single=True)
    few = _climbed(data, Pool.of(space.clip(free), replicates), space, atoms, _FEW_STEPS)[0]
    # those that lead, and are not where another one is, go on
    going = distinct(few.owner, few.loss, data.n, kept)[0]
    far = _climbed(data, few.take(going), space, atoms, _ROUGH_STEPS)[0]
    theta, loss = np.array(to_numpy(unpack(few.free, atoms))), few.loss.copy()
    theta[going], loss[going] = to_numpy(unpack(far.free, atoms)), far.loss
    log_likelihood = np.reshape(space.log_likelihood(loss, data.n), (replicates, count))
    return xp.asarray(np.reshape(theta, starts.shape)), xp.asarray(log_likelihood)


def _after_em(data: Data, pool: Pool, space: Space, atoms: int, steps: int) -> Pool:
    """Return where EM is after so many steps; it may lose an expert altogether, and then leaves a point alone."""
    xp = namespace(pool.free)
    if not steps:
        return pool
    how: dict[str, Any] = {"tolerance": 0.0, "max_iterations": steps, "inner": 1, "bounds": space.variances}
    run = em(data, pool.free, xp.asarray(pool.owner), atoms, **how)
    fine = xp.all(xp.isfinite(run.free), axis=-1)
    free = space.clip(xp.where(fine[:, None], run.free, pool.free))
    return replace(pool, free=free, iterations=pool.iterations + steps)


def _climbed(
    data: Data, pool: Pool, space: Space, atoms: int, steps: int, tolerance: float | None = None, rounding: float = 1e-8
) -> tuple[Pool, Ends]:
    """Go up by at most so many steps of Newton's method, by default as far as that goes in float32."""
    problem = negative_log_likelihood(data, namespace(pool.free).asarray(pool.owner), atoms, space.variances[0])
    return pool.climbed(problem, space, tolerance or _ROUGH / data.n, steps, rounding)


class SoftmaxLikelihood:
    """The problem of :mod:`moestat.fit.second_order` for many starts on one data set: x (n, d), y (n,).

    Without ``slopes`` the gate is constant: a softmax whose slopes are fixed at 0. The loss minus ``shift`` is minus
    the mean log-density.
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        experts: int,
        box: float,
        variances: tuple[float, float],
        slopes: bool = True,
    ) -> None:
        d = x.shape[1]
        self.x, self.y, self.experts, self.variances, self.slopes = x, y, experts, variances, slopes
        self.data, self.model = prepare(x[None], y[None]), SoftmaxGaussian(d)
        gate = np.column_stack([np.ones(experts - 1), np.full((experts - 1, d), float(slopes))])
        free = join(gate, np.ones((experts, d + 1)), np.ones(experts))
        space = space_of(free, experts, box, variances)
        self.lower, self.upper = np.where(free, space.lower, 0.0), np.where(free, space.upper, 0.0)
        self.space = replace(space, lower=self.lower, upper=self.upper)
        self.shift = -0.5 * (math.log(variances[0]) + LOG_2PI)

    def problem(self, free: Array, members: Array) -> Gram:
        """Return loss, gradient and Hessian of M points (M, p)."""
        owner = np.zeros(len(free), dtype=np.int64)
        at: Gram = negative_log_likelihood(self.data, owner, self.experts, self.variances[0])(free, 0 * members)
        return at

    def scores(self, free: np.ndarray) -> np.ndarray:
        """Return the derivative of each sample's log-density (n, p) at one point (p,)."""
        model, theta = self.model, self.atoms(free)
        s = np.moveaxis(model.score(theta, self.x, self.y), -1, 0)
        mean = np.concatenate([s[..., model.beta], s[..., model.a]], axis=-1)
        return np.asarray(join(s[:, :-1, model.gate], mean, s[..., -1] * theta[:, -1]))

    def begin(self, mean: np.ndarray, variance: np.ndarray, steps: int) -> np.ndarray:
        """Return starts (S, p) from planes (S, N, d + 1), intercepts first, and variances (S,); by EM for a softmax."""
        theta = np.zeros((len(mean), self.experts, self.model.atom_size))
        theta[..., self.model.eta], theta[..., -1] = np.roll(mean, -1, axis=-1), variance[:, None]
        pool = Pool.of(self.space.clip(pack(theta)), 1)
        return np.asarray(_after_em(self.data, pool, self.space, self.experts, steps * self.slopes).free)

    def atoms(self, free: np.ndarray) -> np.ndarray:
        """Return the atoms (N, P) of one point."""
        return np.asarray(unpack(free, self.experts))

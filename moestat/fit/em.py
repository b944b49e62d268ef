r"""Expectation-maximisation for softmax-gated Gaussian mixtures of experts, a batch of fits at once.

In the M step means and variances have closed forms, by weighted least squares on the residuals of the step before
(which loses no digits); the gate is a multinomial logistic regression on the responsibilities, which enter through
:math:`S_k = \sum r_k z` alone. Its Newton steps are damped: no step lowers the likelihood.

:func:`expectation_maximisation` is EM as published simulations use it: every start by itself until its steps are small,
and the best end point counts. It is here to be compared with :mod:`moestat.fit.softmax_mle`.

Source: Jordan and Jacobs, "Hierarchical mixtures of experts and the EM algorithm" (Neural Computation, 1994).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit import active_set, softmax_likelihood
from moestat.fit.levenberg_marquardt import levenberg_marquardt
from moestat.fit.likelihood import LikelihoodFit, check_problem, check_settings
from moestat.fit.linalg import cholesky_solve
from moestat.fit.second_order import Gram, free_coordinates, hits
from moestat.fit.softmax_likelihood import Data, join, pack, posterior, prepare, split, unpack
from moestat.models.blocks import summed
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.status import Status

_EDGE = 1e-9  # within so much of a bound, in the logarithm, a variance is at it
_RIDGE = 1e-12  # relative to the diagonal: an expert that has lost all its samples stays where it is


@dataclass(frozen=True)
class EMResult(active_set.Rows):
    """M fits after an E step, and in the end where each of them stopped."""

    members: Array
    replicate: Array  #: (M,) int, whose data a fit sees.
    free: Array  #: (M, p), free coordinates, see :func:`moestat.fit.softmax_likelihood.pack`.
    log_likelihood: Array  #: (M,), mean log-density.
    iterations: Array  #: (M,) int
    status: Array  #: (M,) int, a :class:`moestat.status.Status`: CONVERGED, LIMIT or NOT_FINITE.
    sums: tuple[Array, ...] = ()  #: What the M step needs, see :func:`_expectations`.


def em(
    data: Data,
    start: Array,
    owner: Array,
    atoms: int,
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 2000,
    inner: int = 10,
    bounds: tuple[float, float] = (1e-2, 1e2),
) -> EMResult:
    """Run EM from M starts (M, p) on the data of their owners (M,) until steps are small.

    A fit has stopped when ``|change| <= tolerance * |log-likelihood|`` (the rule of the R package meteorits, and its
    default): steps are small, which does not say that a maximum is near. The gate makes at most ``inner`` Newton steps
    per M step. Variances stay between the ``bounds``: the likelihood has no maximum without a lower one.
    """
    xp = namespace(start)
    members = xp.arange(start.shape[0], dtype=xp.int64)
    none = xp.zeros_like(members)
    before = xp.full(start.shape[:1], xp.inf, dtype=start.dtype)
    return active_set.run(
        EMResult(members, owner, start, before, none, none),
        lambda fits: _expect(data, fits, atoms, tolerance, max_iterations),
        EMResult.take,
        lambda fits: _maximise(data, fits, atoms, inner, bounds),
    )


def _expect(data: Data, fits: EMResult, atoms: int, tolerance: float, max_iterations: int) -> tuple[EMResult, Array]:
    """Return the fits after an E step, and which of them have finished."""
    xp = namespace(fits.free)
    gate, mean, log_variance = split(data.cast(fits.free), atoms)
    log_likelihood, *sums = active_set.concatenate(
        [
            _expectations(data, gate[block, ...], mean[block, ...], log_variance[block, :], fits.replicate[block])
            for block in data.blocks(fits.free.shape[0], 8 * atoms)
        ]
    )
    bad = ~(xp.isfinite(log_likelihood) & xp.all(xp.isfinite(fits.free), axis=-1))
    small = xp.abs(log_likelihood - fits.log_likelihood) <= tolerance * xp.abs(log_likelihood)
    status = active_set.coded(fits.members, Status.LIMIT, (small, Status.CONVERGED), (bad, Status.NOT_FINITE))
    after = replace(fits, log_likelihood=log_likelihood, sums=tuple(sums), status=status)
    return after, small | bad | (fits.iterations >= max_iterations)


def _maximise(data: Data, fits: EMResult, atoms: int, inner: int, bounds: tuple[float, float]) -> EMResult:
    """Return the fits after an M step."""
    xp = namespace(fits.free)
    gate, mean, _ = split(fits.free, atoms)
    rz, rzz, pull, square = fits.sums
    members, _, size = rz.shape
    # weighted least squares on the residuals of the old means
    diagonal = xp.linalg.diagonal(rzz)
    rzz = rzz + xp.eye(size, dtype=fits.free.dtype) * (_RIDGE * diagonal + 1e-300)[..., None]
    flat = (members * atoms, size)
    move, _ = cholesky_solve(xp.reshape(rzz, (*flat, size)), xp.reshape(pull, flat))
    move = xp.reshape(move, mean.shape)
    mass = xp.maximum(rz[..., 0], xp.full_like(rz[..., 0], 1e-300))
    variance = (square - xp.sum(move * pull, axis=-1)) / mass
    log_variance = xp.log(xp.clip(variance, *bounds))
    free = join(_gate_step(data, gate, rz, fits.replicate, inner), mean + move, log_variance)
    return replace(fits, free=free, iterations=fits.iterations + 1)


def _expectations(data: Data, gate: Array, mean: Array, log_variance: Array, replicate: Array) -> tuple[Array, ...]:
    """Return the means over samples of log p, and per atom of r z, r z z', r (y - mu) z and r (y - mu)^2."""
    xp = namespace(gate)
    members, atoms, size = mean.shape

    def part(z: Array, y: Array) -> tuple[Array, ...]:
        at = posterior(gate, mean, log_variance, z, y)
        transposed = xp.matrix_transpose(z)
        outer = xp.reshape(z[:, :, None, :] * z[:, None, :, :], (members, size * size, z.shape[-1]))
        weighted = at.responsibility * at.residual
        return (
            xp.sum(at.log_density, axis=-1, dtype=xp.float64),
            xp.matmul(at.responsibility, transposed),
            xp.reshape(xp.matmul(at.responsibility, xp.matrix_transpose(outer)), (members, atoms, size, size)),
            xp.matmul(weighted, transposed),
            xp.sum(weighted * at.residual, axis=-1, dtype=xp.float64),
        )

    sums = summed(part(z, y) for z, y in data.chunks(replicate))
    return tuple(xp.astype(s, xp.float64, copy=False) / data.n for s in sums)


def _gate_step(data: Data, gate: Array, rz: Array, replicate: Array, inner: int) -> Array:
    """Return the free gates (M, N - 1, D) after at most ``inner`` damped Newton steps."""
    xp = namespace(gate)
    members, atoms, size = gate.shape
    count = (atoms - 1) * size
    if count == 0:
        return gate[:, :0, :]

    def problem(free: Array, rows: Array) -> Gram:
        return active_set.concatenate(
            [
                _gate_gram(data, free[block, :], xp.take(rz, rows[block], axis=0), xp.take(replicate, rows[block]))
                for block in data.blocks(free.shape[0], 4 * atoms)
            ]
        )

    start = xp.reshape(gate[:, :-1, :], (members, count))
    result = levenberg_marquardt(problem, start, damping=1e-9, max_iterations=inner)
    return xp.reshape(result.theta, (members, atoms - 1, size))


def _gate_gram(data: Data, free: Array, rz: Array, replicate: Array) -> Gram:
    """Cross-entropy of the gate, its gradient and Hessian; the responsibilities enter through ``rz`` alone."""
    xp = namespace(free)
    members, atoms, size = rz.shape
    gate = data.cast(xp.reshape(free, (members, atoms - 1, size)))
    count = (atoms - 1) * size

    def part(z: Array) -> tuple[Array, ...]:
        scores = xp.matmul(gate, z)
        top = xp.maximum(xp.max(scores, axis=1), xp.zeros_like(scores[:, 0, :]))  # the last score is zero
        e = xp.exp(scores - top[:, None, :])
        total = xp.sum(e, axis=1) + xp.exp(-top)
        pi = e / total[:, None, :]
        p = xp.reshape(pi[:, :, None, :] * z[:, None, :, :], (members, count, z.shape[-1]))
        outer = xp.reshape(z[:, :, None, :] * z[:, None, :, :], (members, size * size, z.shape[-1]))
        return (
            xp.sum(top + xp.log(total), axis=-1, dtype=xp.float64),
            xp.sum(p, axis=-1, dtype=xp.float64),
            xp.matmul(pi, xp.matrix_transpose(outer)),
            xp.matmul(p, xp.matrix_transpose(p)),
        )

    sums = summed(part(z) for z, _ in data.chunks(replicate))
    total, mean_p, blocks, pp = (xp.astype(s, free.dtype, copy=False) / data.n for s in sums)
    target = xp.reshape(rz[:, :-1, :], (members, count))
    eye = xp.eye(atoms - 1, dtype=free.dtype)
    blocks = xp.reshape(blocks, (members, atoms - 1, size, size))
    spread = xp.reshape(eye[None, :, None, :, None] * blocks[:, :, :, None, :], (members, count, count))
    # cross-entropy is not negative; rounding must not make it so
    loss = total - xp.sum(target * free, axis=-1)
    return Gram(xp.maximum(loss, xp.zeros_like(loss)), mean_p - target, spread - pp)


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

    Arguments are those of :func:`moestat.fit.softmax_mle.maximum_likelihood` and :func:`em`. In the result
    ``decrement`` is not computed (NaN), and ``box_hits`` counts variances at their bounds.
    """
    model = SoftmaxGaussian(x.shape[-1])
    replicates, n, count, atoms = check_problem(model, x, y, starts, truth, variances)
    check_settings(0, tolerance=tolerance, max_iterations=max_iterations)
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
    problem = softmax_likelihood.negative_log_likelihood(data, xp.take(owner, rows), atoms, variances[0])
    gradient = problem(best, xp.arange(replicates)).gradient
    space = softmax_likelihood.space_of(best, atoms, math.inf, variances)
    bounds = space.lower + _EDGE, space.upper - _EDGE
    gradient = xp.where(free_coordinates(best, gradient, *bounds), gradient, xp.zeros_like(gradient))
    log_likelihood = xp.take(run.log_likelihood, rows) * n
    return LikelihoodFit.of(
        *(model, truth, x, y, log_likelihood, xp.take(run.status, rows)),
        theta=unpack(best, atoms),
        gradient=xp.max(xp.abs(gradient), axis=-1),
        decrement=xp.full_like(log_likelihood, xp.nan),
        iterations=xp.take(run.iterations, rows),
        box_hits=hits(best, *bounds),
        start=xp.asarray(start),
        start_log_likelihood=xp.asarray(np.where(np.isfinite(reached), reached, np.nan)),
    )

r"""The likelihood of competition-gated Gaussian mixtures of experts, hard or smoothed, for a batch of fits at once.

Free coordinates of an atom are its weights and the logarithm of its variance. At temperature T > 0 the choice of the
K winners is smoothed as in :meth:`moestat.models.competition.Competition.logits`; at T = 0 it is hard, the
log-likelihood jumps where a sample changes its winners, and the score is its derivative between the jumps.

The mean of score times score (Berndt, Hall, Hall and Hausman 1974) stands for the negative Hessian: it needs no second
derivatives and is positive semi-definite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from moestat.arrays import Array, namespace
from moestat.fit import kernel
from moestat.fit.second_order import Gram, Problem
from moestat.models.blocks import member_blocks, row_blocks, summed
from moestat.models.competition import Competition
from moestat.models.gaussian import LOG_2PI, log_sum_exp

_LARGEST = 500.0  #: Of the logarithm of a precision: exp of it, times the square of a residual, is still a number.


def pack(theta: Array) -> Array:
    """Return free coordinates (..., k P) of atoms (..., k, P)."""
    xp = namespace(theta)
    free = xp.concat([theta[..., :-1], xp.log(theta[..., -1:])], axis=-1)
    return xp.reshape(free, (*theta.shape[:-2], -1))


def unpack(free: Array, atoms: int) -> Array:
    """Return atoms (..., k, P) of free coordinates (..., k P)."""
    xp = namespace(free)
    theta = xp.reshape(free, (*free.shape[:-1], atoms, -1))
    return xp.concat([theta[..., :-1], xp.exp(theta[..., -1:])], axis=-1)


@dataclass(frozen=True)
class Data:
    """The samples of B replicates, as the experts see them: ``features`` (B, q, n), ``y`` (B, n)."""

    features: Array
    y: Array

    @property
    def n(self) -> int:
        """Samples per replicate."""
        return int(self.y.shape[-1])

    def first(self, n: int) -> Data:
        """Return the first n samples of every replicate."""
        xp = namespace(self.y)
        rows = xp.arange(min(n, self.n))
        return Data(xp.take(self.features, rows, axis=-1), xp.take(self.y, rows, axis=-1))

    def chunks(self, replicate: Array) -> Iterator[tuple[Array, Array]]:
        """Yield features and responses of the given replicates, a fixed number of samples at a time."""
        xp = namespace(self.y)
        for rows in row_blocks(self.n):
            yield xp.take(self.features[:, :, rows], replicate, axis=0), xp.take(self.y[:, rows], replicate, axis=0)

    def means(self, of_chunk: Callable[..., tuple[Array, ...]], free: Array, replicate: Array) -> list[Array]:
        """Return the means over samples of what ``of_chunk`` sums up, of fits (M, p) on their replicates (M,)."""
        parts = []
        for block in member_blocks(free.shape[0], 4 * min(self.n, 2048), free):
            sums = summed(of_chunk(free[block, :], *chunk) for chunk in self.chunks(replicate[block]))
            parts.append(tuple(part / self.n for part in sums))
        return [namespace(free).concat(part) for part in zip(*parts, strict=True)]


class Slopes(NamedTuple):
    """Log-densities (..., n), and their derivatives (..., k, n) in the experts' W'features and log-variances."""

    log_density: Array
    through: Array
    log_variance: Array


def slopes(model: Competition, free: Array, features: Array, y: Array, temperature: float) -> Slopes:
    """Return log p(y | x) and its derivatives at free (..., k P), features (..., q, n), y (..., n); T = 0 is hard."""
    xp = namespace(free, features, y)
    if kernel.serves(free, features, y) and free.ndim == 2 == y.ndim:
        size = (len(y), free.shape[-1] // model.atom_size, y.shape[-1])
        through, log_variance = np.empty(size), np.empty(size)
        return Slopes(_compiled(model, free, features, y, temperature, through, log_variance), through, log_variance)
    theta = xp.reshape(free, (*free.shape[:-1], -1, model.atom_size))
    g, bend = model.outputs(theta[..., model.w], features)
    log_variance = theta[..., model.variance]
    logits, sharp = model.logits(g, temperature)
    log_gate = logits - log_sum_exp(logits)[..., None, :]
    residual = y[..., None, :] - g
    pull = residual * xp.exp(-log_variance)
    joint = log_gate - 0.5 * (residual * pull + log_variance + LOG_2PI)
    log_density = log_sum_exp(joint)
    r = xp.exp(joint - log_density[..., None, :])
    size = r - xp.exp(log_gate)
    if sharp is not None:
        edge = size * sharp
        size = size + edge - model.between(g) * xp.sum(edge, axis=-2, keepdims=True)
    through = xp.sign(g) * size + r * pull
    return Slopes(log_density, through if bend is None else through * bend, 0.5 * r * (residual * pull - 1.0))


def hard_log_density(model: Competition, free: Array, features: Array, y: Array) -> Array:
    """Return log p(y | x) alone, at temperature 0; arguments as in :func:`slopes`."""
    xp = namespace(free, features, y)
    if kernel.serves(free, features, y) and free.ndim == 3 == y.ndim and y.shape[1] == 1:
        return _compiled(model, free, features[:, 0, ...], y[:, 0, :], 0.0)
    theta = xp.reshape(free, (*free.shape[:-1], -1, model.atom_size))
    g, _ = model.outputs(theta[..., model.w], features)
    log_variance = theta[..., model.variance]
    logits, _ = model.logits(g, 0.0)
    residual = y[..., None, :] - g
    # a proposal of the local search may leave the box by far: it must lose, not overflow
    precision = xp.exp(xp.minimum(-log_variance, xp.full_like(log_variance, _LARGEST)))
    joint = logits - 0.5 * (residual * residual * precision + log_variance + LOG_2PI)
    return log_sum_exp(joint) - log_sum_exp(logits)


def _compiled(
    model: Competition, free: np.ndarray, features: np.ndarray, y: np.ndarray, temperature: float, *slopes: np.ndarray
) -> np.ndarray:
    """Return log p(y | x) of points (M, k P) or (M, W, k P) on samples (M, q, n); the former with ``slopes`` filled."""
    from moestat.fit import compiled_competition  # needs numba, and half a second to import it

    shift, ratio = (np.empty((*free.shape[:-1], y.shape[-1])) for _ in range(2))
    points, *data = (np.ascontiguousarray(part) for part in (free, features, y))
    family = (free.shape[-1] // model.atom_size, model.active, model.expert == "tanh")
    if slopes:
        compiled_competition.log_density_slopes(points, *family, temperature, *data, shift, ratio, *slopes)
    else:
        compiled_competition.log_densities(points, *family, *data, shift, ratio)
    np.log(ratio, out=ratio)  # NumPy's own logarithm is as fast as can be
    shift += ratio
    shift -= 0.5 * LOG_2PI
    return shift


def scores(at: Slopes, features: Array) -> Array:
    """Return the derivatives in every free coordinate, sample by sample, (..., k P, n)."""
    xp = namespace(features)
    weights = at.through[..., None, :] * features[..., None, :, :]
    score = xp.concat([weights, at.log_variance[..., None, :]], axis=-2)
    return xp.reshape(score, (*score.shape[:-3], -1, score.shape[-1]))


def gradients(model: Competition, data: Data, owner: Array, temperature: float) -> Callable[[Array], Array]:
    """Return the function that gives the gradients (M, k P) of the mean log-density of M fits of their owners."""
    xp = namespace(owner)

    def of_chunk(free: Array, features: Array, y: Array) -> tuple[Array]:
        at = slopes(model, free, features, y, temperature)
        weights = xp.matmul(at.through, xp.matrix_transpose(features))
        return (xp.concat([weights, xp.sum(at.log_variance, axis=-1)[..., None]], axis=-1),)

    return lambda free: xp.reshape(data.means(of_chunk, free, owner)[0], free.shape)


def likelihood_problem(
    model: Competition, data: Data, owner: Array, temperature: float, least_variance: float
) -> Problem:
    """Return the minus mean log-density of M fits, with the mean of score times score as its curvature.

    ``owner`` (M,) says whose data each fit sees. The loss is shifted so that it is not negative where no variance is
    below ``least_variance``.
    """
    xp = namespace(owner)
    shift = -0.5 * (math.log(least_variance) + LOG_2PI)

    def of_chunk(free: Array, features: Array, y: Array) -> tuple[Array, ...]:
        at = slopes(model, free, features, y, temperature)
        score = scores(at, features)
        square = xp.matmul(score, xp.matrix_transpose(score))
        return xp.sum(at.log_density, axis=-1), xp.sum(score, axis=-1), square

    def problem(free: Array, members: Array) -> Gram:
        value, gradient, gram = data.means(of_chunk, free, xp.take(owner, members))
        return Gram(shift - value, -gradient, gram)

    return problem

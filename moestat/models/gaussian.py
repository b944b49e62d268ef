r"""What the Gaussian mixtures of experts have in common: components, log-density, scores, samples, and checks.

A conditional density :math:`p_G(y | x) = \sum_i \pi_i(x)\, N(y | \mu_i(x), v_i)` is given at every sample by three
arrays over atoms, :class:`Components`. The variances :math:`v_i` are variances, not standard deviations.

Samples are the last axis throughout: an array over atoms and samples is (..., N, n).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import RNGLike, as_generator, takes_float64
from moestat.models.blocks import row_blocks

LOG_2PI = math.log(2.0 * math.pi)


class Components(NamedTuple):
    """A Gaussian mixture at every sample."""

    log_weight: Array  #: (..., N, n), logarithms of the gate values; -inf for an expert that is not active.
    mean: Array  #: (..., N, n)
    variance: Array  #: (..., N, 1)


class GaussianMixture(Protocol):
    """A family of conditional densities; an instance holds no parameters."""

    @property
    def d(self) -> int:
        """Dimension of the input."""

    @property
    def atom_size(self) -> int:
        """Number P of coordinates of an atom; the last one is the variance."""

    def components(self, theta: Array, x: Array) -> Components:
        """Return the mixture (..., N, n) of atoms ``theta`` (..., N, P) at samples ``x`` (..., n, d)."""


def log_sum_exp(values: Array) -> Array:
    """Return log sum exp over the axis of atoms, (..., N, n) -> (..., n); at least one entry must be finite."""
    xp = namespace(values)
    top = xp.max(values, axis=-2)
    return top + xp.log(xp.sum(xp.exp(values - top[..., None, :]), axis=-2))


def log_joint(at: Components, y: Array) -> Array:
    """Return log pi_i(x) + log N(y | mu_i(x), v_i), (..., N, n), for responses y (..., n)."""
    xp = namespace(at.mean, y)
    residual = y[..., None, :] - at.mean
    return at.log_weight - 0.5 * (residual * residual / at.variance + xp.log(at.variance) + LOG_2PI)


def posterior(at: Components, y: Array) -> tuple[Array, Array, Array]:
    """Return what scores are made of, (..., N, n): responsibilities r, pulls (y - mu) / v, and the score in v."""
    joint = log_joint(at, y)
    r = namespace(joint).exp(joint - log_sum_exp(joint)[..., None, :])
    pull = (y[..., None, :] - at.mean) / at.variance
    return r, pull, 0.5 * r * (pull * pull - 1.0 / at.variance)


@takes_float64("theta", "x", "y")
def log_density(model: GaussianMixture, theta: Array, x: Array, y: Array) -> Array:
    """Return log p(y | x), (..., n), of theta (..., N, P), x (..., n, d), y (..., n)."""
    check_arguments(model, theta, x, y)
    return log_sum_exp(log_joint(model.components(theta, x), y))


@takes_float64("theta", "x", "y")
def log_likelihood(model: GaussianMixture, theta: Array, x: Array, y: Array) -> Array:
    """Return the sum of log p(y | x) over the samples, (...); arguments as in :func:`log_density`."""
    check_arguments(model, theta, x, y)
    xp = namespace(theta, x, y)
    total = xp.zeros(theta.shape[:-2], dtype=theta.dtype)
    for rows in row_blocks(x.shape[-2]):
        joint = log_joint(model.components(theta, x[..., rows, :]), y[..., rows])
        total = total + xp.sum(log_sum_exp(joint), axis=-1)
    return total


@takes_float64("theta", "x")
def sample(model: GaussianMixture, theta: np.ndarray, x: np.ndarray, rng: RNGLike) -> np.ndarray:
    """Draw responses y (n,) at inputs x (n, d) from one measure theta (N, P)."""
    rng = as_generator(rng)
    check_atoms(theta, model.atom_size, one=True)
    check_inputs(x, model.d, one=True)
    at = model.components(theta, x)
    weight = np.exp(at.log_weight)
    # the last edge is set to 1, so that rounding cannot leave a sample without an expert
    edges = np.concatenate([np.cumsum(weight, axis=0)[:-1], np.ones((1, len(x)))])
    expert = np.argmax(rng.random(len(x)) < edges, axis=0)
    mean = np.take_along_axis(at.mean, expert[None, :], axis=0)[0]
    drawn: np.ndarray = mean + np.sqrt(at.variance[:, 0])[expert] * rng.standard_normal(len(x))
    return drawn


def check_atoms(theta: Array, atom_size: int, *, name: str = "theta", one: bool = False) -> None:
    """Refuse, in a sentence, atoms of a wrong shape, not finite, or of no positive variance.

    With ``one`` they must be those of one measure, as inputs of :func:`check_inputs` those of one data set.
    """
    if theta.ndim < 2 or (one and theta.ndim > 2) or theta.shape[-1] != atom_size:
        axes = "atoms" if one else "..., atoms"
        raise ValueError(f"{name} has shape {tuple(theta.shape)}; it must be ({axes}, {atom_size}), the variance last")
    xp = namespace(theta)
    if not bool(xp.all(xp.isfinite(theta))):
        raise ValueError(f"{name} holds numbers that are not finite")
    smallest = float(xp.min(theta[..., -1])) if 0 not in theta.shape else 1.0
    if not smallest > 0:
        raise ValueError(f"{name} holds the variance {smallest:g}; variances must be positive")


def check_inputs(x: Array, d: int, *, one: bool = False) -> None:
    """Refuse, in a sentence, inputs (..., samples, d) of a wrong shape, without samples or not finite."""
    if x.ndim < 2 or (one and x.ndim > 2) or x.shape[-1] != d:
        axes = "samples" if one else "..., samples"
        raise ValueError(f"x has shape {tuple(x.shape)}; it must be ({axes}, {d})")
    if x.shape[-2] == 0:
        raise ValueError("x holds no samples")
    _check_finite("x", x)


def check_data(x: Array, y: Array, d: int) -> None:
    """Refuse, in a sentence, data of a wrong shape or not finite."""
    check_inputs(x, d)
    if tuple(y.shape) != tuple(x.shape[:-1]):
        raise ValueError(f"y has shape {tuple(y.shape)}; it must be {tuple(x.shape[:-1])}, one number per sample of x")
    _check_finite("y", y)


def check_arguments(model: GaussianMixture, theta: Array, x: Array, y: Array) -> None:
    """Refuse atoms, inputs (..., n, d) or responses (..., n) that have no density; batches may broadcast."""
    check_atoms(theta, model.atom_size)
    check_inputs(x, model.d)
    if y.ndim < 1 or y.shape[-1] != x.shape[-2]:
        raise ValueError(f"y has shape {tuple(y.shape)}; it must be (..., {x.shape[-2]}), one number per sample of x")
    _check_finite("y", y)


def _check_finite(name: str, data: Array) -> None:
    bad = int(np.sum(~np.isfinite(to_numpy(data))))
    if bad:
        raise ValueError(f"{name} holds {bad} number(s) that are not finite")

"""Algorithm 1 of "On the Impact of Expert Count in Mixture of Experts": gradient descent with noisy top-1 routing.

At each step every sample goes to the argmax of its scores plus uniform noise. Each expert takes a **normalised**
gradient step (its own Frobenius norm; an expert without samples stays where it is), the router a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from moestat.arrays import Array, namespace
from moestat.fit import kernel
from studies.expert_count.parts import cubic_experts

SMALL = 1e-140
"""A gradient whose largest entry is below this is scaled before it is squared: squares below 1e-308 lose digits."""

LOST = 1e-280
"""Below this an expert's direction is computed without the factor that is lost: exp(-z) of its least margin z."""

Observer = Callable[[int, Array, Array], None]  # called with the step, the weights and theta


def train(
    x: Array,
    features: Array,
    y: Array,
    weights: Array,
    theta: Array,
    noise: Iterable[Array],
    *,
    steps: int,
    expert_rate: float,
    router_rate: float,
    observe: Observer,
    at: Collection[int],
) -> tuple[Array, Array]:
    """Run Algorithm 1 on a batch, and return ``weights, theta`` after T steps.

    Parameters
    ----------
    x, features, y : (B, n, P, d), (B, n, F) and (B, n) arrays
        Patches; what the router sees, see :func:`cubic_experts.router_features`; labels, -1.0 or 1.0.
    weights, theta : (B, M, P or 1, J, d) and (B, F, M) arrays
        Initial weights of the experts and parameters of the router (zero in the paper).
    noise : iterable of (B, n, M) arrays
        The routing noise r of each step; at least ``steps`` of them.
    steps, expert_rate, router_rate
        T, eta and eta_r; a router with rate 0 stays at its start.
    observe, at
        ``observe(t, weights, theta)`` is called before step t, and after the last, for every t in ``at``.
    """
    draws = iter(noise)
    compiled = isinstance(x, np.ndarray) and bool(kernel.vector_bits())
    state = (_Compiled if compiled else _Plain)(x, features, y, weights, theta)
    for step in range(steps + 1):
        if step in at:
            observe(step, *state.parameters())
        if step < steps:
            state.step(next(draws), expert_rate, router_rate)
    return state.parameters()


class _Plain:
    """The parameters of a batch: arrays of any library, all members at once, or of NumPy, one by one."""

    def __init__(self, x: Array, features: Array, y: Array, weights: Array, theta: Array) -> None:
        self._x, self._features, self._y, self._weights, self._theta = x, features, y, weights, theta

    def parameters(self) -> tuple[Array, Array]:
        return self._weights, self._theta

    def step(self, noise: Array, expert_rate: float, router_rate: float) -> None:
        xp = namespace(self._features, self._theta)
        scores = xp.matmul(self._features, self._theta)
        expert = xp.argmax(scores + noise, axis=-1)
        of_weights, of_theta = self._gradient(scores, expert)
        gradient, norm = _with_norm(self._found(of_weights, scores, expert))
        self._weights = self._weights - expert_rate * gradient / norm
        if router_rate != 0:
            self._theta = self._theta - router_rate * of_theta

    def _gradient(self, scores: Array, expert: Array) -> tuple[Array, Array]:
        """Return the gradients; with NumPy a member's cannot depend on what is computed beside it."""
        given = self._weights, self._x, self._features, self._y, scores, expert
        if not isinstance(self._x, np.ndarray):
            slope = cubic_experts.gradient(*given)
            return slope.weights, slope.theta
        slopes = [cubic_experts.gradient(*(a[k : k + 1] for a in given)) for k in range(len(self._x))]
        return np.concatenate([s.weights for s in slopes]), np.concatenate([s.theta for s in slopes])

    def _found(self, gradient: Array, scores: Array, expert: Array) -> Array:
        """Return the gradients, with the directions of those that are lost in their place."""
        xp = namespace(gradient)
        lost = xp.max(xp.abs(gradient), axis=(2, 3, 4), keepdims=True) < LOST
        used = xp.any(expert[:, :, None] == xp.arange(gradient.shape[1], dtype=expert.dtype), axis=1)
        if not bool(xp.any(lost[:, :, 0, 0, 0] & used)):
            return gradient
        return xp.where(lost, cubic_experts.weight_direction(self._weights, self._x, self._y, scores, expert), gradient)


class _Compiled:
    """The parameters of a batch of NumPy arrays, member by member, by compiled code."""

    def __init__(self, *batch: np.ndarray) -> None:
        from studies.expert_count.parts.compiled_training import CompiledTraining  # needs numba

        self._members = [CompiledTraining(*each) for each in zip(*batch, strict=True)]

    def parameters(self) -> tuple[np.ndarray, np.ndarray]:
        return np.stack([m.weights for m in self._members]), np.stack([m.theta for m in self._members])

    def step(self, noise: np.ndarray, expert_rate: float, router_rate: float) -> None:
        for member, own in zip(self._members, noise, strict=True):
            member.step(own, expert_rate, router_rate)


def _with_norm(gradient: Array) -> tuple[Array, Array]:
    """Return gradients (B, M, P or 1, J, d) and the Frobenius norm of each expert's, 1 where it is 0.

    One so small that its squares would be lost is multiplied by a positive number: its direction is all that counts.
    """
    xp, axes = namespace(gradient), (2, 3, 4)
    largest = xp.max(xp.abs(gradient), axis=axes, keepdims=True)
    gradient = gradient / xp.where((largest > 0) & (largest < SMALL), largest, xp.ones_like(largest))
    norm = xp.sqrt(xp.sum(gradient * gradient, axis=axes, keepdims=True))
    return gradient, xp.where(norm > 0, norm, xp.ones_like(norm))

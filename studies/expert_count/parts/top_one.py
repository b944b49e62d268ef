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
from studies.expert_count.parts.cubic_experts import Gradient
from studies.expert_count.parts.sorted_experts import SortedExperts

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
    """Run Algorithm 1 on a batch.

    ``x`` (B, n, P, d): patches. ``features`` (B, n, F): what the router sees, see
    ``cubic_experts.router_features``. ``y`` (B, n): labels, -1.0 or 1.0. ``weights`` (B, M, P or 1,
    J, d): initial weights of the experts. ``theta`` (B, F, M): initial parameters of the router (zero in the paper).
    ``noise`` (B, n, M): the routing noise r of each step; at least ``steps`` of them. ``steps``: T. ``expert_rate``,
    ``router_rate``: learning rates eta and eta_r; a router with rate 0 stays at its start. ``observe``: called as
    ``observe(t, weights, theta)`` before step t, and once after the last, for every t in ``at``. ``at``: steps between
    0 and T at which to observe.

    Returns ``weights, theta``: the parameters after T steps.
    """
    draws = iter(noise)
    if isinstance(x, np.ndarray) and kernel.vector_bits():
        state: _Compiled | _Plain = _Compiled(x, features, y, weights, theta, expert_rate, router_rate)
    else:
        state = _Plain(x, features, y, weights, theta, expert_rate, router_rate)
    for step in range(steps):
        if step in at:
            observe(step, *state.parameters())
        state.step(next(draws))
    if steps in at:
        observe(steps, *state.parameters())
    return state.parameters()


class _Plain:
    """The parameters of a batch: arrays of any library, all members at once, or of NumPy, one by one."""

    def __init__(
        self, x: Array, features: Array, y: Array, weights: Array, theta: Array, expert_rate: float, router_rate: float
    ) -> None:
        self._x, self._features, self._y, self._weights, self._theta = x, features, y, weights, theta
        self._rates = expert_rate, router_rate
        self._gradient = _gradient(x, features, y, weights.shape[2])

    def parameters(self) -> tuple[Array, Array]:
        return self._weights, self._theta

    def step(self, noise: Array) -> None:
        xp = namespace(self._features, self._theta)
        expert_rate, router_rate = self._rates
        scores = xp.matmul(self._features, self._theta)
        expert = xp.argmax(scores + noise, axis=-1)
        slope = self._gradient(self._weights, scores, expert)
        gradient, norm = _with_norm(self._found(slope.weights, scores, expert))
        self._weights = self._weights - expert_rate * gradient / norm
        if router_rate != 0:
            self._theta = self._theta - router_rate * slope.theta

    def _found(self, gradient: Array, scores: Array, expert: Array) -> Array:
        """Return the gradients, with the directions of those that are lost in their place."""
        xp = namespace(gradient)
        lost = xp.max(xp.abs(gradient), axis=(2, 3, 4), keepdims=True) < LOST
        if not bool(xp.any(lost)):
            return gradient
        used = xp.any(expert[:, :, None] == xp.arange(gradient.shape[1], dtype=expert.dtype), axis=1)
        if not bool(xp.any(lost[:, :, 0, 0, 0] & used)):
            return gradient
        return xp.where(lost, cubic_experts.weight_direction(self._weights, self._x, self._y, scores, expert), gradient)


class _Compiled:
    """The parameters of a batch of NumPy arrays, member by member, by compiled code."""

    def __init__(
        self,
        x: np.ndarray,
        features: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        theta: np.ndarray,
        expert_rate: float,
        router_rate: float,
    ) -> None:
        from studies.expert_count.parts.compiled_training import CompiledTraining  # needs numba

        self._rates = expert_rate, router_rate
        self._members = [CompiledTraining(*each) for each in zip(x, features, y, weights, theta, strict=True)]

    def parameters(self) -> tuple[np.ndarray, np.ndarray]:
        return np.stack([m.weights for m in self._members]), np.stack([m.theta for m in self._members])

    def step(self, noise: np.ndarray) -> None:
        for member, own in zip(self._members, noise, strict=True):
            member.step(own, *self._rates)


def _with_norm(gradient: Array) -> tuple[Array, Array]:
    """Return gradients (B, M, P or 1, J, d) and the Frobenius norm of each expert's, 1 where it is 0.

    One so small that its squares would be lost is multiplied by a positive number: its direction is all that counts.
    """
    xp, axes = namespace(gradient), (2, 3, 4)
    largest = xp.max(xp.abs(gradient), axis=axes, keepdims=True)
    gradient = gradient / xp.where((largest > 0) & (largest < SMALL), largest, xp.ones_like(largest))
    norm = xp.sqrt(xp.sum(gradient * gradient, axis=axes, keepdims=True))
    return gradient, xp.where(norm > 0, norm, xp.ones_like(norm))


def _gradient(x: Array, features: Array, y: Array, own: int) -> Callable[[Array, Array, Array], Gradient]:
    """Return the gradient as a function of weights, scores and routing: all members at once, or by NumPy one by one."""
    if not isinstance(x, np.ndarray):
        return lambda weights, scores, expert: cubic_experts.gradient(weights, x, features, y, scores, expert)
    members = [SortedExperts(*each, own) for each in zip(x, features, y, strict=True)]

    def gradient(weights: np.ndarray, scores: np.ndarray, expert: np.ndarray) -> Gradient:
        parts = [m.gradient(*each) for m, *each in zip(members, weights, scores, expert, strict=True)]
        fields = ([getattr(part, name) for part in parts] for name in ("loss", "weights", "theta"))
        return Gradient(*map(np.stack, fields))

    return gradient

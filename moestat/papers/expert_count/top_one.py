"""Algorithm 1 of "On the Impact of Expert Count in Mixture of Experts": gradient descent with noisy top-1 routing.

At each step every sample goes to the argmax of its scores plus uniform noise. Each expert takes a **normalised**
gradient step (its own Frobenius norm; an expert without samples stays where it is), the router a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from moestat.arrays import Array, namespace
from moestat.models import cubic_experts
from moestat.models.cubic_experts import Gradient
from moestat.models.sorted_experts import SortedExperts

Observer = Callable[[int, Array, Array], None]
"""Called with the step, the weights and theta."""


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

    Parameters
    ----------
    x : (B, n, P, d) array
        Patches.
    features : (B, n, F) array
        What the router sees, see :func:`moestat.models.cubic_experts.router_features`.
    y : (B, n) array
        Labels, -1.0 or 1.0.
    weights : (B, M, P or 1, J, d) array
        Initial weights of the experts.
    theta : (B, F, M) array
        Initial parameters of the router (zero in the paper).
    noise : iterable of (B, n, M) arrays
        The routing noise r of each step; at least ``steps`` of them.
    steps : int
        T.
    expert_rate, router_rate : float
        Learning rates eta and eta_r; a router with rate 0 stays at its start.
    observe : callable
        Called as ``observe(t, weights, theta)`` before step t, and once after the last, for every t in ``at``.
    at : collection of int
        Steps between 0 and T at which to observe.

    Returns
    -------
    weights, theta : arrays
        The parameters after T steps.
    """
    xp = namespace(x, features, y, weights, theta)
    draws = iter(noise)
    gradient = _gradient(x, features, y, weights.shape[2])
    for step in range(steps):
        if step in at:
            observe(step, weights, theta)
        scores = xp.matmul(features, theta)
        expert = xp.argmax(scores + next(draws), axis=-1)
        slope = gradient(weights, scores, expert)
        norm = xp.sqrt(xp.sum(slope.weights * slope.weights, axis=(2, 3, 4), keepdims=True))
        weights = weights - expert_rate * slope.weights / xp.where(norm > 0, norm, xp.ones_like(norm))
        if router_rate != 0:
            theta = theta - router_rate * slope.theta
    if steps in at:
        observe(steps, weights, theta)
    return weights, theta


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

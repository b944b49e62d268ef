r"""Distances to sums of expert vectors: how far atoms are from a split of one true expert, or from nothing.

Linear experts merge by adding their vectors. ReLU experts merge only along a ray: :math:`\sum_i relu(h_i) = relu(h)`
with several kinks needs :math:`\eta_i = t_i \eta`, :math:`t_i \ge 0`.
"""

from __future__ import annotations

import numpy as np

from moestat.models.regression import Model

ROUNDING = 1e-12  # relative difference below which sums are computed again in one order
STEPS = 64  # of bisection; the bracket asinh(slope) in [-40, 40] then shrinks below rounding


def merge_cost(vectors: np.ndarray, price: np.ndarray, used: np.ndarray, target: np.ndarray, kind: str) -> np.ndarray:
    """Return the least cost of moving vectors (..., k, E) so that they add up to ``target`` (..., E), an array (...).

    ``price`` (..., k) is the cost of moving one by a unit; of those that are ``used`` there is at least one, the others
    are zero. For "linear" the moved vectors may be any, for "relu" they must be non-negative multiples of the target.
    """
    if kind == "linear":
        cost: np.ndarray = np.min(np.where(used, price, np.inf), axis=-1) * norm(np.sum(vectors, axis=-2) - target)
        return cost
    length = norm(target)
    size = np.where(length > 0, length, 1.0)
    direction = (target / size[..., None])[..., None, :]
    u = np.sum(vectors * direction, axis=-1)
    v = norm(vectors - u[..., None] * direction)
    tau = _ray_lengths(u, v, price, used, size[..., None])
    cost = np.sum(np.where(used, price, 0.0) * np.hypot(tau - u, v), axis=-1)
    if np.any(length == 0):
        cost = np.where(length > 0, cost, np.sum(price * norm(vectors) * used, axis=-1))
    return cost


def _ray_lengths(u: np.ndarray, v: np.ndarray, price: np.ndarray, used: np.ndarray, total: np.ndarray) -> np.ndarray:
    r"""Minimise sum_i price_i sqrt((tau_i - u_i)^2 + v_i^2) over tau >= 0 with sum tau = total.

    At the minimum price_i (tau_i - u_i) / sqrt(...) = lambda wherever tau_i > 0, so tau_i is increasing in lambda, and
    lambda is found by bisection. Where v_i = 0 the sum jumps; the two sides of the bracket are then mixed.
    """
    low_price = np.min(np.where(used, price, np.inf), axis=-1, keepdims=True)
    high_price = np.max(np.where(used, price, 0.0), axis=-1, keepdims=True)
    safe = np.where(used, price, 1.0)

    def lengths(z: np.ndarray) -> np.ndarray:
        """Tau at lambda = low_price tanh z (z > 0) or high_price tanh z (z <= 0)."""
        ratio = np.where(z > 0, low_price, high_price) / safe
        sinh = np.sinh(z)
        radicand = 1.0 + (1.0 - ratio**2) * sinh**2
        slope = ratio * sinh / np.sqrt(np.where(radicand > 0, radicand, 1.0))
        tau = np.where(radicand > 0, np.maximum(u + v * slope, 0.0), 0.0)
        return np.where(used, tau, 0.0)

    low, high = np.full(low_price.shape, -40.0), np.full(low_price.shape, 40.0)
    with np.errstate(invalid="ignore"):
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            below = np.sum(lengths(middle), axis=-1, keepdims=True) < total
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        a, b = lengths(low), lengths(high)
    sum_a, sum_b = (np.sum(side, axis=-1, keepdims=True) for side in (a, b))
    gap = sum_b - sum_a
    share = np.clip(np.where(gap > 0, (total - sum_a) / np.where(gap > 0, gap, 1.0), 0.0), 0.0, 1.0)
    tau = a + share * (b - a)
    # vectors that lie on the ray have no slope: what they have too much is taken from all that are left, which are the
    # dearest and cost the same; what is missing goes to the cheapest
    tau = tau * (total / np.maximum(np.sum(tau, axis=-1, keepdims=True), total))
    missing = total - np.sum(tau, axis=-1, keepdims=True)
    cheapest = np.arange(u.shape[-1]) == np.argmin(np.where(used, price, np.inf), axis=-1)[..., None]
    used_lengths: np.ndarray = np.maximum(tau + missing * cheapest, 0.0)
    return used_lengths


def null_projection(eta: np.ndarray, kind: str) -> np.ndarray:
    """Return the experts that vanish, 0 and for ReLU all with h <= 0 on [-1, 1]^d, nearest to experts (..., E).

    a'x + beta <= 0 on the cube means ||a||_1 <= -beta, a cone; the projection onto it soft-thresholds a.
    """
    if kind != "relu":
        return np.zeros_like(eta)
    a, height = np.abs(eta[..., :-1]), -eta[..., -1]
    # excess(t) = ||soft(a, t)||_1 - (height + t) falls with t; its root is the threshold
    order = -np.sort(-a, axis=-1)
    count = np.arange(1, a.shape[-1] + 1)
    thresholds = (np.cumsum(order, axis=-1) - height[..., None]) / (count + 1)
    active = np.sum(order > thresholds, axis=-1)
    root = np.where(
        active > 0,
        np.take_along_axis(thresholds, np.maximum(active - 1, 0)[..., None], axis=-1)[..., 0],
        -height,
    )
    root = np.maximum(root, 0.0)
    projected = np.maximum(a - root[..., None], 0.0) * np.sign(eta[..., :-1])
    top = np.maximum(height + root, 0.0)
    return np.concatenate([projected, -top[..., None]], axis=-1)


def ray_distance(eta: np.ndarray, true_eta: np.ndarray) -> np.ndarray:
    """Return the distances (..., N, N*) of experts (..., N, E) to the rays t eta*, t >= 0, of experts (N*, E)."""
    length = norm(true_eta)
    direction = true_eta / np.where(length > 0, length, 1.0)[:, None]
    along = np.maximum(np.sum(eta[..., :, None, :] * direction, axis=-1), 0.0)
    return norm(eta[..., :, None, :] - along[..., None] * direction)


def norm(x: np.ndarray) -> np.ndarray:
    """Return the Euclidean norms along the last axis."""
    length: np.ndarray = np.sqrt(np.sum(x * x, axis=-1))
    return length


def nearest(points: np.ndarray, others: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return which of others (M, Q) each of the points (..., N, Q) is nearest to, an int array (..., N).

    ``more`` (N, M) is added to the squared distances. Products of matrices tell what is nearest; where rounding
    decides, sums of squares do, the first one of equals.
    """
    squares = np.vecdot(others, others)
    score = squares + more - 2.0 * (points @ others.T)
    cell: np.ndarray = np.argmin(score, axis=-1)
    room = ROUNDING * (np.vecdot(points, points) + np.max(squares + more, axis=-1))
    close = np.sum(score <= (np.min(score, axis=-1) + room)[..., None], axis=-1) > 1
    exact = np.sum((points[close][:, None] - others) ** 2, axis=-1) + more[np.nonzero(close)[-1]]
    cell[close] = np.argmin(exact, axis=-1)
    return cell


def merging(model: Model) -> str:
    """Which experts merge: "linear", "relu" (parallel ones only) or "none"."""
    if model.expert == "polynomial" and model.power == 1:
        return "linear"
    return model.expert if model.expert in ("linear", "relu") else "none"


def summed_by_group(group: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of every group 0, 1, ..., and the sums of its vectors."""
    first = np.unique(group, return_index=True)[1]
    return first, np.eye(first.size)[group].T @ vectors


def equal_rows(rows: np.ndarray) -> np.ndarray:
    """Number equal rows equally, in the order of their first appearance."""
    equal = np.all(rows[:, None, :] == rows[None, :, :], axis=-1)
    first = np.argmax(equal, axis=1)
    return np.unique(first, return_inverse=True)[1]

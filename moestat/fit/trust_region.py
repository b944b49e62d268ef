r"""A batch of independent smooth minimisations, solved by a trust-region Newton method with the exact Hessian.

Likelihoods of mixtures are not convex: on the way to a maximum the Hessian is often indefinite. Each step solves

.. math:: \min_s\; g's + \tfrac12 s'Hs \quad \text{subject to} \quad \|D s\| \le \Delta

exactly, by an eigendecomposition of the scaled Hessian, so that negative curvature is used and not damped away.
Coordinates that the box holds back take no part.

Source: Moré and Sorensen, "Computing a trust region step" (SIAM J. Sci. Stat. Comput., 1983); Nocedal and Wright,
"Numerical Optimization", algorithm 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from moestat.arrays import Array, namespace
from moestat.fit.active_set import State
from moestat.fit.linalg import symmetric_eigen
from moestat.fit.second_order import Batch, Ends, Gram, Problem, Tried, Verdict, minimise

# first Delta, for steps scaled by D = |diag H|^(1/2): one of length Delta changes the loss by the order of Delta^2 / 2
_RADIUS = 0.5
_SECULAR_STEPS = 12  # the radius is met to a few per cent after two or three
_SMALLEST_RADIUS = 1e-14


def trust_region(
    problem: Problem,
    start: Array,
    *,
    lower: Array | float,
    upper: Array | float,
    tolerance: float = 1e-13,
    rounding: float = 1e-15,
    max_iterations: int = 300,
) -> Ends:
    """Minimise B independent functions from ``start`` (B, p) in a box that is broadcast to it.

    The problem's ``gram`` is the exact Hessian and may be indefinite. A member has converged when its decrement is at
    most ``tolerance``, on the scale of the loss; changes of it below the relative error ``rounding`` cannot be judged.
    """
    return minimise(_Bounded(tolerance, rounding), problem, start, lower, upper, max_iterations)


@dataclass(frozen=True)
class _Bounded:
    tolerance: float
    rounding: float

    def begin(self, at: Gram) -> State:
        return {"radius": namespace(at.loss).full_like(at.loss, _RADIUS)}

    def examine(self, batch: Batch, free: Array, projected: Array) -> Verdict:
        """Scale the model, take out the coordinates that the box holds, and diagonalise."""
        xp, at = namespace(free), batch.at
        diagonal = xp.abs(xp.linalg.diagonal(at.gram))
        usable, one = diagonal > 0, xp.ones_like(diagonal)
        scale = xp.where(usable, 1.0 / xp.sqrt(xp.where(usable, diagonal, one)), one)
        scale = xp.where(free, scale, xp.zeros_like(scale))
        eye = xp.eye(batch.theta.shape[-1], dtype=batch.theta.dtype)
        held = xp.astype(~free, scale.dtype)
        values, vectors = symmetric_eigen(at.gram * scale[:, :, None] * scale[:, None, :] + eye * held[:, None, :])
        gradient = xp.matmul(xp.matrix_transpose(vectors), (scale * at.gradient)[..., None])[..., 0]
        # an eigenvalue below this is a zero that rounding has moved
        tiny = 1e-12 * xp.max(xp.abs(values), axis=-1)[:, None]
        definite = xp.all(values >= -tiny, axis=-1)
        decrement = 0.5 * xp.sum(gradient * gradient / xp.maximum(values, tiny + 1e-300), axis=-1)
        decrement = xp.where(definite, decrement, xp.full_like(decrement, xp.inf))
        # a saddle has no decrement; where it is flat to rounding in every direction, nothing is left to gain
        stalled = batch.own["radius"] < _SMALLEST_RADIUS
        flat = 0.5 * xp.sum(gradient**2, axis=-1) <= 1e-2 * self.tolerance
        curved = xp.min(values, axis=-1) < -1e-6
        converged = (stalled & flat & ~curved) | (decrement <= self.tolerance)
        model = {"scale": scale, "values": values, "vectors": vectors, "gradient": gradient}
        return Verdict(decrement, stalled, converged, model)

    def step(self, batch: Batch, model: State) -> tuple[Array, State]:
        xp, values, gradient = namespace(batch.theta), model["values"], model["gradient"]
        mu = _shift(values, gradient, batch.own["radius"])
        scaled = -xp.matmul(model["vectors"], (gradient / (values + mu[:, None]))[..., None])[..., 0]
        return model["scale"] * scaled, {"length": xp.sqrt(xp.sum(scaled * scaled, axis=-1))}

    def update(self, batch: Batch, note: State, tried: Tried) -> State:
        xp, radius, length, gain = namespace(batch.theta), batch.own["radius"], note["length"], tried.gain
        # a step too small for its effect to be seen is taken if it does no harm, but the region shrinks towards the end
        poor = (gain < 0.25) | (tried.predicted <= tried.noise)
        smaller = xp.where(poor, 0.25 * xp.minimum(length, radius), radius)
        return {"radius": xp.where(~poor & (gain > 0.7) & (length > 0.8 * radius), 2.5 * radius, smaller)}


def _shift(values: Array, gradient: Array, radius: Array) -> Array:
    """Return mu >= 0 with H + mu positive definite and a step no longer than the radius (and as long, if mu > 0)."""
    xp = namespace(radius)
    lowest = values[:, 0]
    span = xp.max(xp.abs(values), axis=-1)
    # H + mu stays positive definite by a margin that rounding cannot eat
    low = xp.maximum(-lowest, xp.zeros_like(lowest)) + 1e-10 * span + 1e-300
    length = xp.sqrt(xp.sum(gradient**2, axis=-1))
    high = low + length / radius
    mu = low

    def norm(mu: Array) -> tuple[Array, Array]:
        divided = gradient / (values + mu[:, None])
        size = xp.sqrt(xp.sum(divided * divided, axis=-1))
        return size, xp.sum(divided * divided / (values + mu[:, None]), axis=-1)

    size, slope = norm(mu)
    newton = (lowest > 1e-10 * span) & (size <= radius)
    for _ in range(_SECULAR_STEPS):
        inside = size <= radius
        low, high = xp.where(inside, low, mu), xp.where(inside, mu, high)
        step = size * size / xp.where(slope > 0, slope, xp.ones_like(slope)) * (size / radius - 1.0)
        guess = mu + step
        mu = xp.where((guess > low) & (guess < high), guess, 0.5 * (low + high))
        size, slope = norm(mu)
    # the upper end is always inside the region
    mu = xp.where(size <= 1.1 * radius, mu, high)
    return xp.where(newton, xp.zeros_like(mu), mu)

r"""What is said about the end of a fit: is it a minimum inside the box, and how far from it at most?

Everything here is computed in float64 with the exact Hessian and without damping, whatever the descent used.
"""

from __future__ import annotations

import math

from moestat.arrays import Array, namespace
from moestat.fit.linalg import symmetric_eigen
from moestat.fit.moments import Problem
from moestat.fit.second_order import free_coordinates, hits
from moestat.models.experts import Smoothing

FLAT = 1e-12  #: Curvatures below this share of the largest one count as this share: rounding alone makes them.
ESCAPES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""Distances tried along a direction of negative curvature, each both ways."""


def certify(problem: Problem, theta: Array, tau: Smoothing, box: float, goal: Array) -> dict[str, Array]:
    """Examine points (B, N, P) by the eigenvalues of the exact Hessian on the free coordinates.

    Gains in the loss below ``goal`` (B,) do not matter. Returns arrays, batch first: the largest absolute entry of the
    ``gradient`` over the free coordinates; the ``decrement``, half g' |H|^-1 g on them, the gain that the quadratic
    model promises; the ``min_eigenvalue`` of H on them, the softmax gauge left out; the number of coordinates on the
    box, ``box_hits``; whether a direction of negative curvature leads to a loss that is lower by more than the goal,
    ``escaped``; and that ``lower`` point (``theta`` itself where not escaped).
    """
    xp = namespace(theta)
    model, n = problem.model, problem.n_atoms
    loss, gradient, hessian = problem.in_double().hessian(theta, tau)
    flat = xp.reshape(theta, gradient.shape)
    free = free_coordinates(flat, gradient, -box, box)
    g = xp.where(free, gradient, xp.zeros_like(gradient))
    both = free[:, :, None] & free[:, None, :]
    hessian = xp.where(both, hessian, xp.zeros_like(hessian))
    # held coordinates and the gauge get a curvature above all others, so that they are never the smallest
    large = 1.0 + xp.linalg.matrix_norm(hessian)
    held = xp.where(free, xp.zeros_like(g), large[:, None])
    hessian = hessian + xp.eye(g.shape[-1], dtype=g.dtype) * held[:, None, :]
    if model.gate == "softmax":
        hessian = hessian + large[:, None, None] * _gauge(free, n, model.gate_size)
    values, vectors = symmetric_eigen(hessian)
    inside = values < 0.5 * large[:, None]
    top = xp.max(xp.where(inside, xp.abs(values), xp.zeros_like(values)), axis=-1)
    size = xp.maximum(xp.abs(values), FLAT * xp.where(top > 0, top, xp.ones_like(top))[:, None])
    along = (xp.matrix_transpose(vectors) @ g[..., None])[..., 0]
    smallest = values[:, 0]
    # a unit step along it must promise more than the goal, and it must be more than rounding
    negative = smallest < -xp.maximum(2.0 * goal, FLAT * top)
    lower, escaped = _escape(problem, theta, tau, box, loss - goal, vectors[:, :, 0], negative)
    return {
        "gradient": xp.max(xp.abs(g), axis=-1),
        "decrement": 0.5 * xp.sum(along * along / size, axis=-1),
        "min_eigenvalue": smallest,
        "box_hits": hits(flat, -box, box),
        "escaped": escaped,
        "lower": lower,
    }


def _gauge(free: Array, n: int, gate_size: int) -> Array:
    """Return the projector (B, p, p) onto the common shifts of gate coordinates that are free in all atoms."""
    xp = namespace(free)
    batch, p = free.shape
    atoms = xp.reshape(free, (batch, n, p // n))
    position = xp.arange(p // n) < gate_size
    shift = xp.astype(xp.all(atoms, axis=1) & position, xp.float64) / math.sqrt(n)
    # entry ((i, k), (j, l)) is shift_k shift_l if k = l
    diagonal = xp.eye(p // n, dtype=xp.float64) * (shift * shift)[:, None, :]
    return xp.reshape(xp.ones((1, n, 1, n, 1), dtype=xp.float64) * diagonal[:, None, :, None, :], (batch, p, p))


def _escape(
    problem: Problem, theta: Array, tau: Smoothing, box: float, target: Array, direction: Array, negative: Array
) -> tuple[Array, Array]:
    """Return the lowest of the points along ``direction``, and where it lies below ``target``."""
    xp = namespace(theta)
    lower, best = theta, target
    if bool(xp.any(negative)):
        direction = xp.reshape(direction, theta.shape)
        for distance in ESCAPES:
            for sign in (1.0, -1.0):
                point = xp.clip(theta + sign * distance * direction, -box, box)
                loss = problem.loss(point, tau)
                better = negative & (loss < best)
                best = xp.where(better, loss, best)
                lower = xp.where(better[:, None, None], point, lower)
    return lower, negative & (best < target)

r"""What is said about the end of a fit: is it a minimum inside the box, and how far from it at most?

Everything here is computed in float64 with the exact Hessian and without damping, whatever the descent used. Where the
Hessian is positive definite and large, a Cholesky factorisation says so, and no eigenvectors are computed.
"""

from __future__ import annotations

import math

import array_api_compat
import numpy as np

from moestat.arrays import Array, clamp, namespace, to_numpy
from moestat.fit.active_set import chosen, put
from moestat.fit.linalg import JACOBI, definite_solve, symmetric_eigen
from moestat.fit.moments import Problem
from moestat.fit.second_order import free_coordinates, hits
from moestat.models.experts import Smoothing

FLAT = 1e-12  #: Curvatures below this share of the largest one count as this share: rounding alone makes them.
EIGEN = 512
"""Largest Hessian on a processor all of whose eigenvalues are computed in any case: at 486 they take as long as two
steps, and the numbers of records are theirs. On a GPU it is ``JACOBI``."""
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
    answer = {
        "gradient": xp.max(xp.abs(g), axis=-1),
        "decrement": xp.zeros_like(loss),
        "min_eigenvalue": xp.zeros_like(loss),
        "box_hits": hits(flat, -box, box),
        "escaped": xp.zeros(loss.shape, dtype=xp.bool),
        "lower": theta,
    }
    rest = np.ones(loss.shape, dtype=bool)
    if g.shape[-1] > (JACOBI if array_api_compat.is_cupy_array(g) else EIGEN):
        x, smallest, ok = definite_solve(hessian, g)
        answer |= {"decrement": 0.5 * xp.sum(g * x, axis=-1), "min_eigenvalue": smallest}
        # a smaller eigenvalue counts as more than it is, which takes the largest one, too
        rest = ~to_numpy(ok & (smallest > FLAT * large))
    if rest.any():
        few = problem.of(problem.data(len(rest))[rest])
        width = tau if isinstance(tau, float | int) else chosen((tau,), rest)[0]
        found = _by_eigenvalues(few, box, width, *chosen((hessian, g, large, theta, loss, goal), rest))
        answer |= {name: put(answer[name], value, rest) for name, value in found.items()}
    return answer


def _by_eigenvalues(
    problem: Problem,
    box: float,
    tau: Smoothing,
    h: Array,
    g: Array,
    large: Array,
    theta: Array,
    loss: Array,
    goal: Array,
) -> dict[str, Array]:
    """Return those entries of a certificate that the eigenvalues of the completed Hessians tell."""
    xp = namespace(h)
    values, vectors = symmetric_eigen(h)
    inside = values < 0.5 * large[:, None]
    top = xp.max(xp.where(inside, xp.abs(values), xp.zeros_like(values)), axis=-1)
    size = xp.maximum(xp.abs(values), FLAT * xp.where(top > 0, top, xp.ones_like(top))[:, None])
    along = (xp.matrix_transpose(vectors) @ g[..., None])[..., 0]
    smallest = values[:, 0]
    # a unit step along it must promise more than the goal, and it must be more than rounding
    negative = smallest < -xp.maximum(2.0 * goal, FLAT * top)
    lower, escaped = _escape(problem, theta, tau, box, loss - goal, vectors[:, :, 0], negative)
    decrement = 0.5 * xp.sum(along * along / size, axis=-1)
    return {"decrement": decrement, "min_eigenvalue": smallest, "escaped": escaped, "lower": lower}


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
                point = clamp(theta + sign * distance * direction, -box, box)
                loss = problem.loss(point, tau)
                better = negative & (loss < best)
                best = xp.where(better, loss, best)
                lower = xp.where(better[:, None, None], point, lower)
    return lower, negative & (best < target)

r"""Hellinger distance between conditional densities, by the trapezoid rule on a grid of its own for every input.

.. math:: h^2(p, q) = \tfrac12 \int (\sqrt{p(y)} - \sqrt{q(y)})^2\, dy

For smooth functions that vanish at both ends the trapezoid rule converges geometrically; with the grid reaching nine
standard deviations beyond the outermost means and a step of at most 0.4 of the smallest standard deviation its
relative error is below 1e-6. The integral is computed as it stands: via 1 - \int sqrt(p q) all digits cancel when the
densities are close, which is when a rate is measured.

Source: "CompeteSMoE", Theorem 4.1.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.models.blocks import member_blocks, row_blocks
from moestat.models.gaussian import LOG_2PI, Components, GaussianMixture, check_atoms, check_inputs

REACH = 9.0  # standard deviations beyond the outermost means
STEP = 0.4  # largest step of the grid, in smallest standard deviations
FEWEST, MOST = 128, 8192  # grid points per input
ROWS = 256  # inputs per chunk
_NEGLIGIBLE = math.log(1e-30)


@takes_float64("fitted", "truth", "x")
def squared_hellinger(
    model: GaussianMixture, fitted: Array, truth: Array, x: Array, *, points: int | None = None
) -> Array:
    """Return h^2 between the densities of fits (..., N, P) and of the truth (N*, P), at every input (m, d): (..., m).

    ``points`` are the grid points per input; by default as many as the module's rule asks for, measure by measure, and
    NaN for a measure whose smallest standard deviation is so small that it would take more than 8192.
    """
    check_atoms(fitted, model.atom_size, name="fitted")
    check_atoms(truth, model.atom_size, name="truth", one=True)
    check_inputs(x, model.d, one=True)
    xp = namespace(fitted, truth, x)
    flat = xp.reshape(fitted, (-1, *fitted.shape[-2:]))
    count = _points(model, flat, truth, x) if points is None else np.full(flat.shape[0], points)
    out = xp.zeros((0, x.shape[0]), dtype=fitted.dtype)
    order: list[np.ndarray] = []
    for size in np.unique(count):
        members = np.nonzero(count == size)[0]
        order.append(members)
        if size > MOST:
            part = xp.full((len(members), x.shape[0]), xp.nan, dtype=fitted.dtype)
        else:
            part = _on_grid(model, xp.take(flat, xp.asarray(members), axis=0), truth, x, int(size))
        out = xp.concat([out, part], axis=0)
    back = np.argsort(np.concatenate(order)) if order else np.zeros(0, dtype=np.int64)
    return xp.reshape(xp.take(out, xp.asarray(back), axis=0), (*fitted.shape[:-2], x.shape[0]))


@takes_float64("fitted", "truth", "x")
def expected_hellinger(
    model: GaussianMixture, fitted: Array, truth: Array, x: Array, *, points: int | None = None
) -> tuple[Array, Array]:
    """Return E_X h and E_X h^2 over the inputs; arguments as in :func:`squared_hellinger`, (...)."""
    xp = namespace(fitted, truth, x)
    squared = squared_hellinger(model, fitted, truth, x, points=points)
    return xp.mean(xp.sqrt(squared), axis=-1), xp.mean(squared, axis=-1)


def _span(parts: list[Components]) -> tuple[Array, Array, Array]:
    """Return the ends of the grid and the smallest standard deviation at every input, (..., n) each."""
    xp = namespace(parts[0].mean)
    ends = []
    for at in parts:
        counted = at.log_weight > _NEGLIGIBLE  # experts with a weight worth counting
        deviation = xp.sqrt(at.variance) + xp.zeros_like(at.mean)
        infinite = xp.full_like(at.mean, xp.inf)
        low = xp.min(xp.where(counted, at.mean - REACH * deviation, infinite), axis=-2)
        high = xp.max(xp.where(counted, at.mean + REACH * deviation, -infinite), axis=-2)
        ends.append((low, high, xp.min(xp.where(counted, deviation, infinite), axis=-2)))
    low, high, smallest = zip(*ends, strict=True)
    return reduce(xp.minimum, low), reduce(xp.maximum, high), reduce(xp.minimum, smallest)


def _points(model: GaussianMixture, flat: Array, truth: Array, x: Array) -> np.ndarray:
    """Return how many points each measure needs: a power of two, so that few grids are computed separately."""
    xp = namespace(flat)
    largest = np.zeros(flat.shape[0])
    for rows in row_blocks(x.shape[0], ROWS):
        for block in member_blocks(flat.shape[0], flat.shape[1] * min(ROWS, x.shape[0]), flat):
            low, high, smallest = _span([model.components(atoms, x[rows, :]) for atoms in (flat[block, ...], truth)])
            steps = to_numpy(xp.max((high - low) / smallest, axis=-1)) / STEP
            largest[block] = np.maximum(largest[block], steps)
    return np.maximum(FEWEST, 2 ** np.ceil(np.log2(np.maximum(largest, 1.0))).astype(np.int64))


def _on_grid(model: GaussianMixture, flat: Array, truth: Array, x: Array, points: int) -> Array:
    xp = namespace(flat)
    grid = xp.linspace(0.0, 1.0, points, dtype=flat.dtype)
    # both ends have weight one half, but nothing is left of the densities there
    columns = []
    for rows in row_blocks(x.shape[0], ROWS):
        part = []
        for block in member_blocks(flat.shape[0], points * min(ROWS, x.shape[0]), flat):
            both = [model.components(atoms, x[rows, :]) for atoms in (flat[block, ...], truth)]
            low, high, _ = _span(both)
            y = low[..., None] + (high - low)[..., None] * grid
            here, there = (xp.sqrt(_density(at, y)) for at in both)
            difference = here - there
            step = (high - low) / (points - 1)
            part.append(0.5 * step * xp.sum(difference * difference, axis=-1))
        columns.append(xp.concat(part, axis=0))
    return xp.concat(columns, axis=1)


def _density(at: Components, y: Array) -> Array:
    """Return p(y | x) on the grids y (..., n, points)."""
    xp = namespace(y)
    variance = at.variance + xp.zeros_like(at.mean)
    scale = at.log_weight - 0.5 * (xp.log(variance) + LOG_2PI)
    total = xp.zeros_like(y)
    for i in range(at.mean.shape[-2]):
        residual = y - at.mean[..., i, :, None]
        exponent = scale[..., i, :, None] - residual * residual * (0.5 / variance[..., i, :, None])
        total = total + xp.exp(exponent)
    return total

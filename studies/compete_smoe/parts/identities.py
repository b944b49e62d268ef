"""The identities behind the verdicts by argument on "compete-smoe" (``arguments.py``), on drawn instances.

A measure is a list of atoms (W, sigma^2), an expert a function g(x, W) on inputs (points, d); densities are eq. (6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy import integrate

DRAWS, POINTS = 20, 400
Y = np.linspace(-12.0, 12.0, 2401)

Expert = Callable[[np.ndarray, np.ndarray], np.ndarray]
Atoms = list[tuple[np.ndarray, float]]


def affine(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return w'(x, 1)."""
    return np.asarray(x @ w[:-1] + w[-1])


def scaled(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return b tanh(a x), w = (a, b)."""
    return np.asarray(w[1] * np.tanh(w[0] * x[:, 0]))


def winners(g: Expert, x: np.ndarray, atoms: Atoms, top_k: int) -> np.ndarray:
    """Return who wins (points, k), ties to the lowest index."""
    size = np.abs(np.stack([g(x, w) for w, _ in atoms], axis=1))
    order = np.argsort(-size, axis=1, kind="stable")
    return np.asarray(np.argsort(order, axis=1) < top_k)


def density(g: Expert, x: np.ndarray, y: np.ndarray, atoms: Atoms, top_k: int) -> np.ndarray:
    """Return eq. (6) for y (points, ...)."""
    means = np.stack([g(x, w) for w, _ in atoms], axis=1)
    weights = np.where(winners(g, x, atoms, top_k), np.exp(np.abs(means)), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    shape = (len(x), *[1] * (y.ndim - 1))
    total: Any = 0.0
    for k, (_, variance) in enumerate(atoms):
        normal = np.exp(-0.5 * (y - means[:, k].reshape(shape)) ** 2 / variance) / math.sqrt(2 * math.pi * variance)
        total = total + weights[:, k].reshape(shape) * normal
    return np.asarray(total)


def voronoi(atoms: Atoms, truth: Atoms, top_k: int) -> float:
    """Return D of eq. (9): the sum of the K largest cells."""
    gaps = np.array([[np.linalg.norm(w - v) + abs(s - t) for v, t in truth] for w, s in atoms])
    apart = np.array([[math.hypot(np.linalg.norm(w - v), s - t) for v, t in truth] for w, s in atoms])
    own = np.argmin(apart, axis=1)
    cells = [gaps[own == j, j].sum() for j in range(len(truth))]
    return float(np.sort(cells)[-top_k:].sum())


def _sleeper(rng: np.random.Generator) -> tuple[Atoms, Atoms]:
    """Draw affine experts on [-1, 1]^2, K = 2: two that cross, and two places of a third that never wins."""
    slopes = rng.uniform(0.2, 0.5, 2)
    awake = [(np.append(sign * slopes, rng.uniform(3.7, 3.9)), variance) for sign, variance in ((1, 1.0), (-1, 0.3))]
    first, second = (rng.uniform(-0.3, 0.3, 3) for _ in range(2))
    second[-1] = -math.copysign(0.3, first[-1])
    return [*awake, (first, 1.0)], [*awake, (second, 1.0)]


def sleeping_expert() -> dict[str, float]:
    """Move an expert that never wins, still asleep: the largest difference of the densities, and D."""
    rng, gaps, moved = np.random.default_rng(1), [], []
    for _ in range(DRAWS):
        x, y = rng.uniform(-1, 1, (POINTS, 2)), rng.uniform(-1, 6, POINTS)
        truth, other = _sleeper(rng)
        gaps.append(np.max(np.abs(density(affine, x, y, truth, 2) - density(affine, x, y, other, 2))))
        moved.append(voronoi(other, truth, 2))
    return {"difference of p": float(max(gaps)), "D": min(moved)}


def sleeping_maximisers() -> dict[str, float]:
    """Put the sleeper of a measure near the truth elsewhere, or one awake twice: likelihoods, D, total variation."""
    rng, gaps, far, apart = np.random.default_rng(2), [], [], []
    for _ in range(DRAWS):
        x, y = rng.uniform(-1, 1, (POINTS, 2)), rng.uniform(-1, 6, POINTS)
        truth, other = _sleeper(rng)
        shift = [(w + rng.uniform(-0.01, 0.01, 3), s) for w, s in truth[:2]]
        pair = [*shift, truth[2]], [*shift, other[2]]
        first, second = (np.mean(np.log(density(affine, x, y, one, 2))) for one in pair)
        gaps.append(abs(first - second))
        far.append(max(voronoi(one, truth, 2) for one in pair))
        here = density(affine, x, Y[None], truth, 2)
        for twice in truth[:2]:
            change = np.abs(density(affine, x, Y[None], [*shift, twice], 2) - here)
            apart.append(0.5 * np.mean(integrate.trapezoid(change, Y, axis=1)))
    return {
        "difference of the likelihoods": float(max(gaps)),
        "larger D of the two": min(far),
        "least mean total variation, one awake twice": float(min(apart)),
    }


def two_weights() -> dict[str, float]:
    """Take the opposite weights of b tanh(a x): densities, D, how often each expert wins, and its derivatives."""
    rng, gaps, moved, wins, least = np.random.default_rng(3), [], [], [], []
    x = np.linspace(-2, 2, POINTS)[:, None]
    for _ in range(DRAWS):
        truth = [(np.array(w) + rng.uniform(-0.05, 0.05, 2), s) for w, s in (([2.5, 0.6], 0.2), ([0.7, 1.2], 0.4))]
        other, y = [(-w, s) for w, s in truth], rng.uniform(-3, 3, POINTS)
        gaps.append(np.max(np.abs(density(scaled, x, y, truth, 1) - density(scaled, x, y, other, 1))))
        moved.append(voronoi(other, truth, 1))
        wins.append(winners(scaled, x, truth, 1).mean(axis=0).min())
        for (a, b), _ in truth:
            by = np.stack([b * x[:, 0] / np.cosh(a * x[:, 0]) ** 2, np.tanh(a * x[:, 0])], axis=1)
            least.append(np.linalg.svd(by / np.linalg.norm(by, axis=0), compute_uv=False)[-1])
    return {
        "difference of p": float(max(gaps)),
        "D": min(moved),
        "least share of wins": float(min(wins)),
        "least singular value of the derivatives": float(min(least)),
    }


def every_expert_wins() -> dict[str, float]:
    """Move truths in which every expert wins, K = 1 and 2: the least mean total variation over D, and its exponent."""
    rng, sizes, wins, rows = np.random.default_rng(7), (0.03, 0.003), [], []
    x, y = np.linspace(-1, 1, 4001)[:, None], np.linspace(-6, 6, 241)[None]
    truth = [(np.array(w), s) for w, s in (([1.0, 1.0], 0.2), ([-1.2, 0.9], 0.3), ([0.2, 1.3], 0.4))]
    for g, top_k in product((affine, lambda x, w: np.tanh(affine(x, w))), (1, 2)):
        wins.append(winners(g, x, truth, top_k).mean(axis=0).min())
        here = density(g, x, y, truth, top_k)
        for step in rng.standard_normal((DRAWS // 2, 3, 3)):
            row = []
            for size in sizes:
                moves = size * step / np.linalg.norm(step)
                other = [(w + move[:2], s + move[2]) for (w, s), move in zip(truth, moves, strict=True)]
                apart = 0.5 * integrate.trapezoid(np.abs(density(g, x, y, other, top_k) - here), y[0], axis=1)
                row.append(np.mean(apart) / voronoi(other, truth, top_k))
            rows.append(row)
    large, small = np.array(rows).T
    return {
        "least share of wins": float(min(wins)),
        "least mean total variation / D": float(small.min()),
        "largest exponent of it": float(np.max(np.log(large / small)) / math.log(sizes[0] / sizes[1])),
    }


def lost_expert() -> dict[str, float]:
    """Put a true expert twice and a winner nowhere: D, and the mean total variation."""
    rng, moved, apart = np.random.default_rng(4), [], []
    for _ in range(DRAWS):
        x = rng.uniform(-1, 1, (POINTS, 2))
        truth = [(rng.uniform(-1, 1, 3) + np.array([0, 0, mean]), 0.3) for mean in (1.0, -4.0, 5.0)]
        other = [truth[0], truth[2], truth[2]]
        gap = np.abs(density(affine, x, np.tile(Y, (POINTS, 1)), truth, 2) - density(affine, x, Y[None], other, 2))
        moved.append(voronoi(other, truth, 2))
        apart.append(0.5 * np.mean(integrate.trapezoid(gap, Y, axis=1)))
    return {"D": max(moved), "mean total variation": float(min(apart))}


def touching_regions() -> dict[str, float]:
    """Shift a boundary by t: exponents in t of the misrouted share and the mean change of p; its largest change."""
    truth = [(np.array([1.0, 1.0]), 0.1), (np.array([-1.0, 1.0]), 0.4)]
    shifts, x = np.array([0.1, 0.03, 0.01]), np.linspace(-1, 1, 4001)[:, None]
    here, rows = density(affine, x, Y[None], truth, 1), []
    for t in shifts:
        other = [(np.array([1.0, 1.0 - 2 * t]), 0.1), truth[1]]
        gap = np.abs(density(affine, x, Y[None], other, 1) - here)
        share = np.mean(winners(affine, x, other, 1)[:, 0] != winners(affine, x, truth, 1)[:, 0])
        rows.append((share, gap.max(), np.mean(integrate.trapezoid(gap, Y, axis=1))))
    shares, largest, mean = np.array(rows).T
    slopes = [float(np.polyfit(np.log(shifts), np.log(part), 1)[0]) for part in (shares, mean)]
    return {
        "exponent of the misrouted share": slopes[0],
        "least of the largest changes of p": float(largest.min()),
        "exponent of the mean change of p": slopes[1],
    }


def winners_by_half_spaces() -> dict[str, float]:
    """Tell who is among the K largest |g| by the signs of sums and differences alone, for affine and tanh experts."""
    rng, wrong = np.random.default_rng(5), []
    for _ in range(DRAWS):
        x, weights = rng.uniform(-1, 1, (POINTS, 2)), rng.standard_normal((4, 3))
        u = np.stack([affine(x, w) for w in weights], axis=1)
        ahead = np.sign(u[:, :, None] - u[:, None]) * np.sign(u[:, :, None] + u[:, None]) >= 0  # (points, i, j)
        chosen = ahead.sum(axis=2) > len(weights) - 2  # two winners: behind one other at most
        for g in (affine, lambda x, w: np.tanh(affine(x, w))):
            wrong.append(np.mean(chosen != winners(g, x, [(w, 1.0) for w in weights], 2)))
    return {"share of inputs with other winners": float(max(wrong))}


def brackets() -> dict[str, float]:
    """Bracket half-spaces by grid points at a distance t: who lies outside, and how the probability between shrinks."""
    rng, sizes, outside = np.random.default_rng(6), np.array([0.1, 0.03, 0.01]), 0.0
    x = rng.uniform(-1, 1, (200_000, 2))
    reach, between = 1 + math.sqrt(2), np.zeros((DRAWS, 3))
    for draw in range(DRAWS):
        grid, step = rng.standard_normal(3), rng.standard_normal(3)
        grid, step = grid / np.linalg.norm(grid), step / np.linalg.norm(step)
        for at, t in enumerate(sizes):
            value, own = affine(x, grid), affine(x, grid + t * step) >= 0
            inner, outer = value >= reach * t, value >= -reach * t
            outside = max(outside, np.mean(inner & ~own), np.mean(own & ~outer))
            between[draw, at] = np.mean(outer & ~inner)
    slope = float(np.polyfit(np.log(sizes), np.log(between.mean(axis=0)), 1)[0])
    return {"share outside its bracket": float(outside), "exponent of the bracket's size": slope}


def entropy_integral() -> dict[str, float]:
    """Compare the integral of sqrt(log(1 / t)) from 0 to delta with delta sqrt(log(1 / delta))."""
    ratios = []
    for delta in 10.0 ** -np.arange(1, 7):
        value, _ = integrate.quad(lambda t: math.sqrt(-math.log(t)), 0, delta)
        ratios.append(value / (delta * math.sqrt(-math.log(delta))))
    return {"largest ratio of integral and bound": float(max(ratios))}


def striped(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return 2 + w x / 10 for x >= 0, and 2 + w^3 sin(x / w) below."""
    below = w[0] ** 3 * np.sin(x[:, 0] / w[0]) if w[0] else 0.0 * x[:, 0]
    return np.asarray(2 + np.where(x[:, 0] >= 0, w[0] * x[:, 0] / 10, below))


def stripes() -> dict[str, float]:
    """Fit noise by the stripes of a narrow w, 20 points: the gain in mean log-likelihood, and the total variation.

    Beside it the derivative of g, over w in [0, 1]: its size, and least mean size.
    """
    rng, w = np.random.default_rng(8), np.linspace(0, 1, 201)[:, None]
    grid, truth = np.linspace(-1, 1, 4001)[:, None], [(np.ones(1), 1.0), (np.zeros(1), 4.0)]
    slopes = np.stack([(striped(grid, a + 1e-6) - striped(grid, a - 1e-6)) / 2e-6 for a in w])
    gains, apart = [], []
    for _ in range(DRAWS // 4):
        x = np.linspace(-1, 1, 21)[:-1, None] + rng.uniform(0, 0.1, (20, 1))
        y = striped(x, np.ones(1)) * (x[:, 0] >= 0) + 2 * (x[:, 0] < 0) + rng.standard_normal(20) * (1 + (x[:, 0] < 0))
        wanted = np.where(np.abs(y - 2) ** 2 < 8 * math.log(2) / 3, 1, -1)[:10]  # where N(2, 1) is likelier
        pace = rng.uniform(10, 1e4, 60_000)
        met = (np.sin(pace[:, None] * x[:10, 0]) * wanted > 0).all(axis=1)
        other = [(1 / pace[met][:1], 1.0), truth[1]]
        first, second = (np.mean(np.log(density(striped, x, y, one, 1))) for one in (other, truth))
        gains.append(first - second)
        p, q = (density(striped, grid[::10], Y[None], one, 1) for one in (other, truth))
        apart.append(0.5 * np.mean(integrate.trapezoid(np.abs(p - q), Y, axis=1)))
    return {
        "least gain of a fit to noise": float(min(gains)),
        "least mean total variation": float(min(apart)),
        "largest derivative": float(np.abs(slopes).max()),
        "least mean derivative": float(np.abs(slopes).mean(axis=1).min()),
    }


def stripes_apart() -> dict[str, float]:
    """Compare measures of stripes whose w shrinks ever more: the least L1 distance of two of them."""
    x = np.sort(np.random.default_rng(9).uniform(-1, 0, 20_000))[:, None]
    paces = 10.0 * 7.0 ** np.arange(6)
    first = np.sin(paces[:, None] * x[:, 0]) > 0
    share = [np.mean(a != b) for k, a in enumerate(first) for b in first[:k]]
    normal = [np.exp(-0.5 * Y**2 / v) / math.sqrt(2 * math.pi * v) for v in (1.0, 4.0)]
    apart = float(integrate.trapezoid(np.abs(normal[0] - normal[1]), Y))
    return {"least L1 distance": 0.5 * float(min(share)) * apart}

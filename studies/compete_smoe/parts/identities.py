"""The identity behind the verdict by argument on "compete-smoe" (``arguments.py``), on drawn instances."""

from __future__ import annotations

import math

import numpy as np

DRAWS, POINTS = 20, 400


def sleeping_expert() -> dict[str, float]:
    """Move an expert that never wins, still asleep: the largest difference of the densities (6), and D of eq. (9).

    Three affine experts on [-1, 1]^2 of which two win, K = 2: g_1 and g_2 are above 2, and |g_3| below 1.
    """
    rng, gaps, moved = np.random.default_rng(1), [], []
    for _ in range(DRAWS):
        x, y = rng.uniform(-1, 1, (POINTS, 2)), rng.uniform(-1, 6, POINTS)
        awake = [(rng.uniform(-0.5, 0.5, 2), float(mean)) for mean in (3.2, 4.4)]
        asleep = [(rng.uniform(-0.3, 0.3, 2), float(rng.uniform(-0.3, 0.3))) for _ in range(2)]
        densities = [_density(x, y, [*awake, one]) for one in asleep]
        gaps.append(np.max(np.abs(densities[0] - densities[1])))
        difference = np.append(asleep[0][0] - asleep[1][0], asleep[0][1] - asleep[1][1])
        moved.append(float(np.linalg.norm(difference)))  # each cell has one atom, so that this alone is in D
    return {"difference of p": float(max(gaps)), "D": min(moved)}


def _density(x: np.ndarray, y: np.ndarray, experts: list[tuple[np.ndarray, float]]) -> np.ndarray:
    """Return eq. (6) with K = 2 and a deviation of 1."""
    g = np.stack([x @ a + b for a, b in experts], axis=1)
    size = np.abs(g)
    kept = size >= np.sort(size, axis=1)[:, -2:-1]
    weights = np.where(kept, np.exp(size), 0)
    normal = np.exp(-0.5 * (y[:, None] - g) ** 2) / math.sqrt(2 * math.pi)
    return np.asarray(np.sum(weights * normal, axis=1) / np.sum(weights, axis=1))

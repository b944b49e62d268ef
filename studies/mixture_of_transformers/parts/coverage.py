"""Which experts know which class at the start, by chance alone: exact probabilities.

At initialisation the W_i are Gaussian, so that <W_i, v_n> are i.i.d. over experts i and classes n, and the class of an
expert (Definition 2 of "Mixture-of-Transformers Learn Faster": the largest of them) is uniform and independent of the
others. Lemma 8 asks whether M experts cover all N classes, Lemma 7 how far the largest is ahead of the next.
"""

from __future__ import annotations

import numpy as np
from scipy import stats


def occupancy(classes: int, experts: int) -> np.ndarray:
    """Return the probabilities that M experts cover 0, ..., N classes, (N + 1,).

    By recursion over experts: the next one has a new class with probability (N - j) / N. Every term is positive, where
    inclusion and exclusion would cancel.
    """
    p = np.zeros(classes + 1)
    p[0] = 1.0
    known = np.arange(classes + 1) / classes
    for _ in range(experts):
        p[1:] = p[1:] * known[1:] + p[:-1] * (1 - known[:-1])
        p[0] = 0.0
    return p


def enough_experts(classes: int, delta: float) -> int:
    """Return the smallest M that covers all classes with probability at least 1 - delta."""
    p = np.zeros(classes + 1)
    p[0] = 1.0
    known = np.arange(classes + 1) / classes
    experts = 0
    while p[-1] < 1 - delta:
        p[1:] = p[1:] * known[1:] + p[:-1] * (1 - known[:-1])
        p[0] = 0.0
        experts += 1
    return experts


def near_tie(classes: int, share: float) -> float:
    """Return the probability that the next largest of N standard normals exceeds ``1 - share`` times the largest.

    It is ``N (N - 1) int_0^inf phi(v) int_{(1 - share) v}^v phi(u) Phi(u)^(N - 2) du dv`` (a negative largest value
    exceeds nothing), by Gauss-Legendre quadrature.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    top = 12.0
    v = (nodes[:, None] + 1) * top / 2
    inner, inner_weights = np.polynomial.legendre.leggauss(40)
    u = v * (1 - share / 2 + share / 2 * inner[None, :])
    density = stats.norm.pdf(u) * stats.norm.cdf(u) ** (classes - 2)
    within = np.sum(density * inner_weights, axis=1) * v[:, 0] * share / 2
    total = np.sum(weights * top / 2 * stats.norm.pdf(v[:, 0]) * within)
    return float(classes * (classes - 1) * total)

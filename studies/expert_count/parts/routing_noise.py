"""Probabilities of top-1 routing under uniform noise, computed exactly.

Expert m is chosen when ``h_m + r_m`` is the largest, with r i.i.d. Unif[0, 1]. Conditional on the winning value v, the
others stay below it with probability ``prod min(v - h_j, 1)``, so

    p_m = int_{max h}^{h_m + 1} prod_{j != m} min(v - h_j, 1) dv        (0 when h_m + 1 <= max h)

which is a polynomial between the points h_j + 1: Gauss-Legendre quadrature on each piece is exact.

Lemma 1 of "On the Impact of Expert Count in Mixture of Experts" bounds ``max |p - p'|`` by ``M^2 max |h - h'|``. The
factor is 2 in truth, whatever M: with G(v) the product above, ``dp_m / dh_m = G(h_m + 1) - G(h_m)`` lies in [0, 1],
every ``dp_m / dh_j`` with j != m is <= 0, and a common shift of h changes nothing, so that the absolute derivatives of
p_m add up to at most 2. Experts that are tied reach it.
"""

from __future__ import annotations

import numpy as np

from moestat.arrays import Array, namespace


def probabilities(scores: Array) -> Array:
    """Return the probability of each expert to be chosen.

    ``scores`` (..., M): h.

    The probabilities are exact up to rounding. Memory grows like M^3 / 2 per leading entry.
    """
    xp = namespace(scores)
    experts = scores.shape[-1]
    nodes, weights = (xp.asarray(a) for a in np.polynomial.legendre.leggauss(experts // 2 + 1))
    largest = xp.max(scores, axis=-1, keepdims=True)
    h = scores - largest  # a common shift changes nothing
    ends = xp.sort(xp.where(h > -1, h + 1, xp.zeros_like(h)), axis=-1)
    starts = xp.concat([xp.zeros_like(largest), ends[..., :-1]], axis=-1)
    half = (ends - starts)[..., None] / 2
    v = starts[..., None] + half * (1 + nodes)  # (..., pieces, nodes)
    below = v[..., None] - h[..., None, None, :]  # (..., pieces, nodes, M)
    capped = xp.where(below < 1, below, xp.ones_like(below))
    # the nodes of a piece of length 0 lie on its ends: they get no weight, and must not divide by 0
    safe = xp.where(capped > 0, capped, xp.ones_like(capped))
    density = xp.where(below < 1, xp.prod(capped, axis=-1, keepdims=True) / safe, xp.zeros_like(safe))
    return xp.sum(density * (half * weights)[..., None], axis=(-3, -2))

r"""What the atoms of a cell of constant gate can hide from the regression function ("sigmoid-attention", Thms 1, 4).

Several fitted atoms stand for a true one with (A, b) = 0 and weight w* = sigma(c*). They share its expert; let g_i be
their weights, sum of g_i = w* < 1, and s_i(x) = b_i'x + x'A_i x their scores without intercept. Then f moves by
E(x, eta*) times :math:`\sum_i \sigma(c_i + s_i) - w^*`.

*Without b.* To first order :math:`\sum \sigma'_i a_i = 0`, a_i = x'A_i x, and what is left is the form
:math:`\tfrac12 \sum \sigma''_i a_i^2`. Its terms have the sign of 1 - 2 g_i, so that it might vanish. It does not:

.. math:: \sum \sigma''_i a_i^2 \ge (1 - w^*) \sum \sigma'_i a_i^2.

With y_i = sigma'_i a_i the difference of the two sides is :math:`\sum y_i^2 / \chi(g_i)` on sum y_i = 0,
chi(g) = g (1 - g) / (w* - 2 g), and at most one g_i, say g_m, is above w*/2. If none is, there is nothing to show. If
one is, it is to be shown that the other chi(g_i) add up to no more than -chi(g_m). On [0, w*/2), chi is
g / 2 - (2 - w*) / 4 + w* (2 - w*) / (4 (w* - 2 g)), hence convex, and chi(0) = 0. So their sum is at most chi(h),
h = w* - g_m < g_m, and chi(h) = h (1 - h) / (2 g_m - w*) <= g_m (1 - g_m) / (2 g_m - w*) = -chi(g_m), because
h + g_m = w* < 1. Two equal halves reach the bound. The proof of Theorem 4 takes this for granted: it calls the
functions of different atoms of a cell linearly independent, where at A = 0 they are proportional.

*With b.* F_A(0) and F_bb(0) are proportional, and b_i of order t is paid for by A_i of order t^2. With two atoms,

.. math::
    b_i = \pm t\, u / \sigma'_i, \qquad A_i = t^2 \alpha_i\, u u',

the alpha_i can be chosen such that the terms of order t^2 and t^3 vanish. What is left is of order t^4, with a factor
that depends on how w* is shared. With equal shares it is that of v (1 - 3 v^2), v = 1 - w*: it vanishes at
w* = 1 - 1/sqrt(3) = 0.4226 (:data:`CRITICAL`), and then the change is of order t^6. For every larger w* it vanishes at
some unequal shares (:func:`flat_share`), and the change is of order t^5: in App. E.1, where c* = 0 and w* = 1/2, too.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from moestat.models import gates
from moestat.models.regression import Model

CRITICAL = 1.0 - 1.0 / np.sqrt(3.0)
"""The weight of the true atom at which equal shares hide b to the order t^6, and above which others do to t^5."""

LEAST_SHARE = 0.05  # shares below this are not looked at; no zero lies there


def gate_slopes(weight: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the first four derivatives of the sigmoid where its value is ``weight``."""
    g = np.asarray(weight, dtype=np.float64)
    p, v = g * (1.0 - g), 1.0 - 2.0 * g
    return p, p * v, p * (1.0 - 6.0 * p), p * v * (1.0 - 12.0 * p)


def pair_scores(weight: float, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (c, beta, alpha), two numbers each: scores c_i + t beta_i h + t^2 alpha_i h^2, h = u'x, that hide t.

    The sum of their gates is ``weight`` (w*) up to terms of order t^4; ``share``: of the first atom in the weight.
    """
    g = weight * np.array([share, 1.0 - share])
    first, second, third, _ = gate_slopes(g)
    beta = np.array([1.0, -1.0]) / first
    if share == 0.5:  # the term of order t^3 is odd and vanishes for equal alpha
        alpha = -0.5 * second / first * beta**2
    else:
        matrix = np.stack([first, second * beta])
        alpha = np.linalg.solve(matrix, -np.array([0.5 * second @ beta**2, third @ beta**3 / 6.0]))
    size = np.sqrt(np.mean(beta**2))
    return np.log(g) - np.log1p(-g), beta / size, alpha / size**2


def fourth_order(weight: float, share: float) -> float:
    """Return the factor of (t h)^4 that the scores of :func:`pair_scores` leave."""
    _, beta, alpha = pair_scores(weight, share)
    _, second, third, fourth = gate_slopes(weight * np.array([share, 1.0 - share]))
    return float(0.5 * second @ alpha**2 + 0.5 * third @ (alpha * beta**2) + fourth @ beta**4 / 24.0)


def flat_share(weight: float) -> float:
    """Return the smaller share at which the term of order t^4 vanishes too; NaN for weights below :data:`CRITICAL`."""
    if weight <= CRITICAL:
        return float("nan")
    return float(brentq(lambda share: fourth_order(weight, share), LEAST_SHARE, 0.5 - 1e-6, xtol=1e-15))


def with_pair(truth: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Put pairs of atoms (T, 2, P) in the place of the last true one; returns (T, N* + 1, P)."""
    return np.concatenate([np.repeat(truth[None, :-1], len(pair), axis=0), pair], axis=1)


def hidden_pair(model: Model, truth: np.ndarray, direction: np.ndarray, share: float, t: np.ndarray) -> np.ndarray:
    """Fit the last true atom, of constant gate, by the pair of :func:`pair_scores` along u = ``direction`` (d,).

    ``model``: sigmoid gate, fully quadratic score; ``truth`` (N*, P), its last (A, b) = 0; ``t`` (T,).
    """
    last = truth[-1]
    c, beta, alpha = pair_scores(float(model.weights(last[None])[0]), share)
    pair = np.tile(last, (len(t), 2, 1))
    square = gates.pack_symmetric(np.outer(direction, direction))
    pair[..., 0] = c
    pair[..., model.b] = (t[:, None] * beta)[..., None] * direction
    pair[..., model.a_matrix] = (t[:, None] ** 2 * alpha)[..., None] * square
    return with_pair(truth, pair)


def smallest_curvature(weights: np.ndarray) -> np.ndarray:
    r"""Return the least :math:`\sum_i \sigma''_i a_i^2 / \sum_i \sigma'_i a_i^2` over :math:`\sum_i \sigma'_i a_i = 0`.

    ``weights`` (..., m): values g_i of the gates, in (0, 1).
    """
    first, second, _, _ = gate_slopes(weights)
    # z_i = sqrt(sigma'_i) a_i: the form is diag(second / first), the constraint sqrt(first)' z = 0
    normal = np.sqrt(first)
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    keep = np.eye(weights.shape[-1]) - normal[..., :, None] * normal[..., None, :]
    # along the normal the form is made larger than any eigenvalue inside, so that the least one is of the constraint
    form = keep @ ((second / first)[..., None] * keep) + 2.0 * normal[..., :, None] * normal[..., None, :]
    least: np.ndarray = np.linalg.eigvalsh(form)[..., 0]
    return least

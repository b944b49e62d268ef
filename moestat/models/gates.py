r"""Gates: the score features :math:`q(x)`, the gate values and their derivatives in the scores.

The quadratic score :math:`x'Ax + b'x + c` is stored isometrically: the diagonal of A and sqrt(2) times its upper
triangle, so that the Euclidean norm of the stored numbers is the Frobenius norm of the symmetric A, and only the
symmetric part (all that the regression function can see) exists.

A gate of the user's own is named by the import path of its function, ``"module:function"`` (see :mod:`moestat.own`);
like the sigmoid it acts on the score of each atom by itself.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from moestat import own
from moestat.arrays import Array, clamp, namespace
from moestat.doors import takes_float64

Gate = Literal["sigmoid", "softmax"]
Score = Literal["full", "partial", "linear"]
GATES: tuple[Gate, ...] = get_args(Gate)
SCORES: tuple[Score, ...] = get_args(Score)


def score_size(score: Score, d: int) -> int:
    """Return the number Q of gate coordinates of one atom."""
    quadratic = d * (d + 1) // 2
    return 1 + {"full": d + quadratic, "partial": quadratic, "linear": d}[score]


def check_shapes(theta: Array, x: Array, size: int, d: int) -> None:
    """Refuse atoms (..., N, size) or samples (..., n, d) of another shape, by a ValueError that names them."""
    for name, array, last, told in (("theta", theta, size, f"(..., N, {size})"), ("x", x, d, f"(..., n, {d})")):
        if array.ndim < 2 or array.shape[-1] != last:
            raise ValueError(f"{name} has shape {tuple(array.shape)}; it must be {told}")


def samples_last(x: Array) -> Array:
    """Return x (..., n, d) as a new C-contiguous array (..., d, n): products along samples are then fast."""
    xp = namespace(x)
    xt = xp.matrix_transpose(x)
    return xp.reshape(xp.reshape(xt, (-1,)), xt.shape)


def score_features(x: Array, score: Score) -> Array:
    """Return the features q(x), (..., Q, n), that the score is linear in: ``gate @ features`` are the scores.

    "full": [1, x_a, x_a^2, sqrt2 x_a x_b (a < b, row-major)]; "partial": without x_a; "linear": [1, x_a].
    """
    xp = namespace(x)
    xt = samples_last(x)
    rows = [xp.ones_like(xt[..., :1, :])]
    if score != "partial":
        rows.append(xt)
    if score != "linear":
        rows.append(xt * xt)
        scaled = math.sqrt(2.0) * xt
        d = xt.shape[-2]
        rows.extend(scaled[..., a : a + 1, :] * xt[..., a + 1 :, :] for a in range(d - 1))
    return xp.concat(rows, axis=-2)


def gate_values(gate: str, scores: Array) -> Array:
    """Return the gate values g_i(x) of scores (..., N, n) without overflow; the softmax runs over the atoms."""
    xp = namespace(scores)
    if gate == "softmax":
        e = xp.exp(scores - xp.max(scores, axis=-2, keepdims=True))
        return e / xp.sum(e, axis=-2, keepdims=True)
    if gate == "sigmoid":
        return 1.0 / (1.0 + xp.exp(clamp(-scores, None, 700.0)))  # exp(700) is finite, and 1 / exp(700) is not 0
    return own.load(gate)(scores, 0)[0]


def gate_derivatives(gate: str, scores: Array, order: int) -> tuple[Array, ...]:
    """Return the gate values and, for a gate of the user's own, their first ``order`` derivatives in the score.

    Those of the sigmoid and the softmax follow from the values.
    """
    if gate in GATES:
        return (gate_values(gate, scores),)
    return own.load(gate)(scores, order)


def output_slopes(gate: str, g: Array, phi: Array, f: Array, *derivatives: Array) -> Array:
    """Return df/ds_i, (..., N, n), the derivative of f = sum_i g_i phi_i in the score of atom i.

    Sigmoid: g_i (1 - g_i) phi_i; softmax: g_i (phi_i - f); a gate of the user's own: g_i' phi_i, whose ``derivatives``
    are those of :func:`gate_derivatives`.
    """
    if gate == "softmax":
        return g * (phi - f[..., None, :])
    if gate == "sigmoid":
        return g * (1.0 - g) * phi
    return derivatives[0] * phi


@takes_float64("a")
def pack_symmetric(a: Array) -> Array:
    """Return the isometric storage (..., d (d + 1) / 2) of the symmetric part A of square matrices (..., d, d).

    It is [A_11..A_dd, sqrt2 A_12, sqrt2 A_13, ..., sqrt2 A_(d-1)d].
    """
    xp = namespace(a)
    d = a.shape[-1]
    symmetric = 0.5 * (a + xp.matrix_transpose(a))
    parts = [xp.stack([symmetric[..., i, i] for i in range(d)], axis=-1)]
    parts.extend(math.sqrt(2.0) * symmetric[..., i, i + 1 :] for i in range(d - 1))
    return xp.concat(parts, axis=-1)


@takes_float64("stored")
def unpack_symmetric(stored: Array, d: int) -> Array:
    """Return the symmetric matrices (..., d, d) of their isometric storage; inverse of :func:`pack_symmetric`."""
    xp = namespace(stored)
    place, upper = np.diag(np.arange(d)), np.triu_indices(d, 1)
    place[upper] = d + np.arange(d * (d - 1) // 2)
    place = np.maximum(place, place.T)
    scale = np.where(np.eye(d) > 0, 1.0, 1.0 / math.sqrt(2.0))
    entries = xp.take(stored, xp.asarray(place.reshape(-1)), axis=-1)
    return xp.reshape(entries, (*stored.shape[:-1], d, d)) * xp.asarray(scale, dtype=stored.dtype)

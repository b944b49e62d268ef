"""Top-1 mixtures of cubic patch experts, with closed-form gradients.

Expert m has J neurons: ``f_m(x) = sum_j sum_p <w_mjp, x^(p)>^3``. An **MLP** expert has weights of its own for each
patch, a **CNN** expert shares them over the patches. Both are one array, weights (B, M, P, d, J) or (B, M, 1, d, J).
The router's scores are ``h = features @ theta`` with features (B, n, F) and theta (B, F, M); the output for a sample
that is sent to expert m is ``pi_m f_m`` with pi = softmax(h), and the loss is the mean of log(1 + exp(-y pi_m f_m)).

Source: "On the Impact of Expert Count in Mixture of Experts", Preliminaries, eqs. (1) to (6) and Lemma 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from moestat.arrays import Array, namespace
from moestat.models.tiles import Tiles, cut

CHUNK = 512
"""Samples for which the outputs of all experts are computed at once; fixed, see :func:`outputs`."""


@dataclass(frozen=True)
class Gradient:
    """Loss and gradients of a batch: ``loss`` (B,), ``weights`` and ``theta`` in the shapes of the parameters."""

    loss: Array
    weights: Array
    theta: Array


def router_features(x: Array, router: Literal["patches", "shared"]) -> Array:
    """Return what the router sees of patches (B, n, P, d).

    ``"patches"`` keeps every patch, (B, n, P d), so that the router has parameters of its own for each
    (``h = sum_p Theta_p' x^(p)``); ``"shared"`` adds them up, (B, n, d), one Theta for all.
    """
    xp = namespace(x)
    if router == "patches":
        return xp.reshape(x, (*x.shape[:2], -1))
    if router == "shared":
        return xp.sum(x, axis=2)
    raise ValueError(f"router is {router!r}; allowed are 'patches' and 'shared'")


def softmax(scores: Array) -> Array:
    """Return the routing weights pi = softmax(h) over the last axis."""
    xp = namespace(scores)
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def logistic_loss(margin: Array) -> Array:
    """Return log(1 + exp(-z)) without overflow."""
    xp = namespace(margin)
    return xp.log1p(xp.exp(-xp.abs(margin))) + (xp.abs(margin) - margin) / 2


def at_expert(values: Array, expert: Array) -> Array:
    """Pick the value of each sample's own expert from values (B, n, M): (B, n)."""
    xp = namespace(values, expert)
    chosen = expert[:, :, None] == xp.arange(values.shape[-1], dtype=expert.dtype)
    return xp.sum(xp.where(chosen, values, xp.zeros_like(values)), axis=-1)


def mean_loss(scores: Array, expert: Array, margin: Array) -> Array:
    """Return the mean logistic loss (B,) of scores (B, n, M) and margins y f_e (B, n) without the router's factor."""
    xp = namespace(scores, margin)
    return xp.mean(logistic_loss(at_expert(softmax(scores), expert) * margin), axis=-1)


def outputs(weights: Array, x: Array) -> Array:
    """Return the output of every expert for every sample.

    Parameters
    ----------
    weights : (B, M, P or 1, d, J) array
    x : (B, n, P, d) array

    Returns
    -------
    (B, n, M) array
        Samples are worked through in chunks of :data:`CHUNK` rows, so memory does not grow with n.
    """
    xp = namespace(weights, x)
    batch, n, patches, d = x.shape
    _, experts, own, _, neurons = weights.shape
    w = xp.reshape(xp.permute_dims(weights, (0, 2, 3, 1, 4)), (batch, own, d, experts * neurons))
    values = []
    for start in range(0, n, CHUNK):
        part = x[:, start : min(start + CHUNK, n), ...]
        rows = part.shape[1]
        if own == 1:
            s = xp.matmul(xp.reshape(part, (batch, rows * patches, d)), w[:, 0, ...])
            s = xp.reshape(s, (batch, rows, patches, experts, neurons))
            f = xp.sum(s * s * s, axis=(2, 4))
        else:
            s = xp.matmul(xp.permute_dims(part, (0, 2, 1, 3)), w)
            s = xp.reshape(s, (batch, patches, rows, experts, neurons))
            f = xp.sum(s * s * s, axis=(1, 4))
        values.append(f)
    return xp.concat(values, axis=1)


def _tiled_patches(weights: Array, x: Array, tiles: Tiles) -> Array:
    """Lay out the samples for the products: (B, T, P, R, d) for MLP experts, (B, T, 1, R P, d) for CNN experts."""
    xp = namespace(x)
    batch, _, patches, d = x.shape
    tiled = tiles.gather(x)
    if weights.shape[2] == 1:
        return xp.reshape(tiled, (*tiled.shape[:2], 1, tiled.shape[2] * patches, d))
    return xp.permute_dims(tiled, (0, 1, 3, 2, 4))


def _sum_of_cubes(s: Array, squared: Array, patches: int) -> Array:
    """Add the cubes of pre-activations over neurons and patches: (B, T, R)."""
    xp = namespace(s)
    cubes = xp.sum(squared * s, axis=-1)
    if s.shape[2] == 1:
        return xp.sum(xp.reshape(cubes, (*cubes.shape[:2], -1, patches)), axis=-1)
    return xp.sum(cubes, axis=2)


def routed_outputs(weights: Array, x: Array, expert: Array) -> Array:
    """Return the output of each sample's own expert.

    Parameters
    ----------
    weights : (B, M, P or 1, d, J) array
    x : (B, n, P, d) array
    expert : (B, n) int array

    Returns
    -------
    (B, n) array
    """
    xp = namespace(weights, x)
    tiles = cut(expert, weights.shape[1])
    s = xp.matmul(_tiled_patches(weights, x, tiles), tiles.of_experts(weights))
    return tiles.scatter(_sum_of_cubes(s, s * s, x.shape[2]))


def gradient(weights: Array, x: Array, features: Array, y: Array, scores: Array, expert: Array) -> Gradient:
    """Return the loss of eq. (4) and its gradients, for a given routing.

    Parameters
    ----------
    weights : (B, M, P or 1, d, J) array
    x : (B, n, P, d) array
    features : (B, n, F) array
        See :func:`router_features`.
    y : (B, n) array
        Labels, -1.0 or 1.0.
    scores : (B, n, M) array
        The router's scores without noise, ``features @ theta``.
    expert : (B, n) int array
        The expert that each sample is sent to (the argmax of the noisy scores).

    Notes
    -----
    With z = y pi_e f_e and l'(z) = -1 / (1 + e^z), the gradients are means over samples of

        dL/dw_mjp = 1(e = m) l' y pi_m 3 <w_mjp, x^(p)>^2 x^(p)
        dL/dh_m   = l' y f_e pi_e (1(e = m) - pi_m)
    """
    xp = namespace(weights, x, features, y, scores)
    n, patches = x.shape[1:3]
    experts = weights.shape[1]
    tiles = cut(expert, experts)
    tiled = _tiled_patches(weights, x, tiles)
    s = xp.matmul(tiled, tiles.of_experts(weights))
    squared = s * s
    f = tiles.scatter(_sum_of_cubes(s, squared, patches))

    pi = softmax(scores)
    chosen = xp.astype(expert[:, :, None] == xp.arange(experts, dtype=expert.dtype), pi.dtype)
    pi_chosen = xp.sum(pi * chosen, axis=-1)
    margin = y * pi_chosen * f
    slope = _logistic_slope(margin) * y / n

    coefficient = tiles.gather(3 * slope * pi_chosen)
    coefficient = xp.where(tiles.filled, coefficient, xp.zeros_like(coefficient))
    if weights.shape[2] == 1:
        coefficient = xp.broadcast_to(coefficient[..., None], (*coefficient.shape, patches))
        coefficient = xp.reshape(coefficient, (*coefficient.shape[:2], 1, -1, 1))
    else:
        coefficient = coefficient[:, :, None, :, None]
    per_tile = xp.matmul(xp.matrix_transpose(tiled), squared * coefficient)

    by_score = (slope * f * pi_chosen)[:, :, None] * (chosen - pi)
    return Gradient(
        loss=xp.mean(logistic_loss(margin), axis=-1),
        weights=tiles.sum_by_expert(per_tile),
        theta=xp.matmul(xp.matrix_transpose(features), by_score),
    )


def _logistic_slope(margin: Array) -> Array:
    """Return the derivative of log(1 + exp(-z)), -1 / (1 + exp(z)), without overflow."""
    xp = namespace(margin)
    e = xp.exp(-xp.abs(margin))
    return -xp.where(margin > 0, e, xp.ones_like(e)) / (1 + e)

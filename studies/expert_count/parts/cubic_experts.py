"""Top-1 mixtures of cubic patch experts, with closed-form gradients.

Expert m has J neurons: ``f_m(x) = sum_j sum_p <w_mjp, x^(p)>^3``. An **MLP** expert has weights of its own for each
patch, a **CNN** expert shares them over the patches. Both are one array, weights (B, M, P, J, d) or (B, M, 1, J, d).
The router's scores are ``h = features @ theta`` with features (B, n, F) and theta (B, F, M); the output for a sample
that is sent to expert m is ``pi_m f_m`` with pi = softmax(h), and the loss is the mean of log(1 + exp(-y pi_m f_m)).
Below, ``error[..., m, k]`` is the share of samples of cluster k that expert m gets wrong, sent to it or not.

Source: "On the Impact of Expert Count in Mixture of Experts", Preliminaries, eqs. (1) to (6) and Lemma 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from moestat.arrays import Array, namespace
from moestat.losses.routing import one_hot
from moestat.models.logistic import logistic_loss, logistic_slope, softmax
from moestat.models.tiles import Tiles, cut

CHUNK = 512  # samples for which the outputs of all experts are computed at once; fixed, see :func:`outputs`


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


def at_expert(values: Array, expert: Array) -> Array:
    """Pick the value of each sample's own expert from values (B, n, M): (B, n)."""
    xp = namespace(values, expert)
    batch, n, experts = values.shape
    row = xp.reshape(xp.arange(batch * n, dtype=expert.dtype), (batch, n))
    taken = xp.take(xp.reshape(values, (-1,)), xp.reshape(row * experts + expert, (-1,)))
    return xp.reshape(taken, (batch, n))


def mean_loss(scores: Array, expert: Array, margin: Array) -> Array:
    """Return the mean logistic loss (B,) of scores (B, n, M) and margins y f_e (B, n) without the router's factor."""
    xp = namespace(scores, margin)
    return xp.mean(logistic_loss(at_expert(softmax(scores), expert) * margin), axis=-1)


def outputs(weights: Array, x: Array) -> Array:
    """Return the output of every expert for every sample, (B, n, M).

    Samples are worked through in chunks of :data:`CHUNK` rows, so that memory does not grow with n.
    """
    xp = namespace(weights, x)
    batch, n, _, d = x.shape
    _, experts, own, neurons, _ = weights.shape
    w = xp.reshape(xp.permute_dims(weights, (0, 2, 1, 3, 4)), (batch, own, experts * neurons, d))
    values = []
    for start in range(0, n, CHUNK):
        part = x[:, start : min(start + CHUNK, n), ...]
        s = xp.matmul(w, xp.matrix_transpose(_patch_first(part, own)))
        s = xp.reshape(s, (batch, own, experts, neurons, -1))
        values.append(_over_patches(xp.sum(s * s * s, axis=(1, 3)), part.shape[1]))
    return xp.matrix_transpose(xp.concat(values, axis=-1))


def routed_outputs(weights: Array, x: Array, expert: Array) -> Array:
    """Return the output of each sample's own ``expert`` (B, n)."""
    return _Forward(weights, x, expert).f


def _patch_first(x: Array, own: int) -> Array:
    """Lay patches (..., R, P, d) out for products: (..., P, R, d), or (..., 1, R P, d) for shared weights."""
    xp = namespace(x)
    if own == 1:
        return xp.reshape(x, (*x.shape[:-3], 1, x.shape[-3] * x.shape[-2], x.shape[-1]))
    return xp.permute_dims(x, (*range(x.ndim - 3), x.ndim - 2, x.ndim - 3, x.ndim - 1))


def _over_patches(values: Array, rows: int) -> Array:
    """Add up the patches of each sample, (..., R P) to (..., R); nothing to do when the last length is R."""
    if values.shape[-1] == rows:
        return values
    xp = namespace(values)
    return xp.sum(xp.reshape(values, (*values.shape[:-1], rows, -1)), axis=-1)


class _Forward:
    """The pre-activations s (B, T, P, J, R) or (B, T, 1, J, R P) of the samples in tiles, and the outputs f (B, n)."""

    def __init__(self, weights: Array, x: Array, expert: Array) -> None:
        xp = namespace(weights, x)
        self.tiles: Tiles = cut(expert, weights.shape[1])
        self.x = _patch_first(self.tiles.gather(x), weights.shape[2])
        self.s = xp.matmul(self.tiles.of_experts(weights), xp.matrix_transpose(self.x))
        self.squared = self.s * self.s
        cubes = _over_patches(xp.sum(self.s * self.squared, axis=(2, 3)), self.tiles.source.shape[2])
        self.f = self.tiles.scatter(cubes)

    def weight_gradient(self, slope: Array) -> Array:
        """Return the gradient of ``sum_i slope_i f_i`` in the weights, slope (B, n)."""
        xp = namespace(slope)
        factor = self.tiles.gather(3 * slope)
        factor = xp.where(self.tiles.filled, factor, xp.zeros_like(factor))
        patches = self.s.shape[-1] // factor.shape[-1]
        if patches > 1:
            factor = xp.broadcast_to(factor[..., None], (*factor.shape, patches))
            factor = xp.reshape(factor, (*factor.shape[:2], -1))
        per_tile = xp.matmul(self.squared * factor[:, :, None, None, :], self.x)
        return self.tiles.sum_by_expert(per_tile)


def gradient(weights: Array, x: Array, features: Array, y: Array, scores: Array, expert: Array) -> Gradient:
    """Return the loss of eq. (4) and its gradients, for a given routing.

    ``weights`` (B, M, P or 1, J, d); ``x`` (B, n, P, d); ``features`` (B, n, F), see :func:`router_features`; ``y``
    (B, n): labels, -1.0 or 1.0; ``scores`` (B, n, M): ``features @ theta``; ``expert`` (B, n): the argmax of the noisy
    scores. With z = y pi_e f_e and l'(z) = -1 / (1 + e^z), the gradients are means over samples of

        dL/dw_mjp = 1(e = m) l' y pi_m 3 <w_mjp, x^(p)>^2 x^(p)
        dL/dh_m   = l' y f_e pi_e (1(e = m) - pi_m)
    """
    xp = namespace(weights, x, features, y, scores)
    forward = _Forward(weights, x, expert)
    pi = softmax(scores)
    chosen = at_expert(pi, expert)
    margin = y * chosen * forward.f
    slope = logistic_slope(margin) * y * chosen / x.shape[1]

    pull = (slope * forward.f)[:, :, None]
    sent = expert[:, :, None] == xp.arange(pi.shape[-1], dtype=expert.dtype)
    by_score = xp.where(sent, pull, xp.zeros_like(pull)) - pull * pi
    return Gradient(
        loss=xp.mean(logistic_loss(margin), axis=-1),
        weights=forward.weight_gradient(slope),
        theta=xp.matmul(xp.matrix_transpose(features), by_score),
    )


def weight_direction(weights: Array, x: Array, y: Array, scores: Array, expert: Array) -> Array:
    """Return the gradient in the weights of :func:`gradient`, each expert's times exp(z) if its least margin is z > 0.

    That is the same direction, and it is there however large the margins are: exp(-z) is 0 in floating point from 746.
    It is zero for an expert without samples.
    """
    xp = namespace(weights, x, y, scores)
    forward = _Forward(weights, x, expert)
    chosen = at_expert(softmax(scores), expert)
    margin = y * chosen * forward.f
    sent = expert[:, :, None] == xp.arange(scores.shape[-1], dtype=expert.dtype)
    infinite = xp.full_like(scores, xp.inf)
    least = xp.min(xp.where(sent, xp.broadcast_to(margin[:, :, None], scores.shape), infinite), axis=1, keepdims=True)
    shift = xp.sum(xp.where(sent & (least > 0), least, xp.zeros_like(scores)), axis=-1)
    e = xp.where(margin > 0, xp.exp(xp.minimum(shift - margin, xp.zeros_like(margin))), xp.ones_like(margin))
    return forward.weight_gradient(-e / (1 + xp.exp(-xp.abs(margin))) * y * chosen / x.shape[1])


def error_by_cluster(wrong: Array, cluster: Array, clusters: int) -> Array:
    """Return each expert's error on each of K clusters, of ``wrong`` (..., n, M) and ``cluster`` (..., n)."""
    xp = namespace(wrong, cluster)
    wrong = xp.astype(wrong, xp.float64)
    in_cluster = xp.matrix_transpose(one_hot(cluster, clusters, xp.float64))
    total = xp.sum(in_cluster, axis=-2, keepdims=True)
    return xp.matmul(xp.matrix_transpose(wrong), in_cluster) / total


def profession(weights: Array, labels: Array) -> Array:
    """Return the cluster that each expert is closest to at the start: the k of the largest <v_k, w_mj> (Definition 2).

    Also over patches, which makes no difference when they start equal. ``weights`` (..., M, P or 1, J, d): initial
    weights; ``labels`` (..., K, d): the label signals v_k.
    """
    xp = namespace(weights, labels)
    aligned = xp.matmul(weights, xp.matrix_transpose(labels)[..., None, None, :, :])  # (..., M, P, J, K)
    return xp.argmax(xp.max(xp.max(aligned, axis=-2), axis=-2), axis=-1)


def own_cluster(table: Array, profession: Array) -> tuple[Array, Array]:
    """Split a table (..., M, K) into the entry of each expert's profession (..., M) and the mean of the others."""
    xp = namespace(table, profession)
    clusters = table.shape[-1]
    mine = xp.astype(profession[..., None] == xp.arange(clusters, dtype=profession.dtype), table.dtype)
    own = xp.sum(table * mine, axis=-1)
    return own, (xp.sum(table, axis=-1) - own) / (clusters - 1)


def clusters_with_expert(profession: Array, clusters: int) -> Array:
    """Return how many clusters are the profession of at least one expert, (...)."""
    xp = namespace(profession)
    present = xp.any(one_hot(profession, clusters, xp.bool), axis=-1)
    return xp.sum(xp.astype(present, xp.float64), axis=-1)

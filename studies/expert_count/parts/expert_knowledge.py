"""What the experts of a top-1 mixture know, whether or not they are sent a sample.

``error[..., m, k]`` is the share of samples of cluster k that expert m gets wrong.
"""

from __future__ import annotations

from moestat.arrays import Array, namespace
from moestat.losses.routing import one_hot


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

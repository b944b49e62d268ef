"""How a top-1 router spreads clusters over experts, and what the experts know.

All functions take arrays with any leading dimensions. ``counts[..., m, k]`` is the number of samples of cluster k that
are sent to expert m, ``error[..., m, k]`` the share of samples of cluster k that expert m gets wrong, whether or not
it is sent them.
"""

from __future__ import annotations

from moestat.arrays import Array, namespace
from moestat.doors import as_float64, takes_float64


def _one_hot(index: Array, size: int, dtype: object) -> Array:
    xp = namespace(index)
    return xp.astype(index[..., None, :] == xp.arange(size, dtype=index.dtype)[:, None], dtype)


@takes_float64("expert", "cluster")
def counts(expert: Array, cluster: Array, experts: int, clusters: int) -> Array:
    """Count the samples of each cluster at each expert.

    Parameters
    ----------
    expert, cluster : (..., n) int arrays
    experts, clusters : int
        M and K.

    Returns
    -------
    (..., M, K) float array
    """
    xp = namespace(expert, cluster)
    at_expert = _one_hot(expert, experts, xp.float64)
    in_cluster = _one_hot(cluster, clusters, xp.float64)
    return xp.matmul(at_expert, xp.matrix_transpose(in_cluster))


@takes_float64("counts")
def load(counts: Array) -> Array:
    """Return the share of all samples that each expert gets, (..., M)."""
    xp = namespace(counts)
    at_expert = xp.sum(counts, axis=-1)
    return at_expert / xp.sum(at_expert, axis=-1, keepdims=True)


def _entropy(shares: Array) -> Array:
    xp = namespace(shares)
    logs = xp.log(xp.where(shares > 0, shares, xp.ones_like(shares)))
    return xp.abs(xp.sum(shares * logs, axis=-1))  # the sum is <= 0; abs avoids -0.0


@takes_float64("counts")
def dispatch_entropy(counts: Array) -> Array:
    """Return the load-weighted entropy of the cluster mixture at each expert, (...), in nats.

    It is 0 when every expert in use gets samples of one cluster only, and log K when each gets all clusters equally.
    Source: "On the Impact of Expert Count in Mixture of Experts", eq. (7).
    """
    xp = namespace(counts)
    at_expert = xp.sum(counts, axis=-1, keepdims=True)
    mixture = counts / xp.where(at_expert > 0, at_expert, xp.ones_like(at_expert))
    return xp.sum(load(counts) * _entropy(mixture), axis=-1)


@takes_float64("counts")
def purity(counts: Array) -> Array:
    """Return the share of samples that belong to the commonest cluster at their expert, (...)."""
    xp = namespace(counts)
    return xp.sum(xp.max(counts, axis=-1), axis=-1) / xp.sum(counts, axis=(-2, -1))


@takes_float64("counts")
def experts_used(counts: Array) -> Array:
    """Return how many experts get at least one sample, (...)."""
    xp = namespace(counts)
    return xp.sum(xp.astype(xp.sum(counts, axis=-1) > 0, xp.float64), axis=-1)


@takes_float64("counts")
def effective_experts(counts: Array) -> Array:
    """Return exp(entropy of the load): the number of equally loaded experts that are as spread out, (...)."""
    return namespace(counts).exp(_entropy(load(counts)))


@takes_float64("cluster")
def error_by_cluster(wrong: Array, cluster: Array, clusters: int) -> Array:
    """Return each expert's error on each cluster.

    Parameters
    ----------
    wrong : (..., n, M) array of bools, or of 0 and 1
        Whether expert m gets the sample wrong.
    cluster : (..., n) int array
    clusters : int
        K. Every cluster must have a sample.

    Returns
    -------
    (..., M, K) array
    """
    wrong = as_float64(wrong, "wrong", bools=True)
    xp = namespace(wrong, cluster)
    in_cluster = xp.matrix_transpose(_one_hot(cluster, clusters, xp.float64))
    total = xp.sum(in_cluster, axis=-2, keepdims=True)
    return xp.matmul(xp.matrix_transpose(wrong), in_cluster) / total


@takes_float64("error")
def best_cluster_error(error: Array) -> Array:
    """Return the error of an expert on the cluster that it knows best, averaged over experts, (...)."""
    xp = namespace(error)
    return xp.mean(xp.min(error, axis=-1), axis=-1)


@takes_float64("error", "load")
def specialisation(error: Array, load: Array) -> Array:
    """Return how much worse an expert is away from the cluster that it knows best, (...).

    It is the mean error on the other clusters minus the error on the best one, averaged over experts by load: 0 for
    experts that do the same everywhere, 1/2 for experts that know one cluster and guess on the others.
    """
    xp = namespace(error, load)
    clusters = error.shape[-1]
    best = xp.min(error, axis=-1)
    others = (xp.sum(error, axis=-1) - best) / (clusters - 1)
    return xp.sum(load * (others - best), axis=-1)


@takes_float64("weights", "labels")
def profession(weights: Array, labels: Array) -> Array:
    """Return the cluster that each expert is closest to at the start.

    Source: "On the Impact of Expert Count in Mixture of Experts", Definition 2: the k of the largest <v_k, w_mj>, here
    also over patches, which makes no difference when they start equal.

    Parameters
    ----------
    weights : (..., M, P or 1, J, d) array
        Initial weights.
    labels : (..., K, d) array
        The label signals v_k.

    Returns
    -------
    (..., M) int array
    """
    xp = namespace(weights, labels)
    aligned = xp.matmul(weights, xp.matrix_transpose(labels)[..., None, None, :, :])  # (..., M, P, J, K)
    return xp.argmax(xp.max(xp.max(aligned, axis=-2), axis=-2), axis=-1)


@takes_float64("table", "profession")
def own_cluster(table: Array, profession: Array) -> tuple[Array, Array]:
    """Split a table per expert and cluster into the entry of each expert's profession and the mean of the others.

    Parameters
    ----------
    table : (..., M, K) array
    profession : (..., M) int array

    Returns
    -------
    own, others : (..., M) arrays
    """
    xp = namespace(table, profession)
    clusters = table.shape[-1]
    mine = xp.astype(profession[..., None] == xp.arange(clusters, dtype=profession.dtype), table.dtype)
    own = xp.sum(table * mine, axis=-1)
    return own, (xp.sum(table, axis=-1) - own) / (clusters - 1)


@takes_float64("profession")
def clusters_with_expert(profession: Array, clusters: int) -> Array:
    """Return how many clusters are the profession of at least one expert, (...)."""
    xp = namespace(profession)
    present = xp.any(_one_hot(profession, clusters, xp.bool), axis=-1)
    return xp.sum(xp.astype(present, xp.float64), axis=-1)

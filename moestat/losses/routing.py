"""How a top-1 router spreads clusters over experts.

All functions take arrays with any leading dimensions. ``counts[..., m, k]`` is the number of samples of cluster k that
are sent to expert m.
"""

from __future__ import annotations

import numpy as np

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64


def one_hot(index: Array, size: int, dtype: object) -> Array:
    """Return 1 where an index (..., n) has each of ``size`` values, (..., size, n), else 0."""
    xp = namespace(index)
    return xp.astype(index[..., None, :] == xp.arange(size, dtype=index.dtype)[:, None], dtype)


@takes_float64("expert", "cluster")
def counts(expert: Array, cluster: Array, experts: int, clusters: int) -> Array:
    """Count the samples of each of K clusters at each of M experts, (..., M, K), of int arrays (..., n)."""
    xp = namespace(expert, cluster)
    at_expert = one_hot(expert, experts, xp.float64)
    in_cluster = one_hot(cluster, clusters, xp.float64)
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


@takes_float64("counts")
def mutual_information(counts: Array) -> float:
    """Return the mutual information in bits of expert and task (plug-in estimate).

    For tasks spread evenly over E experts it is log2 E at most, and 0 when every task uses the experts alike; a model
    that sends everything to one expert has 0 too, although every task then has a favourite.
    """
    tasks = np.log(effective_experts(counts.T))
    return float(max(tasks - dispatch_entropy(counts), 0.0) / np.log(2.0))


@takes_float64("counts")
def usage_entropy(counts: Array) -> float:
    """Return the entropy in bits of the experts' loads; log2 E when all carry the same."""
    return float(np.log2(effective_experts(counts)))


@takes_float64("counts")
def top_share(counts: Array) -> float:
    """Return the mean over tasks of the share of a task's tokens that its favourite expert gets."""
    return float(np.mean(counts.max(axis=0) / counts.sum(axis=0)))

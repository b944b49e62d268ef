"""What the experts of a mixture of transformers specialise in, by their weights.

Definition 2 of "Mixture-of-Transformers Learn Faster": the class of expert i is ``n_i* = argmax_n <W_i, v_n>``, and the
experts of class n are ``M_n = {i : n_i* = n}``. All functions take arrays with any leading dimensions.
"""

from __future__ import annotations

from moestat.arrays import Array, namespace


def projections(weights: Array, directions: Array) -> Array:
    """Return <W_i, u_n>, (..., M, N), of weights (..., M, d) and directions (..., N, d)."""
    return namespace(weights, directions).matmul(weights, namespace(directions).matrix_transpose(directions))


def expert_class(on_labels: Array) -> Array:
    """Return n_i* of every expert, (..., M), from <W_i, v_n> (..., M, N)."""
    return namespace(on_labels).argmax(on_labels, axis=-1)


def gap(on_labels: Array) -> Array:
    """Return <W_i, v_{n_i*}> minus the next largest <W_i, v_n>, (..., M): the specialisation gap of Prop. 1."""
    ordered = namespace(on_labels).sort(on_labels, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


def members(on_labels: Array) -> Array:
    """Return whether expert i belongs to M_n, (..., M, N), as 0.0 or 1.0."""
    xp = namespace(on_labels)
    classes = xp.arange(on_labels.shape[-1])
    return xp.astype(expert_class(on_labels)[..., None] == xp.astype(classes, xp.int64), xp.float64)


def covered(on_labels: Array) -> Array:
    """Return how many classes have an expert, (...): Lemma 8 asks for all."""
    xp = namespace(on_labels)
    return xp.sum(xp.max(members(on_labels), axis=-2), axis=-1)


def matched(on_labels: Array, counts: Array) -> Array:
    """Return the share of samples whose expert has their class, (...), from counts (..., M, N)."""
    xp = namespace(on_labels, counts)
    return xp.sum(members(on_labels) * counts, axis=(-2, -1)) / xp.sum(counts, axis=(-2, -1))


def distance_from_equal(on_labels: Array, counts: Array) -> Array:
    """Return how far the routing of a class is from "each expert of M_n with probability 1 / |M_n|" (Prop. 1).

    The total variation distance, averaged over classes; a class without an expert counts as 1.

    ``on_labels`` (..., M, N): <W_i, v_n>; ``counts`` (..., M, N): samples of each class at each expert.
    """
    xp = namespace(on_labels, counts)
    mine = members(on_labels)
    size = xp.sum(mine, axis=-2, keepdims=True)
    equal = mine / xp.where(size > 0, size, xp.ones_like(size))
    total = xp.sum(counts, axis=-2, keepdims=True)
    share = counts / xp.where(total > 0, total, xp.ones_like(total))
    distance = xp.sum(xp.abs(share - equal), axis=-2) / 2
    distance = xp.where(size[..., 0, :] > 0, distance, xp.ones_like(distance))
    return xp.mean(distance, axis=-1)

"""The logistic loss and its slope, and the softmax of a router: without overflow."""

from __future__ import annotations

from moestat.arrays import Array, namespace


def softmax(scores: Array) -> Array:
    """Return the routing weights pi = softmax(h) over the last axis."""
    xp = namespace(scores)
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def logistic_loss(margin: Array) -> Array:
    """Return log(1 + exp(-z)) without overflow."""
    xp = namespace(margin)
    return xp.log1p(xp.exp(-xp.abs(margin))) + (xp.abs(margin) - margin) / 2


def logistic_slope(margin: Array) -> Array:
    """Return the derivative of log(1 + exp(-z)), -1 / (1 + exp(z)), without overflow."""
    xp = namespace(margin)
    e = xp.exp(-xp.abs(margin))
    return -xp.where(margin > 0, e, xp.ones_like(e)) / (1 + e)

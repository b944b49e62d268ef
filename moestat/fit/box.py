"""The box that parameters are kept in: which coordinates it holds back."""

from __future__ import annotations

from moestat.arrays import Array, namespace


def free_coordinates(theta: Array, gradient: Array, lower: Array | float, upper: Array | float) -> Array:
    """Return which coordinates are inside the box, or on it with a gradient that lets them move inwards.

    Parameters
    ----------
    theta, gradient : array (B, p)
    lower, upper : float or array broadcastable to (B, p)
    """
    return ~(((theta <= lower) & (gradient > 0)) | ((theta >= upper) & (gradient < 0)))


def hits(theta: Array, lower: Array | float, upper: Array | float) -> Array:
    """Return the number (B,) of coordinates that lie on the box."""
    xp = namespace(theta)
    return xp.sum(xp.astype((theta <= lower) | (theta >= upper), xp.int64), axis=-1)

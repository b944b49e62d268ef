"""What a least-squares solver asks of a batch of problems: loss, gradient and J'J, never the whole Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from moestat.arrays import Array, namespace


class Gram(NamedTuple):
    """What the solver needs to know of M problems at one point each.

    Attributes
    ----------
    loss : array (M,)
    gradient : array (M, p)
        Gradient of ``loss``.
    gram : array (M, p, p)
        Curvature of ``loss``: J'J, or any symmetric approximation of the Hessian (it may be indefinite).
    """

    loss: Array
    gradient: Array
    gram: Array

    def finite(self) -> Array:
        """Return which problems (M,) have a finite loss, gradient and curvature."""
        xp = namespace(self.loss)
        gradient = xp.all(xp.isfinite(self.gradient), axis=-1)
        return xp.isfinite(self.loss) & gradient & xp.all(xp.isfinite(self.gram), axis=(-2, -1))

    def where(self, chosen: Array, other: Gram) -> Gram:
        """Return these numbers for the ``chosen`` (M,) problems, and those of ``other`` for the rest."""
        xp = namespace(self.loss)
        return Gram(
            xp.where(chosen, self.loss, other.loss),
            xp.where(chosen[:, None], self.gradient, other.gradient),
            xp.where(chosen[:, None, None], self.gram, other.gram),
        )


Problem = Callable[[Array, Array], Gram]
"""``problem(theta (M, p), members (M,) int) -> Gram``: the M problems named by ``members``, at ``theta``.

Member k's numbers must depend on ``theta`` of k alone: reduce over samples in chunks of a fixed size, never over
members. The loss is non-negative (a half, mean or weighted sum of squares), and gradient and curvature are its own.
"""


def from_residuals(function: Callable[[Array, Array], tuple[Array, Array]]) -> Problem:
    """Make a problem of a function that returns residuals and Jacobian.

    Parameters
    ----------
    function : callable
        ``function(theta (M, p), members (M,)) -> (r (M, m), J (M, m, p))``.

    Returns
    -------
    Problem
        With the loss half the sum of squares.
    """
    return from_chunks(lambda theta, members, _: function(theta, members), 1)


def from_chunks(function: Callable[[Array, Array, int], tuple[Array, Array]], count: int) -> Problem:
    """Make a problem of a function that returns residuals and Jacobian of one chunk of samples at a time.

    The Gram products are summed over the chunks in order, so the whole Jacobian is never held.

    Parameters
    ----------
    function : callable
        ``function(theta (M, p), members (M,), chunk) -> (r (M, m), J (M, m, p))`` for chunk = 0..count-1. The chunks
        may have different sizes; they must not depend on ``members``.
    count : int
        Number of chunks, at least 1.
    """

    def problem(theta: Array, members: Array) -> Gram:
        total = _gram(*function(theta, members, 0))
        for chunk in range(1, count):
            part = _gram(*function(theta, members, chunk))
            total = Gram(*(a + b for a, b in zip(total, part, strict=True)))
        return total

    return problem


def _gram(r: Array, jacobian: Array) -> Gram:
    xp = namespace(r, jacobian)
    transposed = xp.matrix_transpose(jacobian)
    return Gram(
        0.5 * xp.sum(r * r, axis=-1),
        xp.matmul(transposed, r[..., None])[..., 0],
        xp.matmul(transposed, jacobian),
    )

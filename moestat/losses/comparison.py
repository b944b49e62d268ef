"""What separates fitted from true atoms, block by block, and in which Voronoi cell every fitted atom lies.

The losses of :mod:`moestat.losses.voronoi` are sums over it.
"""

from __future__ import annotations

from dataclasses import dataclass

from moestat.arrays import Array, namespace
from moestat.models.regression import Model


@dataclass(frozen=True)
class Comparison:
    """What separates every fitted atom from every true atom, and which cell it is in."""

    cell: Array  #: (..., N) int
    member: Array  #: (..., N, N*): 1 where atom i is in cell j, else 0.
    size: Array  #: (..., N*), number of atoms per cell.
    #: (..., N, N*), squared Euclidean (for A: Frobenius) distances per block "A", "b", "c", "eta".
    square: dict[str, Array]
    eta_parts: tuple[Array, Array]  #: (..., N, N*), the square of "eta" by its parts.

    weight: Array  #: (..., N), of the mixing measure.
    true_weight: Array  #: (N*,)

    def norm(self, block: str) -> Array:
        """Return the distances (..., N, N*) in one block."""
        return namespace(self.cell).sqrt(self.square[block])

    def in_cells(self, values: Array) -> Array:
        """Sum values (..., N, N*) over the atoms of each cell, (..., N*)."""
        return namespace(values).sum(values * self.member, axis=-2)

    @property
    def over(self) -> Array:
        """1 for true atoms whose cell holds two or more atoms, else 0, (..., N*)."""
        return namespace(self.size).astype(self.size > 1, self.member.dtype)

    @property
    def weight_error(self) -> Array:
        """| sum of the weights of a cell - true weight |, (..., N*)."""
        xp = namespace(self.weight)
        return xp.abs(xp.sum(self.weight[..., None] * self.member, axis=-2) - self.true_weight)


def cells_of(square: Array) -> tuple[Array, Array, Array]:
    """Return, of squared distances (..., N, N*), each atom's cell, 1 for its members (..., N, N*), and their number."""
    xp = namespace(square)
    cell = xp.argmin(square, axis=-1)
    member = xp.astype(cell[..., None] == xp.arange(square.shape[-1], dtype=cell.dtype), square.dtype)
    return cell, member, xp.sum(member, axis=-2)


def compared(fitted: Array, truth: Array, model: Model) -> Comparison:
    """Compare fitted atoms (..., N, P) with one true measure (N*, P), as they stand, without any gauge."""
    xp = namespace(fitted, truth)
    difference = fitted[..., :, None, :] - truth
    parts = {"A": model.a_matrix, "b": model.b, "c": model.c, "eta": model.eta}
    square = {name: xp.sum(difference[..., part] ** 2, axis=-1) for name, part in parts.items()}
    cell, member, size = cells_of(square["A"] + square["b"] + square["eta"])
    # beta is the last coordinate of an atom, so a = eta without beta
    eta_parts = xp.sum(difference[..., model.eta][..., :-1] ** 2, axis=-1), difference[..., -1] ** 2
    weight, true_weight = (model.weights(atoms) for atoms in (fitted, truth))
    return Comparison(cell, member, size, square, eta_parts, weight, true_weight)

"""Monomials of the inputs, and where the entries of a Hessian stand among sums of weights times monomials.

See :mod:`moestat.fit.moments` for how these sums are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from moestat.arrays import Array, namespace
from moestat.models.regression import Model


def monomials(xt: Array, degree: int) -> Array:
    """Return all monomials of degree 0..``degree``, by degree, then lexicographically.

    Takes ``xt`` (..., d, n). Returns (..., M, n), M = binomial(d + degree, degree).
    """
    xp = namespace(xt)
    d = xt.shape[-2]
    blocks = [xp.ones_like(xt[..., :1, :]), xt]
    starts = list(range(d))  # where the monomials whose smallest variable is >= a begin
    while len(blocks) <= degree:
        previous = blocks[-1]
        parts = [xt[..., a : a + 1, :] * previous[..., starts[a] :, :] for a in range(d)]
        blocks.append(xp.concat(parts, axis=-2))
        starts = [sum(part.shape[-2] for part in parts[:a]) for a in range(d)]
    return xp.concat(blocks[: degree + 1], axis=-2)


def monomial_index(d: int, degree: int) -> dict[tuple[int, ...], int]:
    """Return the position of every monomial, written as its sorted tuple of variables."""
    order = [t for k in range(degree + 1) for t in combinations_with_replacement(range(d), k)]
    return {t: position for position, t in enumerate(order)}


@dataclass(frozen=True)
class Layout:
    """Where the entries of the Hessian are found among the moments."""

    #: Degree of the monomials of gate-gate, gate-expert and expert-expert products.
    degrees: tuple[int, int, int]
    sizes: tuple[int, int, int]  #: Their numbers of monomials.
    index: np.ndarray  #: (p * p,) int, position of every entry in the concatenated moments.
    scale: np.ndarray  #: (p, p), factors of sqrt(2) of the isometric storage.
    root: np.ndarray  #: (P,), those of the coordinates of an atom, of which they are products.
    terms: tuple[list[tuple[int, ...]], ...]  #: The monomials of the score, and those of the expert.


@lru_cache(maxsize=16)
def layout(model: Model, n_atoms: int) -> Layout:
    """Return the layout for ``n_atoms`` atoms of a model."""
    d, n, size = model.d, n_atoms, model.atom_size
    pairs = list(combinations_with_replacement(range(d), 2))
    gate: list[tuple[int, ...]] = [()]
    if model.score != "partial":
        gate += [(a,) for a in range(d)]
    if model.score != "linear":
        gate += [(a, a) for a in range(d)] + [(a, b) for a, b in pairs if a < b]
    expert: list[tuple[int, ...]] = [(a,) for a in range(d)] + [()]
    degree = max(len(t) for t in gate)
    degrees = (2 * degree, degree + 1, 2)
    position = monomial_index(d, max(degrees))
    sizes = tuple(sum(len(t) <= k for t in position) for k in degrees)
    atom = gate + expert
    feature = np.array([[position[tuple(sorted(s + t))] for t in atom] for s in atom])
    is_gate = np.arange(size) < len(gate)
    # pairs of one kind are stored with i = j first, then i < j row by row; gate-expert pairs are stored as i N + j
    ij = np.zeros((n, n), dtype=np.int64)
    ij[np.diag_indices(n)] = np.arange(n)
    ij[np.triu_indices(n, 1)] = n + np.arange(n * (n - 1) // 2)
    ij = np.maximum(ij, ij.T)
    flat = np.arange(n * n).reshape(n, n)
    n_pairs = n * (n + 1) // 2
    offsets = np.cumsum([0, n_pairs * sizes[0], n * n * sizes[1]])
    atom_i, atom_j = np.arange(n)[:, None, None, None], np.arange(n)[None, None, :, None]
    f = feature[None, :, None, :]
    gate_k, gate_l = is_gate[None, :, None, None], is_gate[None, None, None, :]
    index = np.where(
        gate_k & gate_l,
        offsets[0] + ij[atom_i, atom_j] * sizes[0] + f,
        np.where(
            ~gate_k & ~gate_l,
            offsets[2] + ij[atom_i, atom_j] * sizes[2] + f,
            offsets[1] + np.where(gate_k, flat[atom_i, atom_j], flat[atom_j, atom_i]) * sizes[1] + f,
        ),
    )
    root = np.array([np.sqrt(2.0) if len(set(t)) == 2 else 1.0 for t in atom])
    scale = np.tile(root, n)
    scale = scale[:, None] * scale[None, :]
    return Layout(degrees, (sizes[0], sizes[1], sizes[2]), index.reshape(-1), scale, root, (gate, expert))

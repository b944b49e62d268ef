r"""The weak triangle inequality of L2r in the proof of Theorem 2 of "sigmoid-attention" (App. B.3).

Le Cam's lemma needs a constant K with L2r(G_m, G*) <= K (L2r(G, G*) + L2r(G, G_m)) for every measure G. Whether there
is one depends on how a sentence below equation (9) is read: "if the Voronoi cell A_j is empty, the corresponding
summation term is conventionally defined to be zero".

*The whole term is zero*: an empty cell costs nothing. A measure that holds one exactly specified atom alone then has no
loss to either of G* and G_m, so that there is no K.

*The sum over the cell is zero*: the over-specified atoms of the truth, whose labels are fixed, then cost their weight
where no fitted atom is near, and the others nothing. :func:`smallest_ratio` looks for a measure that breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from moestat.losses.comparison import compared
from moestat.models.regression import Model

SHARES = np.linspace(0.0, 1.0, 5)
"""How far the atoms of a measure that is tried lie on the way from the true atom to those of G_m."""


def lone_atom(truth: np.ndarray) -> np.ndarray:
    """Return the measure (1, P) that holds the first true atom alone, which G* and every G_m have as well."""
    return truth[:1]


def L2r(fitted: np.ndarray, truth: np.ndarray, over: np.ndarray, model: Model, r: float) -> np.ndarray:
    """Return equation (11) (...) where ``over`` (N*,) says which true atoms are over-specified, and empty sums are 0.

    ``fitted`` is (..., N, P) and ``truth`` (N*, P).
    """
    k = compared(fitted, truth, model)
    both = sum(square ** (r / 2) for square in (k.square["A"], k.square["b"], *k.eta_parts))
    total = np.where(over, k.weight_error + k.in_cells(both), k.in_cells(both + k.square["c"] ** (r / 2)))
    return np.asarray(np.sum(total, axis=-1))


def between(truth: np.ndarray, measure: np.ndarray) -> Iterator[np.ndarray]:
    """Yield measures (B, n, P) made of the last true atom (or none) on its way to the last two of G_m, and of others.

    One atom of the weight of both or of half of it, or two of half of it; with all, the first or none of the atoms
    that G* and G_m share.
    """
    ways = truth[-1] + SHARES[:, None, None] * (measure[-2:] - truth[-1])  # (S, 2, P)
    ways[..., 0] = measure[-1, 0]
    heavy = ways.copy()
    heavy[..., 0] = truth[-1, 0]
    ones = np.concatenate((ways, heavy)).reshape(-1, 1, truth.shape[1])
    pairs = np.stack(np.broadcast_arrays(ways[:, None, 0], ways[None, :, 1]), axis=2).reshape(-1, 2, truth.shape[1])
    for shared in (truth[:-1], truth[:1], truth[:0]):
        for own in (np.empty((1, 0, truth.shape[1])), ones, pairs):
            atoms = np.concatenate((np.broadcast_to(shared, (len(own), *shared.shape)), own), axis=1)
            if atoms.shape[1]:
                yield atoms


def smallest_ratio(truth: np.ndarray, measures: np.ndarray, model: Model, r: float) -> float:
    """Return the least (L2r(G, G*) + L2r(G, G_m)) / L2r(G_m, G*) over G of :func:`between` and all G_m (T, N* + 1, P).

    With the labels of the truth: the last atom of G*, and the last two of G_m, are over-specified.
    """
    own = np.arange(len(truth)) == len(truth) - 1
    parts = np.arange(len(truth) + 1) >= len(truth) - 1
    least = np.inf
    for measure in measures:
        whole = L2r(measure, truth, own, model, r)
        for tried in between(truth, measure):
            sums = L2r(tried, truth, own, model, r) + L2r(tried, measure, parts, model, r)
            least = min(least, float(np.min(sums) / whole))
    return least

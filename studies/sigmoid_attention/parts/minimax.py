r"""The mixing measures behind the minimax lower bound of "sigmoid-attention" (Theorem 2, Lemma 2, App. B.3).

The lemma wants measures G_m near G* in the loss L2r with ||f_{G_m} - f_{G*}|| / L2r -> 0. The last true atom has a
constant gate and the expert (a'x + beta)^p; two atoms of half its weight stand for it.

*As printed*: beta_1 = beta* + 1/m, beta_2 = beta* - 1/m, all else equal. The weights of the proof add up to that of the
true atom and a term of an order that cannot be read in our copy; exact halves, here, are ours. For p = 1 the function
does not move then. For p >= 2 it does, by a term of order t^2 that the proof, which has the term of the weights alone,
leaves out:

.. math:: \frac{w^*}{2}\big[(h + t)^p + (h - t)^p\big] - w^* h^p = w^* \binom{p}{2} t^2 h^{p-2} + O(t^4), \quad t = 1/m,

so that the ratio goes like t^(2 - r): to 0 for r < 2, to a constant for r = 2, to infinity for r > 2.

*Corrected*: eta_1 = (1 + t) eta*, eta_2 = (1 - u) eta*, with u chosen such that (1 + t)^p + (1 - u)^p = 2. By
homogeneity f does not move at all, for every p, every r and every a* (the proof takes a* = 0 "without loss of
generality"), and as well for ReLU experts.

*Split* (:func:`splits`): the same in the dense regime, with either gate. Two atoms with the gate of the last true one
have its expert in the shares 1/4 + t and 3/4 - t: all of these measures, with one atom more than the truth, have one
function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from moestat.losses.comparison import compared
from moestat.models.experts import HOMOGENEOUS
from moestat.models.regression import Model

Version = Literal["printed", "corrected"]


def sequence(model: Model, truth: np.ndarray, t: np.ndarray, version: Version) -> np.ndarray:
    """Return the measures G_m of Lemma 2 at t = 1/m.

    ``model``: sigmoid gate; ``truth`` (N*, P): the last atom has a constant gate, (A, b) = 0; ``t`` (T,): for the
    corrected sequence (1 + t)^p must be at most 2.
    """
    last = truth[-1]
    if model.gate != "sigmoid" or np.any(last[1 : model.gate_size] != 0.0):
        raise ValueError("the sequence needs a sigmoid gate and a last atom of constant gate, (A, b) = 0")
    half = 0.5 * float(model.weights(truth)[-1])
    pair = np.repeat(np.repeat(last[None, None], len(t), axis=0), 2, axis=1)
    pair[..., 0] = np.log(half) - np.log1p(-half)
    if version == "printed":
        pair[..., -1] += t[:, None] * np.array([1.0, -1.0])
    else:
        if model.expert not in HOMOGENEOUS:
            raise ValueError(f"the corrected sequence needs a homogeneous expert; it is {model.expert!r}")
        rest = 2.0 - (1.0 + t) ** model.power
        if np.any(rest < 0):
            raise ValueError(f"t is {float(np.max(t))}; (1 + t)^{model.power} must be at most 2")
        pair[..., model.eta] *= np.stack([1.0 + t, rest ** (1.0 / model.power)], axis=1)[..., None]
    return np.concatenate([np.repeat(truth[None, :-1], len(t), axis=0), pair], axis=1)


def splits(model: Model, truth: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return measures of one function, the last atom's expert split in the shares 1/4 + t and 3/4 - t.

    With the sigmoid gate both atoms keep its weight, and the experts are the shares of its expert; with the softmax
    each has half the weight, and the experts are twice the shares.

    ``model``: any gate, homogeneous expert. ``truth`` (N*, P). ``t`` (T,): in [0, 3/4]; 0 for the measure that the
    others are compared with.
    """
    if model.expert not in HOMOGENEOUS:
        raise ValueError(f"a split needs a homogeneous expert; it is {model.expert!r}")
    pair = np.repeat(np.repeat(truth[None, -1:], len(t), axis=0), 2, axis=1)
    shares = np.stack([0.25 + t, 0.75 - t], axis=1)
    if model.gate == "softmax":
        pair[..., 0] -= np.log(2.0)
        shares = 2.0 * shares
    pair[..., model.eta] *= shares[..., None] ** (1.0 / model.power)
    return np.concatenate([np.repeat(truth[None, :-1], len(t), axis=0), pair], axis=1)


def le_cam(loss: np.ndarray, distance: np.ndarray, n: np.ndarray, noise_variance: float, r: float) -> np.ndarray:
    r"""Return the two-point lower bound on the minimax risk, the best over a sequence of alternatives.

    .. math:: \max_m \tfrac{1}{4 K} L_{2r}(G_m, G^*) \exp\big(-n \|f_{G_m} - f_{G^*}\|^2 / (2 v)\big),

    K = 2^(r - 1) being the constant of ||u + v||^r <= K (||u||^r + ||v||^r). Like the paper it takes for granted that
    the loss has a triangle inequality with this constant; see :mod:`studies.sigmoid_attention.parts.minimax`.

    ``loss``, ``distance`` (T,); ``n`` (S,).
    """
    exponent = -n[:, None] * distance[None, :] ** 2 / (2.0 * noise_variance)
    return np.asarray(np.max(loss * np.exp(exponent), axis=1) / (4.0 * 2.0 ** (r - 1.0)))


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

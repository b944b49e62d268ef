r"""The sequences of Lemma 2 of "sigmoid-attention" (Theorem 2, App. B.3): losses and functions along them, and bounds.

The lemma wants measures G_m near G* in the loss L2r with ||f_{G_m} - f_{G*}|| / L2r -> 0. The last true atom has a
constant gate and the expert (a'x + beta)^p; two atoms of half its weight stand for it.

*As printed*: beta_1 = beta* + 1/m, beta_2 = beta* - 1/m, all else equal. (The order of a term of the weights cannot be
read in our copy; exact halves are ours.) For p = 1 the function does not move then. For p >= 2 it does, by a term of
order t^2, t = 1/m, that the proof leaves out:

.. math:: \frac{w^*}{2}\big[(h + t)^p + (h - t)^p\big] - w^* h^p = w^* \binom{p}{2} t^2 h^{p-2} + O(t^4).

*Corrected*: eta_1 = (1 + t) eta*, eta_2 = (1 - u) eta* with (1 + t)^p + (1 - u)^p = 2. By homogeneity f does not move
at all, for every p, every r and every a*, and as well for ReLU experts. *Split*: the same in the dense regime, with
either gate, by two atoms that have the last true expert in the shares 1/4 + t and 3/4 - t.

A replicate is a truth drawn as in App. E.1. Nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses import voronoi
from moestat.losses.comparison import compared
from moestat.models.experts import HOMOGENEOUS, Expert
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts.constant_gate import with_pair

VERSION = 1

FLOOR = 1e-14
"""Distances of functions below this count as this: they are rounding, which every processor does in its own way."""
M = 2.0 ** np.arange(3, 13)  # the grid of m, from 8 to 4096
N = 10.0 ** np.arange(2, 9)  # the sample sizes at which Le Cam's bound is evaluated
FINE = 2.0 ** np.linspace(3, 24, 169)
"""The grid of m over which Le Cam's bound is maximised; t^2 is then far above rounding."""
WAYS = np.linspace(0.0, 1.0, 5)
"""How far the atoms of a measure that is tried lie on the way from the true atom to those of G_m."""


class Settings(SettingsModel):
    """Settings of a cell."""

    sequence: Literal["printed", "corrected", "split"] = "printed"
    """The two measures as the paper prints them, with the power that its proof needs, or split in the dense regime."""
    gate: Literal["sigmoid", "softmax"] = "sigmoid"
    """The gate; the softmax for splits alone."""
    expert: Expert = "polynomial"
    """Activation of the expert."""
    power: int = Field(1, ge=1, le=5, description="degree of a polynomial expert")
    r: float = Field(1.0, ge=1, description="order of the Voronoi loss")
    flat: bool = Field(True, description="whether the over-specified atom has a* = 0, as in the proof")
    d: int = Field(3, ge=1, description="input dimension")
    n_true: int = Field(3, ge=2, description="true experts")
    noise_variance: float = Field(0.01, gt=0, description="of the responses")
    points_log2: int = Field(11, ge=8, description="log2 of the number of points, uniform on the cube")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if self.gate == "softmax" and self.sequence != "split":
            raise ValueError(f"sequence {self.sequence!r} is of sigmoid gates; the softmax has 'split' alone")
        if self.sequence != "printed" and self.expert not in HOMOGENEOUS:
            raise ValueError(f"sequence {self.sequence!r} needs a homogeneous expert; it is {self.expert!r}")
        return self


def sequence(model: Model, truth: np.ndarray, t: np.ndarray, version: str) -> np.ndarray:
    """Return the measures G_m (T, N* + 1, P) at t = 1/m; the truth's last atom has (A, b) = 0, unless it is split.

    ``split`` measures are compared with that of t = 0.
    """
    pair = np.tile(truth[-1], (len(t), 2, 1))
    if version == "split":
        shares = np.stack([0.25 + t, 0.75 - t], axis=1)
        if model.gate == "softmax":  # the two atoms share the weight of one, so that the experts are twice the shares
            pair[..., 0] -= np.log(2.0)
            shares = 2.0 * shares
        pair[..., model.eta] *= shares[..., None] ** (1.0 / model.power)
    else:
        half = 0.5 * float(model.weights(truth)[-1])
        pair[..., 0] = np.log(half) - np.log1p(-half)
        if version == "printed":
            pair[..., -1] += t[:, None] * np.array([1.0, -1.0])
        else:
            rest = (2.0 - (1.0 + t) ** model.power) ** (1.0 / model.power)
            pair[..., model.eta] *= np.stack([1.0 + t, rest], axis=1)[..., None]
    return with_pair(truth, pair)


def le_cam(loss: np.ndarray, distance: np.ndarray, n: np.ndarray, noise_variance: float, r: float) -> np.ndarray:
    r"""Return the two-point lower bound on the minimax risk (S,), the best over a sequence of alternatives (T,).

    .. math:: \max_m \tfrac{1}{4 K} L_{2r}(G_m, G^*) \exp\big(-n \|f_{G_m} - f_{G^*}\|^2 / (2 v)\big),

    K = 2^(r - 1) being the constant of ||u + v||^r <= K (||u||^r + ||v||^r). Like the paper it takes for granted that
    the loss has a triangle inequality with this constant; see :func:`smallest_ratio`.
    """
    exponent = -n[:, None] * distance[None, :] ** 2 / (2.0 * noise_variance)
    return np.asarray(np.max(loss * np.exp(exponent), axis=1) / (4.0 * 2.0 ** (r - 1.0)))


def L2r(fitted: np.ndarray, truth: np.ndarray, over: np.ndarray, model: Model, r: float) -> np.ndarray:
    """Return equation (11), with empty sums 0; ``over`` (N*,) says which true atoms are over-specified."""
    k = compared(fitted, truth, model)
    both = sum(square ** (r / 2) for square in (k.square["A"], k.square["b"], *k.eta_parts))
    total = np.where(over, k.weight_error + k.in_cells(both), k.in_cells(both + k.square["c"] ** (r / 2)))
    return np.asarray(np.sum(total, axis=-1))


def between(truth: np.ndarray, measure: np.ndarray) -> Iterator[np.ndarray]:
    """Yield measures (B, n, P) made of the last true atom (or none) on its way to the last two of G_m, and of others.

    One atom of the weight of both or of half of it, or two of half of it; with all, the first or none of the atoms
    that G* and G_m share.
    """
    ways = truth[-1] + WAYS[:, None, None] * (measure[-2:] - truth[-1])  # (S, 2, P)
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


@each(
    dims={"distance": ("m",), "lemma": ("m",), "le_cam": ("size",)},
    coords={"m": M, "size": N},
    finished="The sequence was followed.",
    iterations=len(M),
)
def run(s: Settings, streams: Streams) -> Row:
    """Follow a sequence for one truth per replicate.

    Per replicate and ``m``: ``distance`` (root mean squared difference of the functions, at least 1e-14) and ``lemma``,
    distance over L2r. Per replicate and ``size``: ``le_cam``, the two-point bound maximised over m. Per replicate
    ``weak_triangle``: where the sum over an empty cell is zero, 2^(r - 1) times the least sum of the losses of a
    measure to G* and G_m, over that of G_m to G*. Of splits there is ``le_cam`` alone, for the L3 from G_m to the
    measure with t = 0.
    """
    model, split = Model(s.gate, "full", s.expert, s.d, s.power), s.sequence == "split"
    rng = streams("dense truth" if split else "truth", d=s.d, n_true=s.n_true)
    truth = ground_truth(model, s.n_true, "dense" if split else "sparse", rng, n_sparse=1)
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    if not split:
        # |beta*| = 1 keeps h away from 0, so that the term of order t^2 does not vanish by chance
        truth[-1, -1] = np.copysign(1.0, truth[-1, -1])
        if s.flat:
            truth[-1, model.eta] = np.r_[np.zeros(s.d), truth[-1, -1]]
    target = model.predict(truth, x)

    def follow(m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        measures = sequence(model, truth, 1.0 / m, s.sequence)
        distance = np.maximum(np.sqrt(np.mean((model.predict(measures, x) - target) ** 2, axis=1)), FLOOR)
        if split:
            return measures, voronoi.L3(measures, sequence(model, truth, np.zeros(1), "split")[0], model), distance
        return measures, voronoi.L2r(measures, truth, model, s.r), distance

    measures, loss, distance = follow(M)
    bound = le_cam(*follow(FINE)[1:], N, s.noise_variance, 1.0 if split else s.r)
    triangle = np.nan if split else 2.0 ** (s.r - 1.0) * smallest_ratio(truth, measures, model, s.r)
    lemma = np.full(len(M), np.nan) if split else distance / loss
    return {"distance": distance, "lemma": lemma, "weak_triangle": triangle, "le_cam": bound}

r"""The weak triangle inequality in the proof of Theorem 2 of "sigmoid-attention" (App. B.3), along two sequences.

The last true atom has a constant gate and the expert (a'x + beta)^p; two atoms of half its weight stand for it. *As
printed*: beta_1 = beta* + t, beta_2 = beta* - t, all else equal. *Corrected*: eta_1 = (1 + t) eta*, eta_2 = (1 - u)
eta* with (1 + t)^p + (1 - u)^p = 2, so that f does not move. Le Cam's two points need that no measure is near both in
L2r. What the sequences do to the functions is proved (``arguments.py``). A replicate is a truth drawn as in App. E.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses.comparison import compared
from moestat.models.experts import HOMOGENEOUS, Expert
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts.constant_gate import with_pair

VERSION = 2

M = 2.0 ** np.arange(3, 13)  # the grid of 1/t, from 8 to 4096
WAYS = np.linspace(0.0, 1.0, 5)
"""How far the atoms of a measure that is tried lie on the way from the true atom to those of G_m."""


class Settings(SettingsModel):
    """Settings of a cell."""

    sequence: Literal["printed", "corrected"] = "printed"
    """The two measures as the paper prints them, or with the power that its proof needs."""
    expert: Expert = "polynomial"
    """Activation of the expert."""
    power: int = Field(1, ge=1, le=5, description="degree of a polynomial expert")
    r: float = Field(1.0, ge=1, description="order of the Voronoi loss")
    flat: bool = Field(True, description="whether the over-specified atom has a* = 0, as in the proof")
    d: int = Field(3, ge=1, description="input dimension")
    n_true: int = Field(3, ge=2, description="true experts")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if self.sequence != "printed" and self.expert not in HOMOGENEOUS:
            raise ValueError(f"sequence {self.sequence!r} needs a homogeneous expert; it is {self.expert!r}")
        return self


def sequence(model: Model, truth: np.ndarray, t: np.ndarray, version: str) -> np.ndarray:
    """Return the measures G_m (T, N* + 1, P) at t = 1/m; the truth's last atom has (A, b) = 0."""
    pair = np.tile(truth[-1], (len(t), 2, 1))
    half = 0.5 * float(model.weights(truth)[-1])
    pair[..., 0] = np.log(half) - np.log1p(-half)
    if version == "printed":
        pair[..., -1] += t[:, None] * np.array([1.0, -1.0])
    else:
        rest = (2.0 - (1.0 + t) ** model.power) ** (1.0 / model.power)
        pair[..., model.eta] *= np.stack([1.0 + t, rest], axis=1)[..., None]
    return with_pair(truth, pair)


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


@each(finished="The sequence was followed.", iterations=len(M))
def run(s: Settings, streams: Streams) -> Row:
    """Follow a sequence for one truth per replicate.

    ``weak_triangle``: where the sum over an empty cell is zero, 2^(r - 1) times the least sum of the losses of a
    measure to G* and G_m, over that of G_m to G*: 1 or more where the inequality holds with that constant.
    """
    model = Model("sigmoid", "full", s.expert, s.d, s.power)
    truth = ground_truth(model, s.n_true, "sparse", streams("truth", d=s.d, n_true=s.n_true), n_sparse=1)
    truth[-1, -1] = np.copysign(1.0, truth[-1, -1])  # |beta*| = 1, so that no expert is small by chance
    if s.flat:
        truth[-1, model.eta] = np.r_[np.zeros(s.d), truth[-1, -1]]
    measures = sequence(model, truth, 1.0 / M, s.sequence)
    return {"weak_triangle": 2.0 ** (s.r - 1.0) * smallest_ratio(truth, measures, model, s.r)}

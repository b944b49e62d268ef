"""The sequences of Lemma 2 of "sigmoid-attention": loss and distance of functions along them, and Le Cam's bound.

A replicate is a truth drawn as in App. E.1 with one atom of constant gate, or in its dense regime for the splits beside
Table 1. Nothing is fitted; see :mod:`studies.sigmoid_attention.parts.minimax` for the sequences.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses.voronoi import L3, L2r
from moestat.models.experts import Expert
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts import minimax

VERSION = 1

FLOOR = 1e-14
"""Distances of functions below this count as this: they are rounding, which every processor does in its own way."""


class Settings(SettingsModel):
    """Settings of a cell."""

    sequence: Literal["printed", "corrected", "split"] = "printed"
    """The two measures as the paper prints them, with the power that its proof needs, or split in the dense regime."""
    gate: Literal["sigmoid", "softmax"] = "sigmoid"
    """The gate; the softmax for splits alone."""
    expert: Expert = "polynomial"
    """Activation of the expert."""
    power: int = Field(1, ge=1, description="degree of a polynomial expert")
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
        return self


M = 2.0 ** np.arange(3, 13)  # the grid of m, from 8 to 4096

N = 10.0 ** np.arange(2, 9)  # the sample sizes at which Le Cam's bound is evaluated

FINE = 2.0 ** np.linspace(3, 24, 169)
"""The grid of m over which Le Cam's bound is maximised; t^2 is then far above rounding."""


@each(
    dims={"L2r": ("m",), "distance": ("m",), "lemma": ("m",), "between": ("m",), "le_cam": ("size",)},
    coords={"m": M, "size": N},
    finished="The sequence was followed.",
    iterations=len(M),
)
def run(s: Settings, streams: Streams) -> Row:
    """Follow a sequence for one truth per replicate.

    Per replicate and ``m``: ``L2r``, ``distance`` (root mean squared difference of the functions, at least 1e-14) and
    ``lemma``, distance over L2r. Per replicate and ``size``: ``le_cam``, the two-point bound maximised over m. Per
    replicate ``lone``: the largest of L2r from the lone first atom to G* and to G_m, all m, where empty cells cost
    nothing; and ``weak_triangle``: where the sum over an empty cell is zero, 2^(r - 1) times the least sum of the
    losses of a measure to G* and G_m, over that of G_m to G* (``minimax``). Splits have instead of the
    losses to G* ``between``, per ``m`` the L3 from G_m to the measure with t = 0, for which ``le_cam`` is then.
    """
    model = Model(s.gate, "full", s.expert, s.d, s.power)
    return (_split if s.sequence == "split" else _replicate)(s, model, streams)


def _replicate(s: Settings, model: Model, streams: Streams) -> dict[str, np.ndarray]:
    rng = streams("truth", d=s.d, n_true=s.n_true)
    truth = ground_truth(model, s.n_true, "sparse", rng, n_sparse=1)
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    # |beta*| = 1 keeps h away from 0, so that the term of order t^2 does not vanish by chance
    truth[-1, -1] = np.copysign(1.0, truth[-1, -1])
    if s.flat:
        truth[-1, model.eta] = np.r_[np.zeros(s.d), truth[-1, -1]]
    target = model.predict(truth, x)

    def follow(m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        version: minimax.Version = "corrected" if s.sequence == "corrected" else "printed"
        measures = minimax.sequence(model, truth, 1.0 / m, version)
        change = np.sqrt(np.mean((model.predict(measures, x) - target) ** 2, axis=1))
        return measures, L2r(measures, truth, model, s.r), np.maximum(change, FLOOR)

    measures, loss, distance = follow(M)
    _, fine_loss, fine_distance = follow(FINE)
    lone = minimax.lone_atom(truth)
    ratio = minimax.smallest_ratio(truth, measures, model, s.r)
    losses = [float(L2r(lone, other, model, s.r)) for other in (truth, *measures)]
    le_cam = minimax.le_cam(fine_loss, fine_distance, N, s.noise_variance, s.r)
    return {
        "L2r": loss,
        "distance": distance,
        "lemma": distance / loss,
        "between": np.full(len(M), np.nan),
        "le_cam": le_cam,
        "lone": np.max(losses),
        "weak_triangle": np.array(2.0 ** (s.r - 1.0) * ratio),
    }


def _split(s: Settings, model: Model, streams: Streams) -> dict[str, np.ndarray]:
    rng = streams("dense truth", d=s.d, n_true=s.n_true)
    truth = ground_truth(model, s.n_true, "dense", rng)
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    target = model.predict(truth, x)
    reference = minimax.splits(model, truth, np.zeros(1))[0]

    def follow(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        measures = minimax.splits(model, truth, 1.0 / m)
        change = np.sqrt(np.mean((model.predict(measures, x) - target) ** 2, axis=1))
        return L3(measures, reference, model), np.maximum(change, FLOOR)

    between, distance = follow(M)
    nothing = np.full(len(M), np.nan)
    return {
        "L2r": nothing,
        "distance": distance,
        "lemma": nothing,
        "between": between,
        "le_cam": minimax.le_cam(*follow(FINE), N, s.noise_variance, 1.0),
        "lone": np.array(np.nan),
        "weak_triangle": np.array(np.nan),
    }

r"""How far A and b of two atoms can move while the regression function does not: Theorem 4's path, and its control.

A replicate is a truth drawn as in "sigmoid-attention", App. E.1, sparse regime. Nothing is fitted: two atoms stand for
the last true one, of constant gate, and are followed along t. *Opposite b*: b = +-t u, with A of order t^2 that cancels
the next term, for every expert (:mod:`~studies.sigmoid_attention.parts.constant_gate`). *Opposite A*: A = +-t uu',
which nothing in a score without b can cancel, so that f moves by t^2. Paths along which functions are equal, and those
that decide a theorem, are arguments (``arguments.py``).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses import voronoi
from moestat.models import gates
from moestat.models.experts import Expert
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts.constant_gate import hidden_pair, with_pair

VERSION = 2

T = 2.0 ** (-np.arange(16, -1, -1) / 2)  # the grid of t, from 1/256 to 1


class Settings(SettingsModel):
    """Settings of a cell."""

    family: Literal["opposite b", "opposite A"] = "opposite A"
    """Which parts of the two atoms are opposite."""
    expert: Expert = "gelu"
    """Activation of the expert."""
    score: Literal["full", "partial"] = "partial"
    """Full: quadratic in x; partial: x'Ax without linear term."""
    d: int = Field(3, ge=2, description="input dimension")
    n_true: int = Field(3, ge=2, description="true experts")
    points_log2: int = Field(11, ge=8, description="log2 of the number of points, uniform on the cube")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if self.family == "opposite b" and self.score != "full":
            raise ValueError(f"family 'opposite b' needs the fully quadratic score, not {self.score!r}")
        return self


def _opposite_matrices(model: Model, truth: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Fit the last atom by two with A = +-t uu' and half of its weight each."""
    half = 0.5 * float(model.weights(truth)[-1])
    pair = np.tile(truth[-1], (len(T), 2, 1))
    pair[..., 0] = np.log(half) - np.log1p(-half)
    square = gates.pack_symmetric(np.outer(direction, direction))
    pair[..., model.a_matrix] = T[:, None, None] * np.array([[1.0], [-1.0]]) * square
    return with_pair(truth, pair)


@each(
    dims=dict.fromkeys(("L1", "change", "ratio"), ("t",)),
    coords={"t": T},
    finished="The path was followed.",
    iterations=len(T),
)
def run(s: Settings, streams: Streams) -> Row:
    """Follow a path along t for one truth per replicate.

    Per replicate and t: ``L1`` to the truth (without b L4); ``change``, the root mean squared change of f; ``ratio``,
    change over L1.
    """
    rng = streams("truth", family=s.family, d=s.d, n_true=s.n_true)
    model = Model("sigmoid", s.score, s.expert, s.d)
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    truth = ground_truth(model, s.n_true, "sparse", rng, n_sparse=1)
    direction = rng.standard_normal(s.d)
    direction /= np.linalg.norm(direction)
    if s.family == "opposite b":
        measures = hidden_pair(model, truth, direction, 0.5, T)
    else:
        measures = _opposite_matrices(model, truth, direction)
    change = np.sqrt(np.mean((model.predict(measures, x) - model.predict(truth, x)) ** 2, axis=1))
    L1 = voronoi.L1(measures, truth, model)
    return {"L1": L1, "change": change, "ratio": change / L1}

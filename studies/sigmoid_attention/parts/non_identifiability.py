"""How far the parameters can move while the regression function does not: losses along exact and near continua.

A replicate is a truth drawn as in "sigmoid-attention", App. E.1. Nothing is fitted: every family of
``continua`` is followed along t, with the change of the function and the losses to the truth, and the
null directions of the information matrix at t = 1/2 are counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses import voronoi
from moestat.losses.minimisers import L3_infimum
from moestat.losses.quotient import quotient
from moestat.models.experts import HOMOGENEOUS, Expert, expert_features
from moestat.models.gates import Score
from moestat.models.regression import Model
from moestat.models.truths import Regime, ground_truth
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts import constant_gate, continua

VERSION = 1

Family = Literal[
    "split",
    "null atom",
    "trade",
    "mirror",
    "shift",
    "antisymmetric",
    "softmax pair",
    "opposite b",
    "opposite A",
    "vanishing atom",
    "moved shares",
]
T = 2.0 ** (-np.arange(16, -1, -1) / 2)  # the grid of t, from 1/256 to 1

AT = 14  # the position of t = 1/2

FLOOR = 1e-16  # changes of the function below this count as this where they are divided by

DEAD = 0.05  # truths are drawn again while a ReLU expert is on, or off, at less than this share of the points

SPARSE = {"trade": 2, "mirror": 1, "opposite b": 1, "opposite A": 1}
"""Families that need atoms of constant gate, and how many of them the truth has."""


class Settings(SettingsModel):
    """Settings of a cell."""

    family: Family
    """Which two measures have one regression function."""
    expert: Expert = "relu"
    """Activation of the expert."""
    power: int = Field(1, ge=1, description="degree of a polynomial expert")
    score: Score = "full"
    """Full: quadratic in x; partial: x'Ax without linear term."""
    d: int = Field(3, ge=2, description="input dimension")
    n_true: int = Field(3, ge=2, description="true experts")
    points_log2: int = Field(11, ge=8, description="log2 of the number of points, uniform on the cube")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if self.family in ("split", "moved shares", "trade", "mirror") and self.expert not in HOMOGENEOUS:
            raise ValueError(f"family {self.family!r} needs one of {', '.join(HOMOGENEOUS)}, not {self.expert!r}")
        if self.family == "softmax pair" and self.expert != "linear":
            raise ValueError(f"family 'softmax pair' needs linear experts, not {self.expert!r}")
        if self.family == "opposite b" and self.score != "full":
            raise ValueError(f"family 'opposite b' needs the fully quadratic score, not {self.score!r}")
        return self

    def model(self) -> Model:
        """Return the model whose parameters move."""
        gate: Literal["sigmoid", "softmax"] = "softmax" if self.family == "shift" else "sigmoid"
        return Model(gate, self.score, self.expert, self.d, self.power)


def _kinks_inside(model: Model, truth: np.ndarray, x: np.ndarray) -> bool:
    """Say whether every ReLU is on at some points and off at others, 5 % at least; else it is linear, or nothing."""
    share = np.mean(truth[:, model.eta] @ expert_features(x) > 0, axis=1)
    return model.expert != "relu" or bool(np.all((share > DEAD) & (share < 1.0 - DEAD)))


def _drawn(s: Settings, model: Model, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    regime: Regime = "sparse" if s.family in SPARSE else "dense"
    n_true = 2 if s.family == "softmax pair" else s.n_true
    while True:
        truth = ground_truth(model, n_true, regime, rng, n_sparse=SPARSE.get(s.family, 1))
        if _kinks_inside(model, truth, x):
            return truth


def _measures(
    s: Settings, model: Model, truth: np.ndarray, gate: np.ndarray, direction: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the measures G(t), (T, N, P), of a family but the antisymmetric one."""
    if s.family == "split":
        return continua.split(model, truth, 0.5 * T)
    if s.family == "moved shares":
        return continua.moved_shares(model, truth, gate / np.linalg.norm(gate), T)
    if s.family == "trade":
        return continua.trade(model, truth, T)
    if s.family == "softmax pair":
        return continua.softmax_pair(model, truth, T)
    if s.family == "opposite b":
        return constant_gate.hidden_pair(model, truth, direction, 0.5, T)
    if s.family == "opposite A":
        return continua.opposite_matrices(model, truth, np.outer(direction, direction), T)
    if s.family == "vanishing atom":
        eta = rng.standard_normal(model.expert_size)
        return continua.vanishing_atom(model, truth, gate, eta / np.linalg.norm(eta), T)
    move = {"null atom": continua.null_atom, "mirror": continua.mirror, "shift": continua.shift}[s.family]
    return move(model, truth, gate, T)


def expected_null(s: Settings) -> float:
    """Return the number of null directions at t = 1/2 that calculus gives (d >= 2); NaN where f is not constant.

    Split: the two gates and the two experts have proportional derivatives, Q + d + 1. Null atom: its gate, and its
    eta where E is flat at 0. Trade: c against |eta| in each of two atoms; for linear experts besides the exchange of
    eta between the atoms, d + 1, and, if gates have a b, l h_1 h_2 with l affine, from either gate, d + 1; for
    squares h_1 h_2 from either expert and (h_1 h_2)^2 from either gate. Mirror: the common gate. Pair: sigma(s) +
    sigma(-s) = 1 in eta, d + 1, l h_1 h_2 from the gates, d + 1, and c against |eta| in the third atom.
    """
    model = s.model()
    q, e = model.gate_size, model.expert_size
    if s.family in ("split", "mirror", "shift"):
        return q + e if s.family == "split" else q
    if s.family == "null atom":
        return q if s.expert in ("linear", "gelu") else q + e
    if s.family == "trade":
        by_gate = e if s.score == "full" else 0  # l h_1 h_2 needs the b of a gate
        return 2 + {"linear": e + by_gate, "polynomial": 2}.get(s.expert, 0)
    if s.family == "antisymmetric":
        return s.n_true * s.d * (s.d - 1) / 2
    return 2 * e + 1 if s.family == "softmax pair" else np.nan


ALONG_T = dict.fromkeys(
    ("L1", "L3", "quotient", "L3_nearest", "change", "largest_change", "ratio", "ratio_nearest", "L1_over_change"),
    ("t",),
)


@each(dims=ALONG_T, coords={"t": T}, finished="The family was followed.", iterations=len(T))
def run(s: Settings, streams: Streams) -> Row:
    """Follow a family along t for one truth per replicate.

    Per replicate and t: ``L1``, ``L3``, ``quotient`` to the truth (for the shift the first two are L3 before the gauge
    is removed); ``change``, the root mean squared change of f, ``largest_change``; ``ratio``, change over L1, and
    ``L1_over_change``, its inverse with changes below 1e-16 taken as that. For the vanishing atom and the moved shares
    ``L3_nearest``, the infimum of equation (12) over the representations of the truth, and ``ratio_nearest``, change
    over that (else NaN). Per replicate: ``null``, the number of null directions at t = 1/2, ``null_error``, its
    absolute difference from :func:`expected_null`, and ``null_gap``, between the singular values counted and not.
    """
    rng = streams("truth", family=s.family, d=s.d, n_true=s.n_true)
    model = s.model()
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    truth = _drawn(s, model, x, rng)
    gate, direction = rng.standard_normal(model.gate_size), rng.standard_normal(s.d)
    direction /= np.linalg.norm(direction)
    target = model.predict(truth, x)
    if s.family == "antisymmetric":
        full = continua.antisymmetric(model, truth, rng.standard_normal((s.n_true, s.d, s.d)), T)
        moved = continua.predict_full(model, truth, full, x) - target
        measures, jacobian = np.repeat(truth[None], len(T), axis=0), continua.antisymmetric_jacobian(model, truth, x)
    else:
        measures = _measures(s, model, truth, gate, direction, rng)
        if s.family == "softmax pair":
            target = replace(model, gate="softmax").predict(truth, x)
            truth = continua.softmax_pair(model, truth, np.zeros(1))[0, :2]
        moved, jacobian = model.predict(measures, x) - target, continua.jacobian(model, measures[AT], x)
    row = {"L1": voronoi.L1(measures, truth, model), "L3": voronoi.L3(measures, truth, model)}
    if s.family == "shift":  # the losses remove the gauge; what is not aligned is off by the shift
        row["L1"] = row["L3"] = voronoi.L3(measures, truth, replace(model, gate="sigmoid"))
    if (
        s.family == "antisymmetric"
    ):  # those of full matrices: every cell has one atom, and all but the skew part is equal
        row["L1"] = row["L3"] = np.sum(np.linalg.norm(full - np.swapaxes(full, 2, 3), axis=(2, 3)), axis=1) / 2
    row["quotient"] = quotient(measures, truth, model)
    near = s.family in ("vanishing atom", "moved shares")
    row["L3_nearest"] = L3_infimum(measures, truth, model) if near else np.full(len(T), np.nan)
    change = np.sqrt(np.mean(moved**2, axis=1))
    row |= {"change": change, "largest_change": np.max(np.abs(moved), axis=1)}
    with np.errstate(divide="ignore", invalid="ignore"):
        row["ratio"] = np.where(row["L1"] > 0, change / row["L1"], np.nan)
        row["ratio_nearest"] = change / row["L3_nearest"]
    row["L1_over_change"] = row["L1"] / np.maximum(change, FLOOR)
    expected = expected_null(s)
    null, gap = continua.null_directions(jacobian) if np.isfinite(expected) else (np.nan, np.nan)
    return row | {"null": float(null), "null_error": abs(null - expected), "null_gap": gap}

r"""How far parameters can move while the regression function does not: losses along exact and near continua.

A replicate is a truth drawn as in "sigmoid-attention", App. E.1. Nothing is fitted: a family of mixing measures G(t) is
followed along t, with the change of the function and the losses to the truth. A loss between parameters that is
positive along an exact family measures where in the family a fit happens to lie, not how well it fits. With E(x, eta)
positively homogeneous of degree p (ReLU, linear, polynomial experts):

* split: sigma(s) E(eta) = sigma(s) E(t^(1/p) eta) + sigma(s) E((1 - t)^(1/p) eta);
* null atom: an atom with eta = 0, whatever its gate (every expert with E(x, 0) = 0);
* trade: where the gate is constant, sigma(c) E(eta) depends on sigma(c)^(1/p) eta alone;
* mirror: where it is constant, sigma(c) E(eta) = (sigma(s) + sigma(-s)) E(sigma(c)^(1/p) eta) for every s.

For any expert: softmax shift, antisymmetric A. For linear experts: two softmax atoms as three sigmoid ones. Along moved
shares, a vanishing atom and opposite b (:mod:`~studies.sigmoid_attention.parts.constant_gate`) the function moves, but
by a higher power of t than the losses of the paper allow for; opposite A is a control.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses import voronoi
from moestat.losses.minimisers import L3_infimum
from moestat.models import experts, gates
from moestat.models.experts import HOMOGENEOUS, Expert
from moestat.models.regression import Model
from moestat.models.truths import Regime, ground_truth
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts.constant_gate import hidden_pair, with_pair

VERSION = 1

Exact = Literal["split", "null atom", "trade", "mirror", "shift", "antisymmetric", "softmax pair"]
Family = Exact | Literal["opposite b", "opposite A", "vanishing atom", "moved shares"]
T = 2.0 ** (-np.arange(16, -1, -1) / 2)  # the grid of t, from 1/256 to 1
FLOOR = 1e-16  # changes of the function below this count as this where they are divided by
DEAD = 0.05  # truths are drawn again while a ReLU expert is on, or off, at less than this share of the points
SPARSE = {"trade": 2, "mirror": 1, "opposite b": 1, "opposite A": 1}
"""Families that need atoms of constant gate, and how many of them the truth has."""
SIGNS = np.array([1.0, -1.0])[:, None]


class Settings(SettingsModel):
    """Settings of a cell."""

    family: Family
    """Which two measures have one regression function."""
    expert: Expert = "relu"
    """Activation of the expert."""
    power: int = Field(1, ge=1, description="degree of a polynomial expert")
    score: gates.Score = "full"
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


def _drawn(s: Settings, model: Model, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a truth; every ReLU is on at 5 % of the points at least, and off at as many: else it is linear, or 0."""
    n_true = 2 if s.family == "softmax pair" else s.n_true
    regime: Regime = "sparse" if s.family in SPARSE else "dense"
    while True:
        truth = ground_truth(model, n_true, regime, rng, n_sparse=SPARSE.get(s.family, 1))
        on = np.mean(truth[:, model.eta] @ experts.expert_features(x) > 0, axis=1)
        if s.expert != "relu" or np.all((on > DEAD) & (on < 1.0 - DEAD)):
            return truth


# Each function returns measures (T, N, P) of a truth (N*, P). ``v``: a drawn vector of gate coordinates (Q,), which
# says where gates go, or a direction (d,), or the eta of an expert (d + 1,).


def _ahead(atoms: np.ndarray) -> np.ndarray:
    """Repeat atoms along t."""
    return np.repeat(atoms[None], len(T), axis=0)


def _split(model: Model, truth: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Split the last atom's expert in the shares ``first`` (T,) and the rest; the gate is kept."""
    pair = np.tile(truth[-1], (len(T), 2, 1))
    pair[..., model.eta] *= (np.stack([first, 1.0 - first], axis=1) ** (1.0 / model.power))[..., None]
    return with_pair(truth, pair)


def _moved_shares(model: Model, truth: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Split the last atom's expert in equal shares, and move their gates apart by +-t.

    The first order in t cancels, as it does for shares p and 1 - p with gates at (1 - p) t and -p t: the function moves
    by t^2, and the distance to every representation of the truth by t.
    """
    out = _split(model, truth, np.full(len(T), 0.5))
    out[:, -2:, : model.gate_size] += (T[:, None] * (v / np.linalg.norm(v)))[:, None, :] * SIGNS
    return out


def _null_atom(model: Model, truth: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Add an atom with eta = 0 and the gate coordinates t v."""
    atom = np.zeros((len(T), 1, model.atom_size))
    atom[:, 0, : model.gate_size] = T[:, None] * v
    return np.concatenate([_ahead(truth), atom], axis=1)


def _vanishing_atom(model: Model, truth: np.ndarray, v: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Add an atom with the gate coordinates v and eta(t) = t ``eta``, a null atom at t = 0.

    The function moves by t^p for an expert that is homogeneous of degree p, and by t for one whose derivative in eta
    is not 0 at eta = 0 (GELU).
    """
    atom = np.empty((len(T), 1, model.atom_size))
    atom[:, 0, : model.gate_size] = v
    atom[:, 0, model.eta] = T[:, None] * (eta / np.linalg.norm(eta))
    return np.concatenate([_ahead(truth), atom], axis=1)


def _trade(model: Model, truth: np.ndarray) -> np.ndarray:
    """Trade the intercept of every atom of constant gate for the length of its eta.

    sigma(c(t)) = sigma(c*) exp(-t) and eta(t) = exp(t / p) eta*, so that t must be at least log sigma(c*).
    """
    out = _ahead(truth)
    constant = np.all(truth[:, 1 : model.gate_size] == 0.0, axis=1)
    weight = model.weights(truth)[constant] * np.exp(-T)[:, None]
    out[:, constant, 0] = np.log(weight) - np.log1p(-weight)
    out[:, constant, model.eta] *= np.exp(T / model.power)[:, None, None]
    return out


def _mirror(model: Model, truth: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Replace the last atom, of constant gate, by two of opposite gates +-t v."""
    pair = np.tile(truth[-1], (len(T), 2, 1))
    pair[..., model.eta] *= float(model.weights(truth)[-1]) ** (1.0 / model.power)
    pair[..., : model.gate_size] = (T[:, None] * v)[:, None, :] * SIGNS
    return with_pair(truth, pair)


def _shift(model: Model, truth: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Add t v to the gate coordinates of every atom of a softmax gate."""
    out = _ahead(truth)
    out[..., : model.gate_size] += (T[:, None] * v)[:, None, :]
    return out


def _softmax_pair(model: Model, pair: np.ndarray, t: np.ndarray) -> np.ndarray:
    r"""Write a softmax mixture of two atoms as sigmoid mixtures of three, for linear experts.

    With s = s_1 - s_2,
    sigma(s) h_1 + sigma(-s) h_2 = sigma(s) (h_1 - t h_2) + sigma(-s) (1 - t) h_2 + sigma(0) 2 t h_2.
    At t = 0 the third atom is null: for every expert, two softmax atoms are two sigmoid atoms.
    """
    q = model.gate_size
    difference, h1, h2 = pair[0, :q] - pair[1, :q], pair[0, q:], pair[1, q:]
    out = np.zeros((len(t), 3, model.atom_size))
    out[:, 0, :q], out[:, 1, :q] = difference, -difference
    for k, one in enumerate([h1 - t[:, None] * h2, (1.0 - t)[:, None] * h2, 2.0 * t[:, None] * h2]):
        out[:, k, q:] = one
    return out


def _opposite_matrices(model: Model, truth: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Fit the last atom, of constant gate, by two with A = +-t vv': the control, in which f moves by t^2.

    Nothing in the score is of the order of (v'x)^4, so the term of order t^2 stays.
    """
    half = 0.5 * float(model.weights(truth)[-1])
    pair = np.tile(truth[-1], (len(T), 2, 1))
    pair[..., 0] = np.log(half) - np.log1p(-half)
    pair[..., model.a_matrix] = T[:, None, None] * SIGNS * gates.pack_symmetric(np.outer(v, v))
    return with_pair(truth, pair)


def _measures(
    family: Family, model: Model, truth: np.ndarray, gate: np.ndarray, direction: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the measures of every family but the antisymmetric one, along what was drawn."""
    of_family: dict[str, Callable[[], np.ndarray]] = {
        "split": lambda: _split(model, truth, 0.5 * T),
        "moved shares": lambda: _moved_shares(model, truth, gate),
        "null atom": lambda: _null_atom(model, truth, gate),
        "trade": lambda: _trade(model, truth),
        "mirror": lambda: _mirror(model, truth, gate),
        "shift": lambda: _shift(model, truth, gate),
        "softmax pair": lambda: _softmax_pair(model, truth, T),
        "opposite b": lambda: hidden_pair(model, truth, direction, 0.5, T),
        "opposite A": lambda: _opposite_matrices(model, truth, direction),
        "vanishing atom": lambda: _vanishing_atom(model, truth, gate, rng.standard_normal(model.expert_size)),
    }
    return of_family[family]()


def _antisymmetric(model: Model, truth: np.ndarray, x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return L1, the same as L3, and f (T, n) where every A gets t times an antisymmetric part, for which it is blind.

    The storage of :class:`Model` has no place for full matrices. Every cell has one atom, and all else is equal.
    """
    drawn = rng.standard_normal((len(truth), model.d, model.d))
    skew = 0.5 * (drawn - np.swapaxes(drawn, 1, 2))
    full = gates.unpack_symmetric(truth[:, model.a_matrix], model.d) + T[:, None, None, None] * skew
    quadratic = np.einsum("na,tiab,nb->tin", x, full, x, optimize=True)
    score = quadratic + (truth[:, model.b] @ x.T if model.score != "partial" else 0.0) + truth[:, :1]
    phi = experts.activation(model.expert, truth[:, model.eta] @ experts.expert_features(x), power=model.power)[0]
    loss = np.sum(np.linalg.norm(full - np.swapaxes(full, 2, 3), axis=(2, 3)), axis=1) / 2
    return loss, np.sum(gates.gate_values(model.gate, score) * phi, axis=-2)


ALONG_T = ("L1", "L3", "L3_nearest", "change", "largest_change", "ratio", "ratio_nearest", "L1_over_change")


@each(dims=dict.fromkeys(ALONG_T, ("t",)), coords={"t": T}, finished="The family was followed.", iterations=len(T))
def run(s: Settings, streams: Streams) -> Row:
    """Follow a family along t for one truth per replicate.

    Per replicate and t: ``L1``, ``L3`` to the truth (for the shift L3 before the gauge is removed); ``change``, the
    root mean squared change of f, ``largest_change``; ``ratio``, change over L1, and ``L1_over_change``, its inverse
    with changes below 1e-16 taken as that. For the vanishing atom and the moved shares ``L3_nearest``, the infimum of
    equation (12) over the representations of the truth, and ``ratio_nearest``, change over that (else NaN).
    """
    rng = streams("truth", family=s.family, d=s.d, n_true=s.n_true)
    model = Model("softmax" if s.family == "shift" else "sigmoid", s.score, s.expert, s.d, s.power)
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    truth = _drawn(s, model, x, rng)
    gate, direction = rng.standard_normal(model.gate_size), rng.standard_normal(s.d)
    target, nearest = model.predict(truth, x), np.full(len(T), np.nan)
    if s.family == "antisymmetric":
        L1, values = _antisymmetric(model, truth, x, rng)
        L3 = L1
    else:
        measures = _measures(s.family, model, truth, gate, direction / np.linalg.norm(direction), rng)
        values = model.predict(measures, x)
        if s.family == "softmax pair":
            target = replace(model, gate="softmax").predict(truth, x)
            truth = _softmax_pair(model, truth, np.zeros(1))[0, :2]
        L1, L3 = voronoi.L1(measures, truth, model), voronoi.L3(measures, truth, model)
        if s.family == "shift":  # the losses remove the gauge; what is not aligned is off by the shift
            L1 = L3 = voronoi.L3(measures, truth, replace(model, gate="sigmoid"))
        if s.family in ("vanishing atom", "moved shares"):
            nearest = L3_infimum(measures, truth, model)
    moved = values - target
    change = np.sqrt(np.mean(moved**2, axis=1))
    row = {"L1": L1, "L3": L3, "L3_nearest": nearest, "change": change, "largest_change": np.max(np.abs(moved), axis=1)}
    with np.errstate(divide="ignore", invalid="ignore"):
        row |= {"ratio": np.where(L1 > 0, change / L1, np.nan), "ratio_nearest": change / nearest}
    return row | {"L1_over_change": L1 / np.maximum(change, FLOOR)}

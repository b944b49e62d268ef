r"""Definitions 1 to 4 of "sigmoid-attention" read to the letter: the dependencies that no expert can avoid.

Three identities of the gate :math:`F = \sigma(x'Ax + b'x + c) E(x, \eta)`, A symmetric, hold whatever E is:

* at (A, b) = 0, :math:`\sigma''(c) F_A = \sigma'(c) F_{bb}`: both are xx' E times a derivative of the sigmoid.
  Definition 1 fails for every d and every number of atoms;
* there, for d >= 2, :math:`F_{A_{11} A_{22}}` and :math:`F_{A_{12} A_{12}}` are :math:`x_1^2 x_2^2 \sigma'' E` both, up
  to a factor: Definitions 1 and 3;
* at opposite gates, which "any distinct parameters" admits, :math:`F_A(A, b, c, \eta) = F_A(-A, -b, -c, \eta)`, since
  the slope of the sigmoid is even: all four with two atoms.

A replicate is a draw of the parameters. The expert ``arbitrary`` has values and derivatives that have nothing to do
with each other: what is dependent for it is dependent for every expert.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from moestat.experiment import SettingsModel
from moestat.identify.derivatives import Jet, activation
from moestat.identify.derivatives import assemble as two_layer
from moestat.identify.families import Atom, family, gate_monomials
from moestat.identify.relations import decompose
from moestat.replicates import Row, Streams, each

VERSION = 1

TOLERANCE = 1e-12  # singular values below this multiple of the largest are 0

POINTS = 1024
RANGE = 3.0  # half the side of the cube that the points fill: the numbers are better conditioned than on the small one

DEFINITIONS = {1: ("printed", "full"), 2: ("first", "full"), 3: ("printed", "partial"), 4: ("first", "partial")}
"""The family and the score of each definition."""


class Settings(SettingsModel):
    """Settings of a cell."""

    expert: Literal["relu", "gelu", "tanh", "linear", "polynomial", "sine", "bump", "arbitrary"] = Field(
        "gelu", description="form of the expert"
    )
    power: int = Field(1, ge=1, le=4, description="degree of a polynomial expert")
    d: Literal[1, 2] = Field(1, description="input dimension")


def _jet(s: Settings, x: np.ndarray, eta: np.ndarray, rng: np.random.Generator) -> Jet:
    """Return value and derivatives of the expert at points (m, d)."""
    if s.expert == "arbitrary":
        size = s.d + 1
        second = _smooth(x, rng, size * size).reshape(len(x), size, size)
        return Jet(_smooth(x, rng, 1)[:, 0], _smooth(x, rng, size), second + np.swapaxes(second, 1, 2))
    h = x @ eta[:-1] + eta[-1]
    if s.expert == "sine":
        phi: tuple[np.ndarray, ...] = (np.sin(h), np.cos(h), -np.sin(h))
    elif s.expert == "bump":
        bump = np.exp(-0.5 * h**2)
        phi = (bump, -h * bump, (h**2 - 1.0) * bump)
    else:
        phi = activation(s.expert, s.power, h)
    return two_layer(x, phi, None)


def _smooth(x: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return smooth functions of no particular form at points, (m, count)."""
    frequency, phase = rng.standard_normal((6, count, x.shape[1])), rng.uniform(0, 2 * np.pi, (6, count))
    total: np.ndarray = sum(np.cos(x @ f.T + p) for f, p in zip(frequency, phase, strict=True))
    return total


@each(finished="The dependencies were counted.", iterations=POINTS)
def run(s: Settings, streams: Streams) -> Row:
    """Count the dependencies of the four families for one expert, at one draw of the parameters per replicate.

    Per replicate, for k = 1 to 4: ``one_k``, how many functions of Definition k are too many for independence at one
    generic atom; ``opposite_k``, the same at two atoms with opposite gates and the same expert; ``printed_k``, the
    larger of the two: 0 if the expert may satisfy Definition k to the letter.
    """
    rng = streams("parameters", d=s.d)
    x = rng.uniform(-RANGE, RANGE, (POINTS, s.d))
    eta = rng.standard_normal(s.d + 1)
    eta[: s.d] *= rng.uniform(0.8, 1.5) / np.linalg.norm(eta[: s.d])
    sizes = {score: gate_monomials(x[:1], score).shape[1] for score in ("full", "partial")}
    gates = {score: np.asarray(0.5 * rng.standard_normal(size)) for score, size in sizes.items()}
    c = float(rng.uniform(0.3, 1.0))
    row: dict[str, float] = {}
    for number, (kind, score) in DEFINITIONS.items():
        pair = [Atom(gates[score], c, eta), Atom(-gates[score], -c, eta)]
        one, opposite = (_too_many(s, kind, score, pair[:m], [_jet(s, x, eta, rng)] * m, x) for m in (1, 2))
        row |= {f"one_{number}": one, f"opposite_{number}": opposite, f"printed_{number}": max(one, opposite)}
    return row


def _too_many(s: Settings, kind: str, score: str, atoms: list[Atom], jets: list[Jet], x: np.ndarray) -> float:
    """Count the functions of a family that depend on the others."""
    columns, labels = family(kind, atoms, jets, x, score, (*(f"a{k}" for k in range(s.d)), "beta"))
    structure = decompose(columns, np.array([len(label.derivative) for label in labels]), TOLERANCE)
    return float(structure.functions - structure.rank)

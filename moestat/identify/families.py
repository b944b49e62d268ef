r"""The families of functions whose linear independence is identifiability.

With :math:`F(x; A, b, c, \eta) = \sigma(x'Ax + b'x + c) E(x, \eta)`, A upper triangular:

* ``first``: the first derivatives of F at the atoms (Definitions 2 and 4);
* ``strong``: besides, the derivatives of order 0 to 2 in (A, b, eta) at (0, 0, c_i, eta_i), products of
  a derivative of the gate and one of the expert (Definitions 1 and 3);
* ``printed``: the same without order 0, as the definitions have it with [2] = {1, 2};
* ``second``: all derivatives of F of order 1 and 2 at the atoms, in which partial differential equations such as
  (8) of the paper are read.

Source: "sigmoid-attention", Definitions 1 to 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from moestat.identify.derivatives import Jet

STRONG = {"strong": (0, 1, 2), "printed": (1, 2)}
"""Orders of the derivatives at (A, b) = 0: as the proof of Theorem 1 needs them, and as Definition 1 lists them."""


@dataclass(frozen=True)
class Atom:
    """One atom: coefficients of the score's monomials (A, b), the intercept c, and the expert's parameters."""

    gate: np.ndarray
    c: float
    eta: np.ndarray


@dataclass(frozen=True)
class Label:
    """Which function a column is: the derivative, the atom, and whether it is taken at (A, b) = 0."""

    derivative: tuple[str, ...]
    atom: int
    at_zero: bool

    def __str__(self) -> str:
        inside = " ".join(self.derivative)
        name = "F" if not self.derivative else f"F_{inside}" if len(inside) == 1 else f"F_{{{inside}}}"
        return f"{name}{'(0)' if self.at_zero else ''}{f'#{self.atom + 1}' if self.atom else ''}"


def gate_names(d: int, score: str) -> tuple[str, ...]:
    """Names of the coefficients of the score's monomials, without c."""
    matrix = tuple("A" if d == 1 else f"A{i + 1}{j + 1}" for i in range(d) for j in range(i, d))
    vector = () if score == "partial" else tuple("b" if d == 1 else f"b{i + 1}" for i in range(d))
    return (() if score == "linear" else matrix) + vector


def gate_monomials(x: np.ndarray, score: str) -> np.ndarray:
    """Return the score's monomials (m, Q - 1) at points (m, d), in the order of :func:`gate_names`."""
    d = x.shape[1]
    matrix = [x[:, i] * x[:, j] for i in range(d) for j in range(i, d)] if score != "linear" else []
    vector = [x[:, i] for i in range(d)] if score != "partial" else []
    return np.stack(matrix + vector, axis=1)


def gate_derivatives(score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sigmoid and its first two derivatives."""
    g = 1.0 / (1.0 + np.exp(-score))
    slope = g * (1.0 - g)
    return g, slope, slope * (1.0 - 2.0 * g)


def family(
    kind: str, atoms: list[Atom], jets: list[Jet], x: np.ndarray, score: str, names: tuple[str, ...]
) -> tuple[np.ndarray, list[Label]]:
    """Evaluate a family ("first", "strong", "printed", "second") at points x (m, d).

    ``jets`` are the derivatives of the expert, whose parameters have the ``names``, at the atoms' eta and at the
    points. Returns the columns (m, functions) and their labels.
    """
    d = x.shape[1]
    monomials, gate = gate_monomials(x, score), gate_names(d, score)
    with_c, gate_c = np.concatenate([monomials, np.ones((len(x), 1))], axis=1), (*gate, "c")
    columns: list[np.ndarray] = []
    labels: list[Label] = []
    for k, (atom, jet) in enumerate(zip(atoms, jets, strict=True)):
        at_atom = gate_derivatives(monomials @ atom.gate + atom.c)
        orders: tuple[int, ...] = (1, 2) if kind == "second" else (1,)
        parts = [(at_atom, with_c, gate_c, orders, False)]
        if kind in STRONG:
            at_zero = gate_derivatives(np.full(len(x), atom.c))
            parts = [(at_zero, monomials, gate, STRONG[kind], True), *parts]
        for sigma, features, gate_part, degrees, zero in parts:
            own = (*gate_part, *names)
            for order in degrees:
                for index in combinations_with_replacement(range(len(own)), order):
                    in_gate = [i for i in index if i < len(gate_part)]
                    in_eta = [i - len(gate_part) for i in index if i >= len(gate_part)]
                    left = sigma[len(in_gate)] * np.prod(features[:, in_gate], axis=1)
                    entry: tuple[Any, ...] = (slice(None), *in_eta)
                    columns.append(left * (jet.value, jet.first, jet.second)[len(in_eta)][entry])
                    labels.append(Label(tuple(own[i] for i in index), k, zero))
    return np.stack(columns, axis=1), labels

"""Families of derivatives at drawn parameters, decomposed and written as relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from moestat import streams
from moestat.identify.derivatives import ROUNDING, Jet, Parametric, assemble
from moestat.identify.families import STRONG, Atom, Label, family, gate_monomials, gate_names
from moestat.identify.relations import HARM, Decomposition, Family, Relation, decompose, write

RANGE = 4.0  #: Half the side of the cube that the points fill.
POINTS_LOG2 = 11
DRAWS = 3
FEWEST = 500  #: Fewest points at which a user's expert must have derivatives.


@dataclass(frozen=True)
class Placement:
    """How an atom is placed: which draw of the gate and of the expert it uses, times which factors."""

    gate: int = 0
    gate_factor: float = 1.0
    c_factor: float = 1.0
    eta: int = 0
    eta_factor: float = 1.0


@dataclass(frozen=True)
class Evaluator:
    """An expert under a score, ready to have families evaluated at drawn parameters."""

    model: Parametric
    score: str
    d: int
    seed: int
    draw: Callable[[np.random.Generator], np.ndarray] | None

    def family(self, kind: str, specs: tuple[Placement, ...]) -> Family | None:
        """Return the best conditioned family over the draws; None where the expert has no derivatives."""
        families = [f for f in (self._once(kind, specs, k) for k in range(DRAWS)) if f is not None]
        return max(families, key=lambda f: (f.structure.rank, f.structure.distinct, f.structure.gap), default=None)

    def _once(self, kind: str, specs: tuple[Placement, ...], number: int) -> Family | None:
        rng = streams.generator(self.seed, streams.key(use="identify"), number, "parameters")
        x = RANGE * (2.0 * qmc.Sobol(self.d, rng=rng).random_base2(POINTS_LOG2) - 1.0)
        drawn = [self._atom(rng) for _ in range(2)]
        atoms = []
        for spec in specs:
            gate, eta = drawn[spec.gate], drawn[spec.eta].eta.copy()
            eta[: self.model.scaled] *= spec.eta_factor
            atoms.append(Atom(np.asarray(spec.gate_factor * gate.gate), spec.c_factor * gate.c, eta))
        jets, usable, error = [], np.ones(len(x), dtype=bool), 0.0
        for atom in atoms:
            jet, good, inexact = self.model.jet(x, atom.eta)
            jets.append(jet)
            usable, error = usable & good, max(error, inexact)
        if usable.sum() < FEWEST:
            return None
        x = x[usable]
        jets = [Jet(j.value[usable], j.first[usable], j.second[usable]) for j in jets]
        columns, labels = family(kind, atoms, jets, x, self.score, self.model.names)
        order = np.array([len(label.derivative) for label in labels])
        structure = decompose(columns, order, max(ROUNDING, 100.0 * error))
        null = _null_vectors(structure, labels)
        quantities = dict(zip(self.model.names, atoms[0].eta, strict=True))
        others = {"every expert": self._substitute(kind, atoms, x, rng, False)}
        if self.model.two_layer:
            others["every phi(a'x + beta)"] = self._substitute(kind, atoms, x, rng, True)
        parameters = (*gate_names(self.d, self.score), *self.model.names)
        lengths = np.sqrt(np.mean(columns**2, axis=0))

        def harm(vectors: np.ndarray) -> float:
            return distance_to_harm(vectors, labels, parameters, lengths)

        def relation(vector: np.ndarray) -> Relation:
            """Write a dependency, and find out how much of the expert it needs."""
            used = np.flatnonzero(vector)
            used = used[np.argsort(vector[used] != 1.0, kind="stable")]
            terms = [(float(vector[i]), str(labels[i])) for i in used]
            holds = [name for name, other in others.items() if _residual(other, vector) < 1e-6]
            residual, harmful = _residual(columns, vector) if len(used) > 1 else 0.0, harm(vector[None]) <= HARM
            holds_for = holds[0] if holds else "this expert"
            return Relation(tuple(terms), holds_for, residual, harmful, write(terms, quantities))

        relations = tuple(relation(vector) for vector in null)
        if kind not in STRONG:
            return Family(structure, relations, np.nan, np.nan)
        of_expert = null[[r.holds_for != "every expert" for r in relations]] if len(null) else null
        return Family(structure, relations, harm(null), harm(of_expert))

    def _atom(self, rng: np.random.Generator) -> Atom:
        size = gate_monomials(np.zeros((1, self.d)), self.score).shape[1]
        gate = np.asarray(0.5 * rng.standard_normal(size))
        c = float(rng.uniform(0.3, 1.0) * rng.choice([-1.0, 1.0]))
        if self.draw is not None:
            return Atom(gate, c, np.asarray(self.draw(rng), dtype=np.float64))
        eta = rng.standard_normal(len(self.model.names))
        if self.model.two_layer:
            # |a| about 1 and |beta| < |a|: kinks cross the cube [-1, 1]^d
            eta[: self.d] *= rng.uniform(0.8, 1.5) / np.linalg.norm(eta[: self.d])
            eta[self.d] = np.clip(eta[self.d], -0.7, 0.7)
        return Atom(gate, c, eta)

    def _substitute(
        self, kind: str, atoms: list[Atom], x: np.ndarray, rng: np.random.Generator, keep_layers: bool
    ) -> np.ndarray:
        """Evaluate the family with arbitrary functions in place of E's (or of phi's) derivatives."""
        jets = []
        for atom in atoms:
            size = len(self.model.names)
            if keep_layers:
                scale = atom.eta[-1] if size > self.d + 1 else None
                jets.append(assemble(x, tuple(_arbitrary(x, rng, 3).T), scale))
            else:
                second = _arbitrary(x, rng, size * size).reshape(len(x), size, size)
                second = second + np.swapaxes(second, 1, 2)
                jets.append(Jet(_arbitrary(x, rng, 1)[:, 0], _arbitrary(x, rng, size), second))
        return family(kind, atoms, jets, x, self.score, self.model.names)[0]


def _arbitrary(x: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return smooth functions of no particular form at points, (m, count)."""
    frequency, phase = rng.standard_normal((8, count, x.shape[1])), rng.uniform(0, 2 * np.pi, (8, count))
    total: np.ndarray = sum(np.cos(x @ f.T + p) for f, p in zip(frequency, phase, strict=True))
    return total


def _null_vectors(structure: Decomposition, labels: list[Label]) -> np.ndarray:
    """Return a basis (r, k) of the relations, each led by a coefficient 1."""
    unit = np.eye(len(labels))
    vectors = [unit[i] for i in structure.zero]
    for i, j, factor in structure.proportional:
        if len(labels[i].derivative) == len(labels[j].derivative):
            i, j, factor = j, i, 1.0 / factor
        vectors.append(unit[i] - factor * unit[j])
    return np.array([*vectors, *structure.null]).reshape(-1, len(labels))


def _residual(columns: np.ndarray, vector: np.ndarray) -> float:
    total = np.sqrt(np.mean((columns @ vector) ** 2))
    size = np.sqrt(np.mean((np.abs(columns) @ np.abs(vector)) ** 2))
    return float(total / size) if size > 0 else 0.0  # functions that vanish


def distance_to_harm(null: np.ndarray, labels: list[Label], parameters: tuple[str, ...], lengths: np.ndarray) -> float:
    r"""Return how far the relations are from one that can hide a second-order error.

    Expand the atoms of one over-specified cell to second order about their true atom. The error of f is a weight error
    times E, plus first-order coefficients of either sign, plus :math:`\frac12 \sum S : \partial^2 F` with :math:`S =
    \sum_i \sigma_i \Delta_i \Delta_i'` positive semidefinite. So a relation among the derivatives does harm exactly
    when its second-order part is positive semidefinite (zero included): then errors of size t in the direction of S
    change f by less than t^2, and no n^(-1/4) follows. One with an indefinite second-order part, such as F_{b beta} =
    F_a, cannot be used up by any atoms.

    It is 0 if there is a harmful relation; otherwise the least Frobenius norm of the negative part among relations
    whose second-order parts, in the ``parameters``, have trace 1 (infinite if there is none). ``null`` (r, k) is a
    basis of the relations among k functions; those that are not taken at (A, b) = 0 count through their first-order
    coefficients alone. Their root mean squares, ``lengths`` (k,), set the units of the parameters.
    """
    if not len(null):
        return np.inf
    maps = _second_order_parts(null, labels, parameters, lengths)
    r, atoms, size, _ = maps.shape
    # relations in coordinates z for which the second-order part is an isometry
    _, values, rows = np.linalg.svd(maps.reshape(r, -1).T, full_matrices=False)
    if values[0] == 0 or np.sum(values > 1e-9 * values[0]) < r:
        return 0.0
    basis = np.einsum("zr,rijk->zijk", rows / values[:, None], maps)
    trace = np.einsum("zijj->z", basis)
    norm = float(np.linalg.norm(trace))
    if norm < 1e-9:
        return np.inf
    centre = trace / norm**2
    free = np.linalg.svd(trace[None, :])[2][1:]

    def negative(w: np.ndarray) -> tuple[float, np.ndarray]:
        s = np.einsum("z,zijk->ijk", centre + w @ free, basis)
        values, vectors = np.linalg.eigh(s)
        below = np.minimum(values, 0.0)
        part = np.einsum("ijk,ik,ilk->ijl", vectors, below, vectors)
        return float(np.sum(below**2)), 2.0 * free @ np.einsum("zijk,ijk->z", basis, part)

    if not len(free):
        return float(np.sqrt(negative(np.zeros(0))[0]))
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-18, "gtol": 1e-12}
    minimum = minimize(negative, np.zeros(len(free)), jac=True, method="L-BFGS-B", options=options)
    return float(np.sqrt(minimum.fun))


def _second_order_parts(
    null: np.ndarray, labels: list[Label], parameters: tuple[str, ...], lengths: np.ndarray
) -> np.ndarray:
    """Return the symmetric matrices S (r, atoms, p, p) of relations, 1/2 S : second derivatives."""
    atoms = 1 + max(label.atom for label in labels)
    position = {name: k for k, name in enumerate(parameters)}
    out = np.zeros((len(null), atoms, len(parameters), len(parameters)))
    unit = np.ones((atoms, len(parameters)))
    for k, label in enumerate(labels):
        if label.at_zero and len(label.derivative) == 2:
            i, j = (position[name] for name in label.derivative)
            out[:, label.atom, i, j] += null[:, k]
            out[:, label.atom, j, i] += null[:, k]
            if i == j and lengths[k] > 0:
                unit[label.atom, i] = np.sqrt(lengths[k])
    return out * unit[:, :, None] * unit[:, None, :]

r"""Linear dependencies among functions: found by singular values, written as equations.

Columns are scaled to unit length. Functions that vanish and functions that are proportional are found first; they make
relations of one and of two terms. What is left is decomposed, and its null vectors are brought to row echelon form,
highest derivatives leading, so that each relation is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import qr

CLEAR = 1e3  #: A gap between singular values smaller than this decides nothing.
HARM = 1e-4  #: Negative parts smaller than this, of a matrix of trace 1, count as none.


@dataclass(frozen=True)
class Relation:
    """A linear relation among functions: sum of coefficient times function = 0."""

    terms: tuple[tuple[float, str], ...]  #: Coefficients and labels; the leading function has the coefficient 1.
    holds_for: str  #: "every expert", "every phi(a'x + beta)" or "this expert", at the parameters that were drawn.
    residual: float  #: Root mean square of the sum, relative to the terms.
    harmful: bool  #: Whether its second-order part is semidefinite, or vanishes; a combination may be where none is.
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Decomposition:
    """The linear structure of a family."""

    functions: int
    distinct: int  #: Functions that neither vanish nor are proportional to an earlier one.
    rank: int
    #: Smallest singular value of the distinct functions that counts as positive over the largest that does not (over
    #: the tolerance, where there is none).
    gap: float
    zero: list[int]  #: Functions that vanish.
    proportional: list[tuple[int, int, float]]  #: (i, j, t): function i is t times the earlier function j.
    null: np.ndarray  #: (relations, functions), coefficients of the relations with three or more terms.


@dataclass(frozen=True)
class Family:
    """A family of functions at one kind of parameters, and its dependencies.

    ``harm`` is the distance of its relations from a harmful one, ``harm_but_for_gate`` the same without the relations
    that every expert has (see :func:`moestat.identify.evaluate.distance_to_harm`).
    """

    structure: Decomposition
    relations: tuple[Relation, ...]
    harm: float
    harm_but_for_gate: float

    @property
    def independent(self) -> bool:
        """Whether the functions, one per derivative, are linearly independent."""
        return self.structure.rank == self.structure.functions

    @property
    def harmless(self) -> bool:
        """Whether no relation has a positive semidefinite second-order part."""
        return self.harm > HARM

    @property
    def clear(self) -> bool:
        """Whether the gap between singular values is wide enough to count the dependencies."""
        return self.structure.gap >= CLEAR


@dataclass(frozen=True)
class Identification:
    """What the check found."""

    expert: str
    score: str
    d: int
    atoms: int
    #: "strong", "weak", "neither" or "undecided"; with the partially quadratic score: partial-strong and partial-weak
    #: in the paper's words. "strong": the first derivatives are independent and no relation of the strong family does
    #: harm; "weak": the first derivatives are independent; "undecided": the singular values have no clear gap.
    verdict: str
    #: Whether the expert would be strong if the relations that every expert has were left out.
    strong_but_for_gate: bool
    first: Family  #: Of Definition 2 (4), at generic parameters of ``atoms`` atoms.
    strong: Family  #: Of Definition 1 (3).
    #: Partial differential equations of F of order up to 2 at one generic atom: (8) for a linear expert.
    equations: tuple[Relation, ...]
    #: First derivatives at special, distinct parameters (those at which the expert has derivatives).
    configurations: dict[str, Family]
    #: Exponents of n that the theorems then give for the parameters: ``"dense"`` (to the nearest pseudo-truth),
    #: ``"sparse exact"``, ``"sparse over"``; None where they give none.
    exponents: dict[str, float | None]

    @property
    def fails_at(self) -> tuple[str, ...]:
        """The special configurations at which the first derivatives are dependent."""
        return tuple(name for name, family in self.configurations.items() if not family.independent)

    def __str__(self) -> str:
        prefix = "partial-" if self.score == "partial" else ""
        word = {"neither": "neither strongly nor weakly identifiable", "undecided": "undecided (no clear gap)"}
        verdict = word.get(self.verdict, f"{prefix}{self.verdict}ly identifiable")
        lines = [
            f"{self.expert}, {self.score} score, d = {self.d}, {self.atoms} atom(s): {verdict} at generic parameters"
        ]
        for name, family in (("first derivatives", self.first), ("strong family", self.strong)):
            s = family.structure
            lines.append(f"  {name}: {s.functions} functions, {s.distinct} distinct, rank {s.rank}, gap {s.gap:.1e}")
        if self.verdict == "weak":
            of_gate = "the gate's own relations, which every expert has"
            own = of_gate if self.strong_but_for_gate else "the expert's relations"
            lines.append(f"  not strongly identifiable because of {own}")
        for title, relations in (
            ("relations of the strong family, (0) meaning at (A, b) = 0", self.strong.relations),
            ("differential equations of F at a generic atom", self.equations),
        ):
            lines += [f"  {title}:"] * bool(relations) + [f"    {r}   [{r.holds_for}]" for r in relations]
        lines += [f"  fails at distinct parameters with {name}" for name in self.fails_at]
        rate = {name: "none guaranteed" if v is None else f"n^{v:g}" for name, v in self.exponents.items()}
        lines.append("  rates: " + ", ".join(f"{name} {text}" for name, text in rate.items()))
        return "\n".join(lines)


def decompose(columns: np.ndarray, order: np.ndarray, tolerance: float) -> Decomposition:
    """Find the dependencies among columns (m, k), solved for the functions of high order (k,), where there is a choice.

    Singular values below ``tolerance`` times the largest count as zero.
    """
    length = np.sqrt(np.mean(columns**2, axis=0))
    present = length > tolerance * np.max(length)
    zero = [int(i) for i in np.flatnonzero(~present)]
    unit = columns / np.where(present, length, np.inf) / np.sqrt(len(columns))
    kept: list[int] = []
    proportional = []
    for i in np.argsort(order, kind="stable"):
        if not present[i]:
            continue
        cosines = unit[:, kept].T @ unit[:, i] if kept else np.zeros(1)
        j = int(np.argmax(np.abs(cosines)))
        if kept and np.linalg.norm(unit[:, i] - cosines[j] * unit[:, kept[j]]) <= 10 * tolerance:
            proportional.append((int(i), kept[j], float(cosines[j] * length[i] / length[kept[j]])))
        else:
            kept.append(int(i))
    if not kept:
        nothing = np.zeros((0, columns.shape[1]))
        return Decomposition(columns.shape[1], 0, 0, np.inf, zero, proportional, nothing)
    _, own, rows = np.linalg.svd(unit[:, kept], full_matrices=False)
    rank = int(np.sum(own > tolerance * own[0]))
    floor = tolerance * own[0] if rank == own.size else max(own[rank], np.finfo(float).tiny)
    null = np.zeros((len(kept) - rank, columns.shape[1]))
    null[:, kept] = _sparse(rows[rank:] / length[kept], order[kept])
    gap = float(own[rank - 1] / floor)
    return Decomposition(columns.shape[1], len(kept), rank, gap, zero, proportional, null)


def _sparse(rows: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Bring null vectors to the reduced row echelon form with fewer terms, leading in high or in low orders."""
    if not len(rows):
        return rows
    forms = []
    for sign in (-2.0, 2.0):
        # a pivoted factorisation chooses the leading functions; the weights make it prefer some orders
        pivots = qr(rows * 10.0 ** (sign * order), mode="economic", pivoting=True)[2]
        leading = pivots[: len(rows)]
        reduced = np.linalg.solve(rows[:, leading], rows)
        reduced[np.abs(reduced) < 1e-7 * np.max(np.abs(reduced), axis=1, keepdims=True)] = 0.0
        reduced[np.arange(len(rows)), leading] = 1.0
        forms.append(reduced)
    return min(forms, key=np.count_nonzero)


def _name(value: float, quantities: dict[str, float]) -> str:
    """Name a coefficient: a small fraction, a known quantity, or the number."""
    fraction = Fraction(value).limit_denominator(6)
    if fraction != 0 and abs(fraction) <= 12 and abs(float(fraction) - value) < 1e-7 * abs(value):
        return str(fraction)
    for name, other in quantities.items():
        for factor, mark in ((1, ""), (-1, "-"), (2, "2 "), (-2, "-2 ")):
            if abs(factor * other - value) < 1e-7 * abs(value):
                return mark + name
    return f"{value:.6g}"


def write(terms: list[tuple[float, str]], quantities: dict[str, float]) -> str:
    """Write a relation as "leading = sum of the others"."""
    (_, lead), *others = terms
    right = ""
    for value, label in others:
        name = _name(-value, quantities)
        minus, name = name.startswith("-"), name.removeprefix("-")
        sign = ("-" if minus else "") if not right else (" - " if minus else " + ")
        right += f"{sign}{'' if name == '1' else name + ' '}{label}"
    return f"{lead} = {right or '0'}"

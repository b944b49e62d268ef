"""What the identifiability check returns, and its report in words."""

from __future__ import annotations

from dataclasses import dataclass

from moestat.identify.relations import Decomposition, Relation

CLEAR = 1e3  #: A gap between singular values smaller than this decides nothing.
HARM = 1e-4  #: Negative parts smaller than this, of a matrix of trace 1, count as none.


@dataclass(frozen=True)
class Family:
    """A family of functions at one kind of parameters, and its dependencies.

    ``harm`` is the distance of its relations from a harmful one, ``harm_but_for_gate`` the same without the relations
    that every expert has (see :func:`moestat.identify.positivity.distance_to_harm`).
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

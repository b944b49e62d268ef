"""Verdicts of identifiability: which experts satisfy Definitions 1 to 4 of "sigmoid-attention", and what breaks them.

A replicate is a seed of the parameters at which :func:`moestat.identify.identify` evaluates the derivatives. The
partial differential equations are read at d = 1 and one atom, where they are (8); the verdict at d and ``atoms``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.identify import identify
from moestat.replicates import Row, Streams, each
from moestat.status import Status

VERSION = 1

EQUATIONS = ("F_{A c} = F_{b b}", "F_{A beta} = F_{b a}", "F_{b beta} = F_{c a}")
"""Equation (8) in the notation of :mod:`moestat.identify`."""

CODES = {"neither": 0.0, "weak": 1.0, "strong": 2.0, "undecided": np.nan}


class Settings(SettingsModel):
    """Settings of a cell."""

    expert: Literal["relu", "gelu", "tanh", "linear", "polynomial"] = "relu"
    """Activation of the expert."""
    power: int = Field(1, ge=1, le=4, description="degree of a polynomial expert")
    outer_scale: bool = Field(False, description="whether the expert is lambda phi(a'x + beta)")
    score: Literal["full", "partial"] = "full"
    """Full: quadratic in x; partial: x'Ax without linear term."""
    d: Literal[1, 2] = 2
    """Input dimension."""
    atoms: Literal[1, 2] = 2
    """Atoms of the true mixing measure."""

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if self.power > 1 and self.expert != "polynomial":
            raise ValueError(f"power is {self.power}; it goes with expert 'polynomial'")
        return self


@each()
def run(s: Settings, streams: Streams) -> Row:
    """Check one expert under one score, at one draw of the parameters per replicate.

    Per replicate ``verdict``: 2 strong, 1 weak, 0 neither (partial- with the partially quadratic score), and
    ``short_of_strong``, 2 less that; ``functions`` and ``rank`` of the strong family, ``gap`` between its singular
    values; ``rate``, the exponent that the theorems give over-specified parameters in the sparse regime (0 for none);
    ``fails``, the number of special, distinct parameters at which the first derivatives are dependent, and
    ``opposite``, whether opposite gates are among them; ``missing_8``, the number of equations (8) that do not hold.
    """
    options = {"score": s.score, "power": s.power, "outer_scale": s.outer_scale}
    options |= {"seed": int(streams("seed").integers(2**31))}
    general = identify(s.expert, d=s.d, atoms=s.atoms, **options)  # type: ignore[arg-type]
    line = identify(s.expert, d=1, atoms=1, **options)  # type: ignore[arg-type]
    code, structure, rate = CODES[general.verdict], general.strong.structure, general.exponents["sparse over"]
    holds = {str(equation) for equation in line.equations}
    undecided = bool(np.isnan(code))
    return {
        "verdict": code,
        "short_of_strong": 2.0 - code,
        "functions": float(structure.functions),
        "rank": float(structure.rank),
        "gap": structure.gap,
        "rate": 0.0 if rate is None else rate,
        "fails": float(len(general.fails_at)),
        "opposite": float(any(name.startswith("opposite gates") for name in general.fails_at)),
        "missing_8": float(sum(text not in holds for text in EQUATIONS)),
        "status": int(Status.STALLED if undecided else Status.CONVERGED),
        "message": "The singular values have no clear gap." if undecided else "The dependencies were counted.",
        "iterations": 0,
    }

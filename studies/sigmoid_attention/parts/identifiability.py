"""Verdicts of identifiability: which experts satisfy Definitions 1 to 4 of "sigmoid-attention", and what breaks them.

A replicate is a seed of the parameters at which :func:`moestat.identify.identify` evaluates the derivatives. The
partial differential equations are read at d = 1 and one atom, where they are (8); the verdict at d and ``atoms``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.identify import Identification, identify
from moestat.replicates import Row, Streams, each
from moestat.status import Status

VERSION = 1

EQUATIONS = ("F_{A c} = F_{b b}", "F_{A beta} = F_{b a}", "F_{b beta} = F_{c a}")
"""Equation (8) in the notation of :mod:`moestat.identify`."""

CODES = {"neither": 0.0, "weak": 1.0, "strong": 2.0, "undecided": np.nan}
VALUES = 160  # length of the axis ``index`` of singular values; longer than any family here, the rest is NaN


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


@each(dims={"singular_values": ("index",)})
def run(s: Settings, streams: Streams) -> Row:
    """Check one expert under one score, at one draw of the parameters per replicate.

    Per replicate ``verdict``: 2 strong, 1 weak, 0 neither (partial- with the partially quadratic score), and
    ``short_of_strong``, 2 less that; ``order_zero``: how far the verdict is from that of the orders 1 and 2 alone, as
    Definition 1 lists them; ``short_but_for_gate``: 0 if the expert would be strong without the relations that every
    expert has, else 1; ``functions`` and ``rank`` of the strong family, ``gap`` between its singular values; ``rate``,
    the exponent that the theorems give over-specified parameters in the sparse regime (0 for none); ``fails``, the
    number of special, distinct parameters at which the first derivatives are dependent, and ``opposite``, whether
    opposite gates are among them; ``missing_8``, the number of equations (8) that do not hold, ``missing_8_gate`` the
    same for the first one with every expert, ``missing_8_phi`` for the others with every phi(a'x + beta).
    ``singular_values`` along ``index``. Texts: ``word``, ``equations``, ``relations``, ``fails_at``.
    """
    row = _check(s, int(streams("seed").integers(2**31)))
    undecided = bool(np.isnan(row["verdict"]))
    status = Status.STALLED if undecided else Status.CONVERGED
    text = "The singular values have no clear gap." if undecided else "The dependencies were counted."
    return row | {"status": int(status), "message": text, "iterations": 0}


def _check(s: Settings, seed: int) -> dict[str, Any]:
    options = {"score": s.score, "power": s.power, "outer_scale": s.outer_scale, "seed": seed}
    general = identify(s.expert, d=s.d, atoms=s.atoms, **options)  # type: ignore[arg-type]
    printed = identify(s.expert, d=s.d, atoms=s.atoms, order_zero=False, **options)  # type: ignore[arg-type]
    line = identify(s.expert, d=1, atoms=1, **options)  # type: ignore[arg-type]
    code = CODES[general.verdict]
    values = np.full(VALUES, np.nan)
    spectrum = np.sort(general.strong.structure.singular_values)[::-1][:VALUES]
    values[: len(spectrum)] = spectrum
    rate = general.exponents["sparse over"]
    prefix = "partial-" if s.score == "partial" and general.verdict in ("strong", "weak") else ""
    return {
        "verdict": code,
        "short_of_strong": 2.0 - code,
        "order_zero": abs(code - CODES[printed.verdict]),
        "short_but_for_gate": 0.0 if general.verdict == "strong" or general.strong_but_for_gate else 1.0,
        "functions": float(general.strong.structure.functions),
        "rank": float(general.strong.structure.rank),
        "gap": general.strong.structure.gap,
        "rate": 0.0 if rate is None else rate,
        "fails": float(len(general.fails_at)),
        "opposite": float(any(name.startswith("opposite gates") for name in general.fails_at)),
        **_equations(line),
        "singular_values": values,
        "word": prefix + general.verdict,
        "equations": "; ".join(f"{e} [{e.holds_for}]" for e in line.equations),
        "relations": "; ".join(f"{r} [{r.holds_for}]" for r in line.strong.relations),
        "fails_at": "; ".join(general.fails_at),
    }


def _equations(line: Identification) -> dict[str, float]:
    """Count which of the equations (8) are not among those found, and for whom they hold."""
    holds = {str(e): e.holds_for for e in line.equations}
    return {
        "missing_8": float(sum(text not in holds for text in EQUATIONS)),
        "missing_8_gate": float(holds.get(EQUATIONS[0]) != "every expert"),
        "missing_8_phi": float(sum(holds.get(text) != "every phi(a'x + beta)" for text in EQUATIONS[1:])),
    }

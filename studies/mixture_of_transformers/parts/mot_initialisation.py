"""What random initial weights give a mixture of transformers: classes with an expert, and how clear its choice is.

Lemmas 7 and 8 of "Mixture-of-Transformers Learn Faster". A replicate is a set of simulated initialisations; the exact
probabilities stand beside it, see :mod:`studies.mixture_of_transformers.parts.coverage`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each
from studies.mixture_of_transformers.parts import specialisation
from studies.mixture_of_transformers.parts.coverage import enough_experts, near_tie, occupancy

VERSION = 1


class Settings(SettingsModel):
    """Settings of a cell."""

    classes: int = Field(8, ge=2, le=512, description="N")
    rule: Literal["N", "N log N", "N log(N/delta)"] = Field(
        "N log(N/delta)", description="number of experts M, rounded up, before `multiple`"
    )
    multiple: float = Field(1.0, gt=0, description="M is so many times what the rule says")
    delta: float = Field(0.1, gt=0, lt=1, description="the probability that may fail")
    draws: int = Field(500, ge=1, description="simulated initialisations of a replicate")

    @property
    def experts(self) -> int:
        """M, at least 1."""
        n = self.classes
        rules = {"N": n, "N log N": n * np.log(n), "N log(N/delta)": n * np.log(n / self.delta)}
        return max(1, int(np.ceil(self.multiple * rules[self.rule] - 1e-9)))


def _exact(s: Settings) -> np.ndarray:
    """Return the exact probabilities that every class has an expert, and that every expert has its gap."""
    n, m = s.classes, s.experts
    return np.array([occupancy(n, m)[-1], (1 - near_tie(n, s.delta / (3 * m * n**2))) ** m])


def _of_cell(s: Settings) -> dict[str, Any]:
    n, m = s.classes, s.experts
    covered, gap = (((), value, {"long_name": "exact probability"}) for value in _exact(s))
    return {
        "exact_all_covered": covered,
        "exact_gap_holds": gap,
        "printed_all_covered": (1 - (1 - 1 / n) ** m) ** n,
        "bound_all_covered": max(0.0, 1 - n * np.exp(-m / n)),
        "M": float(m),
        "enough": float(enough_experts(n, s.delta)),
    }


@each(finished="All initialisations were drawn.", iterations=lambda s: s.draws, of_cell=_of_cell)
def run(s: Settings, streams: Streams) -> Row:
    """Draw initial weights, and count what the lemmas speak of.

    Per replicate, shares of the draws: ``all_covered``, every class has an expert (Lemma 8); ``gap_holds``, for every
    expert the next largest <W, v_n> is below 1 - delta / (3 M N^2) times the largest (Lemma 7); and
    ``simulation_error``, the larger of the two distances to the exact probability in binomial standard errors. Of the
    cell: ``exact_all_covered``, ``exact_gap_holds``; ``printed_all_covered``, the product of Lemma 8's proof, and
    ``bound_all_covered``, its bound 1 - N exp(-M / N); ``M`` and ``enough``, the smallest M that Lemma 8 needs.
    """
    n, m = s.classes, s.experts
    share, exact = s.delta / (3 * m * n**2), _exact(s)
    rng = streams("initial weights", classes=n, experts=m)
    hits = np.zeros(2)
    for _ in range(s.draws):
        # only <W_i, v_n> matters, and its scale does not
        on_labels = rng.standard_normal((m, n))
        top = np.sort(on_labels, axis=1)[:, -2:]
        clear = np.all(top[:, 0] <= (1 - share) * top[:, 1])
        hits += specialisation.covered(on_labels) == n, clear
    shares = hits / s.draws
    error = np.abs(shares - exact) / np.sqrt(np.maximum(exact * (1 - exact), 1 / s.draws) / s.draws)
    return {"all_covered": shares[0], "gap_holds": shares[1], "simulation_error": np.max(error)}

"""What random initial weights give a mixture of transformers: classes with an expert, and how clear its choice is.

Lemmas 7 and 8 of "Mixture-of-Transformers Learn Faster". At initialisation the W_i are Gaussian, so that <W_i, v_n> are
i.i.d. over experts i and classes n, and the class of an expert (Definition 2: the largest of them) is uniform and
independent of the others. A replicate is a set of simulated initialisations; the exact probabilities stand beside it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field
from scipy import stats

from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each
from studies.mixture_of_transformers.parts.mot_measures import covered

VERSION = 1


class Settings(SettingsModel):
    """Settings of a cell."""

    classes: int = Field(8, ge=2, le=512, description="N")
    rule: Literal["N", "N log N", "N log(N/delta)"] = Field(
        "N log(N/delta)", description="number of experts M, rounded up"
    )
    delta: float = Field(0.1, gt=0, lt=1, description="the probability that may fail")
    draws: int = Field(500, ge=1, description="simulated initialisations of a replicate")

    @property
    def experts(self) -> int:
        """M, at least 1."""
        n = self.classes
        rules = {"N": n, "N log N": n * np.log(n), "N log(N/delta)": n * np.log(n / self.delta)}
        return max(1, int(np.ceil(rules[self.rule] - 1e-9)))

    @property
    def share(self) -> float:
        """The factor of Lemma 7, below 1."""
        return self.delta / (3 * self.experts * self.classes**2)


def occupancy(classes: int, experts: int) -> np.ndarray:
    """Return the probabilities that M experts cover 0, ..., N classes, (N + 1,).

    The next expert has a new class with probability (N - j) / N. Every term is positive, where inclusion and exclusion
    would cancel.
    """
    p, known = np.zeros(classes + 1), np.arange(classes + 1) / classes
    p[0] = 1.0
    for _ in range(experts):
        p = np.concatenate([[0.0], p[1:] * known[1:] + p[:-1] * (1 - known[:-1])])
    return p


def near_tie(classes: int, share: float) -> float:
    """Return the probability that the next largest of N standard normals exceeds ``1 - share`` times the largest.

    It is ``N (N - 1) int_0^inf phi(v) int_{(1 - share) v}^v phi(u) Phi(u)^(N - 2) du dv`` (a negative largest value
    exceeds nothing), by Gauss-Legendre quadrature.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    top = 12.0
    v = (nodes[:, None] + 1) * top / 2
    inner, inner_weights = np.polynomial.legendre.leggauss(40)
    u = v * (1 - share / 2 + share / 2 * inner[None, :])
    density = stats.norm.pdf(u) * stats.norm.cdf(u) ** (classes - 2)
    within = np.sum(density * inner_weights, axis=1) * v[:, 0] * share / 2
    total = np.sum(weights * top / 2 * stats.norm.pdf(v[:, 0]) * within)
    return float(classes * (classes - 1) * total)


def _of_cell(s: Settings) -> dict[str, Any]:
    n, m = s.classes, s.experts
    exact = {"exact_all_covered": occupancy(n, m)[-1], "exact_gap_holds": (1 - near_tie(n, s.share)) ** m}
    return {name: ((), value, {"long_name": "exact probability"}) for name, value in exact.items()} | {"M": float(m)}


@each(finished="All initialisations were drawn.", iterations=lambda s: s.draws, of_cell=_of_cell)
def run(s: Settings, streams: Streams) -> Row:
    """Draw initial weights, and count what the lemmas speak of, as shares of the draws.

    ``all_covered``: every class has an expert (Lemma 8); ``gap_holds``: for every expert the next largest <W, v_n> is
    below 1 - delta / (3 M N^2) times the largest (Lemma 7).
    """
    n, m = s.classes, s.experts
    rng, hits = streams("initial weights", classes=n, experts=m), np.zeros(2)
    for _ in range(s.draws):
        on_labels = rng.standard_normal((m, n))  # only <W_i, v_n> matters, and its scale does not
        top = np.sort(on_labels, axis=1)[:, -2:]
        hits += covered(on_labels) == n, np.all(top[:, 0] <= (1 - s.share) * top[:, 1])
    return dict(zip(("all_covered", "gap_holds"), hits / s.draws, strict=True))

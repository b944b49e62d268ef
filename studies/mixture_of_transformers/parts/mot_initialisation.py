"""What random initial weights give a mixture of transformers: classes with an expert, and how clear its choice is.

Lemmas 7 and 8 of "Mixture-of-Transformers Learn Faster". At initialisation the W_i are Gaussian, so that <W_i, v_n> are
i.i.d. over experts i and classes n, and the class of an expert (Definition 2: the largest of them) is uniform and
independent of the others. A replicate is a set of simulated initialisations; the exact probabilities stand beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field
from scipy import stats

from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each
from studies.mixture_of_transformers.parts import specialisation

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


def occupancies(classes: int) -> Iterator[np.ndarray]:
    """Yield the probabilities that 0, 1, ... experts cover 0, ..., N classes, (N + 1,).

    The next expert has a new class with probability (N - j) / N. Every term is positive, where inclusion and exclusion
    would cancel.
    """
    p, known = np.zeros(classes + 1), np.arange(classes + 1) / classes
    p[0] = 1.0
    while True:
        yield p
        p = np.concatenate([[0.0], p[1:] * known[1:] + p[:-1] * (1 - known[:-1])])


def occupancy(classes: int, experts: int) -> np.ndarray:
    """Return the probabilities that M experts cover 0, ..., N classes, (N + 1,)."""
    return next(itertools.islice(occupancies(classes), experts, None))


def enough_experts(classes: int, delta: float) -> int:
    """Return the smallest M that covers all classes with probability at least 1 - delta."""
    return next(m for m, p in enumerate(occupancies(classes)) if p[-1] >= 1 - delta)


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


def _exact(s: Settings) -> np.ndarray:
    """Return the exact probabilities that every class has an expert, and that every expert has its gap."""
    n, m = s.classes, s.experts
    return np.array([occupancy(n, m)[-1], (1 - near_tie(n, s.share)) ** m])


def _of_cell(s: Settings) -> dict[str, Any]:
    n, m = s.classes, s.experts
    covered, gap = (((), value, {"long_name": "exact probability"}) for value in _exact(s))
    return {
        "exact_all_covered": covered,
        "exact_gap_holds": gap,
        "printed_all_covered": (1 - (1 - 1 / n) ** m) ** n,  # the product of Lemma 8's proof
        "bound_all_covered": max(0.0, 1 - n * np.exp(-m / n)),
        "M": float(m),
        "enough": float(enough_experts(n, s.delta)),
    }


@each(finished="All initialisations were drawn.", iterations=lambda s: s.draws, of_cell=_of_cell)
def run(s: Settings, streams: Streams) -> Row:
    """Draw initial weights, and count what the lemmas speak of, as shares of the draws.

    ``all_covered``: every class has an expert (Lemma 8); ``gap_holds``: for every expert the next largest <W, v_n> is
    below 1 - delta / (3 M N^2) times the largest (Lemma 7); ``simulation_error``: the larger of the two distances to
    the exact probability, in binomial standard errors.
    """
    n, m = s.classes, s.experts
    exact, rng = _exact(s), streams("initial weights", classes=n, experts=m)
    hits = np.zeros(2)
    for _ in range(s.draws):
        on_labels = rng.standard_normal((m, n))  # only <W_i, v_n> matters, and its scale does not
        top = np.sort(on_labels, axis=1)[:, -2:]
        hits += specialisation.covered(on_labels) == n, np.all(top[:, 0] <= (1 - s.share) * top[:, 1])
    shares = hits / s.draws
    error = np.abs(shares - exact) / np.sqrt(np.maximum(exact * (1 - exact), 1 / s.draws) / s.draws)
    return {"all_covered": shares[0], "gap_holds": shares[1], "simulation_error": np.max(error)}

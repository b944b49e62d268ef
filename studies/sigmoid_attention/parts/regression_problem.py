"""What a regression study estimates: a truth, the law of x, and a model that is fitted.

The truth is drawn once from the study seed, or given. Nothing here depends on a sample size, an estimator or a
replicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.stats import qmc

from moestat import streams
from moestat.models import truths
from moestat.models.regression import Model
from studies.sigmoid_attention.parts.regression_laws import law_points

_CONTAINED = {"full": ("full", "partial", "linear"), "partial": ("partial",), "linear": ("linear",)}


@dataclass(frozen=True)
class Problem:
    """A truth and a model to fit, without sample size, estimator or replicate.

    ``atoms`` are the rows of an explicit truth, none if it is drawn; ``law_of_x`` and ``law_of_noise`` the import paths
    of the user's own laws, "" for the uniform law of [-1, 1]^d and for the normal one.
    """

    truth: Model
    fitted: Model
    n_true: int
    n_fitted: int
    regime: Literal["dense", "sparse"]
    noise_variance: float
    box: float
    points_log2: int
    polish_log2: int
    starts: int
    own_code: str = ""
    pseudo_search: Literal["starts", "global"] = "starts"
    draw: int = 0
    atoms: tuple[tuple[float, ...], ...] = ()
    law_of_x: str = ""
    law_of_noise: str = ""
    fisher_log2: int = 17

    @property
    def data_identity(self) -> dict[str, Any]:
        """What the draws of the data depend on, beside the sample size; arms that differ in their noise share x."""
        given = {"atoms": [list(row) for row in self.atoms]} if self.atoms else {}
        law = {"law_of_x": self.law_of_x} if self.law_of_x else {}
        return ({"draw": self.draw} if self.draw else {}) | {
            "what": "regression data",
            "d": self.truth.d,
            "n_true": self.n_true,
            "gate": self.truth.gate,
            "score": self.truth.score,
            "expert": self.truth.expert,
            "power": self.truth.power,
            "regime": self.regime,
            **given,
            **law,
        }

    @property
    def own(self) -> dict[str, str]:
        """The code of the user's own functions: part of what a cached result depends on."""
        return {"own_code": self.own_code} if self.own_code else {}

    @property
    def contains_truth(self) -> bool:
        """Whether the fitted model contains the truth."""
        return self.truth.gate == self.fitted.gate and self.truth.score in _CONTAINED[self.fitted.score]

    def true_parameters(self, study_seed: int) -> np.ndarray:
        """Return the truth (N*, P), in the coordinates of the true model."""
        return true_parameters(self.data_identity, study_seed)

    def evaluation_points(self, log2: int) -> np.ndarray:
        """Return 2**log2 points (n, d) that stand for the law of x."""
        return evaluation_points(self.truth.d, log2, self.law_of_x)


def true_parameters(data: Mapping[str, Any], study_seed: int) -> np.ndarray:
    """Return the truth (N*, P) of ``Problem.data_identity``: the given atoms, or the draw of that number."""
    if data.get("atoms"):
        return np.array(data["atoms"], dtype=np.float64)
    return draw_truth(true_model(data), data["n_true"], data["regime"], study_seed, data.get("draw", 0))


def true_model(data: Mapping[str, Any]) -> Model:
    """Return the true model of ``Problem.data_identity``."""
    return Model(data["gate"], data["score"], data["expert"], data["d"], data["power"])


def draw_truth(
    model: Model, n_true: int, regime: Literal["dense", "sparse"], study_seed: int, draw: int = 0
) -> np.ndarray:
    """Draw truth number ``draw`` (N*, P) from the study seed; gates, experts, scores and regimes share the draw."""
    number = {"draw": draw} if draw else {}
    identity = streams.key(what="regression truth", d=model.d, n_true=n_true, **number)
    return truths.ground_truth(model, n_true, regime, streams.generator(study_seed, identity, 0, "truth"))


@lru_cache(maxsize=8)
def evaluation_points(d: int, log2: int, law_of_x: str = "") -> np.ndarray:
    """Return 2**log2 points of the law of x, always the same ones: scrambled Sobol points on [-1, 1]^d, or draws."""
    if law_of_x:
        points = law_points(law_of_x, d, log2, "evaluation")
    else:
        points = 2.0 * qmc.Sobol(d, scramble=True, rng=np.random.default_rng(20250917)).random_base2(log2) - 1.0
    points.flags.writeable = False
    return points


def embed(theta: np.ndarray, source: Model, destination: Model) -> np.ndarray:
    """Write atoms of one score in the coordinates of another: new parts are zero, parts that it lacks are dropped.

    ``theta`` (..., N, P_source).
    """
    out = np.zeros((*theta.shape[:-1], destination.atom_size))
    for block in ("c", "b", "a_matrix", "eta"):
        part, place = theta[..., getattr(source, block)], getattr(destination, block)
        if part.shape[-1] and place.stop > place.start:
            out[..., place] = part
    return out

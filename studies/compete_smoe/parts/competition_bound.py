"""Inequality (10) for competition gating: how small E h / D is near a truth, which is given or drawn.

Nothing is fitted. A replicate moves the truth along directions that could break the inequality, see
:mod:`studies.compete_smoe.parts.bound_ratios`. With ``design = "drawn"`` every replicate has a truth of its own.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.models.competition import Competition, Expert
from moestat.replicates import Row, Streams, each
from studies.compete_smoe.parts.bound_ratios import certainly_asleep, information, moves, ratios
from studies.compete_smoe.parts.competition_designs import Design, sobol_inputs, true_mixture

VERSION = 1

DEVICES = ("cpu",)

LENGTH = 10.0 ** (-np.arange(2, 6) / 2)
"""Norms of the moves, 0.1 to 0.003: smaller ones misroute too few of the inputs that are looked at."""

POSITIVE = 1e-9  # a ratio below this one is 0 up to rounding


class Settings(SettingsModel):
    """Settings of a cell."""

    design: Design | Literal["drawn"] = Field(
        description="the truth, see studies.compete_smoe.parts.competition_designs"
    )
    expert: Expert = Field("affine", description="experts of a truth that is drawn")
    active: int = Field(2, ge=1, description="K of a truth that is drawn")
    experts: int = Field(4, ge=2, le=16, description="k* of a truth that is drawn")
    d: int = Field(2, ge=1, le=8, description="dimension of the input of a truth that is drawn")
    tied: bool = Field(False, description="whether W_2 = -W_1 in a truth that is drawn")
    pool_log2: int = Field(15, ge=10, le=20, description="winners are determined at 2**this Sobol points")
    evaluation_points: int = Field(64, ge=16, description="points per stratum on which Hellinger distances are taken")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.active > self.experts:
            raise ValueError(f"active is {self.active}; there are only {self.experts} experts")
        return self


@each(
    dims={"ratio": ("length",), "largest": ("length",)},
    coords={"length": LENGTH},
    finished="The distances were computed.",
    iterations=len(LENGTH),
)
def run(s: Settings, streams: Streams) -> Row:
    """Move the truth of each replicate.

    ``least_ratio``, the least E h / D over all moves and lengths; ``holds``, whether it is positive; ``asleep``, how
    many true experts win at no input of the sample; ``counterexample``, 1 if one of them certainly wins nowhere (NaN in
    more than three dimensions); ``least_wins``, the smallest share of inputs that an expert wins; ``deficit``, how many
    directions do not change the density; ``agrees``, whether the ratio is positive exactly if no expert is asleep, and
    the deficit is the number of coordinates of those that are. Over ``length``:
    ``ratio``, the least E h / D; ``largest``, the largest E h.
    """
    rng = streams("moves", **s.model_dump(exclude={"pool_log2", "evaluation_points"}))
    model, truth = _drawn(s, rng) if s.design == "drawn" else true_mixture(s.design)
    pool = sobol_inputs(model.d, s.pool_log2)
    wins = model.winners(truth, pool).mean(axis=-1)
    state = information(model, truth, pool, s.evaluation_points, rng)
    at = ratios(model, truth, moves(model, truth, state.weakest, rng), LENGTH, pool, s.evaluation_points)
    asleep = int(np.sum(wins == 0))
    holds = bool(at.ratio.min() > POSITIVE)
    return {
        "ratio": at.ratio.min(axis=0),
        "largest": at.hellinger.max(axis=0),
        "least_ratio": at.ratio.min(),
        "holds": holds,
        "asleep": float(asleep),
        "counterexample": float(certainly_asleep(model, truth).any()) if model.d <= 3 else np.nan,
        "least_wins": wins.min(),
        "deficit": float(state.deficit),
        "agrees": holds == (asleep == 0) and state.deficit == asleep * model.atom_size,
    }


def _drawn(s: Settings, rng: np.random.Generator) -> tuple[Competition, np.ndarray]:
    """Draw weights from N(0, 1) and variances from U[0.2, 0.5]."""
    model = Competition(s.d, s.expert, s.active)
    truth = np.empty((s.experts, model.atom_size))
    truth[:, model.w] = rng.standard_normal((s.experts, model.weight_size))
    truth[:, model.variance] = rng.uniform(0.2, 0.5, (s.experts, 1))
    if s.tied:
        truth[1, model.w] = -truth[0, model.w]
    return model, truth

"""The start of the mixture (Lemma 6), and how many experts it takes until every cluster has one: the lower end of M.

An expert's profession (Definition 2) is drawn with its initial weights, so that no training is needed: only the signals
and the starts of the study ``expert_count``, in units of sigma_0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.models import patches
from moestat.replicates import Row, Streams, each
from studies.expert_count.parts import cubic_experts

VERSION = 1


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    clusters: int = Field(4, ge=2, description="K")
    count: Literal["linear", "K log K", "coverage"] = Field(
        "coverage", description="M: factor times K, K log K, or K log(K / delta) (Lemma 6, constant 1), rounded up"
    )
    factor: float = Field(2.0, gt=0, description="ours: M over K where M is linear in K")
    delta: float = Field(
        0.05, gt=0, lt=1, description="probability of Lemma 6 that a cluster is left without an expert"
    )
    dimension: int = Field(64, ge=4, description="d, at least 2 K")
    neurons: int = Field(8, ge=1, description="J, neurons of an expert")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.dimension < (least := 2 * self.clusters):
            raise ValueError(f"dimension is {self.dimension}; {self.clusters} clusters need at least {least}")
        return self

    @property
    def experts(self) -> int:
        """M."""
        if self.count == "linear":
            return int(np.ceil(self.factor * self.clusters))
        left_out = 1.0 if self.count == "K log K" else self.delta
        return int(np.ceil(self.clusters * np.log(self.clusters / left_out)))


@each(finished="The starts were drawn.", iterations=1)
def run(s: Settings, streams: Streams) -> Row:
    """Draw the signals and the initial weights, and count the clusters that have an expert.

    ``experts``: M; ``clusters_with_expert``; ``covered``: whether that is all of them; ``leads``: whether every
    expert's best product of a weight with a signal is ahead of its next by the share delta / (3 M J^2 K^2) of Lemma 6,
    ``reaches``: whether it is at least 0.01 sigma_0. The device plays no part.
    """
    rng = streams("directions", clusters=s.clusters, dimension=s.dimension)
    signals = patches.dictionary(rng, s.clusters, s.dimension).labels
    rng = streams("start", dimension=s.dimension, neurons=s.neurons)
    weights = rng.standard_normal((1, s.experts, 1, s.neurons, s.dimension))
    next_best, best = np.sort(np.reshape(weights @ signals.T, (s.experts, -1)), axis=1)[:, -2:].T
    count = cubic_experts.clusters_with_expert(cubic_experts.profession(weights, signals[None]), s.clusters)[0]
    share = s.delta / (3 * s.experts * s.neurons**2 * s.clusters**2)
    return {
        "experts": float(s.experts),
        "clusters_with_expert": count,
        "covered": count == s.clusters,
        "leads": bool(np.all(next_best <= (1 - share) * best)),
        "reaches": bool(np.all(best >= 0.01)),
    }

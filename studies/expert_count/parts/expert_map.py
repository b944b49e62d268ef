"""Accuracy and dispatch entropy of a top-1 mixture after several numbers of steps: readings of Fig. 1.

Algorithm 1 of "On the Impact of Expert Count in Mixture of Experts" with its printed rates and J = 8. What is not
printed is a setting or our reading: n, sigma_0, the numbers of steps, the activation, and that CNN experts and their
router share their parameters over the patches. Cells that differ in the experts alone share their data and, expert by
expert, their starts.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.losses import routing
from moestat.replicates import Row, Streams, each, steps
from studies.expert_count.parts import curve_training
from studies.expert_count.parts.curve_training import Sample, draw, outputs, scores

VERSION = 1
NEURONS = 8


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    expert: Literal["mlp", "cnn"] = Field("mlp", description="weights of their own for each patch, or shared (ours)")
    activation: Literal["cube", "tanh"] = Field("cube", description="ours: of the neurons")
    experts: int = Field(8, ge=1, description="M")
    patches: int = Field(4, ge=4, description="P, of which P - 3 hold noise")
    clusters: int = Field(4, ge=2, description="K")
    dimension: int = Field(50, ge=4, description="d, at least 2 K")
    n: int = Field(500, ge=1, description="ours: training samples")
    start_scale: float = Field(0.1, gt=0, description="ours: sigma_0, standard deviation of the initial weights")
    horizons: tuple[int, ...] = Field((10_000,), min_length=1, description="ours: T, at each of which all is measured")
    test_samples: int = Field(4000, ge=1, description="ours: test samples")
    expert_rate: float = Field(0.001, gt=0, description="eta, length of an expert's step")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.dimension < (least := 2 * self.clusters):
            raise ValueError(f"dimension is {self.dimension}; {self.clusters} clusters need at least {least}")
        if list(self.horizons) != sorted(set(self.horizons)) or self.horizons[0] < 1:
            raise ValueError(f"horizons are {list(self.horizons)}; allowed are numbers of steps that increase from 1")
        return self

    @property
    def eta_r(self) -> float:
        """The router's learning rate, as printed for each M."""
        return 0.1 if self.experts <= 16 else 0.25 if self.experts <= 32 else 0.4


def _measure(weights: np.ndarray, theta: np.ndarray, training: Sample, test: Sample, s: Settings) -> dict[str, float]:
    right, sent = {}, {}
    for name, sample in (("train_accuracy", training), ("accuracy", test)):
        sent[name] = np.argmax(scores(sample.x, theta), axis=1)
        right[name] = float(np.mean(sample.y * outputs(weights, sample.x, sent[name], s.activation == "tanh") > 0))
    counts = routing.counts(sent["accuracy"], test.cluster, s.experts, s.clusters)
    return right | {
        "entropy": float(routing.dispatch_entropy(counts)),
        "experts_used": float(routing.experts_used(counts)),
    }


@each(
    dims=dict.fromkeys(("accuracy", "train_accuracy", "entropy", "experts_used"), ("step",)),
    coords=lambda s: {"step": np.asarray(s.horizons)},
)
def run(s: Settings, streams: Streams) -> Row:
    """Train one mixture, and measure at every horizon its accuracies, dispatch entropy and experts in use."""
    world = {"clusters": s.clusters, "dimension": s.dimension, "patches": s.patches}

    def sample(name: str, n: int) -> Sample:
        scalars, vectors = (streams(f"{name}: {what}", **world) for what in ("scalars", "vectors"))
        return draw(scalars, vectors, n, s.patches, s.clusters, s.dimension)

    training, test = sample("training", s.n), sample("test", s.test_samples)
    own = s.patches if s.expert == "mlp" else 1
    drawn = streams("start", dimension=s.dimension).standard_normal((s.experts, 1, NEURONS, s.dimension))
    mixture = curve_training.start(
        training,
        np.repeat(s.start_scale * drawn, own, axis=1),
        np.zeros((own, s.dimension, s.experts)),
        bounded=s.activation == "tanh",
    )
    noise = streams("routing noise", experts=s.experts, n=s.n).bit_generator
    size = s.n * s.experts
    measured = []
    for step in range(1, s.horizons[-1] + 1):
        uniform = noise.random_raw(-(-size // 2)).view(np.uint32)[:size].reshape(s.n, s.experts)
        mixture.step(uniform, s.expert_rate, s.eta_r)
        if step in s.horizons:
            measured.append(_measure(mixture.weights, mixture.theta, training, test, s))
    row = {name: np.array([at[name] for at in measured]) for name in measured[0]}
    return row | steps(row, s.horizons[-1])

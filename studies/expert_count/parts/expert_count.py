"""Accuracy and dispatch entropy of a top-1 mixture against the number of experts.

Algorithm 1 of "On the Impact of Expert Count in Mixture of Experts" on the data of its Definition 1. The paper leaves
out the sample size, the number of steps, the scale of the start and the scale of the inputs: they are settings here,
with defaults of ours. Cells that differ in the experts alone share their data and, expert by expert, their starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat import arrays
from moestat.arrays import Array
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.losses import routing
from moestat.models import patches
from moestat.models.patches import Law
from moestat.status import Status
from studies.expert_count.parts import cubic_experts
from studies.expert_count.parts.top_one import train


@dataclass(frozen=True)
class Sample:
    """A batch of samples: patches (B, n, P, d), the router's features, labels, clusters and noise in evaluation."""

    x: Array
    features: Array
    y: Array
    cluster: Array
    noise: Array | None

    def routed(self, theta: Array) -> tuple[Array, Array]:
        """Return the scores (B, n, M) and the expert (B, n) of each sample in evaluation."""
        xp = arrays.namespace(theta)
        scores = xp.matmul(self.features, theta)
        return scores, xp.argmax(scores if self.noise is None else scores + self.noise, axis=-1)


def measure(
    weights: Array, theta: Array, training: Sample, test: Sample, profession: Array, clusters: int
) -> dict[str, np.ndarray]:
    """Compute the variables of one step, replicate first: (B,), (B, M) or (B, M, K); ``variables.toml`` names them.

    ``weights`` (B, M, P or 1, J, d); ``theta`` (B, F, M); ``profession`` (B, M): see
    :func:`.cubic_experts.profession`; ``clusters``: K.
    """
    xp = arrays.namespace(weights, theta)
    experts = weights.shape[1]
    scores, expert = training.routed(theta)
    margin = training.y * cubic_experts.routed_outputs(weights, training.x, expert)
    out = {
        "train_accuracy": xp.mean(xp.astype(margin > 0, xp.float64), axis=-1),
        "train_loss": cubic_experts.mean_loss(scores, expert, margin),
    }
    scores, expert = test.routed(theta)
    margins = test.y[:, :, None] * cubic_experts.outputs(weights, test.x)
    margin = cubic_experts.at_expert(margins, expert)
    sent = routing.counts(expert, test.cluster, experts, clusters)
    error = cubic_experts.error_by_cluster(~(margins > 0), test.cluster, clusters)
    own_error, other_error = cubic_experts.own_cluster(error, profession)
    own_sent, _ = cubic_experts.own_cluster(sent, profession)
    # the division of the experts after the training; where one is equally good on several clusters, its load decides
    division = xp.argmin(error - 1e-9 * sent / test.y.shape[-1], axis=-1)
    best_sent, _ = cubic_experts.own_cluster(sent, division)
    out |= {
        "accuracy": xp.mean(xp.astype(margin > 0, xp.float64), axis=-1),
        "loss": cubic_experts.mean_loss(scores, expert, margin),
        "entropy": routing.dispatch_entropy(sent),
        "experts_used": routing.experts_used(sent),
        "best_cluster_error": xp.mean(xp.min(error, axis=-1), axis=-1),
        "own_error": xp.mean(own_error, axis=-1),
        "other_error": xp.mean(other_error, axis=-1),
        "routed_to_own": xp.sum(own_sent, axis=-1) / test.y.shape[-1],
        "routed_to_best": xp.sum(best_sent, axis=-1) / test.y.shape[-1],
        "clusters_with_best": cubic_experts.clusters_with_expert(division, clusters),
        "error": error,
    }
    return {name: arrays.to_numpy(value) for name, value in out.items()}


VERSION = 1

LAST = (
    *("accuracy", "train_accuracy", "entropy", "experts_used", "own_error", "routed_to_own"),
    *("best_cluster_error", "routed_to_best", "clusters_with_best"),
)
"""Variables that are repeated, as ``last_...``, for the last step."""

EXPLORED = ("best_cluster_error", "own_error", "other_error")
"""Variables that are measured, as ``explored_...``, at the end of the exploration stage."""


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    expert: Literal["mlp", "cnn"] = Field("mlp", description="weights of their own for each patch, or shared")
    experts: int = Field(8, ge=1, description="M")
    patches: int = Field(4, ge=3, description="P")
    clusters: int = Field(4, ge=2, description="K")
    dimension: int = Field(50, ge=4, description="d, at least 2 K")
    neurons: int = Field(8, ge=1, description="J, neurons of an expert (of an MLP expert: for each patch)")
    input_scale: float = Field(
        10.0, gt=0, description="ours: all inputs are multiplied by it, as in the code of Chen et al. (2022)"
    )
    n: int = Field(8000, ge=1, description="ours: training samples")
    test_samples: int = Field(4000, ge=1, description="ours: test samples")
    steps: int = Field(400, ge=1, description="ours: T, full-batch steps")
    records: int = Field(
        21, ge=2, description="ours: number of evenly spaced steps, both ends included, at which all is measured"
    )
    start: Literal["equal", "independent"] = Field("equal", description="initial weights over patches: Lemma 2 or 3")
    start_scale: float = Field(0.01, gt=0, description="ours: sigma_0, standard deviation of the initial weights")
    expert_rate: float = Field(0.001, gt=0, description="eta, length of an expert's step")
    router_rate: float | Literal["paper", "theorem"] = Field(
        "paper",
        description="eta_r; 'paper': 0.1 to M = 16, 0.25 to M = 32, 0.4 above; 'theorem': M^2 eta; 0: router off",
    )
    router: Literal["auto", "patches", "shared"] = Field(
        "auto", description="router's parameters: one Theta per patch or one for all; auto: as the experts' weights"
    )
    routing_noise: float = Field(1.0, ge=0, description="the routing noise in training is Unif[0, this]")
    evaluation_noise: bool = Field(False, description="ours: whether the routing is noisy in evaluation too")
    expert_slots: int = Field(64, ge=1, description="length of the dimension `expert`, padded with NaN beyond M")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.experts > self.expert_slots:
            raise ValueError(f"experts is {self.experts}; expert_slots = {self.expert_slots} must be at least that")
        if self.dimension < (least := 2 * self.clusters):
            raise ValueError(f"dimension is {self.dimension}; {self.clusters} clusters need at least {least}")
        if self.steps < self.records - 1:
            raise ValueError(f"records is {self.records}; {self.steps} steps allow at most {self.steps + 1}")
        return self

    @property
    def eta_r(self) -> float:
        """The router's learning rate as a number."""
        if self.router_rate == "theorem":
            return self.experts**2 * self.expert_rate
        if self.router_rate == "paper":
            return 0.1 if self.experts <= 16 else 0.25 if self.experts <= 32 else 0.4
        return float(self.router_rate)

    @property
    def sees(self) -> Literal["patches", "shared"]:
        """Whether the router has parameters of its own for each patch."""
        if self.router == "auto":
            return "patches" if self.expert == "mlp" else "shared"
        return self.router

    @property
    def exploration(self) -> int:
        """T_1 = floor(sqrt(sigma_0) / eta), the end of the paper's exploration stage, or T if that comes first.

        In the units of the paper's inputs: weights w on inputs c x are weights c w on inputs x, so that sigma_0 and eta
        are c times those of the settings (and eta_r is c^2 times).
        """
        scale = self.input_scale
        return min(self.steps, int(np.sqrt(scale * self.start_scale) / (scale * self.expert_rate)))

    @property
    def recorded(self) -> list[int]:
        """The steps at which all is measured."""
        return [int(step) for step in np.round(np.linspace(0, self.steps, self.records))]


def _data(cell: Cell, s: Settings, replicate: int) -> tuple[patches.Dictionary, patches.Examples, patches.Examples]:
    """Draw the directions, the training sample and the test sample of a replicate."""
    world = {"clusters": s.clusters, "dimension": s.dimension}
    directions = patches.dictionary(cell.generator(replicate, "directions", **world), s.clusters, s.dimension)

    def draw(name: str, n: int) -> patches.Examples:
        identity = {**world, "patches": s.patches, **asdict(Law())}
        scalars = cell.generator(replicate, f"{name}: scalars", **identity)
        vectors = cell.generator(replicate, f"{name}: vectors", **identity)
        return patches.draw(scalars, vectors, directions, n, s.patches)

    return directions, draw("training", s.n), draw("test", s.test_samples)


def _start(cell: Cell, s: Settings, replicate: int) -> np.ndarray:
    """Draw the initial weights, (M, P or 1, J, d); the first experts of a larger M are those of a smaller one."""
    shape = (s.experts, s.neurons, s.dimension)
    drawn = [
        cell.generator(replicate, f"start: patch {p}", dimension=s.dimension, neurons=s.neurons).standard_normal(shape)
        for p in range(s.patches if s.expert == "mlp" and s.start == "independent" else 1)
    ]
    own = np.stack(drawn, axis=1)
    if s.expert == "mlp":
        own = np.broadcast_to(own, (s.experts, s.patches, s.neurons, s.dimension))
    return s.start_scale * own


def _train(cell: Cell, s: Settings, replicates: list[int], xp: Any) -> dict[str, np.ndarray]:
    """Train a batch of replicates and return what was recorded, replicate first."""
    directions, *drawn = zip(*(_data(cell, s, r) for r in replicates), strict=True)

    def noise(purpose: str, n: int) -> Iterator[Array]:
        """Yield routing noise, (B, n, M), one draw per step: a longer run repeats the steps of a shorter one."""
        generators = [cell.generator(r, f"routing noise: {purpose}", experts=s.experts, n=n) for r in replicates]
        while True:
            yield xp.asarray(np.stack([s.routing_noise * rng.random((n, s.experts)) for rng in generators]))

    def sample(purpose: str, examples: Sequence[patches.Examples]) -> Sample:
        x = xp.asarray(np.stack([s.input_scale * each.x for each in examples]))
        return Sample(
            x=x,
            features=cubic_experts.router_features(x, s.sees),
            y=xp.asarray(np.stack([each.y for each in examples])),
            cluster=xp.asarray(np.stack([each.cluster for each in examples])),
            noise=next(noise(purpose, x.shape[1])) if s.evaluation_noise else None,
        )

    training, test = sample("training sample", drawn[0]), sample("test sample", drawn[1])
    weights = xp.asarray(np.stack([_start(cell, s, r) for r in replicates]))
    theta = xp.zeros((len(replicates), training.features.shape[-1], s.experts), dtype=xp.float64)
    profession = cubic_experts.profession(weights, xp.asarray(np.stack([each.labels for each in directions])))
    measured: dict[int, dict[str, np.ndarray]] = {}

    def observe(step: int, weights: Array, theta: Array) -> None:
        measured[step] = measure(weights, theta, training, test, profession, s.clusters)

    train(
        *(training.x, training.features, training.y, weights, theta, noise("training", s.n)),
        steps=s.steps,
        expert_rate=s.expert_rate,
        router_rate=s.eta_r,
        observe=observe,
        at={*s.recorded, s.exploration},
    )
    out = {name: np.stack([measured[step][name] for step in s.recorded], axis=1) for name in measured[0]}
    out |= {f"explored_{name}": measured[s.exploration][name] for name in EXPLORED}
    out["clusters_with_expert"] = arrays.to_numpy(cubic_experts.clusters_with_expert(profession, s.clusters))
    return out


def run(cell: Cell, replicates: Sequence[int], *, device: str = "auto") -> xr.Dataset:
    """Train the mixture and measure accuracy, routing and the experts along the way.

    The variables of :func:`measure` over ``step``, those of experts padded with NaN to ``expert_slots``, and per
    replicate: ``last_...`` at the last step, ``best_...`` at the step of the best test accuracy (a choice that looks at
    the test sample), ``explored_...`` at the end of the exploration stage, ``late_change``: of the test accuracy over
    the last quarter of the steps, and ``clusters_with_expert`` at the start.
    """
    s = Settings.model_validate(dict(cell.settings))
    resolved = arrays.resolve_device(device)
    batches = [list(replicates)] if resolved == "cuda" else [[r] for r in replicates]
    parts = [_train(cell, s, batch, arrays.backend(resolved)) for batch in batches]
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    dims = {name: ("step", "expert", "cluster")[: value.ndim - 1] for name, value in values.items()}
    slots = [(0, 0), (0, 0), (0, s.expert_slots - s.experts), (0, 0)]
    values["error"] = np.pad(values["error"], slots, constant_values=np.nan)
    steps, accuracy = np.asarray(s.recorded), values["accuracy"]
    finite = np.all(np.isfinite(values["train_loss"]) & np.isfinite(values["loss"]), axis=1)
    best = np.argmax(accuracy, axis=1)
    values |= {f"last_{name}": values[name][:, -1] for name in LAST} | {
        "status": np.where(finite, int(Status.CONVERGED), int(Status.NOT_FINITE)),
        "message": np.where(finite, f"All {s.steps} steps were taken.", Status.NOT_FINITE.sentence),
        "iterations": np.full(len(best), s.steps),
        "best_step": steps[best],
        "best_accuracy": np.max(accuracy, axis=1),
        "late_change": accuracy[:, -1] - accuracy[:, np.argmin(np.abs(steps - 0.75 * s.steps))],
    }
    return assemble(
        replicates,
        values,
        dims=dims,
        coords={"step": steps, "expert": np.arange(s.expert_slots), "cluster": np.arange(s.clusters)},
    )

"""A mixture of transformers and its rivals on the data of Definition 1, trained in three stages.

Algorithm 1 of "Mixture-of-Transformers Learn Faster". The paper states neither the law of the perturbation r nor
whether the routing is noisy in evaluation, nor sample size, dimension and learning rates. Cells share data and, expert
by expert, starts, so that models and optimisers are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat import arrays
from moestat.arrays import Array
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.models import patches
from moestat.status import Status
from studies.mixture_of_transformers.parts import decay
from studies.mixture_of_transformers.parts.model import Mixture, MultiHead
from studies.mixture_of_transformers.parts.mot_measures import OVER_EPOCHS, STAGES, TOKENS, Sample, View, measure
from studies.mixture_of_transformers.parts.staged_training import Schedule, StepRule, train

VERSION = 1


HEADS, NEURONS = 2, 16
"""Heads of the multi-head transformer, and neurons of its FFN (ours)."""
ATTENTION = 5.0
"""v_n' KQ v_n of the ideal start (ours)."""


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    model: Literal["mot", "no-attention", "multi-head"] = Field(
        "mot",
        description="mixture of transformers; mixture without attention; or one multi-head transformer with a shared "
        "ReLU FFN and no router",
    )
    start: Literal["random", "specialised", "ideal"] = Field(
        "random",
        description="N(0, sigma_0^2 / d); or what Prop. 1 promises (class-pure routing, W = v_n); or what Props. 1 "
        "and 2 do (and KQ = a v_n v_n')",
    )
    classes: int = Field(4, ge=2, description="N")
    experts: int = Field(8, ge=1, description="M")
    tokens: int = Field(5, ge=3, description="L")
    dimension: int = Field(32, ge=4, description="d, at least 2 N (ours)")
    samples: int = Field(400, ge=1, description="K, training samples (ours)")
    test_samples: int = Field(1000, ge=1, description="test samples (ours)")
    token_noise: float = Field(0.5, ge=0, description="sigma_xi: a noise token is N(0, sigma_xi^2 / d I)")
    start_scale: float = Field(3.0, gt=0, description="sigma_0 (ours)")
    ideal_weight: float = Field(1.0, gt=0, description="ours: <W, v_n> of the ideal start")
    specialise_steps: int = Field(2000, ge=0, description="T1 (ours)")
    attention_steps: int = Field(400, ge=0, description="T2 - T1 (ours)")
    tuning_steps: int = Field(8000, ge=0, description="T - T2 (ours)")
    specialise_rate: float = Field(1e-3, gt=0, description="eta of stage I (ours)")
    attention_rate: float = Field(20.0, gt=0, description="eta_a (ours)")
    router_rate: float = Field(100.0, ge=0, description="eta_r (ours)")
    tuning_rate: float = Field(10.0, gt=0, description="eta of stage III (ours)")
    tuning_rule: StepRule = Field("gd", description="step rule of stage III; gradient descent in the paper")
    perturbation_scale: float = Field(1.0, gt=0, description="ours: r is uniform on [0, this]")
    records_per_decade: int = Field(12, ge=2, description="log-spaced steps of each stage at which all is measured")
    gap_level: float = Field(1.0, gt=0, description="ours: mean specialisation gap that ends stage I")
    attention_level: float = Field(0.4, gt=0, lt=1, description="ours: p(v_n, v_n) that ends stage II")
    expert_slots: int = Field(8, ge=1, description="length of the dimension `expert`, padded with NaN beyond M")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.dimension < 2 * self.classes:
            raise ValueError(f"dimension is {self.dimension}; {self.classes} classes need at least {2 * self.classes}")
        if self.model != "multi-head" and self.experts > self.expert_slots:
            raise ValueError(f"experts is {self.experts}; expert_slots = {self.expert_slots} must be at least that")
        if self.start != "random" and (self.model == "multi-head" or self.experts < self.classes):
            raise ValueError(
                f"start = '{self.start}' needs experts of their own, as many as classes; or take start = 'random'"
            )
        if self.start != "random" and self.specialise_steps > 0:
            raise ValueError(f"start = '{self.start}' is the end of stage I: specialise_steps must be 0")
        if self.start == "ideal" and self.attention_steps > 0:
            raise ValueError("start = 'ideal' is the end of stage II: attention_steps must be 0")
        if 0 < self.tuning_steps < 100:
            raise ValueError(f"tuning_steps is {self.tuning_steps}; allowed are 0 and at least 100")
        if self.specialise_steps + self.attention_steps + self.tuning_steps == 0:
            raise ValueError("all three stages have 0 steps; at least one must have some")
        return self

    @property
    def ends(self) -> tuple[int, int, int]:
        """T1, T2 and T."""
        first = self.specialise_steps
        return first, first + self.attention_steps, first + self.attention_steps + self.tuning_steps

    @property
    def recorded(self) -> list[int]:
        """The steps at which all is measured: 0, and log-spaced ones in each stage, both ends included."""
        steps_to_record = {0}
        for begin, steps in zip((0, *self.ends[:2]), np.diff((0, *self.ends)), strict=True):
            if steps:
                count = int(np.ceil(self.records_per_decade * np.log10(max(int(steps), 2)))) + 1
                steps_to_record |= {begin + int(t) for t in np.round(np.geomspace(1, steps, count))}
        return sorted(steps_to_record)

    @property
    def schedule(self) -> Schedule:
        """What the training algorithm needs to know."""
        rates = self.specialise_rate, self.attention_rate, self.router_rate, self.tuning_rate
        return Schedule(*self.ends, *rates, tuning_rule=self.tuning_rule)


def _data(cell: Cell, s: Settings, replicate: int) -> tuple[patches.Dictionary, patches.Examples, patches.Examples]:
    """Draw the directions, the training sample and the test sample of a replicate (Definition 1)."""
    world = {"classes": s.classes, "dimension": s.dimension}
    directions = patches.dictionary(cell.generator(replicate, "directions", **world), s.classes, s.dimension)
    law = patches.Law(signal=(1, 1), centre=(1, 1), feature_noise=(1, 1), noise_scale=s.token_noise)

    def draw(name: str, n: int) -> patches.Examples:
        # the noise tokens of cells with another scale are multiples of each other
        scalars = cell.generator(replicate, f"{name}: scalars", tokens=s.tokens, **world)
        vectors = cell.generator(replicate, f"{name}: vectors", tokens=s.tokens, **world)
        return patches.draw(scalars, vectors, directions, n, s.tokens, law)

    return directions, draw("training", s.samples), draw("test", s.test_samples)


def _start(cell: Cell, s: Settings, replicate: int, directions: patches.Dictionary) -> tuple[np.ndarray, ...]:
    """Draw the initial weights and key-query matrices; the first experts of a larger M are those of a smaller one."""
    d, heads = s.dimension, s.model == "multi-head"
    labels = directions.labels[np.arange(s.experts) % s.classes]
    if s.start == "ideal":
        return s.ideal_weight * labels, ATTENTION * labels[:, :, None] * labels[:, None, :]
    kind = {"kind": s.model if heads else "experts", "dimension": d}
    shape = (NEURONS, HEADS, d) if heads else (s.experts, d)
    weights = cell.generator(replicate, "start: weights", **kind).standard_normal(shape)
    count = HEADS if heads else s.experts
    kq = cell.generator(replicate, "start: attention", dimension=d).standard_normal((count, d, d))
    scale = s.start_scale / np.sqrt(d)
    return s.ideal_weight * labels if s.start == "specialised" else scale * weights, scale * kq


def _ideal_routing(cell: Cell, s: Settings, replicate: int, purpose: str, cluster: np.ndarray) -> np.ndarray:
    """Send every sample to one of the experts of its class, each with the same probability."""
    members = 1 + (s.experts - 1 - np.arange(s.classes)) // s.classes
    u = cell.generator(replicate, f"ideal routing: {purpose}", experts=s.experts).random(len(cluster))
    return cluster + s.classes * (u * members[cluster]).astype(np.int64)


def _noise(s: Settings, generators: Sequence[np.random.Generator], n: int, xp: Any) -> Iterator[Array]:
    """Yield perturbations, (B, M, n), one draw per step: a longer run repeats the steps of a shorter one."""
    while True:
        yield xp.asarray(s.perturbation_scale * np.stack([rng.random((s.experts, n)) for rng in generators]))


def _train(cell: Cell, s: Settings, replicates: list[int], xp: Any) -> dict[str, np.ndarray]:
    """Train a batch of replicates and return what was recorded, (B, epoch, ...)."""
    directions, *drawn = zip(*(_data(cell, s, r) for r in replicates), strict=True)
    labels, centres = (xp.asarray(np.stack([getattr(d, name) for d in directions])) for name in ("labels", "centres"))

    def sample(examples: Sequence[patches.Examples]) -> Sample:
        parts = ("x", "y", "cluster", "position")
        return Sample(*(xp.asarray(np.stack([getattr(each, part) for each in examples])) for part in parts))

    training, test = sample(drawn[0]), sample(drawn[1])
    starts = [_start(cell, s, r, d) for r, d in zip(replicates, directions, strict=True)]
    weights, kq = (xp.asarray(np.stack(part)) for part in zip(*starts, strict=True))
    model: Mixture | MultiHead
    noise = test_noise = None
    sent: list[Array | None] = [None, None]
    if s.model == "multi-head":
        model = MultiHead(training.x, weights, kq)
    else:
        theta = xp.zeros((len(replicates), s.experts, s.dimension), dtype=xp.float64)
        model = Mixture(training.x, weights, None if s.model == "no-attention" else kq, theta)
        sizes = {"training": s.samples, "test": s.test_samples}
        if s.start == "random":
            draws = [
                [cell.generator(r, f"perturbation: {name}", experts=s.experts, n=n) for r in replicates]
                for name, n in sizes.items()
            ]
            noise = _noise(s, draws[0], s.samples, xp)
            test_noise = next(_noise(s, draws[1], s.test_samples, xp))
        else:
            for place, (name, examples) in enumerate(zip(sizes, drawn, strict=True)):
                pairs = zip(replicates, examples, strict=True)
                sent[place] = xp.asarray(np.stack([_ideal_routing(cell, s, r, name, e.cluster) for r, e in pairs]))
            model.send(sent[0])

    views = View(training, model, sent[0]), View(test, model, sent[1])
    measured: list[dict[str, np.ndarray]] = []
    train(
        model,
        training.y,
        s.schedule,
        noise,
        lambda _: measured.append(measure(*views, labels, centres, test_noise)),
        s.recorded,
    )
    return {name: np.stack([each[name] for each in measured], axis=1) for name in measured[0]}


def run(cell: Cell, replicates: Sequence[int], *, device: str = "auto") -> xr.Dataset:
    """Train a model and measure loss, specialisation, routing and attention along the way.

    Over ``epoch`` (steps taken): the variables of ``OVER_EPOCHS``; ``attention`` by ``query`` and ``key``;
    ``on_labels`` <W, v_n> by ``expert`` and ``class``, padded with NaN to ``expert_slots``. Over ``stage`` ("start",
    "I", "II", "III": at its end): ``after_...`` of the same. Over ``tuning`` (steps of stage III), with laws fitted to
    it: see ``decay.tuning``. Per replicate: lengths of the stages, see ``decay.stage_lengths``.
    """
    s = Settings.model_validate(dict(cell.settings))
    resolved = arrays.resolve_device(device)
    batches = [list(replicates)] if resolved == "cuda" else [[r] for r in replicates]
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is recorded as such
        parts = [_train(cell, s, batch, arrays.backend(resolved)) for batch in batches]
    out = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    epochs = np.asarray(s.recorded)
    finite = np.all(np.isfinite(out["train_loss"]) & np.isfinite(out["test_loss"]), axis=1)
    values = {
        "status": np.where(finite, int(Status.CONVERGED), int(Status.NOT_FINITE)),
        "message": np.where(finite, f"All {s.ends[2]} steps were taken.", Status.NOT_FINITE.sentence),
        "iterations": np.full(len(finite), s.ends[2]),
    }
    dims: dict[str, tuple[str, ...]] = {}
    at_stage = [s.recorded.index(t) for t in (0, *s.ends)]
    shapes = {"on_labels": ("expert", "class"), "attention": ("query", "key")}
    for name, recorded in out.items():
        own = shapes.get(name, ())
        padding = [(0, 0), (0, 0), *((0, s.expert_slots - recorded.shape[2] if dim == "expert" else 0) for dim in own)]
        values[name] = np.pad(recorded, padding, constant_values=np.nan) if "expert" in own else recorded
        values[f"after_{name}"] = values[name][:, at_stage]
        dims |= {name: ("epoch", *own), f"after_{name}": ("stage", *own)}
    of_tuning, steps = decay.tuning(epochs, s.ends[1], out["train_loss"], out["test_loss"])
    lengths = decay.stage_lengths(epochs, s.ends, out, s.gap_level, s.attention_level)
    about = {f"{prefix}{name}": text for name, text in OVER_EPOCHS.items() for prefix in ("", "after_")}
    return assemble(
        replicates,
        values | of_tuning | lengths,
        dims=dims | decay.DIMS,
        coords={
            "epoch": epochs,
            "stage": list(STAGES),
            "query": list(TOKENS),
            "key": list(TOKENS),
            "expert": np.arange(s.expert_slots),
            "class": np.arange(s.classes),
            **steps,
        },
        attrs={name: {"long_name": text} for name, text in about.items()},
    )

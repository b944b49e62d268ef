"""What specialisation does to the gradients and the losses of experts: conflicts and strong convexity.

"Our analysis shows how expert specialization reduces gradient conflicts and makes each subtask strongly convex"
(abstract of "Mixture-of-Transformers Learn Faster"). Algorithm 1 is run on the data of Definition 1, beside it a single
transformer and the multi-head transformer of Fig. 1(b), which see all samples. Two gradients conflict if their inner
product is negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat.experiment import Cell, SettingsModel, assemble
from moestat.models import patches
from moestat.models.logistic import logistic_slope
from moestat.papers.mixture_of_transformers import landscape_measures as landscape
from moestat.papers.mixture_of_transformers.model import Mixture
from moestat.papers.mixture_of_transformers.multi_head import MultiHead
from moestat.papers.mixture_of_transformers.staged_training import Schedule, train
from moestat.status import Status

VERSION = 1

STATES = ("start", "I", "II", "III")

OF_STATES = {
    "conflict": "share of pairs of samples at one expert whose gradients in W conflict",
    "agreement": "length of an expert's mean gradient in W over the mean length",
    "attention_conflict": "share of pairs of samples at one expert whose gradients in W_KQ conflict",
    "across": "share of pairs of samples at one expert that are of different classes",
}
OVER_TUNING = {
    "loss": "mean logistic loss of the training sample",
    "polyak": "|grad|^2 / (2 loss) of an expert's loss in W, largest over experts",
    "curvature": "least eigenvalue of the Hessian of an expert's loss in W, largest over experts",
}
"""Variables by state of the model, and over steps of stage III, and what they are."""

CONVEXITY = "loss of the FFN less that halfway to itself with neurons permuted, relative, least of 20"


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    model: Literal["mot", "multi-head"] = Field(
        "mot", description="mixture of transformers (with one expert: a single one), or multi-head without router"
    )
    start: Literal["random", "specialised", "ideal"] = Field(
        "random",
        description="N(0, sigma_0^2 / d), trained in three stages; or what Prop. 1 promises (class-pure routing, "
        "W = v_n), without stage I; or what Props. 1 and 2 do (and KQ = a v_n v_n'), with stage III alone",
    )
    classes: int = Field(4, ge=2, description="N")
    experts: int = Field(8, ge=1, description="M")
    tokens: int = Field(5, ge=4, description="L (ours)")
    dimension: int = Field(32, ge=4, description="d, at least 2 N (ours)")
    samples: int = Field(400, ge=10, description="K, training samples (ours)")
    token_noise: float = Field(0.5, ge=0, description="sigma_xi (ours)")
    heads: int = Field(2, ge=1, description="heads of the multi-head transformer (ours)")
    neurons: int = Field(16, ge=2, description="neurons of the multi-head transformer's FFN (ours)")
    start_scale: float = Field(3.0, gt=0, description="sigma_0 (ours)")
    ideal_attention: float = Field(5.0, ge=0, description="ours: v_n' KQ v_n of the ideal start")
    specialise_steps: int = Field(2000, ge=1, description="T1 (ours)")
    attention_steps: int = Field(400, ge=1, description="T2 - T1 (ours)")
    tuning_steps: int = Field(8000, ge=20, description="T - T2 (ours)")
    specialise_rate: float = Field(1e-3, gt=0, description="eta of stage I (ours)")
    attention_rate: float = Field(20.0, gt=0, description="eta_a (ours)")
    router_rate: float = Field(100.0, ge=0, description="eta_r (ours)")
    tuning_rate: float = Field(10.0, gt=0, description="eta of stage III (ours)")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.dimension < 2 * self.classes:
            raise ValueError(f"dimension is {self.dimension}; {self.classes} classes need at least {2 * self.classes}")
        if self.start != "random" and (self.model != "mot" or self.experts < self.classes):
            raise ValueError(f"start = {self.start!r} needs model = 'mot' and as many experts as classes")
        return self

    @property
    def ends(self) -> tuple[int, int, int]:
        """T1, T2 and T; what a start promises is not trained."""
        first = self.specialise_steps if self.start == "random" else 0
        second = first + (0 if self.start == "ideal" else self.attention_steps)
        return first, second, second + self.tuning_steps

    @property
    def tuning(self) -> list[int]:
        """Steps of stage III at which curvature is measured: the first, and four for each of the last three decades."""
        return sorted(
            {1, *(int(t) for t in np.round(np.geomspace(self.tuning_steps / 1000, self.tuning_steps, 13)) if t)}
        )


def _one(cell: Cell, s: Settings, replicate: int) -> dict[str, np.ndarray | float]:
    world = {"classes": s.classes, "dimension": s.dimension}
    directions = patches.dictionary(cell.generator(replicate, "directions", **world), s.classes, s.dimension)
    law = patches.Law(signal=(1, 1), centre=(1, 1), feature_noise=(1, 1), noise_scale=s.token_noise)
    scalars = cell.generator(replicate, "training: scalars", **world)
    vectors = cell.generator(replicate, "training: vectors", **world)
    data = patches.draw(scalars, vectors, directions, s.samples, s.tokens, law)
    noise = _noise(cell, s, replicate) if s.model == "mot" and s.start == "random" else None
    model = _model(cell, s, replicate, directions, data)
    judged = None if noise is None else next(_noise(cell, s, replicate, "judged"))

    first, second, end = s.ends
    at_state: dict[int, list[str]] = {}
    for step, name in zip((0, first, second, end), STATES, strict=True):
        at_state.setdefault(step, []).append(name)
    at_tuning = [second + t for t in s.tuning]
    by_state: dict[str, dict[str, float]] = {}
    by_step: dict[int, dict[str, float]] = {}

    def observe(t: int) -> None:
        expert, margin, by_weights, by_attention = _look(model, data, judged)
        if t in at_tuning:
            by_step[t] = _curvature(model, expert, margin, by_weights)
        for state in at_state.get(t, []):
            by_state[state] = _conflicts(data, expert, margin, by_weights, by_attention)
        if t == second and isinstance(model, MultiHead):
            by_state["convexity"] = {"convexity": _halfway(cell, s, replicate, model, data.y)}

    schedule = Schedule(first, second, end, s.specialise_rate, s.attention_rate, s.router_rate, s.tuning_rate)
    train(model, data.y[None], schedule, noise, observe, {*at_state, *at_tuning})
    return {
        **{name: np.array([by_state[state][name] for state in STATES]) for name in OF_STATES},
        **{name: np.array([by_step[t][name] for t in at_tuning]) for name in OVER_TUNING},
        **by_state.get("convexity", {"convexity": np.nan}),
    }


def _noise(cell: Cell, s: Settings, replicate: int, purpose: str = "training") -> Iterator[np.ndarray]:
    rng = cell.generator(replicate, f"perturbation: {purpose}", experts=s.experts, n=s.samples)
    while True:
        yield rng.random((1, s.experts, s.samples))


def _model(
    cell: Cell, s: Settings, replicate: int, directions: patches.Dictionary, data: patches.Examples
) -> Mixture | MultiHead:
    """Return the model at its start."""
    d, x = s.dimension, data.x[None]
    scale = s.start_scale / np.sqrt(d)
    kind = {"kind": s.model, "dimension": d}
    weights = scale * cell.generator(replicate, "start: weights", **kind).standard_normal(
        (s.neurons, s.heads, d) if s.model == "multi-head" else (s.experts, d)
    )
    count = s.heads if s.model == "multi-head" else s.experts
    kq = scale * cell.generator(replicate, "start: attention", dimension=d).standard_normal((count, d, d))
    if s.model == "multi-head":
        return MultiHead(x, weights[None], kq[None])
    labels = directions.labels[np.arange(s.experts) % s.classes]
    if s.start == "ideal":
        kq = s.ideal_attention * labels[:, :, None] * labels[:, None, :]
    if s.start == "random":
        return Mixture(x, weights[None], kq[None], np.zeros((1, s.experts, d)))
    mixture = Mixture(x, labels[None], kq[None], np.zeros((1, s.experts, d)))
    members = 1 + (s.experts - 1 - np.arange(s.classes)) // s.classes
    u = cell.generator(replicate, "ideal routing", experts=s.experts).random(s.samples)
    mixture.send((data.cluster + s.classes * (u * members[data.cluster]).astype(np.int64))[None])
    return mixture


def _look(
    model: Mixture | MultiHead, data: patches.Examples, noise: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the expert of every sample (noisy, as in training), its margin and the gradients of its margin."""
    if isinstance(model, MultiHead):
        expert = np.zeros(len(data.y), dtype=np.int64)
        f, *gradients = landscape.of_heads(data.x, model.weights[0], model.kq[0], model.signs)
    else:
        scores, kq = model.scores()[0], np.asarray(model.kq)
        expert = model.expert[0] if noise is None else np.argmax(scores + noise[0], axis=0)
        f, *gradients = landscape.of_experts(data.x, model.weights[0], kq[0], expert)
    return (expert, data.y * f, *(data.y[:, None] * g for g in gradients))


def _conflicts(
    data: patches.Examples, expert: np.ndarray, margin: np.ndarray, by_weights: np.ndarray, by_attention: np.ndarray
) -> dict[str, float]:
    slope = logistic_slope(margin)[:, None]
    share, agreement = landscape.conflicts(slope * by_weights, expert)
    i, j = np.triu_indices(len(expert), 1)
    mates = expert[i] == expert[j]
    return {
        "conflict": share,
        "agreement": agreement,
        "attention_conflict": landscape.conflicts(slope * by_attention, expert)[0],
        "across": float(np.mean(data.cluster[i[mates]] != data.cluster[j[mates]])),
    }


def _curvature(
    model: Mixture | MultiHead, expert: np.ndarray, margin: np.ndarray, by_weights: np.ndarray
) -> dict[str, float]:
    loss = float(np.mean(np.logaddexp(0.0, -margin)))
    if isinstance(model, MultiHead):
        return {"loss": loss, "polyak": landscape.of_network(by_weights, margin), "curvature": np.nan}
    found = landscape.curvature(by_weights, margin, expert)
    return {"loss": loss, "polyak": found["polyak"], "curvature": found["least"]}


def _halfway(cell: Cell, s: Settings, replicate: int, model: MultiHead, y: np.ndarray) -> float:
    """Return the least of 20 comparisons of the FFN with itself, neurons of one sign permuted.

    Both have one loss. One that is convex in the weights is not higher halfway; returned is the loss less that halfway,
    relative to it.
    """
    rng = cell.generator(replicate, "permutations", neurons=s.neurons)
    first = np.arange(s.neurons)[: (s.neurons + 1) // 2]
    rest = np.arange(s.neurons)[len(first) :]
    own = model.weights[0]
    mixed = [own] + [
        (own + own[np.concatenate([rng.permutation(first), rng.permutation(rest)])]) / 2 for _ in range(20)
    ]
    losses = []
    for weights in mixed:
        f = landscape.of_heads(model.x[0], weights, model.kq[0], model.signs)[0]
        losses.append(float(np.mean(np.logaddexp(0.0, -y * f))))
    return (losses[0] - max(losses[1:])) / losses[0]


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Run Algorithm 1 and measure conflicts at the ends of its stages, and curvature along stage III.

    Returns
    -------
    xarray.Dataset
        The variables of ``OF_STATES`` by ``state``, those of ``OVER_TUNING`` over ``tuning`` (steps of stage III), and
        ``convexity`` per replicate. The device plays no part.
    """
    s = Settings.model_validate(dict(cell.settings))
    rows = [_one(cell, s, replicate) for replicate in replicates]
    values = {
        name: np.stack([np.asarray(row[name]) for row in rows]) for name in (*OF_STATES, *OVER_TUNING, "convexity")
    }
    finite = np.isfinite(values["loss"]).all(axis=1)
    status = {
        "status": np.where(finite, int(Status.CONVERGED), int(Status.NOT_FINITE)),
        "message": np.where(finite, f"All {s.ends[2]} steps were taken.", Status.NOT_FINITE.sentence),
        "iterations": np.full(len(finite), s.ends[2]),
    }
    about = OF_STATES | OVER_TUNING | {"convexity": CONVEXITY}
    return assemble(
        replicates,
        values | status,
        dims=dict.fromkeys(OF_STATES, ("state",)) | dict.fromkeys(OVER_TUNING, ("tuning",)),
        coords={"state": list(STATES), "tuning": np.array(s.tuning)},
        attrs={name: {"long_name": text} for name, text in about.items()},
    )

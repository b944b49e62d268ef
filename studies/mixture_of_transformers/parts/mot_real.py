"""Mixtures of transformers on images and texts (MT section 6, appendix B): what the two experiments share.

A replicate is a split (or sample) of the data, its corruption, starting weights, an order of the batches and the
perturbation of the router. Arms share what each of them depends on, so that they are compared on the same data, and a
model trained in stages starts where the same model trained jointly starts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat.data_file import with_digest
from moestat.experiment import Cell, SettingsModel, assemble, require_torch
from moestat.losses import routing
from moestat.replicates import Streams, steps
from moestat.status import Status
from moestat.threads import one_thread

if TYPE_CHECKING:
    import torch

    from studies.mixture_of_transformers.parts.mixture_of_transformers import Encoder, Model, Reads, Shape


class MixtureSettings(SettingsModel):
    """Settings that images and texts have in common; the defaults are the paper's for CIFAR-10."""

    data: str = Field("", description="path of the user's data; a set that needs no download when empty")
    data_sha256: str = Field("", description="SHA-256 of the data; found when empty, else it must be this")
    model: Literal["transformer", "mixture", "no_attention", "shared_attention", "linear"] = Field(
        "mixture", description="'linear' is the control: a linear model of what the router reads, without a constant"
    )
    schedule: Literal["staged", "joint"] = Field("staged", description="three stages, or all parameters throughout")
    experts: int = Field(5, ge=1, description="M; a transformer without a router has one whatever it says")
    width: int = Field(48, ge=1, description="d")
    depth: int = Field(4, ge=1, description="blocks of an expert")
    heads: int = Field(4, ge=1, description="must divide width")
    hidden: int = Field(192, ge=1, description="neurons of a feed-forward network")
    stage_one: int = Field(50, ge=1, description="T1, epochs")
    stage_two: int = Field(450, ge=2, description="T2")
    epochs: int = Field(600, ge=3, description="T")
    second: Literal["attention", "query_key"] = Field(
        "attention", description="ours: what stage II trains, attention layers or their queries and keys alone"
    )
    rate: float = Field(8e-4, gt=0, description="AdamW's rate")
    router_rate: float = Field(8e-4, gt=0, description="ours: the router's; the paper names one rate")
    weight_decay: float = Field(0.01, ge=0, description="of the optimiser")
    batch: int = Field(256, ge=1, description="samples per step")
    noise: float = Field(1.0, ge=0, description="ours: the router's perturbation is uniform on [0, noise] in training")

    @model_validator(mode="before")
    @classmethod
    def _digest(cls, given: Any) -> Any:
        """Put the checksum of the data among the settings: other data are another cell."""
        return with_digest(given, "data")

    @model_validator(mode="after")
    def _fit(self) -> MixtureSettings:
        if self.width % self.heads:
            raise ValueError(f"heads is {self.heads}; it must divide width, which is {self.width}")
        if not self.stage_one < self.stage_two < self.epochs:
            raise ValueError(
                f"stage_one, stage_two and epochs are {self.stage_one}, {self.stage_two} and {self.epochs}; they must "
                "grow in this order"
            )
        return self

    @property
    def ends(self) -> np.ndarray:
        """T1, T2 and T."""
        return np.array([self.stage_one, self.stage_two, self.epochs])


@dataclass(frozen=True)
class Problem:
    """What one replicate learns from; pairs are of training and test."""

    inputs: tuple[np.ndarray, np.ndarray]  # patches (n, L, features) or ids (n, L)
    target: tuple[np.ndarray, np.ndarray]  # classes int64 or standardised numbers float32
    outputs: int  # classes, or 1
    group: np.ndarray  # (n,): the row of the routing table that a test sample belongs to
    groups: tuple[str, ...]  # names of the rows
    encoder: Callable[[Shape], Encoder]  # makes an expert of a shape
    reads: Reads  # how the router reads the inputs
    features: int  # numbers of a token, or number of ids
    centre: np.ndarray | None = None  # (features,): what the router subtracts from the counts of the ids
    augment: Callable[[torch.Tensor], torch.Tensor] | None = None  # makes a training batch's inputs others, each time


def measure(
    cell: Cell,
    settings: MixtureSettings,
    replicates: Sequence[int],
    device: str,
    problem: Callable[[Any, Streams], Problem],
) -> xr.Dataset:
    """Train one model per replicate, and describe how it went.

    ``test_error`` (epoch): share of wrong classes, or mean squared error over the variance of the targets;
    ``train_loss`` (epoch): mean loss of the chosen experts over the epoch; ``error``: the last test error;
    ``error_by_stage`` (stage): at T1, T2 and T, also where the training is joint. Of the test samples at the last
    epoch: ``routing`` (class, expert): share of the class's samples at the expert; ``experts_used``: 2 to the entropy
    of the loads in bits; ``mutual_information`` of class and expert in bits; ``top_share`` of a class's favourite
    expert. ``stage_end`` (stage): T1, T2, T.
    """
    require_torch()
    rows: list[dict[str, Any]] = []
    groups: tuple[str, ...] = ()
    with one_thread():
        for replicate in replicates:
            streams = functools.partial(cell.generator, replicate)
            posed = problem(settings, streams)
            groups = posed.groups
            rows.append(_replicate(settings, streams, posed, device))
    dims = {"test_error": ("epoch",), "train_loss": ("epoch",), "error_by_stage": ("stage",)}
    coords = {"epoch": np.arange(1, settings.epochs + 1), "stage": ("I", "II", "III"), "class": groups}
    coords["expert"] = np.arange(1, rows[0]["routing"].shape[1] + 1)
    found = assemble(replicates, rows, dims=dims | {"routing": ("class", "expert")}, coords=coords)
    return found.assign(stage_end=("stage", settings.ends))


def _replicate(settings: MixtureSettings, streams: Streams, posed: Problem, device: str) -> dict[str, Any]:
    import torch

    from studies.mixture_of_transformers.parts.three_stage import Plan, Samples, train

    where = torch.device(device)
    model = start(settings, streams, posed).to(where)
    pairs = zip(posed.inputs, posed.target, strict=True)
    training, test = (Samples(torch.from_numpy(x), torch.from_numpy(y)).to(where) for x, y in pairs)
    plan = Plan(**{field.name: getattr(settings, field.name) for field in fields(Plan)})
    order = streams("batches", samples=len(training))
    epochs = list(train(model, training, test, plan, order, generator(streams("perturbation")), posed.augment))
    counts = np.zeros((model.count, len(posed.groups)))
    np.add.at(counts, (epochs[-1].expert, posed.group), 1.0)
    course = {
        "test_error": np.array([epoch.error for epoch in epochs]),
        "train_loss": np.array([epoch.loss for epoch in epochs]),
    }
    occurs = counts.sum(axis=0) > 0
    with np.errstate(invalid="ignore"):
        shares = (counts / counts.sum(axis=0)).T  # a class without a test sample has no share
    error = course["test_error"]
    ended = steps(course, settings.epochs * -(-len(training) // settings.batch))
    if ended["status"] == Status.CONVERGED:
        ended["message"] = f"The training ran its {settings.epochs} epochs."
    return {
        **course,
        "error": error[-1],
        "error_by_stage": error[settings.ends - 1],
        "routing": shares,
        "experts_used": 2.0 ** routing.usage_entropy(counts[:, occurs]),
        "mutual_information": routing.mutual_information(counts[:, occurs]),
        "top_share": routing.top_share(counts[:, occurs]),
        **ended,
    }


def generator(rng: np.random.Generator) -> torch.Generator:
    """Return a generator of torch, on the CPU, so that what it draws does not depend on the device."""
    import torch

    return torch.Generator().manual_seed(int(rng.integers(2**63)))


def start(settings: MixtureSettings, streams: Streams, posed: Problem) -> Model:
    """Return the model of an arm at its start."""
    import torch

    from studies.mixture_of_transformers.parts.mixture_of_transformers import Model, SampleRouter, Shape

    experts = 1 if settings.model in ("transformer", "linear") else settings.experts
    sizes = {name: getattr(settings, name) for name in ("width", "depth", "heads", "hidden")}
    shape = Shape(outputs=posed.outputs, **sizes)
    rng = streams("start", model=settings.model, experts=experts, features=posed.features, **sizes)
    centre = None if posed.centre is None else torch.from_numpy(posed.centre.astype(np.float32))

    def scores(outputs: int) -> SampleRouter:
        return SampleRouter(posed.reads, posed.inputs[0].shape[1], posed.features, outputs, centre)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**63)))
        if settings.model == "linear":
            return Model("transformer", 1, lambda shape: scores(shape.outputs), shape, scores(1))
        return Model(settings.model, experts, posed.encoder, shape, scores(experts))

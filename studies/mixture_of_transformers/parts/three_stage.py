"""Training in three stages (MT Algorithm 1) or jointly, for experts that are whole networks.

Stage I, epochs 1 to T1, trains everything but the attention; stage II, to T2, the attention alone; stage III, to T,
everything but the attention again. The router is trained throughout, by its own loss (MT equation 5): that of the
expert's output times its gate, the output held fixed; experts by the loss of their output without the gate (equation 7)
on the samples that are routed to them. The loss is cross-entropy, or the squared error for numbers. As in the paper
(B.2) every step is one of AdamW at a fixed rate; its moments start anew at a change of stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch.nn import functional

from studies.mixture_of_transformers.parts.mixture_of_transformers import ATTENTION, QUERY_KEY, Model

Schedule = Literal["staged", "joint"]
Second = Literal["attention", "query_key"]
"""What stage II trains: all of the attention layers, or their queries and keys, which the theory calls W_KQ."""


@dataclass(frozen=True)
class Plan:
    """How a model is trained."""

    schedule: Schedule
    epochs: int  # epochs, stage_one, stage_two: T, T1, T2
    stage_one: int
    stage_two: int
    second: Second = "attention"  # what stage II trains and the others hold
    rate: float = 1e-3  # rate, router_rate, weight_decay: AdamW's
    router_rate: float = 1e-3
    weight_decay: float = 0.01
    batch: int = 256
    noise: float = 1.0  # the perturbation of the router's scores is uniform on [0, noise], in training only

    def stage(self, epoch: int) -> int:
        """Return the stage of an epoch (from 1): 0, 1, 2, or 0 throughout when the training is joint."""
        return 0 if self.schedule == "joint" else (epoch > self.stage_one) + (epoch > self.stage_two)


@dataclass(frozen=True)
class Samples:
    """Inputs, patches (n, L, features) or ids (n, L), with targets: classes (n,) int64 or numbers (n,) float32."""

    inputs: torch.Tensor
    target: torch.Tensor

    def to(self, device: torch.device) -> Samples:
        """Return the samples on a device."""
        return Samples(self.inputs.to(device), self.target.to(device))

    def __len__(self) -> int:
        return len(self.target)


@dataclass(frozen=True)
class Epoch:
    """Where a training stands after an epoch."""

    loss: float  # mean training loss of the chosen experts over the epoch
    error: float  # On the test samples: share of wrong classes, or mean squared error over the variance of the targets
    expert: np.ndarray  # (n,): the expert of every test sample, without perturbation


def train(
    model: Model,
    training: Samples,
    test: Samples,
    plan: Plan,
    order: np.random.Generator,
    noise: torch.Generator,
    augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Iterator[Epoch]:
    """Train a model, and yield after every epoch where it stands.

    ``order``: draws the order of the samples, anew in every epoch; ``noise``: draws the perturbation of the router, on
    the CPU; ``augment``: makes the inputs of a training batch others of the same targets.
    """
    stage = plan.stage(1)
    optimiser = _optimiser(model, plan, stage)
    for epoch in range(1, plan.epochs + 1):
        if plan.stage(epoch) != stage:
            stage = plan.stage(epoch)
            optimiser = _optimiser(model, plan, stage)
        total = 0.0
        for rows in torch.from_numpy(order.permutation(len(training))).split(plan.batch):
            inputs = training.inputs[rows]
            part = Samples(inputs if augment is None else augment(inputs), training.target[rows])
            routed = model(part.inputs, _perturbation(model, len(part), plan.noise, noise))
            loss = _loss(routed.output, part.target)
            total += float(loss.detach()) * len(part)
            if model.router is not None:
                loss = loss + _loss(routed.gate[:, None] * routed.output.detach(), part.target)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        yield Epoch(total / len(training), *evaluate(model, test))


def evaluate(model: Model, test: Samples, *, chunk: int = 1000) -> tuple[float, np.ndarray]:
    """Return the error on test samples and the expert of each."""
    outputs, experts = [], []
    with torch.no_grad():
        for inputs in test.inputs.split(chunk):
            routed = model(inputs)
            outputs.append(routed.output)
            experts.append(routed.expert)
    return _error(torch.cat(outputs), test.target), torch.cat(experts).cpu().numpy()


def _loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    if target.is_floating_point():
        return functional.mse_loss(output[:, 0], target)
    return functional.cross_entropy(output, target)


def _error(output: torch.Tensor, target: torch.Tensor) -> float:
    if target.is_floating_point():
        scatter = target.double().var(correction=0)
        return float((output[:, 0].double() - target.double()).square().mean() / scatter)
    if not output.isfinite().all():
        return float("nan")  # argmax would name a class all the same
    return float((output.argmax(dim=1) != target).double().mean())


def _perturbation(model: Model, count: int, scale: float, generator: torch.Generator) -> torch.Tensor | None:
    if model.router is None or not scale:
        return None
    theta = model.router.theta
    return (scale * torch.rand(count, theta.shape[1], generator=generator)).to(theta.device)


def _optimiser(model: Model, plan: Plan, stage: int) -> torch.optim.Optimizer:
    """Return AdamW over what a stage trains; the other parameters get no gradient."""
    mark = ATTENTION if plan.second == "attention" else QUERY_KEY
    router: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        of_router = name.startswith("router.")
        trained = plan.schedule == "joint" or of_router or (mark in name) == (stage == 1)
        parameter.requires_grad_(trained)
        parameter.grad = None
        if trained:
            (router if of_router else others).append(parameter)
    groups = [{"params": others, "lr": plan.rate}, {"params": router, "lr": plan.router_rate}]
    return torch.optim.AdamW([g for g in groups if g["params"]], weight_decay=plan.weight_decay, fused=True)

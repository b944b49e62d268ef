"""How many symbols per second models train on and read: a measurement of the machine, not of the seed.

Machines drift while they are measured. So what is compared takes turns, pass by pass, and gets the median of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import torch

from moestat.training.decoder import Decoder

Name = TypeVar("Name", bound=str)


def medians(
    passes: Mapping[Name, Sequence[Callable[[], object]]], rounds: int, device: str
) -> dict[Name, tuple[float, ...]]:
    """Return the median seconds of the passes under each name, which take turns.

    The first turn chooses kernels and takes memory, and does not count.
    """
    spent: dict[Name, list[list[float]]] = {name: [[] for _ in those] for name, those in passes.items()}
    names = list(passes)
    for turn in range(1 + rounds):
        for name in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            for kept, one_pass in zip(spent[name], passes[name], strict=True):
                seconds = _seconds(one_pass, device)
                if turn:
                    kept.append(seconds)
    return {name: tuple(float(np.median(kept)) for kept in those) for name, those in spent.items()}


def _seconds(one_pass: Callable[[], object], device: str) -> float:
    """Return the seconds of this thread on a CPU, those on the clock on a GPU, with the device waited for."""
    if device == "cpu":
        begin = time.thread_time()
        one_pass()
        return time.thread_time() - begin
    torch.cuda.synchronize()
    begin = time.perf_counter()
    one_pass()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def throughput(
    models: Mapping[str, Decoder], tokens: torch.Tensor, *, rounds: int, device: str
) -> dict[str, tuple[float, float]]:
    """Return symbols per second in training (forward pass, gradient, AdamW step) and inference, on tokens (batch, n).

    Models are moved to ``device``, and changed by the training passes.
    """
    given, wanted = tokens[:, :-1].to(device), tokens[:, 1:].to(device)
    passes = {name: _passes(model.to(device), given, wanted) for name, model in models.items()}
    found = medians(passes, rounds, device)
    return {
        name: (given.numel() / training, given.numel() / inference) for name, (training, inference) in found.items()
    }


def _passes(model: Decoder, given: torch.Tensor, wanted: torch.Tensor) -> list[Callable[[], object]]:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def training() -> None:
        model.train()
        loss = model.loss(given, wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def inference() -> None:
        model.eval()
        with torch.inference_mode():
            model.logits(given)

    return [training, inference]

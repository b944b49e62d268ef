"""How many symbols per second models train on and read: a measurement of the machine, not of the seed.

Machines drift while they are measured. So the models take turns, pass by pass, and each gets the median of its passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from moestat.training.decoder import Decoder

WARM_UP = 1  # passes of each model that do not count: the first one chooses kernels and takes memory


def throughput(
    models: Mapping[str, Decoder], tokens: torch.Tensor, *, rounds: int, device: str
) -> dict[str, tuple[float, float]]:
    """Measure models on one batch.

    ``models``: what takes turns; moved to ``device``, and changed by the training passes. ``tokens`` (batch, length +
    1): the batch. ``rounds``: passes of each model that count.

    Returns symbols per second in training (forward pass, gradient, AdamW step) and in inference (forward pass to the
    logits).
    """
    given, wanted = tokens[:, :-1].to(device), tokens[:, 1:].to(device)
    passes: dict[str, list[Callable[[], object]]] = {}
    for name, model in models.items():
        model.to(device)
        passes[name] = [_training(model, given, wanted), _inference(model, given)]
    seconds: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in models}
    names: Sequence[str] = list(models)
    for turn in range(WARM_UP + rounds):
        for name in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            for kept, one_pass in zip(seconds[name], passes[name], strict=True):
                spent = _timed(one_pass, device)
                if turn >= WARM_UP:
                    kept.append(spent)
    count = given.numel()
    return {
        name: (count / float(np.median(training)), count / float(np.median(inference)))
        for name, (training, inference) in seconds.items()
    }


def _training(model: Decoder, given: torch.Tensor, wanted: torch.Tensor) -> Callable[[], object]:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def one_pass() -> None:
        model.train()
        loss = model.loss(given, wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return one_pass


def _inference(model: Decoder, given: torch.Tensor) -> Callable[[], object]:
    def one_pass() -> None:
        model.eval()
        with torch.inference_mode():
            model.logits(given)

    return one_pass


def _timed(one_pass: Callable[[], object], device: str) -> float:
    if device == "cpu":
        begin = time.thread_time()
        one_pass()
        return time.thread_time() - begin
    torch.cuda.synchronize()
    begin = time.perf_counter()
    one_pass()
    torch.cuda.synchronize()
    return time.perf_counter() - begin

"""How sure the routers of a trained model are, and whether they know who would win a competition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from moestat.training.decoder import Decoder
from studies.compete_smoe.parts.smoe import SMoE, policy

_Hook = Callable[[SMoE, Any], None]


@dataclass(frozen=True)
class Routing:
    """Means over the symbols of a text; arrays have one entry for each SMoE layer.

    ``entropy``: of the softmax of all N scores, in nats, at most log N. The paper's Table 10 reports up to 2.5, more
    than the log K that the softmax after TopK allows for K = 2. ``overlap``: share of the K experts with the largest
    scores that are among the K with the largest output norms. ``overlap_chance``: the same if both choices were
    independent of each other and as frequent as they are; K/N for even loads. ``usage_entropy``: entropy of the
    experts' shares of the load, in nats: 0 if K = 1 and one expert does everything, log N if all do the same.
    """

    entropy: np.ndarray
    entropy_top_k: np.ndarray  # Of the gate, the softmax of the K largest scores, at most log K
    overlap: np.ndarray
    overlap_chance: np.ndarray
    usage_entropy: np.ndarray
    router_loss: np.ndarray  # L_R, the mean squared difference of the router's policy and the competition's, equation 3


def routing(model: Decoder, text: np.ndarray, length: int, *, batch: int = 16, limit: int = 0) -> Routing:
    """Measure the routing of a text of at least ``length`` symbols, cut into windows as in the evaluation of the loss.

    The model is put into its evaluation mode. ``limit``: symbols that are used, from the start; 0 for all.
    """
    sums = [_Sums(layer) for layer in _layers(model)]
    _watch(model, sums, text, length, batch, limit)
    rows = np.array([own.means() for own in sums]).T
    return Routing(*rows)


def _layers(model: torch.nn.Module) -> list[SMoE]:
    return [module for module in model.modules() if isinstance(module, SMoE)]


def _watch(model: Decoder, hooks: Sequence[_Hook], text: np.ndarray, length: int, batch: int, limit: int) -> int:
    """Let one hook for each SMoE layer see what goes into it for a text; return the number of symbols that it saw."""
    handles = [layer.register_forward_pre_hook(own) for layer, own in zip(_layers(model), hooks, strict=True)]
    count = max(1, (min(limit, text.size) if limit else text.size) // length)
    windows = torch.from_numpy(text[: count * length].astype(np.int64)).view(count, length)
    model.eval()
    try:
        with torch.inference_mode():
            for start in range(0, count, batch):
                model(windows[start : start + batch].to(model.head.device))
    finally:
        for handle in handles:
            handle.remove()
    return count * length


class _Sums:
    """Adds up over the passes what a layer's router does with the layer's inputs."""

    def __init__(self, layer: SMoE) -> None:
        self.layer = layer
        experts = layer.experts.first.shape[0]
        self.tokens = 0
        self.sums = torch.zeros(4, dtype=torch.float64)
        self.loads = torch.zeros(2, experts, dtype=torch.float64)

    def __call__(self, _layer: torch.nn.Module, inputs: Any) -> None:
        layer = self.layer
        z = inputs[0].reshape(-1, inputs[0].shape[-1])
        scores = layer.router(z)
        best, index = scores.topk(layer.top_k, dim=1)
        norms = layer.experts.norms(z)
        winners = norms.topk(layer.top_k, dim=1).indices
        both = (index[:, :, None] == winners[:, None]).any(dim=2)
        apart = (policy(scores, layer.top_k) - policy(norms, layer.top_k)).square().mean(dim=1)
        parts = (_entropy(scores), _entropy(best), both.double().mean(dim=1), apart)
        self.sums += torch.stack([part.double().sum() for part in parts]).cpu()
        for load, chosen in zip(self.loads, (index, winners), strict=True):
            load += torch.bincount(chosen.reshape(-1), minlength=load.shape[0]).cpu()
        self.tokens += z.shape[0]

    def means(self) -> list[float]:
        entropy, entropy_top_k, overlap, apart = (self.sums / self.tokens).tolist()
        share = self.loads / self.tokens  # of the tokens that an expert is chosen for
        chance = float((share[0] * share[1]).sum()) / self.layer.top_k
        used = share[0][share[0] > 0] / self.layer.top_k
        return [entropy, entropy_top_k, overlap, chance, -float((used * used.log()).sum()), apart]


def _entropy(scores: torch.Tensor) -> torch.Tensor:
    log_p = scores.log_softmax(dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)

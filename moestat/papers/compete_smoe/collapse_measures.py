"""How alike the experts of a trained model are: representation collapse, as section 1 of compete-smoe has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from moestat.papers.compete_smoe.smoe import SMoE
from moestat.training.decoder import Decoder


def likeness(outputs: torch.Tensor) -> torch.Tensor:
    """Return the mean cosine of the outputs of two experts for a token, over all pairs.

    Parameters
    ----------
    outputs : Tensor, shape (N, T, width)
        Of N experts, at least two, for T tokens.

    Returns
    -------
    Tensor, shape (T,)
        1 if all experts give a token the same direction; at least -1 / (N - 1). An output of length 0 counts as 0.
    """
    unit = torch.nn.functional.normalize(outputs.double(), dim=-1)
    experts = outputs.shape[0]
    return (unit.sum(dim=0).square().sum(dim=-1) - unit.square().sum(dim=(0, 2))) / (experts * (experts - 1))


def alike(model: Decoder, text: np.ndarray, length: int, *, batch: int = 16, limit: int = 0) -> np.ndarray:
    """Return the mean :func:`likeness` of the experts of each SMoE layer over the symbols of a text.

    Parameters
    ----------
    model : Decoder
        With SMoE layers; put into its evaluation mode.
    text : ndarray, 1-d
        Symbols, at least ``length``.
    length, batch : int
        Symbols per window, windows per pass.
    limit : int
        Symbols that are used, from the start; 0 for all.
    """
    layers = [module for module in model.modules() if isinstance(module, SMoE)]
    sums = np.zeros(len(layers))

    def look(place: int) -> Any:
        def hook(layer: SMoE, inputs: Any) -> None:
            z = inputs[0].reshape(-1, inputs[0].shape[-1])
            sums[place] += float(likeness(layer.experts.every(z)).sum())

        return hook

    hooks = [layer.register_forward_pre_hook(look(place)) for place, layer in enumerate(layers)]
    count = max(1, (min(limit, text.size) if limit else text.size) // length)
    windows = torch.from_numpy(text[: count * length].astype(np.int64)).view(count, length)
    model.eval()
    try:
        with torch.inference_mode():
            for start in range(0, count, batch):
                model(windows[start : start + batch].to(model.head.device))
    finally:
        for hook in hooks:
            hook.remove()
    return sums / (count * length)

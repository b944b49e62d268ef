"""The models of the paper's experiments with real data: a mixture of transformers, and what it is compared with.

See MT section 6 and appendix B.3. All of them map a batch to :class:`Routed`. An expert is an encoder for images or
texts; it is made by a function of a shape, so that this module does not know which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch

from studies.mixture_of_transformers.parts.encoder import Encoder, Shape
from studies.mixture_of_transformers.parts.sample_routing import SampleRouter, choose, dispatch

Kind = Literal["transformer", "mixture", "no_attention", "shared_attention"]
"""One transformer without a router; a mixture of transformers; a mixture of experts without attention; one transformer
whose feed-forward networks alone are experts."""


@dataclass(frozen=True)
class Routed:
    """What a model says of a batch.

    ``gate`` (B,): pi of the chosen expert (MT equation 2); it carries the gradient to the router. 1 without a router.
    """

    output: torch.Tensor  # (B, outputs): f of the chosen expert, without the gate
    gate: torch.Tensor
    expert: torch.Tensor  # (B,): the chosen expert, 0 to M - 1


class Model(torch.nn.Module):
    """A transformer, or experts behind a top-1 router.

    ``experts``: M; a transformer without a router has one. ``make``: makes an encoder of a shape. ``shape``: sizes of
    an expert. ``router``: reads the inputs; not used by a single transformer.
    """

    def __init__(
        self, kind: Kind, experts: int, make: Callable[[Shape], Encoder], shape: Shape, router: SampleRouter
    ) -> None:
        super().__init__()
        self.shares = kind == "shared_attention"
        shape = replace(shape, attention=kind != "no_attention", feed_forwards=experts if self.shares else 1)
        self.experts = torch.nn.ModuleList(
            make(shape) for _ in range(1 if kind in ("transformer", "shared_attention") else experts)
        )
        self.router = None if kind == "transformer" else router

    def forward(self, inputs: torch.Tensor, noise: torch.Tensor | None = None) -> Routed:
        """Return the output of the expert that the router chooses for every sample.

        ``inputs``: patches (B, L, features) or ids (B, L). ``noise`` (B, M): perturbation r of the scores; none when
        the model is only evaluated.
        """
        if self.router is None:
            zeros = torch.zeros(len(inputs), dtype=torch.long, device=inputs.device)
            return Routed(self.experts[0](inputs), torch.ones(len(inputs), device=inputs.device), zeros)
        scores = self.router(inputs)
        chosen = choose(scores.detach(), noise)
        gate = scores.softmax(dim=1).gather(1, chosen[:, None])[:, 0]
        if self.shares:
            return Routed(self.experts[0](inputs, chosen), gate, chosen)
        return Routed(dispatch(list(self.experts), chosen, inputs), gate, chosen)

"""The models of the paper's experiments with real data: a mixture of transformers, and what it is compared with.

See MT section 6 and appendix B.3. An expert is an encoder for images or texts; it is made by a function of a shape, so
that this module does not know which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch

from studies.mixture_of_transformers.parts.encoder import Shape
from studies.mixture_of_transformers.parts.sample_routing import SampleRouter, choose, dispatch

Kind = Literal["transformer", "mixture", "no_attention", "shared_attention"]
"""One transformer without a router; a mixture of transformers; a mixture of experts without attention; one transformer
whose feed-forward networks alone are experts."""


@dataclass(frozen=True)
class Routed:
    """What a model says of a batch."""

    output: torch.Tensor  # (B, outputs): f of the chosen expert, without the gate
    gate: torch.Tensor  # (B,): pi of the chosen expert (MT equation 2), with the router's gradient; 1 without a router
    expert: torch.Tensor  # (B,): the chosen expert, 0 to M - 1


class Model(torch.nn.Module):
    """A transformer, or ``count`` experts behind a top-1 router.

    ``make``: makes an expert of a shape. ``router``: reads the inputs; not used by a single transformer.
    """

    def __init__(
        self, kind: Kind, count: int, make: Callable[[Shape], torch.nn.Module], shape: Shape, router: SampleRouter
    ) -> None:
        super().__init__()
        self.count, self.shares = count, kind == "shared_attention"
        shape = replace(shape, attention=kind != "no_attention", feed_forwards=count if self.shares else 1)
        single = kind in ("transformer", "shared_attention")
        self.experts = torch.nn.ModuleList(make(shape) for _ in range(1 if single else count))
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

"""The models of the paper's experiments with real data: a mixture of transformers, and what it is compared with.

See MT section 6 and appendix B.3. A linear top-1 router on the input (equations 1 and 2) sends whole samples to
experts. An expert is an encoder for images or texts, made by a function of a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import torch

if TYPE_CHECKING:
    from studies.mixture_of_transformers.parts.encoder import Shape

Reads = Literal["positions", "sum", "words"]
Kind = Literal["transformer", "mixture", "no_attention", "shared_attention"]
"""One transformer without a router; a mixture of transformers; a mixture of experts without attention; one transformer
whose feed-forward networks alone are experts."""


class SampleRouter(torch.nn.Module):
    """Scores h(X) = sum_l Theta_l' X_l of the experts for a sample, Theta = 0 at the start.

    ``reads``: ``"sum"`` is the paper's: one Theta for all tokens, which on raw patches sees only their sum.
    ``"positions"`` has a Theta for every position. ``"words"`` takes ids, that is one-hot tokens; the id 0 is padding.
    ``features``: numbers of a token, or of ids. ``centre`` (features,): what is subtracted from the counts of ids.
    Words that every text has move all scores together, so without it the first expert that is a little better takes
    every text.
    """

    centre: torch.Tensor | None

    def __init__(
        self, reads: Reads, length: int, features: int, experts: int, centre: torch.Tensor | None = None
    ) -> None:
        super().__init__()
        rows = length * features if reads == "positions" else features
        self.reads = reads
        self.register_buffer("centre", centre)
        self.theta = torch.nn.Parameter(torch.zeros(rows, experts))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return scores (B, M) of samples (B, L, features), or ids (B, L)."""
        if self.reads == "words":
            scores = torch.nn.functional.embedding_bag(inputs, self.theta, mode="sum", padding_idx=0)
            return scores if self.centre is None else scores - self.centre @ self.theta
        return (inputs.sum(dim=1) if self.reads == "sum" else inputs.flatten(1)) @ self.theta


def dispatch(
    experts: Sequence[Callable[[torch.Tensor], torch.Tensor]], chosen: torch.Tensor, inputs: torch.Tensor
) -> torch.Tensor:
    """Apply to every sample the expert that is chosen (B,) for it; experts without a sample are not called."""
    if len(experts) == 1:
        return experts[0](inputs)
    order = torch.argsort(chosen, stable=True)
    sizes = torch.bincount(chosen, minlength=len(experts)).tolist()
    parts = inputs.index_select(0, order).split(sizes)
    out = [expert(part) for expert, part in zip(experts, parts, strict=True) if len(part)]
    return torch.cat(out).index_select(0, torch.argsort(order))


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
        chosen = (scores.detach() if noise is None else scores.detach() + noise).argmax(dim=1)
        gate = scores.softmax(dim=1).gather(1, chosen[:, None])[:, 0]
        if self.shares:
            return Routed(self.experts[0](inputs, chosen), gate, chosen)
        return Routed(dispatch(list(self.experts), chosen, inputs), gate, chosen)

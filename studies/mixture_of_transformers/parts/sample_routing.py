"""Send whole samples to experts: linear top-1 routers on the input (MT equations 1 and 2), and the dispatch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch

Reads = Literal["positions", "sum", "words"]


class SampleRouter(torch.nn.Module):
    """Scores h(X) = sum_l Theta_l' X_l of the experts for a sample, Theta = 0 at the start.

    ``reads``: ``"sum"`` is the paper's: one Theta for all tokens, which on raw patches sees only their sum.
    ``"positions"`` has a Theta for every position. ``"words"`` takes ids, that is one-hot tokens, with one Theta for
    all positions; the id 0 is padding. ``length``, ``features``: tokens of a sample, numbers of a token (``"words"``:
    number of ids). ``experts``: M. ``centre`` (features,): ``"words"``: what is subtracted from the counts, their mean
    say. Words that every text has move all scores of an expert together, so without it the first expert that is a
    little better takes every text.
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


def choose(scores: torch.Tensor, noise: torch.Tensor | None) -> torch.Tensor:
    """Return the expert (B,) of every sample: argmax of scores plus perturbation (MT equation 1)."""
    return (scores if noise is None else scores + noise).argmax(dim=1)


def dispatch(
    experts: Sequence[Callable[..., torch.Tensor]], chosen: torch.Tensor, *inputs: torch.Tensor | None
) -> torch.Tensor:
    """Apply to every sample the expert chosen for it; experts without a sample are not called.

    ``experts``: functions of the inputs, all of one output shape. ``chosen`` (B,). ``*inputs``: what the experts get,
    samples first; None is passed on.
    """
    if len(experts) == 1:
        return experts[0](*inputs)
    order = torch.argsort(chosen, stable=True)
    sizes = torch.bincount(chosen, minlength=len(experts)).tolist()
    parts = [[None] * len(sizes) if x is None else x.index_select(0, order).split(sizes) for x in inputs]
    out = [
        expert(*arguments)
        for expert, size, arguments in zip(experts, sizes, zip(*parts, strict=True), strict=True)
        if size
    ]
    return torch.cat(out).index_select(0, torch.argsort(order))

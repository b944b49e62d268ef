"""The models of the paper's experiments with real data: a mixture of transformers, and what it is compared with.

See MT section 6 and appendix B.3. A linear top-1 router on the input (equations 1 and 2) sends whole samples to
experts. An expert is a small encoder that reads a sample as a whole (B.2): pre-norm blocks of attention and
feed-forward network, the mean over the tokens, a linear head. Images and texts differ in the embedding alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch.nn import functional

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


ATTENTION = ".attention."  # part of the name of every parameter of an attention layer; its norm belongs to the rest
QUERY_KEY = ".attention.query_key."  # of every parameter that makes queries and keys, W_KQ in the theory


@dataclass(frozen=True)
class Shape:
    """Sizes of an encoder; the defaults are the paper's for CIFAR."""

    outputs: int  # classes, or 1 for a regression
    width: int = 48  # d
    depth: int = 4  # blocks
    heads: int = 4
    hidden: int = 192  # neurons of a feed-forward network
    attention: bool = True  # whether the blocks have attention; without, tokens meet only in the mean at the end
    feed_forwards: int = 1  # feed-forward networks per block; of several, a sample uses the one that is chosen for it


class Attention(torch.nn.Module):
    """Softmax attention with several heads; queries and keys have parameters of their own."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key = torch.nn.Linear(width, 2 * width)
        self.value = torch.nn.Linear(width, width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor, real: torch.Tensor | None) -> torch.Tensor:
        """Return (B, L, width); keys where ``real`` (B, L) is False are not attended to."""
        batch, length, width = x.shape
        query, key = self.query_key(x).view(batch, length, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        value = self.value(x).view(batch, length, self.heads, -1).transpose(1, 2)
        mask = None if real is None else real[:, None, None, :]
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(torch.nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = Attention(shape.width, shape.heads) if shape.attention else None
        self.attention_norm = torch.nn.LayerNorm(shape.width) if shape.attention else None
        self.norm = torch.nn.LayerNorm(shape.width)
        self.feed_forward = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.Linear(shape.width, shape.hidden), torch.nn.GELU(), torch.nn.Linear(shape.hidden, shape.width)
            )
            for _ in range(shape.feed_forwards)
        )

    def forward(self, x: torch.Tensor, real: torch.Tensor | None, chosen: torch.Tensor | None) -> torch.Tensor:
        """Return (B, L, width); ``chosen`` (B,) names the feed-forward network of every sample."""
        if self.attention is not None and self.attention_norm is not None:
            x = x + self.attention(self.attention_norm(x), real)
        if chosen is None:
            return x + self.feed_forward[0](self.norm(x))
        return x + dispatch(list(self.feed_forward), chosen, self.norm(x))


class Encoder(torch.nn.Module):
    """Embedding, blocks, mean over the real tokens, head.

    ``embedding``: maps the inputs to (tokens (B, L, width), real (B, L) or None).
    """

    def __init__(self, embedding: torch.nn.Module, shape: Shape) -> None:
        super().__init__()
        self.embedding = embedding
        self.blocks = torch.nn.ModuleList(Block(shape) for _ in range(shape.depth))
        self.norm = torch.nn.LayerNorm(shape.width)
        self.head = torch.nn.Linear(shape.width, shape.outputs)

    def forward(self, inputs: torch.Tensor, chosen: torch.Tensor | None = None) -> torch.Tensor:
        """Return (B, outputs): logits of the classes, or the prediction of the number."""
        x, real = self.embedding(inputs)
        for block in self.blocks:
            x = block(x, real, chosen)
        x = self.norm(x)
        if real is None:
            return self.head(x.mean(dim=1))
        weight = real.to(x.dtype) / real.sum(dim=1, keepdim=True).clamp(min=1)
        return self.head((x * weight[..., None]).sum(dim=1))


class PatchEmbedding(torch.nn.Module):
    """A linear map of the flattened patch plus an embedding of its position."""

    def __init__(self, length: int, features: int, width: int) -> None:
        super().__init__()
        self.patch = torch.nn.Linear(features, width)
        self.position = torch.nn.Parameter(0.02 * torch.randn(length, width))

    def forward(self, patches: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return tokens (B, L, width) of patches (B, L, features); all of them are real."""
        return self.patch(patches) + self.position, None


class TokenEmbedding(torch.nn.Module):
    """An embedding of the id plus one of the position; padding is told apart as not real."""

    def __init__(self, length: int, ids: int, width: int) -> None:
        super().__init__()
        self.token = torch.nn.Embedding(ids, width)
        self.position = torch.nn.Parameter(0.02 * torch.randn(length, width))

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return tokens (B, L, width) of ids (B, L), and which of them are real (B, L)."""
        return self.token(ids) + self.position, ids != 0


def vision_transformer(length: int, features: int, shape: Shape) -> Encoder:
    """Return an encoder of patches with weights from torch's global generator."""
    return Encoder(PatchEmbedding(length, features, shape.width), shape)


def text_transformer(length: int, ids: int, shape: Shape) -> Encoder:
    """Return an encoder of word ids with weights from torch's global generator."""
    return Encoder(TokenEmbedding(length, ids, shape.width), shape)

"""The decoders of the CompeteSMoE paper, Switch Transformer and GLaM at its sizes (section 6.1), and what may differ.

Norms after each part and dropout are put into a decoder that is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import torch

from moestat.training.decoder import Block, Decoder, Shape

Style = Literal["switch", "glam"]
SizeName = Literal["micro", "tiny", "small", "medium"]


class Size(NamedTuple):
    """SMoE blocks, width (also of an expert's hidden layer), heads, window."""

    blocks: int
    width: int
    heads: int
    length: int


SIZES: dict[SizeName, Size] = {
    "micro": Size(3, 64, 4, 64),  # ours: a minute on a laptop
    "tiny": Size(3, 264, 8, 512),
    "small": Size(6, 264, 8, 512),
    "medium": Size(8, 352, 8, 512),
}
"""The paper gives 3, 6 and 8 SMoE blocks with 7, 15 and 36 million parameters; with 16 experts as wide as the model,
these widths give those numbers: 36 width^2 parameters in a block."""


def shape_of(style: Style, size: SizeName, vocabulary: int) -> Shape:
    """Return the decoder in one of its styles and sizes: LayerNorm before each part, learned positions and ReLU.

    GLaM has a dense block after each SMoE block, so twice as many blocks.
    """
    blocks, width, heads, length = SIZES[size]
    return Shape(vocabulary, length, blocks * (2 if style == "glam" else 1), width, heads, hidden=width)


def feed_forwards(
    style: Style, sparse: Callable[[int], torch.nn.Module], dense: Callable[[int], torch.nn.Module]
) -> Callable[[int], torch.nn.Module]:
    """Return what makes the feed-forward module of a block: sparse in each (Switch) or in every other one (GLaM)."""
    if style == "switch":
        return sparse
    return lambda block: sparse(block) if block % 2 == 0 else dense(block)


class Dropout(torch.nn.Module):
    """A module whose output loses a share of its entries in training; the others grow by as much.

    The entries are a function of the key and the step: a run that continues from a checkpoint drops those that it would
    have dropped.
    """

    def __init__(self, inside: torch.nn.Module, share: float, key: int) -> None:
        super().__init__()
        self.inside, self.share, self.key = inside, share, key
        self.step = 0

    def begin_step(self, step: int, _steps: int) -> None:
        """Say which step (from 0) comes next."""
        self.step = step

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map as the module inside does."""
        y: torch.Tensor = self.inside(x)
        if not self.training:
            return y
        seed = int(np.random.SeedSequence([self.key, self.step]).generate_state(1, np.uint64)[0] >> 1)
        generator = torch.Generator(y.device).manual_seed(seed)
        kept = torch.empty_like(y).bernoulli_(1 - self.share, generator=generator)
        return y * kept / (1 - self.share)


class PostNorm(torch.nn.Module):
    """A block whose norms come after the sums: norm(x + part(x)), as in the first Transformer (Vaswani et al. 2017)."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.attention, self.attention_norm = block.attention, block.attention_norm
        self.feed_forward, self.feed_forward_norm = block.feed_forward, block.feed_forward_norm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to the same."""
        x = self.attention_norm(x + self.attention(x))
        x = self.feed_forward_norm(x + self.feed_forward(x))
        return x


def add_dropout(model: Decoder, share: float, generator: np.random.Generator) -> None:
    """Drop a share of what attention and feed-forward network of each block add."""
    for block in model.blocks:
        for name in ("attention", "feed_forward"):
            key = int(generator.integers(2**63))
            setattr(block, name, Dropout(getattr(block, name), share, key))


def norm_after(model: Decoder) -> None:
    """Put the norms of each block after its sums; the last output is normalised then, and not once more."""
    model.blocks = torch.nn.ModuleList([PostNorm(block) for block in model.blocks if isinstance(block, Block)])
    model.norm = torch.nn.Identity()  # type: ignore[assignment]

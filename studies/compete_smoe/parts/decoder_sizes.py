"""The decoders of the CompeteSMoE paper: Switch Transformer and GLaM at its sizes (section 6.1 and appendix C)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch

from moestat.training.decoder import Shape

Style = Literal["switch", "glam"]
SizeName = Literal["micro", "tiny", "small", "medium"]


class Size(NamedTuple):
    """A size of the CompeteSMoE paper: SMoE blocks, width (also of an expert's hidden layer), heads, window."""

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
    """Return the decoder of the CompeteSMoE paper in one of its styles and sizes.

    Both have LayerNorm before each part, learned positions and ReLU. GLaM has a dense block after each SMoE block, so
    twice as many blocks.
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

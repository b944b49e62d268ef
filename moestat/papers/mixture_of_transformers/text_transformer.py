"""Words as tokens: what makes an encoder read texts."""

from __future__ import annotations

import torch

from moestat.papers.mixture_of_transformers.encoder import Encoder, Shape
from moestat.papers.mixture_of_transformers.text_ids import PAD


class TokenEmbedding(torch.nn.Module):
    """An embedding of the id plus one of the position; padding is told apart as not real.

    ``length``, ``ids``, ``width``: tokens of a text with its padding, number of ids, d.
    """

    def __init__(self, length: int, ids: int, width: int) -> None:
        super().__init__()
        self.token = torch.nn.Embedding(ids, width)
        self.position = torch.nn.Parameter(0.02 * torch.randn(length, width))

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return tokens (B, L, width) of ids (B, L), and which of them are real (B, L)."""
        return self.token(ids) + self.position, ids != PAD


def text_transformer(length: int, ids: int, shape: Shape) -> Encoder:
    """Return a text transformer with weights from torch's global generator."""
    return Encoder(TokenEmbedding(length, ids, shape.width), shape)

"""Patches as tokens: what makes an encoder a small vision transformer (MT, appendix B.2)."""

from __future__ import annotations

import torch

from moestat.papers.mixture_of_transformers.encoder import Encoder, Shape


class PatchEmbedding(torch.nn.Module):
    """A linear map of the flattened patch plus an embedding of its position.

    ``length``, ``features``, ``width``: patches of an image, numbers of a patch, d.
    """

    def __init__(self, length: int, features: int, width: int) -> None:
        super().__init__()
        self.patch = torch.nn.Linear(features, width)
        self.position = torch.nn.Parameter(0.02 * torch.randn(length, width))

    def forward(self, patches: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return tokens (B, L, width) of patches (B, L, features); all of them are real."""
        return self.patch(patches) + self.position, None


def vision_transformer(length: int, features: int, shape: Shape) -> Encoder:
    """Return a vision transformer with weights from torch's global generator."""
    return Encoder(PatchEmbedding(length, features, shape.width), shape)

"""Random flips and crops of training images, drawn anew for every batch (MT, appendix B.2, for CIFAR-10)."""

from __future__ import annotations

import torch
from torch.nn import functional

SMALLEST = 0.8  # ours: a crop has at least this share of the height and width; the paper says "slightly"


class FlipAndCrop:
    """Flip every image with probability 1/2, crop it at random and bring the crop back to the old size (bilinear).

    The images come and go as patches; what stands in their place after the corruption moves with them.

    ``patch``: side of a patch in pixels; ``height``, ``width``: of an image; ``seed``: of the draws, which are made on
    the CPU, so that they do not depend on the device.
    """

    def __init__(self, patch: int, height: int, width: int, seed: int) -> None:
        self.patch, self.rows, self.columns = patch, height // patch, width // patch
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, patches: torch.Tensor) -> torch.Tensor:
        """Return other patches (B, L, patch * patch * channels) of the same images."""
        count = len(patches)
        side, flip, right, down = torch.rand(4, count, generator=self._generator)
        scale = SMALLEST + (1 - SMALLEST) * side
        theta = torch.zeros(count, 2, 3)
        theta[:, 0, 0] = torch.where(flip < 0.5, -scale, scale)
        theta[:, 1, 1] = scale
        theta[:, :, 2] = (1 - scale)[:, None] * (2 * torch.stack([right, down], dim=1) - 1)
        images = self._images(patches)
        grid = functional.affine_grid(theta.to(images), list(images.shape), align_corners=False)
        moved = functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
        return self._patches(moved)

    def _images(self, patches: torch.Tensor) -> torch.Tensor:
        cut = patches.view(len(patches), self.rows, self.columns, self.patch, self.patch, -1)
        whole = cut.permute(0, 5, 1, 3, 2, 4)
        return whole.reshape(len(patches), -1, self.rows * self.patch, self.columns * self.patch)

    def _patches(self, images: torch.Tensor) -> torch.Tensor:
        count, channels = images.shape[:2]
        cut = images.view(count, channels, self.rows, self.patch, self.columns, self.patch)
        return cut.permute(0, 2, 4, 3, 5, 1).reshape(count, self.rows * self.columns, -1)

"""Images as rows of patches: their corruption, and random flips and crops of training images (MT, appendix B.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

FOREIGN, NOISE = 0.15, 0.10  # shares of patches that the paper replaces: by patches of another class, by Gaussian noise
SMALLEST = 0.8  # ours: a crop has at least this share of the height and width; the paper says "slightly"


def patches(images: np.ndarray, size: int) -> np.ndarray:
    """Cut images (n, height, width, channels) into patches (n, L, size * size * channels), row by row."""
    n, height, width, channels = images.shape
    if height % size or width % size:
        raise ValueError(f"patch is {size}; it must divide the images' height and width, {height} x {width}")
    cut = images.reshape(n, height // size, size, width // size, size, channels).transpose(0, 1, 3, 2, 4, 5)
    return np.ascontiguousarray(cut).reshape(n, -1, size * size * channels)


def corrupt(
    cut: np.ndarray, label: np.ndarray, rng: np.random.Generator, *, foreign: float = FOREIGN, noise: float = NOISE
) -> np.ndarray:
    """Replace a share of the patches by patches of another class, and a share by standard Gaussian noise.

    Every patch is replaced independently of the others, so the shares hold on average. A foreign patch is a random one
    of a random image of another class in the same array.

    ``cut`` (n, L, f): patches of standardised images; ``label`` (n,): classes.
    """
    if foreign > 0 and np.all(label == label[:1]):
        raise ValueError(
            f"foreign is {foreign:g}, but all {len(label)} training or test images are of one class, so that there is "
            "no patch of another; take more images, or foreign = 0"
        )
    out = cut.copy()
    draw = rng.random(cut.shape[:2])
    image, place = np.nonzero(draw < foreign)
    donor = _of_another_class(label, image, rng)
    out[image, place] = cut[donor, rng.integers(cut.shape[1], size=donor.size)]
    noisy = (draw >= foreign) & (draw < foreign + noise)
    out[noisy] = rng.standard_normal((int(noisy.sum()), cut.shape[2]), dtype=np.float32)
    return out


def _of_another_class(label: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return, for every entry of ``rows``, a random row whose label differs from that of the entry."""
    order = np.argsort(label, kind="stable")
    first, last = (np.searchsorted(label[order], label[rows], side=side) for side in ("left", "right"))
    drawn = rng.integers(label.size - (last - first))
    return order[np.where(drawn >= first, drawn + (last - first), drawn)]


def flip_and_crop(cut: torch.Tensor, size: int, height: int, generator: torch.Generator) -> torch.Tensor:
    """Flip every image with probability 1/2, crop it at random and bring the crop back to the old size (bilinear).

    ``cut`` (B, L, f): patches of side ``size`` of images of this height; other patches of the same images come back,
    and what stands in their place after the corruption moves with them. The draws are made on the CPU.
    """
    import torch
    from torch.nn import functional

    count, length, features = cut.shape
    rows = height // size
    columns, channels = length // rows, features // size**2
    side, flip, right, down = torch.rand(4, count, generator=generator)
    scale = SMALLEST + (1 - SMALLEST) * side
    theta = torch.zeros(count, 2, 3)
    theta[:, 0, 0] = torch.where(flip < 0.5, -scale, scale)
    theta[:, 1, 1] = scale
    theta[:, :, 2] = (1 - scale)[:, None] * (2 * torch.stack([right, down], dim=1) - 1)
    whole = cut.view(count, rows, columns, size, size, channels).permute(0, 5, 1, 3, 2, 4)
    images = whole.reshape(count, channels, rows * size, columns * size)
    grid = functional.affine_grid(theta.to(images), list(images.shape), align_corners=False)
    moved = functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
    again = moved.view(count, channels, rows, size, columns, size).permute(0, 2, 4, 3, 5, 1)
    return again.reshape(count, length, features)

"""Images as rows of patches, and the corruption of the mixture-of-transformers paper (MT, appendix B.2)."""

from __future__ import annotations

import numpy as np

FOREIGN, NOISE = 0.15, 0.10  # shares of patches that the paper replaces: by patches of another class, by Gaussian noise


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
    donor = other_class(label, image, rng)
    out[image, place] = cut[donor, rng.integers(cut.shape[1], size=donor.size)]
    noisy = (draw >= foreign) & (draw < foreign + noise)
    out[noisy] = rng.standard_normal((int(noisy.sum()), cut.shape[2]), dtype=np.float32)
    return out


def other_class(label: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return, for every entry of ``rows``, a random row whose label differs from that of the entry."""
    order = np.argsort(label, kind="stable")
    first, last = (np.searchsorted(label[order], label[rows], side=side) for side in ("left", "right"))
    drawn = rng.integers(label.size - (last - first))
    return order[np.where(drawn >= first, drawn + (last - first), drawn)]

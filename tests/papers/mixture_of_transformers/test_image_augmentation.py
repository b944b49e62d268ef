"""Random flips and crops of images that are held as patches."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.papers.mixture_of_transformers import image_augmentation  # noqa: E402
from moestat.papers.mixture_of_transformers.image_augmentation import FlipAndCrop  # noqa: E402
from moestat.papers.mixture_of_transformers.image_patches import patches  # noqa: E402


def cut(images):
    return torch.from_numpy(patches(images.astype(np.float32), 2))


def whole(rows, height, width, channels):
    grid = rows.numpy().reshape(len(rows), height // 2, width // 2, 2, 2, channels)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(len(rows), height, width, channels)


def test_without_crops_an_image_is_itself_or_its_mirror(monkeypatch):
    monkeypatch.setattr(image_augmentation, "SMALLEST", 1.0)
    images = np.random.default_rng(0).standard_normal((40, 4, 6, 3))
    found = whole(FlipAndCrop(2, 4, 6, 1)(cut(images)), 4, 6, 3)
    same = np.isclose(found, images, atol=1e-5).all(axis=(1, 2, 3))
    mirrored = np.isclose(found, images[:, :, ::-1], atol=1e-5).all(axis=(1, 2, 3))
    assert (same ^ mirrored).all() and 5 < mirrored.sum() < 35  # outside with probability 2e-6


def test_a_crop_is_a_part_of_the_image_at_full_size():
    height, width = 8, 10
    images = np.broadcast_to(np.linspace(0, 1, width)[None, None, :, None], (60, height, width, 1))
    found = whole(FlipAndCrop(2, height, width, 3)(cut(images)), height, width, 1)[..., 0]
    slope = np.abs(found[:, 0, 6] - found[:, 0, 3]) / 3 * (width - 1)
    assert ((slope > 0.8 - 1e-5) & (slope < 1 + 1e-5)).all() and np.ptp(slope) > 0.1
    assert (found >= 0).all() and (found <= 1).all()
    np.testing.assert_allclose(found, np.broadcast_to(found[:, :1], found.shape), atol=1e-6)

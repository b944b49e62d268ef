"""Patches of images: cutting, corruption, random flips and crops."""

import numpy as np
import pytest

from studies.mixture_of_transformers.parts import images as all_images
from studies.mixture_of_transformers.parts.images import corrupt, flip_and_crop, patches


def moved(images, seed):
    """Return images after random flips and crops."""
    torch = pytest.importorskip("torch")
    n, height, width, channels = images.shape
    cut = torch.from_numpy(patches(images.astype(np.float32), 2))
    rows = flip_and_crop(cut, 2, height, torch.Generator().manual_seed(seed)).numpy()
    grid = rows.reshape(n, height // 2, width // 2, 2, 2, channels).transpose(0, 1, 3, 2, 4, 5)
    return grid.reshape(images.shape)


def test_without_crops_an_image_is_itself_or_its_mirror(monkeypatch):
    monkeypatch.setattr(all_images, "SMALLEST", 1.0)
    images = np.random.default_rng(0).standard_normal((40, 4, 6, 3))
    found = moved(images, 1)
    same = np.isclose(found, images, atol=1e-5).all(axis=(1, 2, 3))
    mirrored = np.isclose(found, images[:, :, ::-1], atol=1e-5).all(axis=(1, 2, 3))
    assert (same ^ mirrored).all() and 5 < mirrored.sum() < 35  # outside with probability 2e-6


def test_a_crop_is_a_part_of_the_image_at_full_size():
    height, width = 8, 10
    found = moved(np.broadcast_to(np.linspace(0, 1, width)[None, None, :, None], (60, height, width, 1)), 3)[..., 0]
    slope = np.abs(found[:, 0, 6] - found[:, 0, 3]) / 3 * (width - 1)
    assert ((slope > 0.8 - 1e-5) & (slope < 1 + 1e-5)).all() and np.ptp(slope) > 0.1
    assert (found >= 0).all() and (found <= 1).all()
    np.testing.assert_allclose(found, np.broadcast_to(found[:, :1], found.shape), atol=1e-6)


def test_corruption_replaces_the_stated_shares_by_what_it_says():
    """Shares of 4000 x 16 patches lie within 5 standard deviations of theirs: false alarm below 1e-6."""
    rng = np.random.default_rng(4)
    label = rng.integers(5, size=4000)
    cut = np.empty((4000, 16, 3), dtype=np.float32)
    cut[:] = label[:, None, None] + 10.0  # a patch tells its class
    out = corrupt(cut, label, rng)
    assert out.dtype == np.float32
    whole = (out == out.round()).all(axis=2)
    foreign = whole & (out[..., 0] != cut[..., 0])
    for found, share in ((foreign, 0.15), (~whole, 0.10)):
        assert abs(found.mean() - share) < 5 * np.sqrt(share * (1 - share) / found.size)
    assert set(np.unique(out[foreign])) == {10.0, 11.0, 12.0, 13.0, 14.0}
    noise = out[~whole]
    assert abs(noise.mean()) < 5 / np.sqrt(noise.size) and abs(noise.std() - 1) < 5 / np.sqrt(2 * noise.size)
    assert (cut == cut.round()).all(), "the input is left alone"

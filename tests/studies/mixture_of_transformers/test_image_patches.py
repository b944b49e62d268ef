"""Random flips and crops of images that are held as patches."""

import numpy as np
import pytest

from studies.mixture_of_transformers.parts.image_patches import corrupt, patches

torch = pytest.importorskip("torch")

from studies.mixture_of_transformers.parts import image_augmentation  # noqa: E402
from studies.mixture_of_transformers.parts.image_augmentation import FlipAndCrop  # noqa: E402


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


def test_patches_hold_the_pixels_in_order():
    images = np.arange(2 * 6 * 4 * 3).reshape(2, 6, 4, 3)
    cut = patches(images, 2)
    assert cut.shape == (2, 6, 12)
    np.testing.assert_array_equal(cut[1, 3], images[1, 2:4, 2:4].ravel())
    with pytest.raises(ValueError, match="patch is 4; it must divide the images' height and width, 6 x 4"):
        patches(images, 4)


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
    np.testing.assert_array_equal(corrupt(cut, label, rng, foreign=0, noise=0), cut)

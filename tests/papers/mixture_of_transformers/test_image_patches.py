"""Patches, and the corruption of the paper."""

import numpy as np
import pytest

from moestat.papers.mixture_of_transformers.image_patches import corrupt, patches


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

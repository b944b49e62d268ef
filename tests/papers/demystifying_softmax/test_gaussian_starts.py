import numpy as np
import pytest

from moestat.models import gaussian
from moestat.papers.demystifying_softmax.gaussian_starts import near_starts, published_starts, random_starts
from moestat.papers.demystifying_softmax.softmax_gaussian import MODEL, TRUTH


def test_start_policies_cover_every_true_atom_and_never_hit_it():
    rng = np.random.default_rng(0)
    for starts in (near_starts(TRUTH, 4, 50, 0.05, rng), published_starts(TRUTH, 4, 50, 1000, rng)):
        nearest = np.argmin(np.abs(starts[:, :, None, 2] - TRUTH[:, 2]), axis=-1)
        assert starts.shape == (50, 4, 5) and np.all(nearest[:, -1] == 1)
        assert all(set(row) == {0, 1} for row in nearest)
        assert np.all(np.any(starts != TRUTH[nearest], axis=-1))
    published = published_starts(TRUTH, 2, 50, 1000, rng)
    assert np.all(published[:, -1, :2] == 0) and np.all(published[..., -1] >= np.sqrt(TRUTH[:, -1]))
    x = rng.uniform(0, 1, (100, 1))
    y = gaussian.sample(MODEL, TRUTH, x, rng)
    random = random_starts(x, y, 3, 5, rng)
    assert random.shape == (5, 3, 5) and np.all(random[..., :2] == 0) and np.all(random[..., -1] > 0)
    with pytest.raises(ValueError, match="1 fitted atoms cannot cover 2"):
        near_starts(TRUTH, 1, 1, 0.1, rng)

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.models.tiles import cut


@st.composite
def routings(draw):
    experts, n, batch = draw(st.integers(1, 6)), draw(st.integers(1, 40)), draw(st.integers(1, 3))
    expert = draw(st.lists(st.integers(0, experts - 1), min_size=n * batch, max_size=n * batch))
    return np.asarray(expert).reshape(batch, n), experts, draw(st.integers(1, 9))


@settings(max_examples=30, deadline=None)
@given(routings())
def test_every_sample_sits_once_in_a_tile_of_its_expert_and_comes_back(case):
    expert, experts, rows = case
    batch, n = expert.shape
    tiles = cut(expert, experts, rows)
    values = np.arange(expert.size * 2, dtype=float).reshape(*expert.shape, 2)
    np.testing.assert_array_equal(tiles.scatter(tiles.gather(values)), values)
    for b in range(batch):
        assert sorted(tiles.source[b][tiles.filled[b]]) == list(range(n))
        owner = np.broadcast_to(tiles.expert[b][:, None], tiles.source[b].shape)
        np.testing.assert_array_equal(expert[b][tiles.source[b]][tiles.filled[b]], owner[tiles.filled[b]])
        np.testing.assert_array_equal(tiles.source[b].reshape(-1)[tiles.slot[b]], np.arange(n))
        assert np.all(tiles.filled[b].reshape(-1)[tiles.slot[b]])


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_sums_by_expert(xp):
    rng = np.random.default_rng(0)
    expert = rng.integers(0, 5, (3, 50))
    expert[1] = 2  # all at one expert
    values = rng.standard_normal((3, 50, 4))
    tiles = cut(xp.asarray(expert), 5, 8)
    gathered = tiles.gather(xp.asarray(values)) * xp.astype(tiles.filled, xp.float64)[..., None]
    summed = np.asarray(tiles.sum_by_expert(xp.sum(gathered, axis=2)))
    for b in range(3):
        for m in range(5):
            np.testing.assert_allclose(summed[b, m], values[b][expert[b] == m].sum(axis=0), atol=1e-12)

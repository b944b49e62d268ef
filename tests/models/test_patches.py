import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from moestat.models import patches
from moestat.models.tiles import cut


def streams(seed):
    return np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])


@pytest.mark.parametrize(("clusters", "count", "message"), [(1, 4, "at least 2"), (2, 2, "at least 3")])
def test_impossible_examples_are_refused(clusters, count, message):
    directions = patches.dictionary(np.random.default_rng(0), clusters, 10)
    with pytest.raises(ValueError, match=message):
        patches.draw(*streams(0), directions, 5, count)


@pytest.mark.parametrize("count", [3, 5])
def test_patches_hold_what_the_definition_says(count):
    directions = patches.dictionary(np.random.default_rng(1), 3, 12)
    drawn = patches.draw(*streams(1), directions, 200, count)
    rows = np.arange(200)
    assert drawn.x.shape == (200, count, 12)
    assert set(np.unique(drawn.y)) == {-1.0, 1.0}
    assert np.all(drawn.cluster != drawn.other)

    label, centre, feature = (drawn.x[rows, drawn.position[:, i]] for i in range(3))
    alpha = drawn.y * np.sum(label * directions.labels[drawn.cluster], axis=1)
    beta = np.sum(centre * directions.centres[drawn.cluster], axis=1)
    gamma = np.sum(feature * directions.labels[drawn.other], axis=1)
    for amplitude, (low, high) in ((alpha, (0.5, 2)), (beta, (1, 2)), (np.abs(gamma), (0.5, 3))):
        assert amplitude.min() >= low and amplitude.max() <= high
        assert np.ptp(amplitude) > 0.8 * (high - low)
    np.testing.assert_allclose(label, (drawn.y * alpha)[:, None] * directions.labels[drawn.cluster], atol=1e-12)
    np.testing.assert_allclose(centre, beta[:, None] * directions.centres[drawn.cluster], atol=1e-12)
    np.testing.assert_allclose(feature, gamma[:, None] * directions.labels[drawn.other], atol=1e-12)
    assert abs(np.mean(np.sign(gamma) * drawn.y)) < 0.3  # 4.2 standard errors of independent signs


def test_laws_are_uniform():
    # each chi-squared test rejects a right law with probability 1e-4
    directions = patches.dictionary(np.random.default_rng(2), 4, 10)
    drawn = patches.draw(*streams(2), directions, 20_000, 5)
    pairs = np.bincount(drawn.cluster * 4 + drawn.other, minlength=16).reshape(4, 4)
    assert np.all(np.diagonal(pairs) == 0)
    assert stats.chisquare(pairs[~np.eye(4, dtype=bool)]).pvalue > 1e-4
    places = np.bincount(drawn.position @ np.array([25, 5, 1]), minlength=125)
    assert stats.chisquare(places[places > 0]).pvalue > 1e-4
    assert np.count_nonzero(places) == 60
    assert stats.binomtest(int(np.sum(drawn.y > 0)), 20_000).pvalue > 1e-4


def test_samples_are_nested():
    directions = patches.dictionary(np.random.default_rng(4), 4, 20)
    small, large = (patches.draw(*streams(4), directions, n, 6) for n in (30, 100))
    np.testing.assert_array_equal(small.x, large.x[:30])
    np.testing.assert_array_equal(small.y, large.y[:30])
    np.testing.assert_array_equal(small.position, large.position[:30])


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

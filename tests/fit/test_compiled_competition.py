"""The compiled densities against the plain ones, which have tests of their own against the model and differences."""

import array_api_strict as strict
import numpy as np
import pytest

from moestat.fit import kernel
from moestat.fit.competition_likelihood import hard_log_density, slopes
from moestat.models.competition import EXPERTS, Competition

pytestmark = pytest.mark.skipif(not kernel.vector_bits(), reason=kernel.describe())


def points(expert="affine", active=2, members=3, n=515, atoms=4, seed=0):
    rng = np.random.default_rng(seed)
    model = Competition(3, expert, active)
    free = rng.normal(size=(members, atoms * model.atom_size))
    return model, free, model.features(rng.uniform(-1, 1, (members, n, 3))), 2.0 * rng.normal(size=(members, n)), rng


def plain(function, model, *arrays):
    """The same by arrays that are no NumPy arrays, for which nothing is compiled."""
    *arrays, temperature = arrays
    found = function(model, *map(strict.asarray, arrays), *([] if temperature is None else [temperature]))
    return [np.asarray(part) for part in found] if temperature is not None else np.asarray(found)


@pytest.mark.parametrize("expert", EXPERTS)
@pytest.mark.parametrize("active", [1, 2, 4])
@pytest.mark.parametrize("temperature", [0.0, 0.3, 0.001])
def test_densities_and_slopes_are_the_plain_ones(expert, active, temperature):
    # two strips and a part of one
    model, free, features, y, _ = points(expert, active)
    fast = slopes(model, free, features, y, temperature)
    for mine, theirs in zip(fast, plain(slopes, model, free, features, y, temperature), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        fast.log_density, plain(slopes, model, free, features, y, temperature)[0], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("expert", EXPERTS)
def test_many_points_on_the_same_samples(expert):
    model, free, features, y, rng = points(expert, 2, n=300, atoms=5)
    moved = free[:, None, :] + 0.2 * rng.normal(size=(3, 7, free.shape[1]))
    fast = hard_log_density(model, moved, features[:, None], y[:, None])
    assert fast.shape == (3, 7, 300)
    np.testing.assert_allclose(
        fast, plain(hard_log_density, model, moved, features[:, None], y[:, None], None), rtol=1e-12, atol=1e-12
    )


def test_nothing_is_lost_far_out_in_the_tails():
    model, free, features, y, _ = points(members=2, n=40)
    free[0, model.atom_size - 1 :: model.atom_size] = np.log(1e-4)
    y[:, ::2] = 80.0  # log-densities down to -3e7
    for temperature in (0.0, 0.001):
        fast = slopes(model, free, features, y, temperature)
        theirs = plain(slopes, model, free, features, y, temperature)
        assert fast.log_density.min() < -1e6
        np.testing.assert_allclose(fast.log_density, theirs[0], rtol=1e-12)
        scale = np.abs(theirs[1]).max()
        np.testing.assert_allclose(fast.through, theirs[1], atol=1e-11 * scale)


def test_ties_go_to_the_lowest_index():
    model = Competition(1, "linear", 1)
    free = np.array([[1.0, np.log(0.1), -1.0, np.log(0.3)]])
    features, y = np.linspace(-1, 1, 9)[None, None, :], np.linspace(0, 1, 9)[None]
    fast = slopes(model, free, features, y, 0.0)
    assert np.all(fast.log_variance[0, 1] == 0) and np.any(fast.log_variance[0, 0] != 0)
    np.testing.assert_allclose(fast.log_density, plain(slopes, model, free, features, y, 0.0)[0], rtol=1e-13)


def test_the_exponential_is_exact_to_rounding():
    from moestat.fit.compiled_competition import exponentials

    row = np.concatenate([np.linspace(-708, 1, 100_001), [-709.0, -1e5, -1e300, -np.inf, 0.0]])
    expected, spare = np.exp(row), np.empty_like(row)
    exponentials(row, spare, spare.view(np.int64), len(row))
    np.testing.assert_allclose(row[:-5], expected[:-5], rtol=4e-16)
    assert np.all(row[-5:-1] == 0) and row[-1] == 1

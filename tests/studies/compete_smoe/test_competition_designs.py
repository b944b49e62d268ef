import math

import array_api_strict as strict
import numpy as np
import pytest

from moestat.losses.divergences import expected_hellinger, squared_hellinger
from moestat.models import gaussian
from studies.compete_smoe.parts.competition_designs import DESIGNS, near_starts, random_starts, true_mixture
from studies.compete_smoe.parts.competition_errors import Routing, fisher_line, information, paired_with_truth


def test_starts_fit_the_family_and_are_never_the_truth():
    rng = np.random.default_rng(1)
    model, truth = true_mixture("mean")
    x = rng.uniform(-1, 1, (300, model.d))
    y = gaussian.sample(model, truth, x, rng)
    near = near_starts(truth, 4, 50, 0.1, rng)
    # standard deviation of 50 x 16 normals: five standard errors
    assert np.std(near[..., :-1] - truth[:, :-1]) == pytest.approx(0.1, rel=5 / np.sqrt(2 * 800))
    assert not np.any(near == truth) and np.all(near[..., -1] > 0)
    drawn = random_starts(model, x, y, 5, 3, rng)
    assert drawn.shape == (3, 5, model.atom_size) and np.all(np.isfinite(drawn)) and np.all(drawn[..., -1] > 0)
    with pytest.raises(ValueError, match="radius is 0.0; it must be positive"):
        near_starts(truth, 4, 1, 0.0, rng)
    with pytest.raises(ValueError, match="atoms is 3; starts near 4 true atoms"):
        near_starts(truth, 3, 1, 0.1, rng)
    with pytest.raises(ValueError, match="design is 'none'; allowed are continuous, variance, sign, mean"):
        true_mixture("none")


def test_the_information_is_the_mean_of_squared_scores():
    model, truth = true_mixture("affine")
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (40, 2))
    local = information(model, truth, x)
    # a fine grid of responses at each input, score by finite differences of the log-density
    y, step = np.linspace(-6, 6, 1201), 1e-6
    for i in (0, 17, 33):
        points = np.repeat(x[i : i + 1], len(y), axis=0)
        density = np.exp(gaussian.log_density(model, truth, points, y))
        score = []
        for p in range(truth.size):
            shift = step * (np.arange(truth.size) == p).reshape(truth.shape)
            up, down = (gaussian.log_density(model, truth + s * shift, points, y) for s in (1, -1))
            score.append((up - down) / (2 * step))
        slow = (np.array(score) * density) @ np.array(score).T * (y[1] - y[0])
        np.testing.assert_allclose(local[i], slow, atol=1e-4 * np.abs(slow).max())


def test_the_line_is_that_of_draws_from_the_limit_law():
    """Where nothing jumps: the Hellinger distance of theta + N(0, I^-1 / n), computed as it stands."""
    model, truth = true_mixture("affine", 4)
    x = np.random.default_rng(2).uniform(-1, 1, (512, 2))
    line = fisher_line(model, truth, x)
    assert line.root_hellinger_squared == pytest.approx(math.sqrt(16 / 8), rel=0.02)
    n, rng = 1e6, np.random.default_rng(3)
    covariance = np.linalg.inv(information(model, truth, x).mean(axis=0)) / n
    draws = truth + rng.multivariate_normal(np.zeros(16), covariance, 100).reshape(100, *truth.shape)
    h, h2 = expected_hellinger(model, draws, truth, x)
    # standard deviation of chi_16 / 4: 0.18; 0.07 is four standard errors of 100 draws
    assert np.mean(h) * math.sqrt(n) == pytest.approx(line.hellinger, rel=0.07)
    assert np.mean(np.sqrt(h2)) * math.sqrt(n) == pytest.approx(line.root_hellinger_squared, rel=0.07)
    sums = np.linalg.norm((draws - truth)[..., :3], axis=-1) + np.abs((draws - truth)[..., 3])
    assert np.mean(sums.sum(axis=1)) * math.sqrt(n) == pytest.approx(line.D, rel=0.1)


def test_a_singular_information_is_refused():
    model, truth = true_mixture("asleep")
    with pytest.raises(ValueError, match="singular"):
        fisher_line(model, truth, np.random.default_rng(0).uniform(-1, 1, (64, 2)))


def moved(design, size, seed=0):
    model, truth = true_mixture(design)
    rng = np.random.default_rng(seed)
    return model, truth, truth + size * rng.standard_normal((2, *truth.shape)) * (np.arange(truth.shape[1]) < model.d)


def test_pairing_undoes_a_permutation_and_leaves_out_the_surplus_atom():
    model, truth, fitted = moved("mean", 0.01)
    order = np.array([2, 0, 3, 1])
    more = np.concatenate([fitted[:, order], fitted[:, :1] + 5.0], axis=1)
    np.testing.assert_array_equal(paired_with_truth(more, truth), fitted)
    with pytest.raises(ValueError, match="3 fitted atoms cannot be paired with 4 true atoms"):
        paired_with_truth(fitted[:, :3], truth)


@pytest.mark.parametrize("design", DESIGNS)
def test_misrouted_inputs_are_all_found(design):
    model, truth, fitted = moved(design, 0.05)
    pool = np.random.default_rng(1).uniform(-1, 1, (20000, model.d))
    routing = Routing(model, truth, pool, 100)
    for atoms in fitted:
        directly = np.any(model.winners(atoms, pool) != model.winners(truth, pool), axis=0)
        np.testing.assert_array_equal(routing.misrouted(atoms), np.flatnonzero(directly))
        assert directly.any()
    assert routing.misrouted(truth).size == 0


def test_hellinger_means_are_those_over_the_whole_pool():
    model, truth, fitted = moved("mean", 0.02)
    pool = np.random.default_rng(1).uniform(-1, 1, (20000, 4))
    errors = Routing(model, truth, pool, 3000).hellinger(fitted)
    for k, atoms in enumerate(fitted):
        h2 = squared_hellinger(model, atoms, truth, pool)
        wrong = np.any(model.winners(atoms, pool) != model.winners(truth, pool), axis=0)
        # inputs with the true winners are a subsample of 3000: their h^2 varies by less than its mean, 5 sigma
        assert errors.squared[k] == pytest.approx(h2.mean(), rel=0.1)
        assert errors.mean[k] == pytest.approx(np.sqrt(h2).mean(), rel=0.1)
        assert errors.misrouted[k] == wrong.mean()
        assert errors.squared_misrouted[k] == pytest.approx(np.mean(h2 * wrong), rel=1e-9)
    same = Routing(model, strict.asarray(truth), strict.asarray(pool[:5000]), 300)
    other = Routing(model, truth, pool[:5000], 300)
    for name in ("misrouted", "mean", "squared", "squared_misrouted"):
        ours = getattr(other.hellinger(fitted), name)
        np.testing.assert_allclose(getattr(same.hellinger(strict.asarray(fitted)), name), ours, rtol=1e-10)

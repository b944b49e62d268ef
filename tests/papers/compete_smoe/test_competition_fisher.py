import math

import numpy as np
import pytest

from moestat.losses.divergences import expected_hellinger
from moestat.models import gaussian
from moestat.papers.compete_smoe.competition_designs import true_mixture
from moestat.papers.compete_smoe.competition_fisher import fisher_line, information


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

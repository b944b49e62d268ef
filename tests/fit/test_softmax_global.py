"""How often the maximum that was found is not the highest that is known: slow, since the reference is a long search."""

import numpy as np
import pytest

from moestat.fit.softmax_mle import maximum_likelihood
from moestat.fit.split_moves import split_moves
from moestat.models import gaussian
from moestat.papers.demystifying_softmax.gaussian_starts import near_starts, random_starts
from moestat.papers.demystifying_softmax.softmax_gaussian import MODEL, TRUTH


def test_rounds_of_splits_differ_and_the_first_one_is_as_before():
    theta = np.stack([TRUTH, TRUTH + 0.1])
    three = np.concatenate([theta, theta[:, :1]], axis=1)
    first, again, second = (split_moves(three, np.array([[0.5]] * 2), number) for number in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.shape == second.shape == (2, 6, 3, 5) and not np.allclose(first, second)
    # the two halves are as one at the centre's gate: their mean is the expert that was split
    for moved in (first, second):
        for k, (removed, split) in enumerate((r, s) for r in range(3) for s in range(3) if r != s):
            mean = 0.5 * (moved[:, k, removed] + moved[:, k, split])
            whole = three[:, split].copy()
            whole[:, 0] -= np.log(2.0)
            np.testing.assert_allclose(mean, whole, atol=1e-12)


@pytest.mark.slow
@pytest.mark.xfail(
    strict=False, reason="the goal is not reached: 2 of 20 data sets fall short, the reference in 3 of 20"
)
def test_few_fits_fall_short_of_the_best_of_sixty_starts_and_many_moves():
    """The goal is one data set of twenty at most that is more than 0.1 below the reference; K = 3, n = 1000."""
    rng, experts, n, replicates = np.random.default_rng(21), 3, 1000, 20
    x = rng.uniform(size=(replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    near = np.stack([near_starts(TRUTH, experts, 30, 0.1, rng) for _ in range(replicates)])
    far = np.stack([random_starts(x[i], y[i], experts, 30, rng) for i in range(replicates)])
    few = np.concatenate([near[:, :5], far[:, :5]], axis=1)
    usual = maximum_likelihood(x, y, few, truth=TRUTH, kept=4, split_rounds=24)
    longest = maximum_likelihood(x, y, np.concatenate([near, far], axis=1), truth=TRUTH, kept=10, split_rounds=12)
    best = np.maximum(usual.log_likelihood, longest.log_likelihood)
    assert np.mean(best - usual.log_likelihood > 0.1) <= 0.05

"""How often the maximum that was found is not the highest that is known: slow, since the reference is a long search."""

import numpy as np
import pytest

from moestat.fit.softmax_global import _middle_last, global_maximum
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.models import gaussian
from moestat.papers.demystifying_softmax.gaussian_starts import near_starts, random_starts
from moestat.papers.demystifying_softmax.softmax_gaussian import MODEL, TRUTH


def test_gates_are_measured_against_the_expert_in_the_middle():
    """No other choice leaves less room between the largest difference and the bound, for three experts."""
    theta = np.random.default_rng(5).standard_normal((4, 7, 3, 5))
    rows = _middle_last(theta)
    moved = np.take_along_axis(theta, rows[..., None], axis=2)
    np.testing.assert_array_equal(np.take_along_axis(moved, rows[..., None], axis=2), theta)
    slopes = moved[..., 1]
    spread = np.abs(slopes[..., None] - slopes[..., None, :]).max(axis=-1)
    assert (spread[..., -1] == spread.min(axis=-1)).all() and (spread[..., -1] < spread[..., 0]).any()


@pytest.mark.slow
def test_few_fits_fall_short_of_the_best_of_sixty_starts_and_many_moves():
    """At most one data set of twenty is more than 0.1 below the best known: the benchmark's first case, K = 3, n = 300.

    The data, of two seeds, took no part in the making of the search (see ``benchmarks/global_maximum.py``).
    """
    experts, n = 3, 300
    short = []
    for seed, replicates in ((20261124, 20), (20261123, 40)):
        rng = np.random.default_rng([seed, experts, n])
        x = rng.uniform(size=(replicates, n, 1))
        y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
        near = np.stack([near_starts(TRUTH, experts, 30, 0.1, rng) for _ in range(replicates)])
        far = np.stack([random_starts(x[i], y[i], experts, 30, rng) for i in range(replicates)])
        sixty = np.concatenate([near, far], axis=1)
        usual = global_maximum(x, y, near[:, :5], truth=TRUTH)
        starts = maximum_likelihood(x, y, sixty, truth=TRUTH, kept=10)
        longest = global_maximum(x, y, sixty, truth=TRUTH, rounds=12, enough=6)
        best = np.max([fit.log_likelihood for fit in (usual, starts, longest)], axis=0)
        short.extend(best - usual.log_likelihood > 0.1)
    assert np.mean(short) <= 0.05

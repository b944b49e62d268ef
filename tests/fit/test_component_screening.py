"""Screened components: where the likelihood is waiting for one, and never a worse fit."""

import numpy as np
import pytest

from moestat.fit.component_screening import screened_starts
from moestat.fit.softmax_global import global_maximum
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.papers.demystifying_softmax.gaussian_starts import near_starts
from moestat.papers.demystifying_softmax.softmax_gaussian import MODEL, TRUTH


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(2, 100, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    return x, y, np.stack([near_starts(TRUTH, 3, 2, 0.1, rng) for _ in range(2)])


def test_starts_replace_one_expert_each_and_stay_in_the_box(data):
    x, y, starts = data
    theta = starts[:, 0]
    found = screened_starts(x, y, theta, box=30.0, least_variance=0.01, candidates=40, keep=2)
    assert found.shape == (2, 6, 3, 5)
    for b in range(2):
        for k, start in enumerate(found[b]):
            np.testing.assert_array_equal(start[:2], np.delete(theta[b], k // 2, axis=0))
    new = found[:, :, -1]
    assert (np.abs(new[..., :4]) <= 30.0).all() and (new[..., 4] >= 0.01).all() and (new[..., 4] <= 0.2).all()
    again, other = (
        screened_starts(x, y, theta, box=30.0, least_variance=0.01, candidates=40, keep=2, number=i) for i in (0, 1)
    )
    np.testing.assert_array_equal(found, again)
    assert not np.array_equal(found, other)
    with pytest.raises(ValueError, match="2 dimensions"):
        screened_starts(np.zeros((1, 9, 2)), np.zeros((1, 9)), theta[:1], box=9.0, least_variance=0.1)


def test_a_line_that_no_expert_fits_is_found():
    """Twenty of two hundred samples lie on a line of their own, far from the two experts' one."""
    rng = np.random.default_rng(4)
    x = rng.uniform(size=(1, 200, 1))
    y = 0.3 * rng.standard_normal((1, 200))
    far = np.argsort(x[0, :, 0])[-20:]
    y[0, far] = 8.0 - 5.0 * x[0, far, 0] + 0.1 * rng.standard_normal(20)
    two = np.array([[[0.0, 0.0, 0.0, 0.0, 0.09], [0.0, 0.5, 0.0, 0.1, 0.09]]])
    found = screened_starts(x, y, two, box=100.0, least_variance=0.01, keep=1)
    model = SoftmaxGaussian(1)
    before, after = (
        gaussian.log_likelihood(model, theta, np.repeat(x, len(theta), 0), np.repeat(y, len(theta), 0)).max()
        for theta in (two, found[0])
    )
    assert after > before + 100
    line = found[0, :, -1]
    assert np.abs(line[:, 2] * 0.95 + line[:, 3] - 3.25).max() < 0.5


def test_rounds_of_screening_never_lower_the_likelihood(data):
    x, y, starts = data
    usual = maximum_likelihood(x, y, starts, truth=TRUTH, kept=4, split_rounds=0)
    longer = global_maximum(x, y, starts, truth=TRUTH, split_rounds=0, rounds=1)
    assert (longer.log_likelihood >= usual.log_likelihood).all()
    np.testing.assert_allclose(longer.gain - usual.gain, longer.log_likelihood - usual.log_likelihood, atol=1e-9)
    np.testing.assert_allclose(gaussian.log_likelihood(MODEL, longer.theta, x, y), longer.log_likelihood, rtol=1e-9)
    np.testing.assert_array_equal(longer.start_log_likelihood, usual.start_log_likelihood)

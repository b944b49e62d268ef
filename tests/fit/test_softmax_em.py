import numpy as np
import pytest

from moestat.fit.em import expectation_maximisation
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.papers.demystifying_softmax.gaussian_starts import near_starts
from moestat.status import Status

TRUTH = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
MODEL = SoftmaxGaussian(1)


def sample(n=300, replicates=2, atoms=3, starts=3):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    return x, y, np.stack([near_starts(TRUTH, atoms, starts, 0.1, rng) for _ in range(replicates)])


def test_the_best_end_point_of_em_counts():
    x, y, starts = sample()
    fit = expectation_maximisation(x, y, starts, truth=TRUTH, tolerance=1e-5)
    for s in range(3):
        alone = expectation_maximisation(x, y, starts[:, s : s + 1], truth=TRUTH, tolerance=1e-5)
        np.testing.assert_allclose(alone.log_likelihood, fit.start_log_likelihood[:, s], rtol=1e-12)
    np.testing.assert_array_equal(fit.log_likelihood, fit.start_log_likelihood.max(axis=1))
    np.testing.assert_array_equal(fit.start, fit.start_log_likelihood.argmax(axis=1))
    direct = gaussian.log_likelihood(MODEL, fit.theta, x, y)
    np.testing.assert_allclose(fit.log_likelihood, direct, rtol=1e-10)
    np.testing.assert_allclose(
        fit.gain, direct - gaussian.log_likelihood(MODEL, np.stack([TRUTH] * 2), x, y), atol=1e-7
    )
    assert np.all(fit.gradient > 1e-5)  # small steps, and not yet a maximum
    np.testing.assert_array_equal(fit.box_hits, np.sum(fit.theta[..., -1] <= 0.01 + 1e-9, axis=1))
    closer = expectation_maximisation(x, y, starts, truth=TRUTH, tolerance=1e-7)
    assert np.all(closer.gain >= fit.gain) and np.all(closer.gradient < fit.gradient)


def test_em_reports_failures():
    x, y, starts = sample(80, starts=2)
    starts[0, :, :, 3] += 50.0
    far = expectation_maximisation(x, y, starts, truth=TRUTH, max_iterations=0)
    assert far.status[0] == Status.WORSE_THAN_TRUTH and far.gain[0] < 0


def test_settings_out_of_range_get_one_clear_sentence():
    x, y, starts = sample(80, starts=1)
    for options, words in (
        ({"variances": (1.0, 0.5)}, "variances is"),
        ({"variances": (-1.0, 0.5)}, "variances is"),
        ({"tolerance": -1.0}, "tolerance is -1.0; it must not be negative"),
        ({"max_iterations": -1}, "max_iterations is -1; it must not be negative"),
    ):
        with pytest.raises(ValueError, match=words):
            expectation_maximisation(x, y, starts, **options)

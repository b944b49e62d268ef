import numpy as np
import pytest
from scipy.special import logsumexp

from moestat.fit.em import em, expectation_maximisation
from moestat.fit.softmax_likelihood import log_likelihood, pack, prepare, unpack
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.papers.demystifying_softmax.gaussian_starts import near_starts
from moestat.status import Status

TRUTH = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
MODEL = SoftmaxGaussian(1)


def problem(n=600, atoms=3, replicates=2, seed=4):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    starts = np.concatenate([near_starts(TRUTH, atoms, 2, 0.2, rng) for _ in range(replicates)])
    return x, y, starts, np.repeat(np.arange(replicates), 2)


def plain_step(x, y, theta):
    """One EM step written out, the gate by scipy-free Newton steps to the end."""
    z = np.column_stack([np.ones(len(x)), x[:, 0]])
    scores, mean, v = z @ theta[:, :2].T, z @ theta[:, [3, 2]].T, theta[:, 4]
    joint = scores - logsumexp(scores, axis=1, keepdims=True) - 0.5 * ((y[:, None] - mean) ** 2 / v + np.log(v))
    r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    new = theta - np.r_[theta[-1, :2], 0, 0, 0]
    for k in range(len(theta)):
        beta = np.linalg.lstsq(z * np.sqrt(r[:, [k]]), y * np.sqrt(r[:, k]), rcond=None)[0]
        new[k, 2:] = beta[1], beta[0], r[:, k] @ (y - z @ beta) ** 2 / r[:, k].sum()
    count = len(theta) - 1
    for _ in range(50):
        scores = z @ new[:, :2].T
        pi = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        gradient = ((r - pi)[:, :count].T @ z).ravel()
        hessian = np.block(
            [[(z * (pi[:, j] * ((j == k) - pi[:, k]))[:, None]).T @ z for k in range(count)] for j in range(count)]
        )
        new[:count, :2] += np.linalg.solve(hessian, gradient).reshape(count, 2)
    return new


def test_a_step_is_the_textbook_step():
    x, y, starts, owner = problem()
    result = em(prepare(x, y), pack(starts), owner, 3, tolerance=0.0, max_iterations=1, inner=50)
    for k, theta in enumerate(unpack(result.free, 3)):
        np.testing.assert_allclose(theta, plain_step(x[owner[k]], y[owner[k]], starts[k]), rtol=2e-5, atol=2e-5)
    assert np.all(result.status == Status.LIMIT)


@pytest.mark.parametrize("inner", [1, 2, 10])
def test_the_likelihood_never_falls(inner):
    x, y, starts, owner = problem()
    data, free = prepare(x, y), pack(starts)
    before = log_likelihood(data, free, owner, 3)
    for _ in range(25):
        result = em(data, free, owner, 3, tolerance=0.0, max_iterations=1, inner=inner)
        assert np.all(result.log_likelihood >= before - 1e-13)
        np.testing.assert_allclose(result.log_likelihood, log_likelihood(data, result.free, owner, 3), rtol=1e-14)
        free, before = result.free, result.log_likelihood


def test_bounds_and_failures_are_kept_and_reported():
    x, y, starts, owner = problem()
    result = em(prepare(x, y), pack(starts), owner, 3, bounds=(0.06, 0.11), max_iterations=3, tolerance=0.0)
    variances = unpack(result.free, 3)[..., -1]
    assert (variances.min(), variances.max()) == pytest.approx((0.06, 0.11), rel=1e-12)  # both bind
    assert np.any((variances > 0.07) & (variances < 0.1))
    y[0, 3] = np.nan
    result = em(prepare(x, y), pack(starts), owner, 3, max_iterations=3)
    np.testing.assert_array_equal(result.status[owner == 0], Status.NOT_FINITE)
    assert np.all(np.isfinite(result.free[owner == 1]))


def test_one_expert_is_ordinary_least_squares():
    x, y, starts, owner = problem()
    result = em(prepare(x, y), pack(starts[:, :1]), owner, 1, tolerance=1e-12)
    for k, theta in enumerate(unpack(result.free, 1)):
        z = np.column_stack([x[owner[k], :, 0], np.ones(600)])
        beta, rss, *_ = np.linalg.lstsq(z, y[owner[k]], rcond=None)
        np.testing.assert_allclose(theta[0, 2:], [*beta, rss[0] / 600], rtol=1e-9)


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


def test_settings_out_of_range_get_one_clear_sentence():
    x, y, starts = sample(80, starts=1)
    for options, words in (
        ({"variances": (1.0, 0.5)}, "variances is"),
        ({"tolerance": -1.0}, "tolerance is -1.0; it must not be negative"),
    ):
        with pytest.raises(ValueError, match=words):
            expectation_maximisation(x, y, starts, **options)

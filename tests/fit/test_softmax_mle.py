import numpy as np
import pytest
import scipy.optimize

from moestat.fit.contest import SAME, distinct
from moestat.fit.em import em
from moestat.fit.softmax_global import global_maximum
from moestat.fit.softmax_likelihood import log_likelihood, pack, prepare, unpack
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.papers.demystifying_softmax.gaussian_starts import near_starts
from moestat.status import Status

MODEL = SoftmaxGaussian(1)
TRUTH = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])


def problem(n=400, atoms=2, replicates=3, starts=3, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    return x, y, np.stack([near_starts(TRUTH, atoms, starts, 0.1, rng) for _ in range(replicates)])


def test_agrees_with_scipy():
    x, y, starts = problem()
    fit = maximum_likelihood(x, y, starts, truth=TRUTH)
    assert np.all(fit.status == Status.CONVERGED) and np.all(fit.gain >= 0)
    for b in range(3):
        data = prepare(x[b : b + 1], y[b : b + 1])
        reference = scipy.optimize.minimize(
            lambda t, data=data: -400 * log_likelihood(data, t[None], np.array([0]), 2)[0],
            pack(TRUTH),
            method="BFGS",
            options={"gtol": 1e-4},
        )
        assert fit.log_likelihood[b] == pytest.approx(-reference.fun, abs=1e-6)
        np.testing.assert_allclose(fit.theta[b], unpack(reference.x, 2), rtol=2e-3, atol=2e-3)
        score = MODEL.score(fit.theta[b], x[b], y[b]).mean(axis=-1)
        assert np.abs(score).max() < 1e-6 and fit.gradient[b] < 1e-6


def test_gain_is_the_likelihood_over_the_truths():
    x, y, starts = problem()
    fit = maximum_likelihood(x, y, starts, truth=TRUTH)
    own = gaussian.log_likelihood(MODEL, fit.theta, x, y)
    np.testing.assert_allclose(fit.log_likelihood, own, rtol=1e-12)
    np.testing.assert_allclose(fit.gain, own - gaussian.log_likelihood(MODEL, np.stack([TRUTH] * 3), x, y), atol=1e-9)
    assert np.all(np.isnan(maximum_likelihood(x, y, starts).gain))
    # twice the gain is chi-squared with 9 degrees of freedom: mean 4.5 a fit; 3 fits stay below 18 (chance 1e-7)
    assert np.all(fit.gain < 18)


@pytest.mark.parametrize("atoms", [3, 4])
def test_over_fitted_mixtures_reach_what_em_reaches(atoms):
    x, y, starts = problem(300, atoms, 4)
    local = maximum_likelihood(x, y, starts, truth=TRUTH)
    best = np.nanmax(local.start_log_likelihood, axis=1)
    np.testing.assert_allclose(best, local.log_likelihood, rtol=1e-13)
    np.testing.assert_array_equal(np.nanargmax(local.start_log_likelihood, axis=1), local.start)
    fit = global_maximum(x, y, starts, truth=TRUTH, rounds=2)
    data, owner = prepare(x, y), np.repeat(np.arange(4), 3)
    run = em(data, pack(starts).reshape(12, -1), owner, atoms)
    reached = 300 * run.log_likelihood.reshape(4, 3).max(axis=1)
    # EM stops early; where it has gone to another maximum it may be ahead by a little, never on the whole
    assert np.mean(fit.log_likelihood - reached) > 0.1 and np.all(fit.log_likelihood > reached - 3)
    assert np.all(fit.gain > 0) and np.all(fit.status == Status.CONVERGED) and np.all(fit.gradient < 1e-6)


def test_replicates_do_not_know_of_each_other_on_a_ladder_of_three_rungs():
    x, y, starts = problem(1700, 3, 2)
    together = maximum_likelihood(x, y, starts, truth=TRUTH, coarsest=100)
    for b in range(2):
        one = slice(b, b + 1)
        alone = maximum_likelihood(x[one], y[one], starts[one], truth=TRUTH, coarsest=100)
        for name in ("theta", "log_likelihood", "gain", "gradient", "iterations", "start", "start_log_likelihood"):
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(together, name)[b])
    assert np.all(together.gain > 0) and np.all(together.gradient < 1e-6)


def test_a_fit_worse_than_the_truth_is_a_failed_fit():
    x, y, starts = problem(starts=1)
    starts[1, 0, :, :2] = 0.0  # one replicate starts far away, and gets no time
    starts[1, 0, :, 2:4] = [[3.0, 1.0], [2.0, -1.0]]
    starts[1, 0, :, 4] = 40.0
    fit = maximum_likelihood(x, y, starts, truth=TRUTH, em_steps=0, max_iterations=3)
    assert fit.gain[1] < 0 and fit.status[1] == Status.WORSE_THAN_TRUTH
    assert fit.message()[1] == Status.WORSE_THAN_TRUTH.sentence


def test_bad_input_gets_one_clear_sentence():
    x, y, starts = problem(50, replicates=2)
    for arguments, words in (
        ((x, y, starts[:1]), "same replicates"),
        ((x[:, :9], y[:, :9], starts), "9 samples cannot determine 10 parameters"),
        ((x, y, starts * 0), "variance 0"),
    ):
        with pytest.raises(ValueError, match=words):
            maximum_likelihood(*arguments)
    with pytest.raises(ValueError, match="a start is exactly the truth"):
        maximum_likelihood(x, y, np.broadcast_to(TRUTH[::-1], starts.shape), truth=TRUTH)
    with pytest.raises(ValueError, match="variances is"):
        maximum_likelihood(x, y, starts, variances=(1.0, 0.5))
    for name, value in (("coarsest", 0), ("max_iterations", 0), ("kept", 0)):
        with pytest.raises(ValueError, match=f"{name} is {value}; it must be at least {value + 1}"):
            maximum_likelihood(x, y, starts, **{name: value})
    bad = x.copy()
    bad[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"x holds 1 number\(s\) that are not finite"):
        maximum_likelihood(bad, y, starts)


def test_the_best_distinct_points_of_each_replicate_go_on():
    owner = np.array([1, 0, 0, 1, 0, 0, 2, 2])
    units = np.array([3.0, 5.0, 0.0, 3.0 + SAME / 2, SAME / 2, 2.0, np.inf, np.inf])
    rows, twin = distinct(owner, units / 100, 100, 2)
    np.testing.assert_array_equal(rows, [2, 5, 0, 6])
    # the second of replicate 1 and the fifth of replicate 0 are at known points; the worst has no room; inf is no point
    np.testing.assert_array_equal(twin, [0, -1, 2, 0, 2, 5, 6, -1])

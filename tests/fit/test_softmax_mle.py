import numpy as np
import pytest
import scipy.optimize
from scipy.special import logsumexp

from moestat.fit.em import em, expectation_maximisation
from moestat.fit.likelihood import SAME, distinct
from moestat.fit.softmax_global import global_maximum
from moestat.fit.softmax_likelihood import (
    join,
    log_likelihood,
    negative_log_likelihood,
    pack,
    prepare,
    split,
    unpack,
)
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.status import Status
from studies.demystifying_softmax.parts.gaussian_starts import near_starts

MODEL = SoftmaxGaussian(1)
TRUTH = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])


def problem(n=400, atoms=2, replicates=3, starts=3, seed=1, radius=0.1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (replicates, n, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    return x, y, np.stack([near_starts(TRUTH, atoms, starts, radius, rng) for _ in range(replicates)])


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


def draw(d, atoms, n, seed=2, replicates=2):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(2 * replicates, atoms, 2 * d + 3))
    theta[..., -1] = rng.uniform(0.3, 1.0, (2 * replicates, atoms))
    x, y = rng.uniform(-1, 1, (replicates, n, d)), rng.normal(size=(replicates, n))
    return theta, x, y, np.repeat(np.arange(replicates), 2)


@pytest.mark.parametrize(("d", "atoms"), [(1, 1), (1, 3), (3, 2)])
def test_free_coordinates_hold_the_measure(d, atoms):
    theta, *_ = draw(d, atoms, 5)
    free = pack(theta)
    assert free.shape == (4, (2 * atoms - 1) * (d + 1) + atoms)
    expected = theta.copy()
    expected[..., : d + 1] -= theta[:, -1:, : d + 1]
    np.testing.assert_allclose(unpack(free, atoms), expected, rtol=1e-14)
    gate, mean, log_variance = split(free, atoms)
    np.testing.assert_array_equal(join(gate[:, :-1], mean, log_variance), free)


@pytest.mark.parametrize(("d", "atoms"), [(1, 1), (1, 3), (2, 2), (3, 4)])
def test_gradient_and_hessian_match_finite_differences(d, atoms):
    theta, x, y, owner = draw(d, atoms, 300)
    free, members = pack(theta), np.arange(4)
    problem = negative_log_likelihood(prepare(x, y), owner, atoms, 0.01)
    at = problem(free, members)
    expected = gaussian.log_likelihood(SoftmaxGaussian(d), theta, x[owner], y[owner]) / 300
    np.testing.assert_allclose(at.loss, -expected - 0.5 * np.log(2 * np.pi * 0.01), rtol=1e-12)
    np.testing.assert_allclose(log_likelihood(prepare(x, y), free, owner, atoms), expected, rtol=1e-12)
    step = 1e-5
    for i in range(free.shape[1]):
        shift = np.zeros_like(free)
        shift[:, i] = step
        up, down = problem(free + shift, members), problem(free - shift, members)
        np.testing.assert_allclose((up.loss - down.loss) / (2 * step), at.gradient[:, i], atol=3e-8)
        np.testing.assert_allclose((up.gradient - down.gradient) / (2 * step), at.gram[:, i], atol=3e-7)


def problem_em():
    """Return data, four starts and whose they are."""
    x, y, starts = problem(600, 3, 2, 2, seed=4, radius=0.2)
    return x, y, starts.reshape(4, 3, 5), np.repeat(np.arange(2), 2)


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
    x, y, starts, owner = problem_em()
    result = em(prepare(x, y), pack(starts), owner, 3, tolerance=0.0, max_iterations=1, inner=50)
    for k, theta in enumerate(unpack(result.free, 3)):
        np.testing.assert_allclose(theta, plain_step(x[owner[k]], y[owner[k]], starts[k]), rtol=2e-5, atol=2e-5)
    assert np.all(result.status == Status.LIMIT)


@pytest.mark.parametrize("inner", [1, 2, 10])
def test_the_likelihood_never_falls(inner):
    x, y, starts, owner = problem_em()
    data, free = prepare(x, y), pack(starts)
    before = log_likelihood(data, free, owner, 3)
    for _ in range(25):
        result = em(data, free, owner, 3, tolerance=0.0, max_iterations=1, inner=inner)
        assert np.all(result.log_likelihood >= before - 1e-13)
        np.testing.assert_allclose(result.log_likelihood, log_likelihood(data, result.free, owner, 3), rtol=1e-14)
        free, before = result.free, result.log_likelihood


def test_bounds_and_failures_are_kept_and_reported():
    x, y, starts, owner = problem_em()
    result = em(prepare(x, y), pack(starts), owner, 3, bounds=(0.06, 0.11), max_iterations=3, tolerance=0.0)
    variances = unpack(result.free, 3)[..., -1]
    assert (variances.min(), variances.max()) == pytest.approx((0.06, 0.11), rel=1e-12)  # both bind
    assert np.any((variances > 0.07) & (variances < 0.1))
    y[0, 3] = np.nan
    result = em(prepare(x, y), pack(starts), owner, 3, max_iterations=3)
    np.testing.assert_array_equal(result.status[owner == 0], Status.NOT_FINITE)
    assert np.all(np.isfinite(result.free[owner == 1]))


def test_the_best_end_point_of_em_counts():
    x, y, starts = problem(300, 3, 2, 3, seed=0)
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

"""The batched Levenberg-Marquardt solver: an independent solver, failures, batch invariance, units."""

import array_api_strict as strict
import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import least_squares

from moestat.arrays import namespace, to_numpy
from moestat.fit.levenberg_marquardt import levenberg_marquardt
from moestat.fit.second_order import Gram
from moestat.fit.trust_region import trust_region
from moestat.status import Status


def rosenbrock(scale):
    """A curved valley with an indefinite Hessian beside it; one scale per member."""

    def problem(theta, members):
        xp = namespace(theta)
        a, b = theta[:, 0], theta[:, 1]
        s = xp.take(xp.asarray(scale), members)
        r = b - a * a
        loss = (1 - a) ** 2 + s * r * r
        gradient = xp.stack([-2 * (1 - a) - 4 * s * a * r, 2 * s * r], axis=-1)
        h = [2 - 4 * s * (b - 3 * a * a), -4 * s * a, 2 * s * xp.ones_like(a)]
        gram = xp.stack([xp.stack([h[0], h[1]], axis=-1), xp.stack([h[1], h[2]], axis=-1)], axis=-2)
        return Gram(loss, gradient, gram)

    return problem


STARTS = np.array([[-1.2, 1.0], [0.0, 3.0], [4.0, -2.0], [-3.0, -3.0]])
SCALE = np.array([100.0, 10.0, 1.0, 1000.0])


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_finds_the_minimum_of_a_curved_valley(xp):
    result = trust_region(rosenbrock(SCALE), xp.asarray(STARTS), lower=-10.0, upper=10.0, tolerance=1e-20)
    np.testing.assert_allclose(np.asarray(result.theta), 1.0, atol=1e-8)
    assert np.all(np.asarray(result.status) == Status.CONVERGED)
    assert np.all(np.asarray(result.gradient) < 1e-7) and np.all(np.asarray(result.box_hits) == 0)


def test_agrees_with_scipy_on_a_box_that_binds():
    upper = np.array([0.5, 2.0])
    result = trust_region(rosenbrock(SCALE), STARTS, lower=np.array([-5.0, -5.0]), upper=upper)
    for k in range(4):
        reference = scipy.optimize.minimize(
            lambda t, s=SCALE[k]: (1 - t[0]) ** 2 + s * (t[1] - t[0] ** 2) ** 2,
            [0.4, 0.2],
            bounds=[(-5, 0.5), (-5, 2.0)],
            options={"ftol": 1e-15, "gtol": 1e-12},
        )
        np.testing.assert_allclose(result.theta[k], reference.x, atol=1e-6)
        assert result.box_hits[k] == 1 and result.status[k] == Status.CONVERGED


def test_leaves_a_saddle():
    def saddle(theta, members):
        a, b = theta[:, 0], theta[:, 1]
        loss = 1 + 0.5 * a**2 - 0.5 * b**2 + 0.25 * b**4
        gradient = np.stack([a, b**3 - b], axis=-1)
        zero = np.zeros_like(a)
        gram = np.stack([np.stack([zero + 1, zero], -1), np.stack([zero, 3 * b**2 - 1], -1)], -2)
        return Gram(loss, gradient, gram)

    result = trust_region(saddle, np.array([[0.3, 1e-9], [2.0, -1e-12]]), lower=-9.0, upper=9.0)
    np.testing.assert_allclose(np.abs(result.theta), [[0, 1], [0, 1]], atol=1e-6)
    np.testing.assert_allclose(result.loss, 0.75)


def test_says_how_it_ended():
    limit = trust_region(rosenbrock(SCALE), STARTS, lower=-10.0, upper=10.0, max_iterations=2)
    assert np.all(limit.status == Status.LIMIT) and np.all(limit.iterations == 2)

    def broken(theta, members):
        at = rosenbrock(SCALE)(theta, members)
        return Gram(np.where(members == 1, np.nan, at.loss), at.gradient, at.gram)

    result = trust_region(broken, STARTS, lower=-10.0, upper=10.0)
    assert result.status[1] == Status.NOT_FINITE and np.all(result.status[[0, 2, 3]] == Status.CONVERGED)

    def lying(theta, members):
        at = rosenbrock(SCALE)(theta, members)
        return Gram(at.loss, -at.gradient, at.gram)

    assert np.all(trust_region(lying, STARTS, lower=-10.0, upper=10.0).status == Status.STALLED)


pytestmark = pytest.mark.filterwarnings("error")


def from_residuals(function):
    """Make a problem, half a sum of squares, of a function that returns residuals (M, m) and Jacobian (M, m, p)."""

    def problem(theta, members):
        r, jacobian = function(theta, members)
        xp = namespace(r)
        transposed = xp.matrix_transpose(jacobian)
        gradient = xp.matmul(transposed, r[..., None])[..., 0]
        return Gram(0.5 * xp.sum(r * r, axis=-1), gradient, xp.matmul(transposed, jacobian))

    return problem


def _exponential(batch_y, xp):
    t = xp.asarray(np.linspace(0.0, 3.0, batch_y.shape[-1]))
    y = xp.asarray(batch_y)

    def function(theta, members):
        a, b, c = (theta[:, k : k + 1] for k in range(3))
        decay = xp.exp(-b * t)
        jacobian = xp.stack([decay, -a * t * decay, xp.ones_like(decay)], axis=-1)
        return a * decay + c - xp.take(y, members, axis=0), jacobian

    return function


def _data(size, m=23, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.uniform([0.5, 0.3, -1.0], [3.0, 2.0, 1.0], size=(size, 3))
    t = np.linspace(0.0, 3.0, m)
    y = truth[:, :1] * np.exp(-truth[:, 1:2] * t) + truth[:, 2:] + 0.05 * rng.standard_normal((size, m))
    return y, truth + 0.5 * rng.standard_normal((size, 3))


def _bits(result, rows):
    names = ("theta", "loss", "gradient", "decrement", "iterations", "box_hits", "status")
    return {name: to_numpy(getattr(result, name))[rows].tobytes() for name in names}


Y, START = _data(24)
TOGETHER = levenberg_marquardt(from_residuals(_exponential(Y, namespace(Y))), START)


def test_it_ends_where_scipy_does():
    """Decays y = a exp(-b t) + c; Misra1a of the NIST reference data sets has certified parameters."""
    function = _exponential(Y, namespace(Y))
    assert np.all(TOGETHER.status == Status.CONVERGED)
    for k in range(24):
        member = np.array([k])
        other = least_squares(
            lambda x, member=member: function(x[None], member)[0][0],
            START[k],
            jac=lambda x, member=member: function(x[None], member)[1][0],
            method="lm",
            x_scale="jac",
            **dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15),
        )
        assert TOGETHER.loss[k] <= other.cost * (1 + 1e-8)
    y = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
    x = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])

    def misra(theta, members):
        decay = np.exp(-theta[:, 1:] * x)
        return theta[:, :1] * (1 - decay) - y, np.stack([1 - decay, theta[:, :1] * x * decay], axis=-1)

    found = levenberg_marquardt(from_residuals(misra), np.array([[500.0, 1e-4]]), tolerance=1e-13)
    np.testing.assert_allclose(found.theta[0], [2.3894212918e2, 5.5015643181e-4], rtol=1e-8)
    assert 2 * found.loss[0] == pytest.approx(1.2455138894e-1, rel=2e-6)


def test_a_member_that_fails_leaves_the_others_alone():
    spoiled = Y.copy()
    spoiled[5, 3] = np.nan
    start = START.copy()
    start[7] = np.inf
    with np.errstate(invalid="ignore", over="ignore"):
        result = levenberg_marquardt(from_residuals(_exponential(spoiled, namespace(Y))), start)
    clean = levenberg_marquardt(from_residuals(_exponential(Y, namespace(Y))), START)
    rest = [k for k in range(24) if k not in (5, 7)]
    assert result.status[5] == result.status[7] == Status.NOT_FINITE
    assert _bits(result, rest) == _bits(clean, rest)

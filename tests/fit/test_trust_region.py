import array_api_strict as strict
import numpy as np
import pytest
import scipy.optimize

from moestat.arrays import namespace
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

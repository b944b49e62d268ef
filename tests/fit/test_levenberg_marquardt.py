"""The batched Levenberg-Marquardt solver: known minima, an independent solver, failures, batch invariance.

Problems: Moré, Garbow, Hillstrom, "Testing unconstrained optimization software", ACM TOMS 7 (1981), with the minima
printed there (sums of squares); Misra1a of the NIST Statistical Reference Datasets, with its certified values.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from moestat.arrays import namespace, to_numpy
from moestat.fit.levenberg_marquardt import levenberg_marquardt
from moestat.fit.second_order import Gram
from moestat.status import Status

pytestmark = pytest.mark.filterwarnings("error")

BARD = np.array([0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39])
MEYER = np.array(
    [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872], dtype=float
)
MISRA_Y = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
MISRA_X = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])


def from_residuals(function):
    """Make a problem, half a sum of squares, of a function that returns residuals (M, m) and Jacobian (M, m, p)."""

    def problem(theta, members):
        r, jacobian = function(theta, members)
        xp = namespace(r)
        transposed = xp.matrix_transpose(jacobian)
        gradient = xp.matmul(transposed, r[..., None])[..., 0]
        return Gram(0.5 * xp.sum(r * r, axis=-1), gradient, xp.matmul(transposed, jacobian))

    return problem


def _steps(count):
    return np.arange(1.0, count + 1)


def _bard(x):
    u = _steps(15)
    return BARD - (x[0] + u / ((16 - u) * x[1] + np.minimum(u, 16 - u) * x[2]))


def _brown_dennis(x):
    t = _steps(20) / 5
    return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2


def _wood(x):
    return np.array(
        [
            10 * (x[1] - x[0] ** 2),
            1 - x[0],
            np.sqrt(90) * (x[3] - x[2] ** 2),
            1 - x[2],
            np.sqrt(10) * (x[1] + x[3] - 2),
            (x[1] - x[3]) / np.sqrt(10),
        ]
    )


# name -> residuals, standard start, sum of squares at the minimum that is reached from there
PROBLEMS = {
    "Rosenbrock": (lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), [-1.2, 1], 0.0),
    "Freudenstein-Roth": (
        lambda x: np.array([-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]]),
        [0.5, -2],
        48.9842,
    ),
    "Bard": (_bard, [1, 1, 1], 8.21487e-3),
    "Meyer": (lambda x: x[0] * np.exp(x[1] / (45 + 5 * _steps(16) + x[2])) - MEYER, [0.02, 4000, 250], 87.9458),
    "Powell singular": (
        lambda x: np.array(
            [
                x[0] + 10 * x[1],
                np.sqrt(5) * (x[2] - x[3]),
                (x[1] - 2 * x[2]) ** 2,
                np.sqrt(10) * (x[0] - x[3]) ** 2,
            ]
        ),
        [3, -1, 0, 1],
        0.0,
    ),
    "Wood": (_wood, [-3, -1, -3, -1], 0.0),
    "Brown-Dennis": (_brown_dennis, [25, 5, -5, -1], 85822.2),
    "Misra1a": (lambda x: MISRA_Y - x[0] * (1 - np.exp(-x[1] * MISRA_X)), [500, 1e-4], 1.2455138894e-1),
}
NAMES = list(PROBLEMS)
WIDTH, HEIGHT = 4, 20


def _jacobian(residuals, x):
    """Derivatives by the complex step, exact to rounding."""
    columns = []
    for k in range(len(x)):
        z = x.astype(complex)
        z[k] += 1e-30j
        columns.append(residuals(z).imag / 1e-30)
    return np.stack(columns, axis=-1)


def _classical(theta, members):
    """All problems side by side: parameters and residuals that a problem does not have are zero."""
    xp = namespace(theta)
    r, jacobian = np.zeros((len(theta), HEIGHT)), np.zeros((len(theta), HEIGHT, WIDTH))
    for row, (x, k) in enumerate(zip(to_numpy(theta), to_numpy(members), strict=True)):
        residuals, start, _ = PROBLEMS[NAMES[k]]
        with np.errstate(all="ignore"):
            values, slopes = residuals(x[: len(start)]), _jacobian(residuals, x[: len(start)])
        r[row, : len(values)], jacobian[row, : len(values), : len(start)] = values, slopes
    return xp.asarray(r), xp.asarray(jacobian)


STARTS = np.zeros((len(NAMES), WIDTH))
for _k, _name in enumerate(NAMES):
    STARTS[_k, : len(PROBLEMS[_name][1])] = PROBLEMS[_name][1]


@pytest.fixture(scope="module")
def solved():
    return levenberg_marquardt(from_residuals(_classical), STARTS, tolerance=1e-13, max_iterations=1000)


@pytest.mark.parametrize("k", range(len(NAMES)), ids=NAMES)
def test_classical_problem_ends_at_the_known_minimum_and_where_scipy_does(solved, k):
    residuals, start, minimum = PROBLEMS[NAMES[k]]
    assert solved.status[k] == Status.CONVERGED
    sum_of_squares = 2 * solved.loss[k]
    assert sum_of_squares == pytest.approx(minimum, rel=2e-6, abs=1e-12)
    other = least_squares(
        residuals,
        np.array(start, dtype=float),
        jac=lambda x: _jacobian(residuals, x),
        method="lm",
        x_scale="jac",
        **dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15),
    )
    assert abs(solved.loss[k] - other.cost) <= 1e-8 * max(1.0, other.cost)


# A batch of one family, computed as array code: y = a exp(-b t) + c


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


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 23), min_size=1, max_size=24, unique=True))
def test_no_bit_depends_on_the_rest_of_the_batch(rows):
    part = levenberg_marquardt(from_residuals(_exponential(Y[rows], namespace(Y))), START[rows])
    assert _bits(part, slice(None)) == _bits(TOGETHER, rows)


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


def test_an_indefinite_curvature_is_damped_until_it_can_be_used():
    # Himmelblau's function with its exact Hessian, started where that is negative definite
    def problem(theta, members):
        x, y = theta[:, 0], theta[:, 1]
        u, v = x * x + y - 11, x + y * y - 7
        gradient = np.stack([4 * x * u + 2 * v, 2 * u + 4 * y * v], axis=-1)
        xx, xy, yy = 12 * x**2 + 4 * y - 42, 4 * (x + y), 12 * y**2 + 4 * x - 26
        hessian = np.stack([np.stack([xx, xy], -1), np.stack([xy, yy], -1)], -1)
        return Gram(u * u + v * v, gradient, hessian)

    start = np.array([[-0.27, -0.92], [0.0, 0.0], [1.0, 1.0]])
    assert np.all(np.linalg.eigvalsh(problem(start[:1], None).gram) < 0)
    result = levenberg_marquardt(problem, start)
    assert np.all(result.status == Status.CONVERGED)
    np.testing.assert_allclose(result.loss, 0.0, atol=1e-12)


def test_a_wall_of_nan_is_not_entered():
    # log(theta) has its least square at 1; steps from 10 overshoot to where it is not defined
    def function(theta, members):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log(theta), (1.0 / theta)[..., None]

    result = levenberg_marquardt(from_residuals(function), np.array([[10.0], [0.01], [50.0]]))
    assert np.all(result.status == Status.CONVERGED)
    np.testing.assert_allclose(result.theta, 1.0, atol=1e-9)


def test_it_does_not_see_the_units():
    # powers of two rescale without rounding, so every bit but the units' own must agree
    units = np.array([2.0**20, 2.0**-7, 1.0])
    plain = _exponential(Y, namespace(Y))

    def rescaled(theta, members):
        r, jacobian = plain(theta * units, members)
        return r, jacobian * units

    ours = levenberg_marquardt(from_residuals(plain), START)
    result = levenberg_marquardt(from_residuals(rescaled), START / units)
    np.testing.assert_array_equal(result.theta * units, ours.theta)
    np.testing.assert_array_equal(result.iterations, ours.iterations)


def test_a_singular_jacobian_leaves_the_null_direction_at_the_start():
    # r = x + y - 1: any step along (1, -1) is free; damping takes the shortest way
    def function(theta, members):
        return theta[:, :1] + theta[:, 1:] - 1.0, np.ones((theta.shape[0], 1, 2))

    result = levenberg_marquardt(from_residuals(function), np.array([[3.0, 0.0], [0.0, -2.0]]))
    assert np.all(result.status == Status.CONVERGED)
    np.testing.assert_allclose(result.theta, [[2.0, -1.0], [1.5, -0.5]], atol=1e-8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": np.zeros(3)}, "dimensions"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"damping": -1.0}, "damping"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_wrong_options_are_named(change, words):
    arguments = {"start": START, **change}
    with pytest.raises(ValueError, match=words):
        levenberg_marquardt(from_residuals(_exponential(Y, namespace(Y))), **arguments)

"""Likelihood fits and losses on the device."""

import numpy as np
import pytest

from moestat.arrays import namespace, to_numpy
from moestat.fit import competition_mle, local_search, softmax_mle
from moestat.fit.competition_likelihood import Data, gradients, hard_log_density, likelihood_problem, pack
from moestat.fit.em import expectation_maximisation
from moestat.fit.softmax_global import global_maximum
from moestat.losses import function, matching, quotient, voronoi
from moestat.losses.divergences import expected_hellinger, squared_hellinger
from moestat.losses.minimisers import L3_infimum
from moestat.models import gaussian, truths
from moestat.models.competition import Competition
from moestat.models.regression import Model
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.status import Status

SOFTMAX = SoftmaxGaussian(1)
LINES = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
PLANES = np.array([[1.0, 0.5, 1.5, 0.3], [-1.0, 1.0, -1.6, 0.3], [0.5, -1.2, -1.4, 0.3], [-0.9, -0.7, 1.5, 0.3]])
COMPETING = Competition(2, "affine", 2)


def lines(replicates=2, n=500, experts=2, starts=2):
    """Return samples of two lines, and starts with so many experts near them."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(replicates, n, 1))
    y = np.stack([gaussian.sample(SOFTMAX, LINES, one, rng) for one in x])
    atoms = LINES[np.arange(experts) % 2]
    near = atoms + 0.1 * rng.standard_normal((replicates, starts, experts, 5)) * [1.0, 1.0, 1.0, 1.0, 0.2]
    return x, y, near


def planes(replicates=2, n=400, starts=2):
    """Return samples of four experts that compete, and starts near them."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, (replicates, n, 2))
    y = np.stack([gaussian.sample(COMPETING, PLANES, one, rng) for one in x])
    near = PLANES + 0.1 * rng.standard_normal((replicates, starts, 4, 4)) * [1.0, 1.0, 1.0, 0.5]
    return x, y, near


def same_height(found, expected, units):
    """Assert that two fits have the same statuses and, within so many units, log-likelihoods."""
    np.testing.assert_array_equal(to_numpy(found.status), to_numpy(expected.status))
    np.testing.assert_allclose(to_numpy(found.log_likelihood), expected.log_likelihood, rtol=0, atol=units)
    np.testing.assert_allclose(to_numpy(found.gain), expected.gain, rtol=0, atol=units)


def test_maximum_likelihood_with_softmax_gates(on):
    data = lines()
    expected = softmax_mle.maximum_likelihood(*data, truth=LINES)
    found = softmax_mle.maximum_likelihood(*on(*data), truth=on(LINES))
    assert np.all(expected.status == Status.CONVERGED)
    same_height(found, expected, 1e-6)
    np.testing.assert_allclose(to_numpy(found.theta), expected.theta, rtol=1e-4, atol=1e-5)
    assert np.all(to_numpy(found.decrement) < 1e-6)


def test_expectation_maximisation_takes_the_same_steps(on):
    data = lines()
    expected = expectation_maximisation(*data, truth=LINES, max_iterations=30)
    found = expectation_maximisation(*on(*data), truth=on(LINES), max_iterations=30)
    same_height(found, expected, 1e-5)
    np.testing.assert_array_equal(to_numpy(found.iterations), expected.iterations)
    np.testing.assert_allclose(to_numpy(found.theta), expected.theta, rtol=1e-5, atol=1e-6)


def test_the_search_for_the_global_maximum_ends_as_high(on):
    data = lines(replicates=1, n=150, experts=3, starts=1)
    expected = global_maximum(*data, truth=LINES, rounds=1)
    found = global_maximum(*on(*data), truth=on(LINES), rounds=1)
    same_height(found, expected, 0.2)
    assert to_numpy(found.rounds_there).shape == (1,)


@pytest.mark.parametrize("expert", ["affine", "tanh", "linear"])
@pytest.mark.parametrize("temperature", [0.3, 0.0])
def test_the_likelihood_of_competing_experts_and_its_slopes(on, expert, temperature):
    """More samples than a chunk holds; and the moves that take one of them across a boundary."""
    model = Competition(2, expert, 2)
    x, y, starts = planes(n=3000)
    free = pack(np.delete(starts, 2, axis=-1) if expert == "linear" else starts).reshape(4, -1)
    owner, members = np.repeat([0, 1], 2), np.arange(4)
    numbers = []
    for move in (lambda *values: values, on):
        x_, y_, free_, owner_, members_ = move(x, y, free, owner, members)
        data = Data(model.features(x_), y_)
        at = likelihood_problem(model, data, owner_, temperature, 0.01)(free_, members_)
        slope = gradients(model, data, owner_, temperature)(free_)
        found = [*at, slope]
        if temperature == 0:
            few = data.first(100)
            features, responses = next(iter(few.chunks(owner_)))
            own = hard_log_density(model, free_, features, responses)
            eye = namespace(free_).eye(free.shape[-1], dtype=free_.dtype)
            covariance = namespace(free_).broadcast_to(0.01 * eye, (4, *eye.shape))
            moves = local_search.crossings(model, free_, features, responses, own, covariance, 100)
            found += [own, moves, local_search._nearest(model, data, owner_, free_, 50)[1]]
        numbers.append([to_numpy(value) for value in found])
    for one, other in zip(*numbers, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-9 * np.abs(one).max())


@pytest.mark.parametrize("expert", ["affine", "tanh"])
def test_maximum_likelihood_with_competition(on, expert):
    """The likelihood jumps: rounding may decide between peaks, so that only heights are compared, and they roughly."""
    model = Competition(2, expert, 2)
    x, y, starts = planes()
    options = {"adam_steps": 40, "search_rounds": 10, "hops": 1, "variances": (0.05, 10.0), "coarsest": 300}
    expected = competition_mle.maximum_likelihood(model, x, y, starts, truth=PLANES, **options)
    found = competition_mle.maximum_likelihood(model, *on(x, y, starts), truth=on(PLANES), **options)
    assert np.isfinite(to_numpy(found.theta)).all() and np.isfinite(to_numpy(found.decrement)).all()
    np.testing.assert_allclose(to_numpy(found.log_likelihood), expected.log_likelihood, rtol=0, atol=20.0)
    # the number that is reported is the log-likelihood of the point that is reported, by the device's own rounding: a
    # point may lie on the boundary of a routing region, with a sample that another device has on the other side
    own = gaussian.log_likelihood(model, found.theta, *on(x, y))
    np.testing.assert_allclose(to_numpy(found.log_likelihood), to_numpy(own), rtol=1e-9)


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("expert", ["relu", "gelu", "linear"])
def test_losses_between_measures_are_equal(on, gate, expert):
    model = Model(gate, "full", expert, 2)
    rng = np.random.default_rng(2)
    truth = truths.ground_truth(model, 2, "dense", rng)
    fitted = truths.split(model, truth, 3) + 0.1 * rng.standard_normal((5, 3, model.atom_size))
    losses = [
        voronoi.L1,
        voronoi.L3,
        quotient.quotient,
        L3_infimum,
        matching.matched_sum,
        matching.nearest_expert,
    ]
    losses += [lambda *args: voronoi.L2r(*args, r=1.0), lambda *args: voronoi.L2r(*args, r=2.5)]
    losses += [voronoi.Lsm] if gate == "softmax" else []
    for measures in (truth, np.stack([truth, truth + 0.05])):
        for loss in losses if measures.ndim == 2 else losses[:3]:
            found = to_numpy(loss(*on(fitted, measures), model))
            np.testing.assert_allclose(found, loss(fitted, measures, model), rtol=1e-11)
    expected = voronoi.blocks(fitted, truth, model)
    for block, values in voronoi.blocks(*on(fitted, truth), model).items():
        np.testing.assert_allclose(to_numpy(values), expected[block], rtol=1e-11, atol=1e-13)
    points = rng.uniform(-1, 1, (5000, 2))
    true = model.predict(truth, points)
    found = to_numpy(function.rmse(model, *on(fitted, true, points)))
    np.testing.assert_allclose(found, function.rmse(model, fitted, true, points), rtol=1e-11)


def test_hellinger_distances_are_equal(on):
    rng = np.random.default_rng(4)
    fitted = PLANES + 0.1 * rng.uniform(size=(3, 4, 4))
    fitted[1, 0, -1] = 1e-9  # needs more points than are allowed
    points = rng.uniform(-1, 1, (300, 2))
    expected = squared_hellinger(COMPETING, fitted, PLANES, points)
    found = to_numpy(squared_hellinger(COMPETING, *on(fitted, PLANES, points)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
    assert np.isnan(found[1]).all()
    found = expected_hellinger(COMPETING, *on(fitted[:1], PLANES, points))
    for one, other in zip(found, expected_hellinger(COMPETING, fitted[:1], PLANES, points), strict=True):
        np.testing.assert_allclose(to_numpy(one), other, rtol=1e-9)

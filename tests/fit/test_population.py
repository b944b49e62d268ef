import numpy as np
import pytest

from moestat.fit.population import pseudo_truths, same_minimum, sobol
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.status import Status

SMALL = {"points_log2": 8, "polish_log2": 10}


def _starts(model, centre, count, radius=0.1, seed=0):
    return centre + radius * np.random.default_rng(seed).normal(size=(count, *centre.shape))


def test_a_model_that_contains_the_target_finds_it():
    model = Model("sigmoid", "full", "linear", 1)
    truth = 2 * ground_truth(model, 2, "dense", np.random.default_rng(1))
    listed = pseudo_truths(model, (model, truth), _starts(model, truth, 3), **SMALL)
    assert listed.theta.shape == (1, 2, model.atom_size)  # the starts agree up to a permutation: one minimum
    assert listed.rmse[0] < 1e-6 * listed.scale
    assert listed.fresh_rmse[0] < 1e-6 * listed.scale
    assert listed.status[0] == Status.CONVERGED
    assert same_minimum(model, listed.theta[0], truth, tolerance=1e-4)


@pytest.mark.parametrize("expert", ["linear", "relu"])
def test_pseudo_truths_of_the_wrong_gate_are_stationary_and_best_first(expert):
    truth_model, model = Model("softmax", "full", expert, 1), Model("sigmoid", "full", expert, 1)
    truth = 2 * ground_truth(truth_model, 3, "dense", np.random.default_rng(2))
    starts = np.concatenate([_starts(model, truth[:2], 2), _starts(model, np.zeros((2, 5)), 3, 1.0)])
    listed = pseudo_truths(model, lambda x: truth_model.predict(truth, x), starts, keep=0.5, **SMALL)
    again = pseudo_truths(model, (truth_model, truth), starts, keep=0.5, **SMALL)
    np.testing.assert_array_equal(listed.theta, again.theta)
    assert np.all(np.diff(listed.rmse) >= 0)
    assert np.all(listed.rmse <= 1.5 * listed.rmse[0])
    assert listed.rmse[0] > 1e-4 * listed.scale
    np.testing.assert_array_equal(listed.status, Status.CONVERGED)
    # the distance on points that took no part in the fit, and at a much finer grid, is the same up to quadrature
    np.testing.assert_allclose(listed.fresh_rmse, listed.rmse, rtol=0.05)
    grid = np.linspace(-1, 1, 20_001)[:, None]
    values = truth_model.predict(truth, grid)
    for theta, rmse in zip(listed.theta, listed.rmse, strict=True):
        assert np.sqrt(np.mean((model.predict(theta, grid) - values) ** 2)) == pytest.approx(rmse, rel=0.02)
        # no point nearby in the box is closer to the target
        rng = np.random.default_rng(3)
        for _ in range(100):
            near = np.clip(theta + 0.02 * rng.normal(size=theta.shape), -5, 5)
            assert np.sqrt(np.mean((model.predict(near, grid) - values) ** 2)) > rmse * (1 - 0.02)


def test_same_minimum_knows_permutation_and_gauge():
    rng = np.random.default_rng(5)
    softmax, sigmoid = Model("softmax", "full", "relu", 2), Model("sigmoid", "full", "relu", 2)
    theta = rng.normal(size=(4, softmax.atom_size))
    moved = theta[[2, 0, 3, 1]].copy()
    assert same_minimum(sigmoid, moved, theta)
    moved[:, : softmax.gate_size] += rng.normal(size=softmax.gate_size)
    assert same_minimum(softmax, moved, theta)
    assert not same_minimum(sigmoid, moved, theta)
    assert not same_minimum(sigmoid, theta + 0.05 * rng.normal(size=theta.shape), theta)


def test_points_are_balanced_and_independent_between_purposes():
    a, b = sobol(3, 8, 0, "coarse"), sobol(3, 8, 0, "fresh")
    assert a.shape == (256, 3)
    # a net: every one of 256 equal intervals of every axis holds one point
    assert all(len(np.unique(np.floor((column + 1) * 128))) == 256 for column in a.T)
    assert not np.array_equal(a, b)
    np.testing.assert_array_equal(a, sobol(3, 8, 0, "coarse"))
    assert not np.array_equal(a, sobol(3, 8, 1, "coarse"))

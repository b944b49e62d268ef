"""Equation (12) to the set of minimisers by brute force, and where a true ReLU has no kink on the cube, no infimum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from moestat.losses.minimisers import L3_infimum, eq12
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, split


def brute_force(fit, truth, model):
    """Try a vanishing atom at every gate, moved by the simplex method, and all splits on a fine grid."""
    q, best = model.gate_size, np.inf
    for atom in fit:

        def loss(gate):
            return eq12(fit, np.vstack([truth, np.r_[gate, np.zeros(model.expert_size)]]), model)

        best = min(best, loss(atom[:q]), minimize(loss, atom[:q], method="Nelder-Mead", options={"maxiter": 400}).fun)
    for j in range(len(truth)):
        for t in np.linspace(0, 1, 401):
            pair = np.repeat(truth[j : j + 1], 2, axis=0)
            pair[:, q:] *= (np.array([t, 1 - t]) ** (1 / model.power))[:, None]
            best = min(best, eq12(fit, np.vstack([np.delete(truth, j, 0), pair]), model))
    return best


@pytest.mark.parametrize("power", [2, 3])
def test_polynomials_have_the_infimum_of_brute_force(power):
    """Vanishing atoms at every gate and all splits, for fits near a split and near a vanished atom."""
    model, rng = Model("sigmoid", "full", "polynomial", 2, power), np.random.default_rng(1)
    for k in range(4):
        truth = ground_truth(model, 2, "dense", rng)
        fit = split(model, truth, 3) + 0.1 * rng.standard_normal((3, model.atom_size))
        if k % 2:
            fit[2, : model.gate_size] = rng.standard_normal(model.gate_size)
            fit[2, model.eta] = 0.05 * rng.standard_normal(model.expert_size)
        assert float(L3_infimum(fit, truth, model)) == pytest.approx(brute_force(fit, truth, model), rel=5e-3)


def distance(model, a, b):
    x = np.random.default_rng(0).uniform(-1, 1, (500, model.d))
    return np.max(np.abs(model.predict(a, x) - model.predict(b, x)))


@pytest.mark.xfail(
    strict=True,
    reason="superfluous experts may be 0 on the cube, true ones not: their continuum of gates is not looked at",
)
def test_the_gate_of_a_dead_true_expert_costs_nothing():
    """Two representations of one function, so that the infimum is 0; the number that is computed is above it."""
    model = Model("sigmoid", "full", "relu", 1)
    truth = np.array([[0.3, -0.5, 0.8, 1.0, 0.2], [0.1, 0.4, -0.6, 0.5, -0.9]])  # 0.5 x - 0.9 < 0 on [-1, 1]
    fit = truth.copy()
    fit[1, :3] = [-1.0, 1.5, 2.0]
    assert distance(model, fit, truth) == 0
    assert float(L3_infimum(fit, truth, model)) < 1e-9


@pytest.mark.xfail(
    strict=True,
    reason="a ReLU is split along its ray alone, also where it is affine on the cube, as linear experts are",
)
def test_an_affine_relu_splits_like_a_linear_expert():
    """Any two experts that are positive on the cube and add up to the true one are the same function."""
    model = Model("sigmoid", "full", "relu", 1)
    truth = np.array([[0.3, -0.5, 0.8, 1.0, 0.2], [0.1, 0.4, -0.6, 0.5, 2.0]])  # 0.5 x + 2 > 0 on [-1, 1]
    fit = np.vstack([truth, truth[1:]])
    fit[1, 3:], fit[2, 3:] = [0.9, 1.2], [-0.4, 0.8]  # both positive on the cube
    assert distance(model, fit, truth) < 1e-12
    assert float(L3_infimum(fit, truth, model)) < 1e-9

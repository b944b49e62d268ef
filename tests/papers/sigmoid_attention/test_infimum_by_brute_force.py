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

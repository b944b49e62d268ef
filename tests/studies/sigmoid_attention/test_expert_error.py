"""Equation (12) to the set of minimisers by brute force, and where a true ReLU has no kink on the cube, no infimum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from moestat.losses.matching import nearest_expert
from moestat.losses.minimisers import L3_infimum, eq12
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, split
from studies.sigmoid_attention.parts.expert_error import errors_of


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


def split_error(truth, model, t):
    """Return the truth with its last expert in the parts t and 1 - t, for homogeneous experts of degree 1."""
    out = np.vstack([truth, truth[-1:]])
    out[-2, model.eta] *= t
    out[-1, model.eta] *= 1 - t
    return out


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("expert", ["relu", "linear"])
def test_splits_of_the_truth_have_no_error_but_a_distant_nearest_expert(gate, expert):
    model, rng = Model(gate, "full", expert, 2), np.random.default_rng(0)
    truth = rng.standard_normal((3, model.atom_size))
    if gate == "sigmoid":
        fits = np.stack([split_error(truth, model, t) for t in (0.2, 0.5, 0.9)])
        assert np.all(nearest_expert(fits, truth, model)[:2] > 0.1)
    else:  # shares of the weight, with the experts eta + u and eta - u
        equal = np.vstack([truth, truth[-1:]])
        equal[-2:, 0] -= np.log(2)
        fits = equal[None]
    assert np.all(errors_of(fits, truth, model)["eta"] < 1e-6)


def test_a_vanished_atom_has_no_error_wherever_its_gate_is():
    model, rng = Model("sigmoid", "partial", "gelu", 2), np.random.default_rng(1)
    truth = rng.standard_normal((2, model.atom_size))
    null = rng.standard_normal((1, model.atom_size))
    null[:, model.eta] = 0
    assert errors_of(np.vstack([truth, null])[None], truth, model)["eta"] < 1e-9


def test_it_is_the_expert_part_of_the_brute_force_minimum_near_a_split():
    """All shares on a fine grid; atoms move by 0.01, so that the two minimisers are as near as the grid."""
    model, rng = Model("sigmoid", "full", "relu", 1), np.random.default_rng(2)
    truth = rng.standard_normal((1, model.atom_size)) + 1.0
    for _ in range(2):
        fit = split_error(truth, model, 0.35) + 0.01 * rng.standard_normal((2, model.atom_size))
        grid = [split_error(truth, model, t) for t in np.linspace(0.3, 0.4, 2001)]
        losses = [eq12(fit, measure, model) for measure in grid]
        best = grid[int(np.argmin(losses))]
        pairs = np.linalg.norm((fit[:, None] - best)[..., 1:], axis=-1).argmin(axis=1)
        brute = np.linalg.norm(fit[:, model.eta] - best[pairs][:, model.eta], axis=1).sum()
        error = errors_of(fit[None], truth, model)["eta"][0]
        assert error == pytest.approx(brute, abs=2e-3)
        assert error <= L3_infimum(fit[None], truth, model)[0] + 1e-12

"""The error of experts alone: 0 on every representation, where the nearest expert is not; against brute force."""

import numpy as np
import pytest

from moestat.losses.matching import nearest_expert
from moestat.losses.minimisers import L3_infimum, eq12
from moestat.models.regression import Model
from moestat.papers.sigmoid_attention.expert_error import expert_errors


def split(truth, model, t):
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
        fits = np.stack([split(truth, model, t) for t in (0.2, 0.5, 0.9)])
        assert np.all(nearest_expert(fits, truth, model)[:2] > 0.1)
    else:  # shares of the weight, with the experts eta + u and eta - u
        equal = np.vstack([truth, truth[-1:]])
        equal[-2:, 0] -= np.log(2)
        fits = equal[None]
    assert np.all(expert_errors(fits, truth, model)["eta"] < 1e-6)


def test_a_vanished_atom_has_no_error_wherever_its_gate_is():
    model, rng = Model("sigmoid", "partial", "gelu", 2), np.random.default_rng(1)
    truth = rng.standard_normal((2, model.atom_size))
    null = rng.standard_normal((1, model.atom_size))
    null[:, model.eta] = 0
    assert expert_errors(np.vstack([truth, null])[None], truth, model)["eta"] < 1e-9


def test_it_is_the_expert_part_of_the_brute_force_minimum_near_a_split():
    """All shares on a fine grid; atoms move by 0.01, so that the two minimisers are as near as the grid."""
    model, rng = Model("sigmoid", "full", "relu", 1), np.random.default_rng(2)
    truth = rng.standard_normal((1, model.atom_size)) + 1.0
    for _ in range(2):
        fit = split(truth, model, 0.35) + 0.01 * rng.standard_normal((2, model.atom_size))
        grid = [split(truth, model, t) for t in np.linspace(0.3, 0.4, 2001)]
        losses = [eq12(fit, measure, model) for measure in grid]
        best = grid[int(np.argmin(losses))]
        pairs = np.linalg.norm((fit[:, None] - best)[..., 1:], axis=-1).argmin(axis=1)
        brute = np.linalg.norm(fit[:, model.eta] - best[pairs][:, model.eta], axis=1).sum()
        error = expert_errors(fit[None], truth, model)["eta"][0]
        assert error == pytest.approx(brute, abs=2e-3)
        assert error <= L3_infimum(fit[None], truth, model)[0] + 1e-12

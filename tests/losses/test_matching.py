"""Paired distances against every pairing by hand; the function's error against the plain formula."""

from itertools import permutations

import numpy as np
import pytest

from moestat.losses import function, matching
from moestat.models import truths
from moestat.models.regression import Model

MODELS = [
    Model("sigmoid", "full", "relu", 2),
    Model("softmax", "full", "linear", 2),
    Model("sigmoid", "partial", "gelu", 2),
]


def problem(model, seed=0, batch=(4,), radius=0.7):
    rng = np.random.default_rng(seed)
    truth = truths.ground_truth(model, 3, "dense", rng)
    return truths.split(model, truth, 4) + radius * rng.standard_normal((*batch, 4, model.atom_size)), truth


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_pairing(model):
    fitted, truth = problem(model)
    aligned = model.align(fitted, truth)
    parts = (model.a_matrix, model.b, model.c, model.eta)
    for k, atoms in enumerate(aligned):
        sums = []
        for chosen in permutations(range(4), 3):
            difference = atoms[list(chosen)] - truth
            sums.append(sum(np.linalg.norm(difference[:, p], axis=1).sum() for p in parts))
        assert matching.matched_sum(fitted, truth, model)[k] == pytest.approx(min(sums))
        distances = np.linalg.norm(atoms[:, None, model.eta] - truth[:, model.eta], axis=-1)
        assert matching.nearest_expert(fitted, truth, model)[k] == pytest.approx(distances.min(axis=0).sum())


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_lists_permutations_and_batches(model):
    fitted, truth = problem(model, batch=(2, 3))
    measures = np.stack([truth + 0.3, truth])
    for distance in (matching.matched_sum, matching.nearest_expert):
        whole = distance(fitted, measures, model)
        each = [distance(fitted, m, model) for m in measures]
        assert np.array_equal(whole, np.minimum(*each))
        np.testing.assert_allclose(distance(fitted[..., ::-1, :], truth[[1, 2, 0]], model), each[1], rtol=1e-9)
        assert np.array_equal(distance(fitted[1, 1:], measures, model), whole[1, 1:])
        assert distance(truth, truth, model) == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="cannot be paired"):
        matching.matched_sum(truth[:2], truth, model)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_function_error(model):
    fitted, truth = problem(model, batch=(3,))
    x = np.random.default_rng(1).uniform(-1, 1, (function.ROWS + 77, 2))
    target = model.predict(truth, x)
    expected = np.sqrt(np.mean((model.predict(fitted, x) - target) ** 2, axis=-1))
    values = function.rmse(model, fitted, target, x)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert np.array_equal(function.rmse(model, fitted[1:2], target, x), values[1:2])
    assert function.rmse(model, truth, target, x) == 0
    with pytest.raises(ValueError, match="one value per point"):
        function.rmse(model, fitted, target[:-1], x)

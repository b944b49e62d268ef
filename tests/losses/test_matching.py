"""Paired distances against every pairing by hand; the function's error against the plain formula."""

from itertools import permutations

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from moestat.losses import function, matching, routing
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
    several = function.rmse(model, fitted, np.stack([0 * target, target]), x)
    assert np.array_equal(several, [function.rmse(model, fitted, 0 * target, x), values])
    with pytest.raises(ValueError, match="one value per point"):
        function.rmse(model, fitted, target[:-1], x)


def entropy_of_the_paper(table):
    """Eq. (7), term by term."""
    total = 0.0
    for at_expert in table:
        for count in at_expert:
            if count > 0:
                total -= at_expert.sum() / table.sum() * count / at_expert.sum() * np.log(count / at_expert.sum())
    return total


tables = hnp.arrays(np.int64, (5, 3), elements=st.integers(0, 20)).filter(lambda a: a.sum() > 0).map(np.float64)


@settings(max_examples=30, deadline=None)
@given(tables)
def test_dispatch_entropy_is_eq_7(table):
    value = float(routing.dispatch_entropy(table))
    assert value == pytest.approx(entropy_of_the_paper(table), abs=1e-12)
    assert -1e-12 <= value <= np.log(3) + 1e-12


def test_equal_mixtures_have_the_largest_entropy():
    assert float(routing.dispatch_entropy(np.full((6, 4), 7.0))) == pytest.approx(np.log(4))
    assert float(routing.effective_experts(np.full((6, 4), 7.0))) == pytest.approx(6)


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_counts_by_cluster(xp):
    rng = np.random.default_rng(0)
    expert, cluster = rng.integers(0, 4, (2, 60)), rng.integers(0, 3, (2, 60))
    counts = np.asarray(routing.counts(xp.asarray(expert), xp.asarray(cluster), 4, 3))
    for b in range(2):
        for m in range(4):
            for k in range(3):
                assert counts[b, m, k] == np.sum((expert[b] == m) & (cluster[b] == k))
    np.testing.assert_allclose(np.asarray(routing.load(xp.asarray(counts))), counts.sum(-1) / 60)

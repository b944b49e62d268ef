import numpy as np
import pytest

from moestat.models.experts import EXPERTS
from moestat.models.gates import GATES, SCORES, unpack_symmetric
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, sample, split

MODELS = [Model(g, s, e, 3, 3 if e == "polynomial" else 1) for g in GATES for s in SCORES for e in EXPERTS]
IDS = [f"{m.gate}-{m.score}-{m.expert}" for m in MODELS]


@pytest.mark.parametrize("regime", ["dense", "sparse"])
@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_a_split_truth_is_the_same_function(model, regime):
    theta = ground_truth(model, 4, regime, np.random.default_rng(1))
    x = np.random.default_rng(2).uniform(-1, 1, (200, 3))
    for n_fitted in (4, 5, 7):
        over = split(model, theta, n_fitted)
        assert over.shape == (n_fitted, model.atom_size)
        np.testing.assert_allclose(model.predict(over, x), model.predict(theta, x), rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(over[:3], theta[:3])


def test_splitting_a_sparse_sigmoid_atom_keeps_its_place_and_weight():
    model = Model("sigmoid", "full", "relu", 3)
    theta = ground_truth(model, 4, "sparse", np.random.default_rng(1))
    over = split(model, theta, 6)
    np.testing.assert_array_equal(over[3:, 1:], np.repeat(theta[3:, 1:], 3, axis=0))
    assert model.weights(over)[3:].sum() == pytest.approx(model.weights(theta)[3], rel=1e-14)


def test_ground_truth_has_the_stated_distribution():
    # false alarm: each bound is 5 standard errors of a mean of squares, so below 1e-6 per check
    d, n_true = 8, 4000
    model = Model("sigmoid", "full", "relu", d)
    theta = ground_truth(model, n_true, "dense", np.random.default_rng(3))
    for part in (model.c, model.b, model.eta):
        values = theta[:, part]
        assert np.mean(values**2) == pytest.approx(1 / d, rel=5 * np.sqrt(2 / values.size))
    a = unpack_symmetric(theta[:, model.a_matrix], d)
    diagonal = np.stack([a[:, i, i] for i in range(d)])
    assert np.mean(diagonal**2) == pytest.approx(1 / d, rel=5 * np.sqrt(2 / diagonal.size))
    upper = a[:, *np.triu_indices(d, 1)]
    assert np.mean(upper**2) == pytest.approx(1 / (2 * d), rel=5 * np.sqrt(2 / upper.size))


def test_models_that_differ_in_score_gate_or_expert_share_their_truth():
    full = Model("sigmoid", "full", "relu", 3)
    other = Model("softmax", "partial", "linear", 3)
    dense = ground_truth(full, 4, "dense", np.random.default_rng(4))
    partial = ground_truth(other, 4, "dense", np.random.default_rng(4))
    for a, b in ((full.c, other.c), (full.a_matrix, other.a_matrix), (full.eta, other.eta)):
        np.testing.assert_array_equal(dense[:, a], partial[:, b])
    sparse = ground_truth(full, 4, "sparse", np.random.default_rng(4))
    assert not sparse[2:, : full.gate_size].any()
    np.testing.assert_array_equal(sparse[:2], dense[:2])
    np.testing.assert_array_equal(sparse[:, full.eta], dense[:, full.eta])


def test_samples_follow_the_model():
    # false alarm below 1e-6 per check (5 standard errors)
    model = Model("softmax", "full", "relu", 2)
    theta = ground_truth(model, 3, "dense", np.random.default_rng(5))
    n = 20_000
    x, y = sample(model, theta, n, 0.01, np.random.default_rng(6))
    assert x.shape == (n, 2)
    assert np.abs(x).max() <= 1
    assert np.mean(x**2) == pytest.approx(1 / 3, rel=5 * np.sqrt(0.8 / (2 * n)))
    noise = y - model.predict(theta, x)
    assert abs(noise.mean()) < 5 * 0.1 / np.sqrt(n)
    assert noise.var() == pytest.approx(0.01, rel=5 * np.sqrt(2 / n))
    again = sample(model, theta, n, 0.01, np.random.default_rng(6))
    np.testing.assert_array_equal(again[1], y)


def test_wrong_arguments_are_named():
    model = Model("sigmoid", "full", "relu", 2)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="regime"):
        ground_truth(model, 3, "medium", rng)
    with pytest.raises(ValueError, match="n_true"):
        ground_truth(model, 0, "dense", rng)
    with pytest.raises(ValueError, match="n_sparse"):
        ground_truth(model, 1, "sparse", rng)
    with pytest.raises(ValueError, match="n_fitted"):
        split(model, ground_truth(model, 3, "dense", rng), 2)

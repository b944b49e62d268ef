import numpy as np
import pytest

from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.papers.sigmoid_attention import continua, gate_pairs

D = 2
T = np.array([0.0, 0.25, 0.5, 1.0])
RNG = np.random.default_rng(20260704)
X = RNG.uniform(-1, 1, (300, D))


def model(expert="relu", power=1, gate="sigmoid", score="full"):
    return Model(gate, score, expert, D, power)


def moved(m, truth, measures):
    return np.max(np.abs(m.predict(measures, X) - m.predict(truth, X)))


@pytest.mark.parametrize(("expert", "power", "order"), [("polynomial", 2, 2), ("polynomial", 3, 3), ("gelu", 1, 1)])
def test_a_vanishing_atom_moves_the_function_by_the_degree_of_the_expert(expert, power, order):
    m = model(expert, power)
    truth = ground_truth(m, 3, "dense", RNG)
    gate, eta = RNG.standard_normal(m.gate_size), RNG.standard_normal(m.expert_size)
    measures = continua.vanishing_atom(m, truth, gate, eta, np.array([0.0, 1e-3, 2e-3]))
    assert moved(m, truth, measures[:1]) == 0.0
    assert np.log2(moved(m, truth, measures[2:]) / moved(m, truth, measures[1:2])) == pytest.approx(order, abs=0.01)


@pytest.mark.parametrize("expert", ["gelu", "relu", "linear"])
def test_opposite_slopes_move_the_function_by_the_fourth_power(expert):
    m = model(expert)
    truth = ground_truth(m, 2, "sparse", np.random.default_rng(5), n_sparse=1)  # whichever tests ran before
    t = np.array([0.02, 0.04])
    slopes = gate_pairs.hidden_pair(m, truth, np.array([0.6, 0.8]), 0.5, t)
    for measures, order in ((slopes, 4), (continua.opposite_matrices(m, truth, np.eye(D), t), 2)):
        change = np.linalg.norm(m.predict(measures, X) - m.predict(truth, X), axis=1)
        assert np.log2(change[1] / change[0]) == pytest.approx(order, abs=0.02)
    pair = slopes[:, -2:]
    np.testing.assert_allclose(np.linalg.norm(pair[..., m.b], axis=-1), t[:, None] * np.ones(2))
    np.testing.assert_allclose(np.sum(m.weights(pair), axis=1), m.weights(truth)[-1])


def test_jacobians_agree_with_differences():
    m = model("gelu", gate="softmax")
    theta = ground_truth(m, 3, "dense", RNG)
    step = 1e-6 * np.eye(theta.size).reshape(-1, *theta.shape)
    numeric = (m.predict(theta + step, X) - m.predict(theta - step, X)) / 2e-6
    np.testing.assert_allclose(continua.jacobian(m, theta, X), numeric.T, atol=1e-8)
    wide = continua.antisymmetric_jacobian(m, theta, X).reshape(len(X), 3, -1)
    full = continua.antisymmetric(m, theta, np.zeros((3, D, D)), np.zeros(1))[0]
    for i, column in (((0, 1), m.a_matrix.start + D), ((1, 0), -1)):
        e = np.zeros((3, D, D))
        e[1][i] = 1e-6
        ends = [continua.predict_full(m, theta, (full + sign * e)[None], X)[0] for sign in (1, -1)]
        np.testing.assert_allclose(wide[:, 1, column], (ends[0] - ends[1]) / 2e-6, atol=1e-8)


def test_null_directions_are_counted_and_units_do_not_matter():
    columns = RNG.standard_normal((50, 4))
    both = np.concatenate([columns, columns @ RNG.standard_normal((4, 2)), np.zeros((50, 1))], axis=1)
    for units in (1.0, 10.0 ** np.arange(-3, 4)):
        count, gap = continua.null_directions(both * units)
        assert count == 3 and gap > 1e10
    assert continua.null_directions(columns)[0] == 0

"""What a cell of constant gate hides: exact orders by symbolic series, the form by brute force, and f as it is."""

from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from studies.sigmoid_attention.parts import constant_gate, continua, gate_pairs, non_identifiability
from studies.sigmoid_attention.parts.gate_pairs import CRITICAL, flat_share, pair_scores, smallest_curvature
from studies.sigmoid_attention.parts.non_identifiability import AT, Settings, expected_null

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


FAMILIES = [
    ("split", "relu", 1),
    ("split", "polynomial", 2),
    ("null atom", "gelu", 1),
    ("null atom", "relu", 1),
    ("trade", "relu", 1),
    ("trade", "linear", 1),
    ("trade", "polynomial", 2),
    ("mirror", "relu", 1),
    ("shift", "gelu", 1),
    ("antisymmetric", "gelu", 1),
    ("softmax pair", "linear", 1),
]


run = partial(computed, non_identifiability, seed=5, points_log2=9, d=2)


@pytest.mark.parametrize(("family", "expert", "power"), FAMILIES)
def test_exact_families_move_parameters_and_not_the_function(family, expert, power):
    ds = run(range(2), family=family, expert=expert, power=power)
    assert ds.largest_change.max() < 1e-12
    assert ds.L3.isel(t=AT).min() > 0.05
    assert ds.null_error.max() == 0 and ds.null_gap.min() > 1e3
    if family in ("split", "null atom", "trade", "mirror", "shift") and power == 1:
        assert ds.quotient.max() < 1e-10


def test_the_function_moves_by_the_square_of_the_loss():
    ds = run(range(2), family="opposite b", expert="gelu").sel(t=slice(0.02, 0.1))
    slopes = np.diff(np.log(ds.change)) / np.diff(np.log(ds.t))
    np.testing.assert_allclose(slopes, 4, atol=0.05)
    np.testing.assert_allclose(np.diff(np.log(ds.L1)) / np.diff(np.log(ds.t)), 2, atol=0.01)
    control = run(range(2), family="opposite A", expert="gelu", score="partial").sel(t=slice(0.02, 0.1))
    np.testing.assert_allclose(np.diff(np.log(control.ratio)) / np.diff(np.log(control.t)), 0, atol=0.05)


@pytest.mark.parametrize(("expert", "power"), [("relu", 1), ("linear", 1), ("polynomial", 2)])
def test_moved_shares_move_the_function_by_the_square_of_the_distance(expert, power):
    ds = run(range(2), family="moved shares", expert=expert, power=power).sel(t=slice(0.02, 0.1))
    np.testing.assert_allclose(np.diff(np.log(ds.change)) / np.diff(np.log(ds.t)), 2, atol=0.02)
    np.testing.assert_allclose(np.diff(np.log(ds.L3_nearest)) / np.diff(np.log(ds.t)), 1, atol=0.02)


def test_the_sparse_linear_model_of_the_paper_has_twenty_null_directions():
    assert expected_null(Settings(family="trade", expert="linear", d=8)) == 20
    assert expected_null(Settings(family="trade", expert="relu", d=8)) == 2
    assert expected_null(Settings(family="shift", expert="relu", d=8)) == 45


CASES = [(0.5, 0.5, 4), (0.2, 0.5, 4), (0.5, 0.3, 4), (CRITICAL, 0.5, 6), (0.5, None, 5), (0.8, None, 5)]


@pytest.mark.parametrize(("weight", "share", "order"), CASES)
def test_the_first_term_that_is_left_has_the_order_that_is_claimed(weight, share, order):
    """The Taylor coefficients in t of the sum of the gates at h = 1, by Cauchy's formula."""
    c, beta, alpha = pair_scores(weight, flat_share(weight) if share is None else share)
    t = 0.2 * np.exp(2j * np.pi * np.arange(64) / 64)
    total = np.sum(1 / (1 + np.exp(-(c + t[:, None] * beta + t[:, None] ** 2 * alpha))), axis=1)
    coefficients = [np.mean(total * t**-k) for k in range(8)]
    assert coefficients[0] == pytest.approx(weight, abs=1e-14)
    np.testing.assert_allclose(coefficients[1:order], 0, atol=1e-11)
    assert abs(coefficients[order]) > 1e-5
    if order == 4:
        share = share or 0.5
        assert coefficients[4].real == pytest.approx(gate_pairs.fourth_order(weight, share), rel=1e-8)


def test_equal_shares_leave_v_times_one_minus_three_v_squared():
    g = np.polynomial.Polynomial([0.0, 1.0])
    derivatives = [g]
    for _ in range(4):  # d/ds = g (1 - g) d/dg
        derivatives.append(g * (1 - g) * derivatives[-1].deriv())
    for weight in (0.1, 0.3, CRITICAL / 2):
        first, second, third, fourth = (d(weight) for d in derivatives[1:])
        np.testing.assert_allclose(gate_pairs.gate_slopes(weight), [first, second, third, fourth], atol=1e-15)
        alpha, v = -second / (2 * first), 1 - 2 * weight
        left = second * alpha**2 / 2 + third * alpha / 2 + fourth / 24
        assert left == pytest.approx(first * v * (1 - 3 * v**2) / 24, abs=1e-15)
    assert abs(1 - 3 * (1 - CRITICAL) ** 2) < 1e-15


def test_the_least_curvature_is_that_of_brute_force_and_at_least_one_minus_the_weight():
    rng = np.random.default_rng(0)
    for m in (2, 3, 4):
        weights = rng.uniform(0.1, 0.95, (30, 1)) * rng.dirichlet(np.ones(m), 30)
        least = smallest_curvature(weights)
        assert np.all(least >= 1 - weights.sum(axis=1) - 1e-12)
        g = weights[0]
        a = rng.standard_normal((200_000, m))
        slope = g * (1 - g)
        a -= (a @ slope)[:, None] / (slope @ slope) * slope  # the constraint
        tried = (a**2 @ (slope * (1 - 2 * g))) / (a**2 @ slope)
        assert tried.min() >= least[0] - 1e-8
        assert tried.min() == pytest.approx(least[0], abs=0.02)


run_pairs = partial(computed, constant_gate, seed=5, points_log2=9, d=2, cells=50)


def test_the_function_moves_by_the_fifth_power_at_the_weight_of_the_paper():
    ds = run_pairs(range(2), weight=0.5, shares="flat").sel(t=slice(0.015, 0.1))
    slopes = np.diff(np.log(ds.change)) / np.diff(np.log(ds.t))
    np.testing.assert_allclose(slopes, 5, atol=0.1)
    np.testing.assert_allclose(np.diff(np.log(ds.L1)) / np.diff(np.log(ds.t)), 2, atol=0.01)
    assert ds.share.values == pytest.approx(0.3646, abs=1e-4)

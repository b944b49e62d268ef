"""The Fisher line: information by differences, expected norms by formula, ranks by algebra, and real fits."""

import numpy as np
import pytest
from scipy import special
from scipy.stats import qmc

from moestat.fit import kernel
from moestat.fit.newton import least_squares
from moestat.fit.population import sobol
from moestat.losses import fisher
from moestat.losses.fisher import fisher_line
from moestat.losses.sandwich import sandwich_line
from moestat.losses.voronoi import L3
from moestat.models import truths
from moestat.models.regression import Model


def points(d, log2=12):
    return 2 * qmc.Sobol(d, rng=np.random.default_rng(0)).random_base2(log2) - 1


@pytest.mark.parametrize("k", [1, 2, 5, 50])
def test_expected_norm_of_a_standard_vector(k):
    exact = np.sqrt(2) * np.exp(special.gammaln((k + 1) / 2) - special.gammaln(k / 2))
    assert fisher.expected_norm(np.full(k, 4.0)) == pytest.approx(2 * exact, rel=1e-9)
    assert fisher.expected_norm(np.r_[np.full(k, 1e-6), 0, 0]) == pytest.approx(1e-3 * exact, rel=1e-9)


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("score", ["full", "partial", "linear"])
def test_information_by_differences(gate, score):
    model = Model(gate, score, "gelu", 2)
    theta = truths.ground_truth(model, 3, "dense", np.random.default_rng(1))
    x = points(2, 8)
    step = 1e-6
    jacobian = np.stack(
        [(model.predict(theta + h, x) - model.predict(theta - h, x)) / (2 * step) for h in step * basis(theta.shape)],
        -1,
    )
    np.testing.assert_allclose(fisher.information(model, theta, x), jacobian.T @ jacobian / len(x), atol=1e-9)


def basis(shape):
    return np.eye(shape[0] * shape[1]).reshape(-1, *shape)


@pytest.mark.parametrize(
    ("gate", "expert", "regime", "nullity"),
    [
        ("sigmoid", "relu", "dense", 0),
        ("sigmoid", "linear", "dense", 0),
        # c against |eta| in each of the two sparse atoms
        ("sigmoid", "relu", "sparse", 2),
        # the same, d + 1 exchanges of eta, and d + 1 products of one gate's part with the other expert
        ("sigmoid", "linear", "sparse", 2 + 2 * (3 + 1)),
        # the common shift of all gates
        ("softmax", "relu", "dense", 10),
        ("softmax", "linear", "dense", 10),
    ],
)
def test_null_directions(gate, expert, regime, nullity):
    model = Model(gate, "full", expert, 3)
    theta = truths.ground_truth(model, 4, regime, np.random.default_rng(0))
    line = fisher.fisher_line(model, theta, points(3), 0.01)
    assert line.nullity == nullity
    assert line.rank == theta.size - nullity
    assert line.gap > 1e6
    assert line.at_one["rmse"] == pytest.approx(0.1 * np.sqrt(line.rank))


def test_losses_add_up_and_fall_like_the_root():
    model = Model("sigmoid", "full", "gelu", 2)
    theta = truths.ground_truth(model, 2, "dense", np.random.default_rng(3))
    line = fisher.fisher_line(model, theta, points(2), 0.01)
    one = line.at_one
    assert one["L3"] == pytest.approx(one["A"] + one["b"] + one["c"] + one["eta"])
    assert line.at(100)["L3"] == pytest.approx(one["L3"] / 10)
    four = fisher.fisher_line(model, theta, points(2), 0.04).at_one
    assert all(four[k] == pytest.approx(2 * one[k]) for k in one)
    with pytest.raises(ValueError, match="points cannot show"):
        fisher.fisher_line(model, theta, points(2, 3), 0.01)


@pytest.mark.parametrize(("gate", "expert"), [("sigmoid", "gelu"), ("softmax", "linear")])
def test_it_is_the_fisher_line_where_the_model_holds_the_truth(gate, expert):
    model = Model(gate, "full", expert, 2)
    theta = truths.ground_truth(model, 2, "dense", np.random.default_rng(1))
    x = sobol(2, 12, 0, "points")
    line = sandwich_line(model, theta, x, model.predict(theta, x), 0.04, box=5.0)
    fisher = fisher_line(model, theta, x, 0.04)
    assert line.rank == fisher.rank
    assert line.at_one["L3"] == pytest.approx(fisher.at_one["L3"], rel=1e-4)
    assert line.at_one["rmse_pseudo"] == pytest.approx(fisher.at_one["rmse"], rel=1e-4)


@pytest.mark.skipif(not kernel.vector_bits(), reason=kernel.describe())
@pytest.mark.parametrize(("gate", "expert"), [("softmax", "relu"), ("softmax", "gelu"), ("sigmoid", "linear")])
def test_compiled_lines_are_the_plain_ones(monkeypatch, gate, expert):
    model, rng = Model(gate, "full", expert, 2), np.random.default_rng(2)
    truth, x = truths.ground_truth(model, 3, "dense", rng), points(2, 10)
    y = Model("softmax", "full", expert, 2).predict(truth, x)
    beside = truth + 0.1 * rng.standard_normal(truth.shape)

    def lines():
        return fisher.information(model, truth, x), sandwich_line(model, beside, x, y, 0.04, box=5.0)

    information, line = lines()
    monkeypatch.setenv("MOESTAT_KERNEL", "numpy")
    plain, plain_line = lines()
    np.testing.assert_allclose(information, plain, rtol=1e-12, atol=1e-14 * np.abs(plain).max())
    assert line.rank == plain_line.rank
    assert line.at_one == pytest.approx(plain_line.at_one, rel=1e-9)  # divided by the least curvature


def test_it_predicts_the_errors_of_fits_to_data_from_another_gate():
    """80 fits: the mean of L3 has a relative standard error near 5 %, a band of 20 % a false alarm below 1e-4."""
    truth_model, model = Model("softmax", "full", "linear", 1), Model("sigmoid", "linear", "linear", 1)
    truth = 2 * truths.ground_truth(truth_model, 3, "dense", np.random.default_rng(2))
    x = sobol(1, 14, 0, "points")
    values = truth_model.predict(truth, x)
    start = truths.ground_truth(model, 1, "dense", np.random.default_rng(3))
    fit = least_squares(model, x[None], values[None], start[None, None], box=5.0)
    target = fit.theta[0]
    assert fit.min_eigenvalue[0] > 1e-3 and fit.box_hits[0] == 1  # a coordinate that the box holds, in every sample
    v, n, count = 0.01, 4000, 80
    line = sandwich_line(model, target, x, values, v, box=5.0)
    draws = [truths.sample(truth_model, truth, n, v, np.random.default_rng(100 + k)) for k in range(count)]
    ends = least_squares(
        model,
        np.stack([a for a, _ in draws]),
        np.stack([b for _, b in draws]),
        np.repeat(target[None, None], count, axis=0),
        box=5.0,
    )
    measured = float(np.mean(L3(ends.theta, target, model)))
    assert measured == pytest.approx(line.at_one["L3"] / np.sqrt(n), rel=0.2)
    distance = np.sqrt(np.mean((model.predict(ends.theta, x) - model.predict(target, x)) ** 2))
    assert distance == pytest.approx(line.at_one["rmse_pseudo"] / np.sqrt(n), rel=0.2)
    # the noise alone, without the error of the model, would be told apart
    noise_only = fisher_line(model, target, x, v).at_one["L3"] / np.sqrt(n)
    assert abs(measured - noise_only) > 0.2 * measured


def test_coordinates_on_the_box_do_not_move():
    model = Model("sigmoid", "full", "linear", 1)
    theta = np.array([[0.3, 1.0, -2.0, 1.0, 0.5]])
    x = sobol(1, 10, 0, "points")
    free = sandwich_line(model, theta, x, model.predict(theta, x), 0.01, box=5.0)
    held = sandwich_line(model, theta, x, model.predict(theta, x) + 0.1, 0.01, box=2.0)
    assert held.rank == free.rank - 1
    assert held.at_one["A"] == 0 < free.at_one["A"]

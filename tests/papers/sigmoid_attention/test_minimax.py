import numpy as np
import pytest

from moestat.losses.voronoi import L2r
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.papers.sigmoid_attention import minimax

RNG = np.random.default_rng(20260706)
X = RNG.uniform(-1, 1, (400, 2))
T = np.array([0.02, 0.04])


def setting(expert, power=1):
    m = Model("sigmoid", "full", expert, 2, power)
    truth = ground_truth(m, 3, "sparse", RNG, n_sparse=1)
    return m, truth


def changes(m, truth, version):
    measures = minimax.sequence(m, truth, T, version)
    return m.predict(measures, X) - m.predict(truth, X)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_printed_sequence_is_exact_for_affine_experts_only(power):
    m, truth = setting("polynomial", power)
    change = changes(m, truth, "printed")
    if power == 1:
        assert np.max(np.abs(change)) < 1e-15
    else:  # w* p (p - 1) / 2 t^2 h^(p - 2), exact for p = 2 and 3
        h = X @ truth[-1, m.eta][:2] + truth[-1, -1]
        leading = m.weights(truth)[-1] * power * (power - 1) / 2 * T[:, None] ** 2 * h ** (power - 2)
        np.testing.assert_allclose(change, leading, atol=1e-14)


@pytest.mark.parametrize(("expert", "power"), [("polynomial", 1), ("polynomial", 2), ("polynomial", 3), ("relu", 1)])
def test_the_corrected_sequence_is_exact_and_goes_to_the_truth(expert, power):
    m, truth = setting(expert, power)
    assert np.max(np.abs(changes(m, truth, "corrected"))) < 1e-14
    loss = L2r(minimax.sequence(m, truth, T, "corrected"), truth, m, 2.0)
    assert loss[1] / loss[0] == pytest.approx(4, abs=0.2) and loss[0] > 0


def test_le_cam_is_the_two_point_bound():
    loss, distance = np.array([1.0, 0.1]), np.array([0.1, 0.001])
    bound = minimax.le_cam(loss, distance, np.array([1.0, 1e4]), 0.01, 2.0)
    expected = [np.exp(-0.5) / 8, 0.1 * np.exp(-0.5) / 8]
    np.testing.assert_allclose(bound, expected)


def test_truths_without_a_constant_gate_are_refused():
    m, truth = setting("relu")
    truth[-1, 1] = 0.1
    with pytest.raises(ValueError, match="constant gate"):
        minimax.sequence(m, truth, T, "printed")
    gelu, truth = setting("gelu")
    with pytest.raises(ValueError, match="homogeneous"):
        minimax.sequence(gelu, truth, T, "corrected")
    square, truth = setting("polynomial", 2)
    with pytest.raises(ValueError, match="at most 2"):
        minimax.sequence(square, truth, np.ones(1), "corrected")


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("power", [1, 2])
def test_splits_have_one_function_by_a_loop_over_atoms(gate, power):
    m = Model(gate, "full", "polynomial", 2, power)
    truth = ground_truth(m, 3, "dense", RNG)

    def function(atoms):
        out = []
        for x in X[:50]:
            scores = np.array(
                [
                    c + b1 * x[0] + b2 * x[1] + a11 * x[0] ** 2 + a22 * x[1] ** 2 + np.sqrt(2) * a12 * x[0] * x[1]
                    for c, b1, b2, a11, a22, a12 in atoms[:, :6]
                ]
            )
            weights = 1 / (1 + np.exp(-scores)) if gate == "sigmoid" else np.exp(scores) / np.exp(scores).sum()
            out.append(sum(w * (eta[:2] @ x + eta[2]) ** power for w, eta in zip(weights, atoms[:, 6:], strict=True)))
        return np.array(out)

    measures = minimax.splits(m, truth, np.array([0.0, 0.1]))
    np.testing.assert_allclose(m.predict(truth, X[:50]), function(truth), atol=1e-12)
    for measure in measures:
        np.testing.assert_allclose(function(measure), function(truth), atol=1e-12)
    assert np.linalg.norm(measures[1] - measures[0]) > 0.01


def test_a_split_needs_a_homogeneous_expert():
    m, truth = setting("gelu")
    with pytest.raises(ValueError, match="homogeneous"):
        minimax.splits(m, truth, T)

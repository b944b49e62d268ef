"""Lemma 2 and the weak triangle inequality: sequences of measures, as printed and corrected."""

import numpy as np
import pytest

from moestat.losses.voronoi import L2r
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from studies.sigmoid_attention.parts import minimax_lower_bound as minimax

RNG = np.random.default_rng(20260706)
X = RNG.uniform(-1, 1, (400, 2))
T = np.array([0.02, 0.04])


def setting(version, expert="polynomial", power=1):
    """A model, a truth, and its sequence."""
    m = Model("sigmoid", "full", expert, 2, power)
    truth = ground_truth(m, 3, "sparse", RNG, n_sparse=1)
    return m, truth, minimax.sequence(m, truth, T, version)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_printed_sequence_is_exact_for_affine_experts_only(power):
    m, truth, measures = setting("printed", power=power)
    change = m.predict(measures, X) - m.predict(truth, X)
    # w* p (p - 1) / 2 t^2 h^(p - 2), exact for p = 2 and 3
    h = X @ truth[-1, m.eta][:2] + truth[-1, -1]
    leading = m.weights(truth)[-1] * power * (power - 1) / 2 * T[:, None] ** 2 * h ** float(power - 2)
    np.testing.assert_allclose(change, leading, atol=1e-14)


@pytest.mark.parametrize(("expert", "power"), [("polynomial", 1), ("polynomial", 2), ("polynomial", 3), ("relu", 1)])
def test_the_corrected_sequence_is_exact_and_goes_to_the_truth(expert, power):
    m, truth, measures = setting("corrected", expert, power)
    np.testing.assert_allclose(m.predict(measures, X), [m.predict(truth, X)] * 2, atol=1e-14)
    loss = L2r(measures, truth, m, 2.0)
    assert loss[1] / loss[0] == pytest.approx(4, abs=0.2) and loss[0] > 0


def by_loops(fitted, truth, over, m, r):
    """Equation (11), term by term; the sum over an empty cell is zero."""
    blocks = [m.a_matrix, m.b, slice(m.eta.start, m.eta.stop - 1), slice(m.eta.stop - 1, m.eta.stop)]
    total = 0.0
    cells = [[] for _ in truth]
    for atom in fitted:
        far = [np.sum((atom[1:] - true[1:]) ** 2) for true in truth]
        cells[int(np.argmin(far))].append(atom)
    for cell, true, several in zip(cells, truth, over, strict=True):
        if several:
            weights = sum(1 / (1 + np.exp(-atom[0])) for atom in cell)
            total += abs(weights - 1 / (1 + np.exp(-true[0])))
        for atom in cell:
            total += sum(np.linalg.norm((atom - true)[block]) ** r for block in blocks)
            total += 0 if several else abs(atom[0] - true[0]) ** r
    return total


def test_where_empty_cells_cost_nothing_one_atom_has_no_loss_to_either_of_two_different_measures():
    m, truth, measures = setting("corrected", power=2)
    lone = truth[:1]
    assert float(L2r(lone, truth, m, 1.0)) == 0 and float(L2r(lone, measures[1], m, 1.0)) == 0
    assert float(L2r(measures[1], truth, m, 1.0)) > 0.01
    # with the labels of the truth it lacks the over-specified atom, and pays its weight
    weight = float(m.weights(truth)[-1])
    assert float(minimax.L2r(lone, truth, np.array([0, 0, 1]), m, 1.0)) == pytest.approx(weight)


@pytest.mark.parametrize("r", [1.0, 2.5])
def test_the_loss_with_labels_is_that_of_loops(r):
    m, truth, measures = setting("corrected", power=2)
    over = np.array([False, True, True])
    for tried in minimax.between(truth, measures[1]):
        expected = [by_loops(atoms, truth, over, m, r) for atoms in tried[:7]]
        np.testing.assert_allclose(minimax.L2r(tried[:7], truth, over, m, r), expected, rtol=1e-12)


@pytest.mark.parametrize("r", [1.0, 2.0, 4.0])
def test_no_measure_between_breaks_the_inequality_and_half_of_the_way_attains_it(r):
    m, truth, measures = setting("corrected")
    assert 2 ** (r - 1) * minimax.smallest_ratio(truth, measures, m, r) == pytest.approx(1.0)

import numpy as np
import pytest

from moestat.losses import voronoi
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.papers.sigmoid_attention import minimax

RNG = np.random.default_rng(20260706)
T = np.array([0.02, 0.04])


def setting(power=2):
    m = Model("sigmoid", "full", "polynomial", 2, power)
    truth = ground_truth(m, 3, "sparse", RNG, n_sparse=1)
    return m, truth, minimax.sequence(m, truth, T, "corrected")


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
    m, truth, measures = setting()
    lone = minimax.lone_atom(truth)
    assert float(voronoi.L2r(lone, truth, m, 1.0)) == 0 and float(voronoi.L2r(lone, measures[1], m, 1.0)) == 0
    assert float(voronoi.L2r(measures[1], truth, m, 1.0)) > 0.01
    # with the labels of the truth it lacks the over-specified atom, and pays its weight
    weight = float(m.weights(truth)[-1])
    assert float(minimax.L2r(lone, truth, np.array([0, 0, 1]), m, 1.0)) == pytest.approx(weight)


@pytest.mark.parametrize("r", [1.0, 2.5])
def test_the_loss_with_labels_is_that_of_loops(r):
    m, truth, measures = setting()
    over = np.array([False, True, True])
    for tried in minimax.between(truth, measures[1]):
        expected = [by_loops(atoms, truth, over, m, r) for atoms in tried[:7]]
        np.testing.assert_allclose(minimax.L2r(tried[:7], truth, over, m, r), expected, rtol=1e-12)


@pytest.mark.parametrize("r", [1.0, 2.0, 4.0])
def test_no_measure_between_breaks_the_inequality_and_half_of_the_way_attains_it(r):
    m, truth, measures = setting(power=1)
    assert 2 ** (r - 1) * minimax.smallest_ratio(truth, measures, m, r) == pytest.approx(1.0)

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest

from moestat.papers.mixture_of_transformers import specialisation as sp

# four experts, three classes: two experts of class 0, one of class 2, and class 1 has none
ON_LABELS = np.array([[2.0, 1.5, -3.0], [0.1, 0.0, 0.0], [-1.0, -2.0, -0.5], [0.0, 1.0, 1.25]])
COUNTS = np.array([[3.0, 0, 1], [1, 2, 0], [0, 2, 2], [0, 0, 1]])


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_definition_2_by_hand(xp):
    table, counts = xp.asarray(ON_LABELS[None]), xp.asarray(COUNTS[None])
    assert np.asarray(sp.expert_class(table)).tolist() == [[0, 0, 2, 2]]
    np.testing.assert_allclose(np.asarray(sp.gap(table))[0], [0.5, 0.1, 0.5, 0.25])
    assert float(sp.covered(table)[0]) == 2
    assert float(sp.matched(table, counts)[0]) == pytest.approx((3 + 1 + 2 + 1) / 12)
    # class 0: shares 3/4, 1/4 against 1/2, 1/2; class 1 has no expert; class 2: 1/4, 0, 1/2, 1/4 against 0, 0, 1/2, 1/2
    assert float(sp.distance_from_equal(table, counts)[0]) == pytest.approx((0.25 + 1 + 0.25) / 3)


def test_projections_are_inner_products():
    rng = np.random.default_rng(0)
    weights, directions = rng.standard_normal((2, 4, 5)), rng.standard_normal((2, 3, 5))
    expected = np.einsum("bmd,bnd->bmn", weights, directions)
    np.testing.assert_allclose(sp.projections(weights, directions), expected)


def test_equal_shares_have_distance_zero():
    counts = np.zeros((4, 3))
    counts[[0, 1], 0] = 5
    counts[[2, 3], 2] = 7
    table = ON_LABELS.copy()
    table[1, 1] = 5.0  # now expert 1 is of class 1
    counts[1] = [0, 4, 0]
    assert sp.distance_from_equal(table, counts) == pytest.approx(0)

"""What a cell of constant gate hides: exact orders by symbolic series, the form by brute force, and f as it is."""

from functools import partial

import numpy as np
import pytest
from cells import computed

from studies.sigmoid_attention.parts import constant_gate, non_identifiability
from studies.sigmoid_attention.parts.constant_gate import CRITICAL, flat_share, pair_scores, smallest_curvature


def exponents(array, t):
    """Return the slopes of a variable over t, each between two neighbours."""
    return np.diff(np.log(array), axis=-1) / np.diff(np.log(t))


FAMILIES = [("split", "relu", 1), ("split", "polynomial", 2), ("null atom", "gelu", 1), ("trade", "relu", 1)]
FAMILIES += [("trade", "polynomial", 2), ("mirror", "relu", 1), ("shift", "gelu", 1), ("antisymmetric", "gelu", 1)]
FAMILIES += [("softmax pair", "linear", 1)]


run = partial(computed, non_identifiability, seed=5, points_log2=9, d=2)


@pytest.mark.parametrize(("family", "expert", "power"), FAMILIES)
def test_exact_families_move_parameters_and_not_the_function(family, expert, power):
    ds = run(range(2), family=family, expert=expert, power=power)
    assert ds.largest_change.max() < 1e-12
    assert ds.L3.sel(t=0.5).min() > 0.05


PARTIAL = {"score": "partial"}
NEAR = [
    ("opposite b", {"expert": "gelu"}, 4, "L1", 2),
    ("opposite b", {"expert": "linear"}, 4, "L1", 2),
    ("opposite A", {"expert": "gelu"} | PARTIAL, 2, "L1", 2),
    ("vanishing atom", {"expert": "polynomial", "power": 3}, 3, "L3_nearest", 1),
    ("vanishing atom", {"expert": "gelu"}, 1, "L3_nearest", 1),
    ("moved shares", {"expert": "relu"}, 2, "L3_nearest", 1),
    ("moved shares", {"expert": "polynomial", "power": 2} | PARTIAL, 2, "L3_nearest", 1),
]


@pytest.mark.parametrize(("family", "of", "order", "loss", "of_loss"), NEAR)
def test_near_families_move_the_function_by_a_power_of_their_own(family, of, order, loss, of_loss):
    ds = run(range(2), family=family, **of).sel(t=slice(0.02, 0.1))
    np.testing.assert_allclose(exponents(ds.change, ds.t), order, atol=0.06)
    np.testing.assert_allclose(exponents(ds[loss], ds.t), of_loss, atol=0.03)


def test_two_atoms_at_the_weight_of_the_paper_move_the_function_by_the_fifth_power():
    ds = computed(constant_gate, range(2), 5, weight=0.5, shares="flat", points_log2=9, d=2, cells=50)
    ds = ds.sel(t=slice(0.015, 0.1))
    np.testing.assert_allclose(exponents(ds.change, ds.t), 5, atol=0.1)
    np.testing.assert_allclose(exponents(ds.L1, ds.t), 2, atol=0.01)
    assert ds.share.values == pytest.approx(0.3646, abs=1e-4) and (ds.curvature >= 1 - 1e-9).all()


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
        assert coefficients[4].real == pytest.approx(constant_gate.fourth_order(weight, share), rel=1e-8)


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

"""What a cell of constant gate hides: exact orders by series, the form by brute force, and f as it is."""

from functools import partial

import numpy as np
import pytest
from cells import computed

from studies.sigmoid_attention.parts import constant_gate, non_identifiability
from studies.sigmoid_attention.parts.constant_gate import CRITICAL, flat_share, pair_scores, smallest_curvature


def exponents(array, t):
    """Return the slopes of a variable over t, each between two neighbours."""
    return np.diff(np.log(array), axis=-1) / np.diff(np.log(t))


run = partial(computed, non_identifiability, seed=5, points_log2=9, d=2)
NEAR = [("opposite b", "full", "gelu", 4), ("opposite b", "full", "linear", 4), ("opposite A", "partial", "gelu", 2)]


@pytest.mark.parametrize(("family", "score", "expert", "order"), NEAR)
def test_opposite_parts_move_the_function_by_a_power_of_their_own(family, score, expert, order):
    ds = run(range(2), family=family, score=score, expert=expert).sel(t=slice(0.02, 0.1))
    np.testing.assert_allclose(exponents(ds.change, ds.t), order, atol=0.06)
    np.testing.assert_allclose(exponents(ds.L1, ds.t), 2, atol=0.03)


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

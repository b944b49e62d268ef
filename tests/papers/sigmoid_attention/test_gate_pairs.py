"""What a cell of constant gate hides: exact orders by symbolic series, the form by brute force, and f as it is."""

from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.papers.sigmoid_attention import constant_gate, gate_pairs
from moestat.papers.sigmoid_attention.gate_pairs import CRITICAL, flat_share, pair_scores, smallest_curvature

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


run = partial(computed, constant_gate, seed=5, points_log2=9, d=2, cells=50)


def test_the_function_moves_by_the_fifth_power_at_the_weight_of_the_paper():
    ds = run(range(2), weight=0.5, shares="flat").sel(t=slice(0.015, 0.1))
    slopes = np.diff(np.log(ds.change)) / np.diff(np.log(ds.t))
    np.testing.assert_allclose(slopes, 5, atol=0.1)
    np.testing.assert_allclose(np.diff(np.log(ds.L1)) / np.diff(np.log(ds.t)), 2, atol=0.01)
    assert ds.share.values == pytest.approx(0.3646, abs=1e-4)

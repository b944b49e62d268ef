"""Where a truth lies among others: made-up outliers are found, and what hides an expert is seen."""

import numpy as np
import pytest

from moestat.models import truths
from moestat.models.regression import Model
from moestat.papers.sigmoid_attention.regression_problem import evaluation_points
from moestat.papers.sigmoid_attention.typical import Features, Place, features

MODEL = Model("softmax", "full", "relu", 2)


def drawn(count, seed=0):
    return np.stack([truths.ground_truth(MODEL, 3, "dense", np.random.default_rng([seed, k])) for k in range(count)])


def of_lines(lines, nullity=0.0):
    lines = np.asarray(lines, dtype=float)
    return Features(lines, np.broadcast_to(nullity, lines.shape), *np.ones((3, len(lines))))


def test_a_truth_with_directions_that_no_data_show_lies_above_all():
    """Its line is of the other directions alone, and would look ordinary."""
    place = Place(of_lines([2.0], nullity=6), of_lines([1.0, 3.0], nullity=5))
    assert place.lines[0].tolist() == [np.inf] and place.rank.tolist() == [1] and place.outside.all()


def test_an_expert_that_hardly_shows_makes_an_outlier():
    """Its kink is moved to a corner of the square, where x_1 + x_2 > 1.8: a share of 0.2^2 / 2 / 4 = 0.005."""
    points = evaluation_points(2, 13)
    others = drawn(12)
    others[..., -1] = 0.0  # kinks through the middle: all of these experts are active on half of the square
    made = others[:1].copy()
    made[0, 0, MODEL.eta] = [1.0, 1.0, -1.8]
    place = Place(features(MODEL, made, points, 0.01), features(MODEL, others, points, 0.01))
    assert place.own.active[0] == pytest.approx(0.005, rel=0.05)
    assert place.own.seen[0] < place.own.active[0] and place.own.seen[0] < place.others.seen.min()
    np.testing.assert_allclose(place.others.active, 0.5, atol=0.01)
    assert place.rank[0] == 1 and place.outside[0] and place.own.smallest[0] < place.others.smallest.min()

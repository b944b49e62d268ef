"""Where a truth lies among others: made-up outliers are found, and what hides an expert is seen."""

import numpy as np
import pytest

from moestat.models import truths
from moestat.models.regression import Model
from studies.sigmoid_attention.parts import typicality
from studies.sigmoid_attention.parts.regression_problem import evaluation_points
from studies.sigmoid_attention.parts.regression_settings import Settings
from studies.sigmoid_attention.parts.typical import Features, Place, features

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


STUDY = 20260101
"""Seed of sigmoid_vs_softmax."""
SMALL = {"n": 1000, "d": 2, "n_true": 2, "n_fitted": 3, "truth_gate": "softmax", "expert": "linear"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path))


@pytest.fixture
def brief(monkeypatch):
    """Ten others instead of forty, on a quarter of the points."""
    monkeypatch.setattr(typicality, "DRAWS", range(1, 11))
    monkeypatch.setattr(typicality, "LOG2", 13)


@pytest.mark.parametrize(
    ("expert", "line", "median", "outside"), [("relu", 17.25, 3.1, True), ("linear", 1.918, 1.85, False)]
)
def test_the_truth_of_the_main_study(brief, expert, line, median, outside):
    """The line as its record has it; that of others within what ten draws can be off by."""
    problem = Settings(n=10, truth_gate="softmax", expert=expert).problem
    place = typicality.place_of(problem, STUDY)
    own, others = (lines / np.sqrt(1e5) for lines in place.lines)
    assert own == pytest.approx([line], rel=0.01)
    assert np.median(others) == pytest.approx(median, rel=0.1)
    assert place.outside.tolist() == [outside] and (place.rank[0] == 1) == outside
    if outside:
        assert place.own.active[0] == pytest.approx(0.0055, rel=0.05) and place.own.smallest[0] < 1e-8


def test_lines_scale_with_the_noise_and_are_computed_once(brief, monkeypatch):
    place = typicality.place_of(Settings(**SMALL).problem, 1, truths=3)
    monkeypatch.setattr(typicality, "features", lambda *arguments: pytest.fail("it was computed again"))
    louder = typicality.place_of(Settings(**SMALL, noise_variance=0.04).problem, 1, truths=3)
    np.testing.assert_allclose(louder.own.line, 2 * place.own.line, rtol=1e-12)
    assert louder.rank.tolist() == place.rank.tolist() and len(place.rank) == 3


def place(own, others):
    one = Features(*(np.full(len(own), v) for v in (0.0, 0.0, 0.005, 1e-4, 1e-9)))
    other = Features(*(np.full(len(others), v) for v in (0.0, 0.0, 0.3, 0.1, 1e-4)))
    return Place(one._replace(line=np.array(own)), other._replace(line=np.array(others)))

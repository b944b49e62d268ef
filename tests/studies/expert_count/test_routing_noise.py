from functools import partial

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from cells import computed
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.status import Status
from studies.expert_count.parts import router_smoothness
from studies.expert_count.parts.router_smoothness import probabilities

scores = st.lists(st.floats(-1.5, 1.5), min_size=2, max_size=9).map(np.asarray)


def test_two_experts_have_a_closed_form():
    # r_2 - r_1 is triangular: P(h_1 + r_1 > h_2 + r_2) = 1 - (1 - t)^2 / 2 at t = h_1 - h_2 >= 0
    t = np.linspace(0, 1.2, 13)
    p = probabilities(np.stack([t, np.zeros(13)], axis=-1))
    np.testing.assert_allclose(p[:, 0], 1 - np.clip(1 - t, 0, None) ** 2 / 2, atol=1e-14)


@settings(deadline=None)
@given(scores)
def test_they_are_probabilities_and_the_larger_score_is_the_likelier(h):
    p = probabilities(h)
    assert p.min() >= 0 and p.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(np.diff(p[np.argsort(h)]) >= -1e-12)
    assert np.all(p[h <= h.max() - 1] == 0)  # Lemma 26 of the paper
    np.testing.assert_allclose(probabilities(h + 0.7), p, atol=1e-12)


@settings(deadline=None)
@given(scores, st.data())
def test_probabilities_move_by_at_most_twice_the_scores(h, data):
    other = h + np.asarray(data.draw(st.lists(st.floats(-0.3, 0.3), min_size=len(h), max_size=len(h))))
    assert np.abs(probabilities(h) - probabilities(other)).max() <= 2 * np.abs(h - other).max() + 1e-12


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_they_are_the_frequencies_of_a_simulation(xp):
    rng = np.random.default_rng(0)
    h = 0.4 * rng.standard_normal((3, 6))
    draws = 200_000
    chosen = np.argmax(h + rng.random((draws, 3, 6)), axis=-1)
    frequency = np.mean(chosen[..., None] == np.arange(6), axis=0)
    p = np.asarray(probabilities(xp.asarray(h)))
    # 18 binomial frequencies, each within 5 standard errors: false alarm below 2e-5
    assert np.all(np.abs(frequency - p) <= 5 * np.sqrt(p * (1 - p) / draws) + 1e-12)


run = partial(computed, router_smoothness)


@pytest.mark.parametrize("pair", ["random", "tied"])
def test_the_bound_holds_and_the_simulation_agrees(pair):
    ds = run(range(20), experts=6, pair=pair, draws=10_000)
    assert np.all(ds.share_of_bound <= 1) and np.all(ds.ratio <= 2 + 1e-12)
    assert np.all(ds.status == Status.CONVERGED) and ds.bound.item() == 36
    # 20 x 2 x 6 frequencies within 5.5 standard errors: false alarm about 1e-5
    assert ds.simulation_error.max() < 5.5
    np.testing.assert_allclose(ds.change, ds.ratio * 0.05)
    assert pair == "random" or np.all(ds.ratio > 1.99)  # which ties come to

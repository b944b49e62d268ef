"""A replicate computed again: what is rounding, what is small beside the spread, what is another result."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from moestat.runner import labels
from moestat.runner.difference import relative
from moestat.runner.recomputed import within_spread
from moestat.runner.shard import Variable


def pair(old, new):
    return Variable((), np.asarray(old)), Variable((), np.asarray(new))


@pytest.mark.parametrize(
    ("old", "new", "resolved", "apart"),
    [
        (1.0, 1.001, (0.0, np.inf), 0.001 / 1.001),
        (3e-17, 1e-16, (1e-14, np.inf), 0.0),
        (1e-3, 2e-3, (1e-14, np.inf), 0.5),
        (2e12, 5e11, (0.0, 1e10), 0.0),
        (2e12, 1e3, (0.0, 1e10), 1 - 5e-10),
        (np.nan, np.nan, (0.0, np.inf), 0.0),
        (np.nan, 1.0, (0.0, np.inf), np.inf),
        ("a", "b", (0.0, np.inf), np.inf),
    ],
)
def test_what_cannot_be_told_apart_is_no_difference(old, new, resolved, apart):
    assert relative(*pair(old, new), resolved) == pytest.approx(apart)


def test_a_hundredth_of_the_spread_moves_nothing():
    stored = xr.DataArray(np.array([1.0, 2.0, 3.0, np.nan]), dims="replicate")
    spread = np.std([1.0, 2.0, 3.0])
    for step, near in ((0.009, True), (0.011, False)):
        assert within_spread(pair(2.0, 2.0 + step * spread), stored, (0.0, np.inf)) is near
    assert not within_spread(pair(2.0, np.nan), stored, (0.0, np.inf))
    assert not within_spread(pair(2.0, 2.001), stored[:2], (0.0, np.inf)), "two replicates tell no spread"
    assert not within_spread(pair(True, False), stored > 1, (0.0, np.inf)), "truth values are equal or are not"


def test_the_spread_is_that_of_each_place():
    stored = xr.DataArray([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]], dims=("replicate", "eps"))
    assert within_spread(pair([2.0, 1.0], [2.001, 1.0]), stored, (0.0, np.inf))
    assert not within_spread(pair([2.0, 1.0], [2.0, 1.001]), stored, (0.0, np.inf))


def test_variables_say_what_they_can_tell_apart():
    package = "moestat.papers.sigmoid_attention"
    assert labels.resolved(f"{package}.regression", "rmse") == (0.0, np.inf)
    assert labels.resolved(f"{package}.regression", "gradient") is None, "it says how the computation went"
    assert labels.resolved(f"{package}.regression_from_target", "pseudo_decrement") is None, "like regression"
    assert labels.resolved(f"{package}.dichotomy", "split") == (1e-14, np.inf)
    assert labels.resolved(f"{package}.dichotomy", "message") is None
    assert labels.resolved("toy", "error") == (0.0, np.inf)

from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.papers.sigmoid_attention import non_identifiability
from moestat.papers.sigmoid_attention.non_identifiability import AT, Settings, expected_null

FAMILIES = [
    ("split", "relu", 1),
    ("split", "polynomial", 2),
    ("null atom", "gelu", 1),
    ("null atom", "relu", 1),
    ("trade", "relu", 1),
    ("trade", "linear", 1),
    ("trade", "polynomial", 2),
    ("mirror", "relu", 1),
    ("shift", "gelu", 1),
    ("antisymmetric", "gelu", 1),
    ("softmax pair", "linear", 1),
]


run = partial(computed, non_identifiability, seed=5, points_log2=9, d=2)


@pytest.mark.parametrize(("family", "expert", "power"), FAMILIES)
def test_exact_families_move_parameters_and_not_the_function(family, expert, power):
    ds = run(range(2), family=family, expert=expert, power=power)
    assert ds.largest_change.max() < 1e-12
    assert ds.L3.isel(t=AT).min() > 0.05
    assert ds.null_error.max() == 0 and ds.null_gap.min() > 1e3
    if family in ("split", "null atom", "trade", "mirror", "shift") and power == 1:
        assert ds.quotient.max() < 1e-10


def test_the_function_moves_by_the_square_of_the_loss():
    ds = run(range(2), family="opposite b", expert="gelu").sel(t=slice(0.02, 0.1))
    slopes = np.diff(np.log(ds.change)) / np.diff(np.log(ds.t))
    np.testing.assert_allclose(slopes, 4, atol=0.05)
    np.testing.assert_allclose(np.diff(np.log(ds.L1)) / np.diff(np.log(ds.t)), 2, atol=0.01)
    control = run(range(2), family="opposite A", expert="gelu", score="partial").sel(t=slice(0.02, 0.1))
    np.testing.assert_allclose(np.diff(np.log(control.ratio)) / np.diff(np.log(control.t)), 0, atol=0.05)


@pytest.mark.parametrize(("expert", "power"), [("relu", 1), ("linear", 1), ("polynomial", 2)])
def test_moved_shares_move_the_function_by_the_square_of_the_distance(expert, power):
    ds = run(range(2), family="moved shares", expert=expert, power=power).sel(t=slice(0.02, 0.1))
    np.testing.assert_allclose(np.diff(np.log(ds.change)) / np.diff(np.log(ds.t)), 2, atol=0.02)
    np.testing.assert_allclose(np.diff(np.log(ds.L3_nearest)) / np.diff(np.log(ds.t)), 1, atol=0.02)


def test_the_sparse_linear_model_of_the_paper_has_twenty_null_directions():
    assert expected_null(Settings(family="trade", expert="linear", d=8)) == 20
    assert expected_null(Settings(family="trade", expert="relu", d=8)) == 2
    assert expected_null(Settings(family="shift", expert="relu", d=8)) == 45

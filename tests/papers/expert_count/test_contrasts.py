"""Differences between points of the grid, on replicates that chose nothing, and differences of differences."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from moestat.claims import rules
from moestat.claims.selection import NoAnswerError
from moestat.papers.expert_count import contrasts
from moestat.study.spec import Claim

EXPERTS, STARTS = [4, 8, 16], [0.1, 0.3]


def dataset(replicates=12):
    values = np.random.default_rng(6).standard_normal((1, 2, 3, replicates))
    values[..., :5] += 10 * np.arange(3)[:, None]  # the first five would decide everything
    dims = ("arm", "start_scale", "experts", "replicate")
    coords = {"arm": ["mlp"], "start_scale": STARTS, "experts": EXPERTS, "replicate": np.arange(replicates)}
    return xr.Dataset({"accuracy": (dims, values)}, coords)


def claim(**change):
    about = {"id": "c", "source": "EC Fig. 1", "statement": "s", "kind": "function", "function": "m:f"}
    about |= {"variable": "accuracy", "arm": "mlp", "at_least": 0.0}
    return Claim.model_validate(about | change)


PAIR = {"at": {"start_scale": 0.1, "experts": 16}, "versus_at": {"start_scale": 0.1, "experts": 4}}


def test_replicates_that_chose_a_run_are_left_out():
    ds = dataset()
    found = contrasts.difference(ds, claim(**PAIR), after=5)
    values = ds["accuracy"].values[0, 0]
    test = stats.ttest_rel(values[2, 5:], values[0, 5:]).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert found.replicates == 7 and "7 replicates, paired; 5 that chose the run are left out" in found.note
    assert found.low < 0 < contrasts.difference(ds, claim(**PAIR)).low  # all of them decide it


def test_a_run_of_those_alone_is_judged_by_them():
    ds = dataset().isel(replicate=slice(5))
    assert contrasts.difference(ds, claim(**PAIR), after=5) == contrasts.difference(ds, claim(**PAIR))
    assert contrasts.fresh(ds, 5).sizes["replicate"] == 5


def test_a_hole_leaves_its_replicate_out():
    ds = dataset()
    ds["accuracy"][0, 0, 2, 7] = np.nan
    assert contrasts.difference(ds, claim(**PAIR), after=5).replicates == 6


def test_the_peak_is_that_of_the_other_replicates():
    ds = dataset()
    asked = claim(at={"start_scale": 0.1})
    found = contrasts.peak(ds, asked, value=16, after=5)
    assert found == rules.peak(ds.isel(replicate=slice(5, None)), asked, value=16)
    assert found != contrasts.peak(ds, asked, value=16)


def test_an_interaction_is_a_difference_of_paired_differences():
    ds = dataset()
    asked = claim(at={"start_scale": 0.1, "experts": 16}, versus_at={"start_scale": 0.3, "experts": 16})
    found = contrasts.interaction(ds, asked, other={"experts": 8})
    low, high = ds["accuracy"].values[0]
    test = stats.ttest_1samp((low[2] - high[2]) - (low[1] - high[1]), 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))


def test_a_turn_is_a_change_of_the_slope_per_doubling():
    ds = dataset().assign_coords(experts=[4, 16, 32])
    at = [{"start_scale": 0.1, "experts": m} for m in (32, 16)]
    found = contrasts.turn(ds, claim(at=at[0], versus_at=at[1]), before={"experts": 4})
    few, middle, many = ds["accuracy"].values[0, 0]
    test = stats.ttest_1samp((many - middle) - (middle - few) / 2, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))


def test_an_axis_that_is_left_is_refused():
    with pytest.raises(NoAnswerError, match="fix them in 'at'"):
        contrasts.difference(dataset(), claim(at={"experts": 16}, versus_at={"experts": 4}))

"""Rules for waiting times with censored medians, for the gap of every expert, and for upper bounds in size."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.papers.mixture_of_transformers import rules, rules_censored, rules_gaps, rules_orders
from moestat.study.spec import Claim


def claim(variable, **more):
    rule = {"id": "c", "source": "s", "statement": "t", "kind": "function", "function": "a:b", "at_most": 0.0}
    return Claim.model_validate(rule | {"variable": variable, "arm": "mot"} | more)


def waiting(lost):
    """Return times that grow like M with 20 replicates, of which ``lost`` are censored at each of M = 8, 16 and 32."""
    rng = np.random.default_rng(0)
    experts = np.array([8, 16, 32])
    times = 10.0 * experts[:, None] * np.exp(0.1 * rng.standard_normal((3, 20)))
    for row, count in zip(times, lost, strict=True):
        row[:count] = np.nan
    coords = {"arm": ["mot"], "experts": experts, "replicate": np.arange(20)}
    return xr.Dataset({"time": (("arm", "experts", "replicate"), times[None])}, coords=coords)


def test_without_censoring_both_rules_agree():
    ds = waiting([0, 0, 0])
    plain, bounds = rules.median_slope(ds, claim("time")), rules_censored.median_slope_bounds(ds, claim("time"))
    # quantiles are draws here, not interpolated between them
    assert (bounds.value, bounds.low, bounds.high) == pytest.approx((plain.value, plain.low, plain.high), abs=1e-3)


@pytest.mark.parametrize(
    ("lost", "low", "high"), [([0, 0, 8], True, False), ([8, 0, 0], False, True), ([0, 8, 0], True, True)]
)
def test_a_median_that_is_often_censored_leaves_its_side_open(lost, low, high):
    ds = waiting(lost)
    found = rules_censored.median_slope_bounds(ds, claim("time"))
    assert (np.isfinite(found.low), np.isfinite(found.high)) == (low, high)
    assert found.low < found.value < found.high and "8 of 60 times are censored" in found.note
    plain = rules.median_slope(ds, claim("time"))  # which leaves such points out
    assert np.isfinite([plain.low, plain.high]).all()


def test_slopes_of_medians_from_a_time_on():
    x = np.log([1.0, 10.0, 100.0])
    assert rules_censored.slopes(x, np.array([1.0, 10.0, 100.0]), 100.0) == pytest.approx((1.0, 1.0))
    assert rules_censored.slopes(x, np.array([1.0, 10.0, np.inf]), 100.0) == (pytest.approx(1.0), np.inf)
    assert rules_censored.slopes(x, np.array([np.inf, 10.0, 100.0]), 100.0) == (-np.inf, pytest.approx(0.0))
    with pytest.raises(NoAnswerError, match="Only 2 of 3 medians of time"):
        rules_censored.median_slope_bounds(waiting([0, 0, 11]), claim("time"))


def test_gaps_of_every_expert():
    """Two experts with gaps of 2 and 7, a third that is not there, in three replicates."""
    labels = np.array([[4.0, 1.0, 2.0], [0.0, 1.0, 8.0], [np.nan] * 3])
    scale = np.array([1.0, 2.0, 3.0])[:, None, None]
    dims = ("arm", "replicate", "expert", "class")
    ds = xr.Dataset({"on": (dims, (scale * labels)[None])}, coords={"arm": ["mot"], "replicate": range(3)})
    smallest = rules_gaps.expert_gaps(ds, claim("on"))
    assert smallest.value == pytest.approx(4.0) and smallest.replicates == 3
    share = rules_gaps.expert_gaps(ds, claim("on"), of="share", least=5.0)
    assert share.value == pytest.approx((0.5 + 0.5 + 1.0) / 3)
    with pytest.raises(NoAnswerError, match="Only 0 of 3"):
        rules_gaps.expert_gaps(ds * np.nan, claim("on"))


def test_the_largest_ratio_to_a_bound():
    """A quantity that is half of sigma_0^0.5 / M^2 in all cells, and twice that in one replicate of one cell."""
    sigma, experts = np.array([0.1, 0.3]), np.array([16, 32])
    values = np.repeat(0.5 * (sigma[:, None] ** 0.5 / experts**2.0)[None, :, :, None], 3, axis=3)
    values[0, 1, 0, 2] *= 4.0
    coords = {"arm": ["mot"], "start_scale": sigma, "experts": experts, "replicate": range(3)}
    ds = xr.Dataset({"gradient": (("arm", "start_scale", "experts", "replicate"), values)}, coords=coords)
    bound = {"start_scale": 0.5, "experts": -2}
    found = rules_orders.largest_ratio(ds, claim("gradient", at_most=1.0), bound=bound)
    assert found.value == pytest.approx(2.0) and found.exact
    assert "start_scale 0.3, experts 16, replicate 2" in found.note
    assert (found.cases.count, found.cases.inside) == (12, 11)
    small = rules_orders.largest_ratio(ds, claim("gradient", at_most=1.0, at={"start_scale": 0.1}), bound=bound)
    assert small.value == pytest.approx(0.5) and small.cases.inside == 6
    with pytest.raises(NoAnswerError, match="gradient does not run over classes"):
        rules_orders.largest_ratio(ds, claim("gradient"), bound={"classes": 1})
    with pytest.raises(NoAnswerError, match="no variable 'other'"):
        rules_orders.largest_ratio(ds, claim("other"), bound=bound)

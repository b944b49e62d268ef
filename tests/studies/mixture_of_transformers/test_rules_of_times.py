"""Rules of times that are censored, of gaps and projections, of rivals at their best rate, of bounds in size."""

import numpy as np
import pytest
import xarray as xr
from cells import a_claim

from moestat.claims.selection import NoAnswerError
from studies.mixture_of_transformers.parts import rules, rules_censored, rules_gaps, rules_orders


def claim(variable, **more):
    return a_claim(**{"variable": variable, "arm": "mot", "at_most": 0.0} | more)


def dataset():
    rng = np.random.default_rng(0)
    experts, tuning = np.array([4, 8, 16, 32]), np.geomspace(1, 1000, 31)
    times = 10.0 * experts[:, None] * np.exp(0.2 * rng.standard_normal((4, 21)))
    times[0, :15] = np.nan  # most runs with M = 4 do not get there
    times[3, :5] = np.nan  # some with M = 32 do not either
    losses = np.stack([(1 + 0.01 * r) / tuning for r in range(21)])
    return xr.Dataset(
        {
            "time": (("arm", "experts", "replicate"), np.stack([times, times])),
            "never": (("arm", "experts", "replicate"), np.full((2, 4, 21), np.nan)),
            "loss": (("arm", "replicate", "tuning"), np.stack([losses, 3 * losses**0.5])),
            "held": (("arm", "replicate"), np.tile(np.arange(21) < 20, (2, 1)).astype(float)),
        },
        coords={"arm": ["mot", "flat"], "experts": experts, "tuning": tuning, "replicate": np.arange(21)},
    )


def test_censored_times_count_as_longer_than_all_others():
    found = rules.median_slope(dataset(), claim("time"))
    # M = 4 has a censored median and drops out; M = 32 keeps its median, moved up by the five that are censored
    assert "4: not reached by half" in found.note and "20 of 84 times are censored" in found.note
    assert found.low < 1.05 < found.high and found.low > 0.7 and found.counts_failures
    ds = dataset()
    by_hand = [np.median(np.where(np.isnan(row), np.inf, row)) for row in ds.time.sel(arm="mot").values[1:]]
    assert found.value == pytest.approx(np.polyfit(np.log([8, 16, 32]), np.log(by_hand), 1)[0])


def test_rivals_are_compared_at_the_best_rate_of_each():
    rng = np.random.default_rng(1)
    best = {"mot": np.array([4.0, 1.0, 3.0, np.nan]), "flat": np.array([9.0, 8.0, 4.0, 2.0])}
    loss = np.stack([row[:, None] * np.exp(0.01 * rng.standard_normal((4, 10))) for row in best.values()])
    coords = {"arm": list(best), "tuning_rate": [0.1, 1.0, 10.0, 100.0], "replicate": np.arange(10)}
    ds = xr.Dataset({"loss": (("arm", "tuning_rate", "replicate"), loss)}, coords=coords)
    found = rules.tuned_log_ratio(ds, claim("loss", versus="flat"))
    assert found.value == pytest.approx(np.log(1 / 2), abs=0.02) and found.low < found.value < found.high < -0.6
    assert "mot at tuning_rate 1;" in found.note and "flat at tuning_rate 100 (an end of the sweep)" in found.note
    # a replicate does not choose its own rate: one lucky run in each half changes nothing
    ds["loss"][1, 0, :2] = 1e-9
    assert rules.tuned_log_ratio(ds, claim("loss", versus="flat")).value == pytest.approx(np.log(1 / 2), abs=0.02)
    with pytest.raises(NoAnswerError, match="Only 0 of 10"):
        rules.tuned_log_ratio(ds.where(ds.arm != "mot"), claim("loss", versus="flat"))


def test_projections_by_the_class_of_the_expert():
    """Two experts of classes 0 and 2, a third that is not there, in three replicates."""
    labels = np.array([[4.0, 1.0, 2.0], [0.0, 1.0, 8.0], [np.nan] * 3])
    centres = np.array([[-0.5, 9.0, 9.0], [9.0, 9.0, 1.5], [np.nan] * 3])
    scale = np.array([1.0, 2.0, 4.0])
    dims = ("arm", "replicate", "expert", "class")
    both = {
        name: (dims, np.stack([factor * scale[:, None, None] * table for factor in (1.0, 3.0)]))
        for name, table in (("after_on_labels", labels), ("after_on_centres", centres))
    }
    ds = xr.Dataset(
        both | {"signal": (("arm", "replicate"), np.ones((2, 3)))},
        coords={"arm": ["mot", "flat"], "replicate": range(3)},
    )
    of = {name: rules.own_class(ds, claim("after_on_labels"), of=name).value for name in ("own", "other", "centre")}
    assert of == pytest.approx({"own": 6.0 * 7 / 3, "other": 1.5 * 7 / 3, "centre": 7 / 3})
    assert rules.own_class(ds, claim("signal"), of="variable").value == 1.0
    beside = rules.own_class(ds, claim("after_on_labels"), of="other", to="own")
    assert (beside.value, beside.low, beside.high) == pytest.approx((np.log(0.25),) * 3) and beside.replicates == 3
    assert rules.own_class(ds, claim("after_on_labels", versus="flat"), of="own").value == pytest.approx(-np.log(3))
    with pytest.raises(NoAnswerError, match="Only 0 of 3 replicates"):
        rules.own_class(-ds, claim("after_on_labels"), of="other", to="own")


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

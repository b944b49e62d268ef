import fnmatch

import numpy as np
import pytest
import xarray as xr

from moestat.claims import rules as general
from moestat.claims import verdicts
from moestat.claims.selection import NoAnswerError
from moestat.papers.mixture_of_transformers import rules
from moestat.study import load
from moestat.study.spec import Claim

STUDIES = [name for name in load.known_studies() if name.startswith("mot_")]


def claim(variable, **more):
    rule = {"id": "c", "source": "s", "statement": "t", "kind": "function", "function": "a:b", "at_most": 0.0}
    return Claim.model_validate(rule | {"variable": variable, "arm": "mot"} | more)


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


def test_too_few_medians_give_no_answer():
    with pytest.raises(NoAnswerError, match="0 of 4 medians of never are not censored"):
        rules.median_slope(dataset(), claim("never"))
    with pytest.raises(NoAnswerError, match="2 of 2 medians"):
        rules.median_slope(dataset(), claim("time"), least=16)


def test_the_exponent_between_two_losses():
    found = rules.joint_slope(dataset(), claim("loss", arm="flat", versus="mot"), decades=1.0)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert "21 of 21 replicates, tuning from 100 to 1000" in found.note


def test_shares_have_exact_intervals_and_extremes_have_none():
    found = general.share(dataset(), claim("held"))
    assert found.value == pytest.approx(20 / 21) and found.low < 0.8 and found.high < 1
    least = general.smallest(dataset(), claim("loss", at={"tuning": 1.0}), over=[])
    assert least.value == least.low == least.high == 1.0
    with pytest.raises(NoAnswerError, match="also runs over tuning"):
        general.smallest(dataset(), claim("loss"), over=[])


def test_the_exponent_along_arms_that_stand_for_a_setting():
    ds = dataset().sel(experts=8)
    ds["time"] = ds.time * xr.DataArray([1.0, 8.0], dims="arm", coords={"arm": ["mot", "flat"]})
    third = ds.sel(arm=["flat"]).assign_coords(arm=["third"])
    third["time"] = third.time * 8.0
    both = xr.concat([ds, third], "arm")
    points = {"flat": 4.0, "mot": 1.0, "third": 16.0}
    found = rules.median_slope(both, claim("time"), over="sigma_0", points=points)
    assert found.value == pytest.approx(1.5) and "medians by sigma_0 4.0: " in found.note


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


@pytest.mark.parametrize(
    ("ends", "rule", "decides"),
    [
        ((), {"at_most": 0.0}, True),
        (("flat",), {"at_most": 0.0}, False),  # a better rate of the rival might close the gap
        (("mot",), {"at_most": 0.0}, True),  # one of the arm can but widen it
        (("flat",), {"at_least": 0.0}, False),
        (("mot",), {"at_least": 0.0}, True),
        (("mot",), {"within": (-2.0, 0.0)}, False),
        (("flat",), {"within": (-2.0, 0.0)}, False),
    ],
)
def test_a_best_rate_at_an_end_of_the_sweep_decides_only_what_a_better_one_could_not_turn(ends, rule, decides):
    """The ratio is 1/2; the best rate is inside of the sweep, or at its end for the arms in ``ends``."""
    rng = np.random.default_rng(2)
    at_end = {True: np.array([4.0, 2.0, 1.0]), False: np.array([4.0, 1.0, 2.0])}
    rows = {"mot": at_end["mot" in ends], "flat": 2 * at_end["flat" in ends]}
    loss = np.stack([row[:, None] * np.exp(0.01 * rng.standard_normal((3, 10))) for row in rows.values()])
    coords = {"arm": list(rows), "tuning_rate": [0.1, 1.0, 10.0], "replicate": np.arange(10)}
    ds = xr.Dataset({"loss": (("arm", "tuning_rate", "replicate"), loss)}, coords=coords)
    asked = claim("loss", versus="flat").model_copy(update={"at_least": None, "at_most": None, "within": None} | rule)
    assert (rules.tuned_log_ratio(ds, asked).reasons == ()) is decides


def test_an_arm_without_a_rate_is_at_no_end():
    ds = xr.Dataset(
        {"loss": (("arm", "tuning_rate", "replicate"), np.array([[[1.0] * 6] * 3, [[3.0] * 6, [2.0] * 6, [3.0] * 6]]))},
        coords={"arm": ["mot", "flat"], "tuning_rate": [0.1, 1.0, 10.0], "replicate": np.arange(6)},
    )
    found = rules.tuned_log_ratio(ds, claim("loss", versus="flat"))
    assert found.reasons == () and "mot at its one rate; flat at tuning_rate 1" in found.note


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


@pytest.mark.parametrize("name", STUDIES)
def test_every_preset_runs_the_arms_of_the_claims_that_it_judges(name):
    """Otherwise they are inconclusive there for ever."""
    study = load.read(name).study
    judged = {preset: verdicts.judged(study, preset) for preset in study.presets}
    for preset, claims in judged.items():
        patterns = study.presets[preset].arms
        for each in claims:
            arms = {each.arm, each.versus, *each.options.get("points", {})} - {"", None}
            lost = [arm for arm in arms if not any(fnmatch.fnmatchcase(arm, pattern) for pattern in patterns)]
            assert not lost, f"{preset}: {each.id} needs {lost}"
    assert {each.id for claims in judged.values() for each in claims} == {each.id for each in study.claims}

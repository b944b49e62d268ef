import numpy as np
import pytest
import xarray as xr
from scipy import stats

from moestat.claims.selection import NoAnswerError
from moestat.papers.compete_smoe.rules import at_the_end, average_gap, larger_gains, lead_of_means
from moestat.rates import Cases
from moestat.study import load
from moestat.study.spec import Claim


def claim_of(study, name):
    return next(c for c in load.read(study).study.claims if c.id == name)


def test_gains_over_the_second_best_are_compared_pair_by_pair():
    claim = claim_of("compete_tables", "gain-larger")
    values = [[80.0, 40.0, 85.0, 70.0], [79.0, 36.0, 84.0, 60.0], [78.0, 37.5, 84.5, 66.0]]
    dims = ("arm", "replicate", "row", "column")
    coords = {
        "arm": ["fine-tuning"],
        "row": ["CompeteSMoE", "a", "b"],
        "column": ["SST-2", "SST-5", "IMDB", "BANKING77"],
    }
    ds = xr.Dataset({"printed": (dims, np.array(values)[None, None])}, coords=coords)
    at = larger_gains(ds, claim, **claim.options)
    # over the best other: 1, 2.5, 0.5 and 4
    assert at.value == at.low == at.high == pytest.approx(1.5) and at.cases == Cases(4, 4)
    assert at.note == "SST-5 2.5, BANKING77 4 against SST-2 1, IMDB 0.5"
    ds["printed"][0, 0, 2, 1] = 39.5
    worse = larger_gains(ds, claim, **claim.options)
    assert worse.value == pytest.approx(-0.5) and worse.cases == Cases(4, 2)
    with pytest.raises(NoAnswerError, match="no number"):
        larger_gains(ds.where(ds.column != "IMDB"), claim, **claim.options)


def test_the_lead_of_a_mean_is_over_the_largest_mean_of_the_other_rows_of_its_table():
    claim = claim_of("compete_tables", "fixed-worst-mean-glam")
    values = np.full((2, 1, 4, 3), np.nan)  # another table has a row and a column that this one lacks
    values[0, 0, :3, :2] = [[0.0, 1.0], [5.0, 0.0], [2.0, 4.0]]
    values[1] = 7.0
    coords = {"arm": ["glam", "switch"], "row": ["CompeteSMoE", "SMoE", "SMoE-Fixed", "other"]}
    ds = xr.Dataset(
        {"behind": (("arm", "replicate", "row", "column"), values)}, coords=coords | {"column": list("abc")}
    )
    found = lead_of_means(ds, claim, **claim.options)
    assert found.value == found.low == found.high == pytest.approx(3.0 - 2.5) and found.exact
    assert found.note == "3 against 2.5 of SMoE, 2 columns"
    ds["behind"][0, 0, 0, 1] = np.nan
    with pytest.raises(NoAnswerError, match="every column"):
        lead_of_means(ds, claim, **claim.options)


def test_an_average_over_k_leaves_out_the_one_at_which_no_router_learns():
    claim = claim_of("compete_topk", "compete-better")
    rng = np.random.default_rng(0)
    loss = rng.standard_normal((2, 3, 5))
    coords = {"arm": ["compete-smoe", "smoe"], "top_k": [1, 2, 16]}
    ds = xr.Dataset({"bpc": (("arm", "top_k", "replicate"), loss)}, coords=coords)
    at = average_gap(ds, claim, **claim.options)
    assert at.value == pytest.approx((loss[0, 1:] - loss[1, 1:]).mean()) and at.replicates == 5


def test_at_the_end_leaves_out_what_was_tested_with_earlier_weights():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 2, 6))
    names = np.array(["always", "smoe"], dtype=object)
    best = np.array([[300, 300, 100, 300, 300, 300], [300, 300, 300, 200, 300, 300]])
    ds = xr.Dataset(
        {
            "bpc": (("arm", "replicate"), values[0]),
            "bpc_winners": (("arm", "replicate"), values[1]),
            "best_step": (("arm", "replicate"), best),
        },
        coords={"arm": names, "arm_label": ("arm", names), "replicate": range(6), "step": [0, 100, 200, 300]},
    )
    asked = {"id": "c", "source": "s", "statement": "t", "kind": "function", "variable": "bpc_winners", "at_most": 0}
    claim = Claim.model_validate(
        asked | {"function": "moestat.papers.compete_smoe.rules:at_the_end", "arm": "always", "versus": "smoe"}
    )
    found = at_the_end(ds, claim, other="bpc")
    kept = (values[1, 0] - values[0, 1])[[0, 1, 4, 5]]
    test = stats.ttest_1samp(kept, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose([found.value, found.low, found.high], [kept.mean(), *test])
    assert "4 of 6 replicates" in found.note
    with pytest.raises(NoAnswerError, match="1 replicates"):
        at_the_end(ds.isel(replicate=[1, 2, 3]), claim, other="bpc")

"""That a sum has a rate is decided only where its named parts are no slower than the rule."""

import numpy as np
import pytest
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError
from moestat.papers.sigmoid_attention import sum_rules
from moestat.papers.sigmoid_attention.sum_rules import slope_of_sum
from moestat.study.spec import Claim

CLAIM = {"id": "x", "source": "s", "statement": "t", "kind": "function", "function": "moestat:x"}
SUM = CLAIM | {"variable": "whole", "arm": "a"}
N = np.array([100, 300, 1000, 3000])


def results(fast: float, slow: float, share: float = 0.01) -> xr.Dataset:
    """Return a sum of two powers of n with scatter over eight replicates; ``slow`` has this share of it at first."""
    rng = np.random.default_rng(0)
    parts = [
        size * np.exp(np.log(N / N[0])[:, None] * (slope + 0.01 * rng.standard_normal(8)))
        for size, slope in ((1 - share, fast), (share, slow))
    ]
    dims, coords = ("arm", "n", "replicate"), {"arm": ["a"], "n": N, "replicate": range(8)}
    return xr.Dataset({"whole": (dims, sum(parts)[None]), "part": (dims, parts[1][None])}, coords=coords)


@pytest.mark.parametrize(("slow", "decides"), [(-0.5, True), (-0.41, True), (-0.25, False)])
def test_a_small_slow_part_does_not_show_in_the_slope_and_is_named(slow, decides):
    """One per cent of the sum hardly moves its slope, and in the end is all of it."""
    ds = results(-0.5, slow)
    found = slope_of_sum(ds, Claim(**SUM, at_most=-0.40), parts=["part"])
    plain = rates.fit(ds["whole"].sel(arm="a"), over="n", draws=0)
    assert (found.value, found.low, found.high) == (plain.slope, plain.low, plain.high) and found.high < -0.45
    assert (found.reasons == ()) == decides and found.replicates == 8
    assert decides or "part has the slope -0.25" in found.reasons[0] and "(8 of 8 replicates)" in found.reasons[0]


def test_a_sum_that_bends_says_so():
    ds = results(-0.5, 0.0, 0.3)
    assert slope_of_sum(ds, Claim(**SUM, at_most=-0.2), parts=[]).bend.startswith("The line is bent and flattens")
    assert slope_of_sum(results(-0.5, -0.5, 0.0), Claim(**SUM, at_most=-0.2), parts=[]).bend == ""


def test_a_sum_that_is_too_slow_itself_is_not_excused_by_a_part():
    found = slope_of_sum(results(-0.1, -0.05), Claim(**SUM, at_most=-0.40), parts=["part"])
    assert found.low > -0.40 and found.reasons == ()


def test_a_part_that_is_absent_in_some_replicates_counts_in_the_others():
    ds = results(-0.5, -0.25)
    ds["part"][{"n": 2, "replicate": [0, 1]}] = 0.0
    found = slope_of_sum(ds, Claim(**SUM, at_most=-0.40), parts=["part"])
    assert len(found.reasons) == 1 and "(6 of 8 replicates)" in found.reasons[0]
    ds["part"][:] = 0.0
    assert "part has no slope" in slope_of_sum(ds, Claim(**SUM, at_most=-0.40), parts=["part"]).reasons[0]


def test_the_window_is_that_of_sum_and_part_and_a_rule_without_an_upper_end_is_refused():
    ds = results(-0.5, -0.5)
    ds["part"][{"n": 0}] *= 1e-3
    late = Claim(**SUM, at_most=-0.40, window=(300, 3000))
    assert len(slope_of_sum(ds, Claim(**SUM, at_most=-0.40), parts=["part"]).reasons) == 1
    assert not any("slowest" in reason for reason in slope_of_sum(ds, late, parts=["part"]).reasons)
    with pytest.raises(NoAnswerError, match="from above"):
        slope_of_sum(ds, Claim(**SUM, at_least=-0.6), parts=["part"])


def test_errors_of_experts_are_computed_where_only_fitted_parameters_are_there(monkeypatch):
    """A record holds them in the place of the parameters, a run does not: both are judged alike."""
    ds, asked = results(-0.5, -0.25), []

    def errors(source, arm):
        asked.append((arm, "theta" in source.dataset))
        return xr.Dataset({"eta_vanished": ds["part"].sel(arm=arm, drop=True)})

    monkeypatch.setattr(sum_rules, "expert_errors", errors)
    claim = Claim(**SUM, at_most=-0.40)
    run = ds[["whole"]].assign(theta=ds["part"])
    record = ds.rename(part="expert_eta_vanished")
    found = [slope_of_sum(one, claim, parts=["expert_eta_vanished"]) for one in (run, record)]
    assert found[0] == found[1] and found[0].reasons and asked == [("a", True)]
    with pytest.raises(NoAnswerError, match="expert_eta_vanished"):
        slope_of_sum(ds, claim, parts=["expert_eta_vanished"])

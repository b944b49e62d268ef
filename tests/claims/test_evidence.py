"""One run's results, read once: every number of a series comes from one fit, in one window."""

import numpy as np
import pytest
from report_example import results, study_of
from scipy import stats

from moestat.claims import evidence as module
from moestat.claims import verdicts
from moestat.claims.evidence import Evidence
from moestat.report import tables
from moestat.study import presets

PANEL = {"variable": "L3"}
RATE = {"loss": "L3", "reference": "fisher_L3", "start": "start_L3"}


def study(**more):
    return study_of(results(), figures=[{"name": "a", "panels": [PANEL]}], **more)


def test_claim_and_table_share_the_window_of_the_rate():
    ds = results()
    run = Evidence(ds, study_of(ds, rates=[{"loss": "L3", "window": [3000, 1e6]}]), "quick")
    fit = run.series("L3", "n", "softmax-relu", window=run.facts("L3", "n", "softmax-relu").window).fit
    judged = verdicts.judge_claim(run, run.study.claims[0])
    assert judged.estimate == fit.slope == tables.rates(run).iloc[0]["slope"] and fit.sizes[0] >= 3000


def test_a_rate_says_what_belongs_to_its_series():
    rate = {"loss": "L3", "printed": {"softmax-*": -0.3}, "reference": "line", "start": "first", "window": [1, 9]}
    rate |= {"bound": -0.5, "predicted": {"*-tanh": -0.4}}
    made = study(rates=[rate])
    here, there = (presets.facts(made, "quick", "L3", "n", arm) for arm in ("softmax-relu", "sigmoid-tanh"))
    assert (here.printed, here.reference, here.start, here.window) == (-0.3, "line", "first", (1, 9))
    assert (here.predicted, here.bound) == (None, -0.5) and (there.printed, there.predicted) == (None, -0.4)
    other = presets.facts(made, "quick", "rmse", "n", "softmax-relu")
    assert (other.printed, other.bound, other.reference, other.start, other.window) == (None, None, "", "", None)


@pytest.mark.parametrize("missing", [False, True])
def test_a_difference_of_two_fitted_series_is_that_of_their_losses(missing):
    ds = results()
    if missing:
        ds["L3"][0, 2, 3] = np.nan  # complete in one of the arms alone
    run = Evidence(ds, study_of(ds), "quick")
    result = module.difference(*(run.series("L3", "n", arm) for arm in ("softmax-relu", "sigmoid-relu")))
    slopes = [np.polyfit(np.log(ds.n), np.log(ds["L3"].sel(arm=arm).values), 1)[0] for arm in ds.arm.values[:2]]
    gaps = (slopes[0] - slopes[1])[np.isfinite(slopes[0])]
    assert result.estimate.value == pytest.approx(gaps.mean(), abs=1e-12)
    half = stats.t.ppf(0.975, gaps.size - 1) * gaps.std(ddof=1) / gaps.size**0.5
    assert result.estimate.high - result.estimate.value == pytest.approx(half, rel=1e-9)
    assert gaps.size == result.first.complete == 10 - missing

"""One run's results, read once: every number of a series comes from one fit, in one window."""

import sys
from collections import Counter

import numpy as np
import pytest
from report_example import results, study_of
from scipy import stats

from moestat import rates
from moestat.claims import evidence as module
from moestat.claims import verdicts
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError
from moestat.report import style, tables
from moestat.report.write import write_outputs
from moestat.study import hub
from moestat.study.spec import Study

PANEL = {"variable": "L3"}
RATE = {"loss": "L3", "reference": "fisher_L3", "start": "start_L3"}


def test_a_series_is_fitted_once_for_verdict_table_and_figure(monkeypatch, tmp_path):
    fitted = Counter()

    def counting(samples, **options):
        fitted[np.asarray(samples).tobytes(), options["window"], options["level"]] += 1
        return fit(samples, **options)

    fit = rates.fit
    for place in (rates, sys.modules["moestat.rates.difference"]):
        monkeypatch.setattr(place, "fit", counting)
    # all of a figure but its bytes
    monkeypatch.setattr(style, "save", lambda canvas, **_: dict.fromkeys(("png", "svg", "pdf"), b""))
    ds = results()
    study = study_of(ds, rates=[RATE], figures=[{"name": "a", "panels": [PANEL]}, {"name": "b"}], summaries=[])
    report = write_outputs(ds, study, "quick", tmp_path, provenance={})
    assert list(report.claims["claim"]) == ["slope", "faster", "absent"]  # a slope, and a difference of two
    # losses and starts of four arms, each once, and a reference of four arms that holds the same values in all of them
    assert sorted(fitted.values()) == [1] * 8 + [4]


def test_claim_table_and_figure_share_the_window_of_the_rate():
    ds = results()
    rate = {"loss": "L3", "window": [3000, 1e6]}
    of_rate = Evidence(ds, study_of(ds, rates=[rate]), "quick")
    fit = of_rate.series("L3", "n", "softmax-relu", window=of_rate.facts("L3", "n", "softmax-relu").window).fit
    assert verdicts.judge_evidence(of_rate)[0].estimate == fit.slope == tables.rates(of_rate).iloc[0]["slope"]
    assert fit.sizes[0] >= 3000


def test_samples_of_an_arm_are_selected_once_and_equal_a_slow_selection():
    ds = results()
    ds["status"][1, 2, 3] = 8
    run = Evidence(ds, study_of(ds), "quick")
    first = run.samples("L3", "sigmoid-relu")
    assert run.samples("L3", "sigmoid-relu") is first
    for i in range(ds.sizes["n"]):
        for r in range(ds.sizes["replicate"]):
            value = float(ds["L3"][1, i, r]) if int(ds["status"][1, i, r]) == 0 else np.nan
            np.testing.assert_equal(float(first[i, r]), value)
    with pytest.raises(NoAnswerError, match="no axis 'size'"):
        run.samples("L3", "sigmoid-relu", {"size": 3})


def study(**more) -> Study:
    ds = results()
    return study_of(ds, figures=[{"name": "a", "panels": [PANEL]}], **more)


def test_a_rate_says_what_belongs_to_its_series():
    rate = {"loss": "L3", "printed": {"softmax-*": -0.3}, "reference": "line", "start": "first", "window": [1, 9]}
    stated = hub.facts(study(rates=[rate | {"bound": -0.5}]), "quick", "L3", "n", "softmax-relu")
    assert (stated.printed, stated.reference, stated.start, stated.window) == (-0.3, "line", "first", (1, 9))
    assert (stated.bound, stated.predicted, stated.expected) == (-0.5, None, -0.5)
    arms = hub.facts(
        study(rates=[rate | {"predicted": {"*-relu": -0.4}, "bound": -0.5}]), "", "L3", "n", "sigmoid-relu"
    )
    assert (arms.printed, arms.predicted, arms.expected) == (None, -0.4, -0.4)
    other = hub.facts(study(rates=[rate]), "quick", "rmse", "n", "softmax-relu")
    assert (other.printed, other.expected, other.reference, other.start, other.window) == (None, None, "", "", None)


@pytest.mark.parametrize("missing", [False, True])
def test_a_difference_of_two_fitted_series_is_that_of_their_losses(missing):
    ds = results()
    if missing:
        ds["L3"][0, 2, 3] = np.nan  # complete in one of the arms alone
    run = Evidence(ds, study_of(ds), "quick")
    one, other = (run.series("L3", "n", arm) for arm in ("softmax-relu", "sigmoid-relu"))
    slopes = [np.polyfit(np.log(ds.n), np.log(ds["L3"].sel(arm=arm).values), 1)[0] for arm in ds.arm.values[:2]]
    kept = np.isfinite(slopes[0])
    result = module.difference(one, other)
    gaps = slopes[0][kept] - slopes[1][kept]
    assert result.estimate.value == pytest.approx(gaps.mean(), abs=1e-12)
    half = stats.t.ppf(0.975, gaps.size - 1) * gaps.std(ddof=1) / gaps.size**0.5
    assert result.estimate.high - result.estimate.value == pytest.approx(half, rel=1e-9)
    assert gaps.size == result.first.complete == 10 - missing


def test_a_claims_window_goes_before_the_presets_and_that_before_the_rates():
    rate = {"loss": "L3", "window": [1, 9]}
    presets = {"quick": {"replicates": 2}, "big": {"replicates": 2, "window": [2, 8]}}
    content = study(rates=[rate], presets=presets)
    claim = content.claims[0]
    series = ("L3", "n", "softmax-relu")
    assert hub.window_of(content, "quick", *series, claim) == (1, 9)
    assert hub.window_of(content, "big", *series, claim) == (2, 8)
    own = claim.model_copy(update={"window": (3.0, 7.0)})
    assert hub.window_of(content, "big", *series, own) == (3, 7)

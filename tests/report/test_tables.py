"""Tables of a study against numpy and moestat.rates, and what they say about runs that went wrong."""

import numpy as np
import pytest
import xarray as xr
from report_example import study_of
from scipy import stats

from moestat import rates as log_log
from moestat.claims import evidence as module
from moestat.claims import verdicts
from moestat.claims.evidence import Evidence
from moestat.report import tables, views, write
from moestat.status import Status
from moestat.study import presets


def test_rates_are_those_of_the_rate_fit(ds, study):
    table = tables.rates(Evidence(ds, study, "quick"))
    assert list(table["loss"]) == ["L3"] * 4 + ["rmse"] * 4
    for row in table.to_dict("records"):
        fit = log_log.fit(ds[row["loss"]].sel(arm=row["arm"], drop=True), over="n")
        assert (row["slope"], row["ci_low"], row["ci_high"]) == (fit.slope, fit.low, fit.high)
        assert (row["wider_low"], row["wider_high"]) == (fit.wider.low, fit.wider.high)
        assert (row["last_half"], row["curvature"]) == (fit.last_half.value, fit.curvature.value)
        assert row["notes"] == fit.bend
        assert (row["sizes"], row["first"], row["last"], row["replicates"], row["complete"]) == (8, 1e3, 1e5, 10, 10)
        assert (row["failed"], row["not_converged"], row["missing"], row["trusted"]) == (0, 0, 0, True)
    row = table.iloc[0]
    assert (row["predicted"], row["bound"]) == (-0.24, -0.5) and row["reference_slope"] == pytest.approx(-0.5)
    last = ds.sel(arm="softmax-relu", n=100000)
    assert row["ratio_to_reference"] == pytest.approx(float(np.exp(np.log(last["L3"]).mean()) / last["fisher_L3"]))
    ds["block"] = ds["L3"] * xr.DataArray([1.0, 2.0], dims="part", coords={"part": ["A", "eta"]})
    table = tables.rates(Evidence(ds, study_of(ds, rates=[{"loss": "block"}]), "quick"))
    assert list(table["part"]) == ["A", "eta"] * 4 and table["slope"][0] == pytest.approx(table["slope"][1])
    assert views.rates(table).groups[1] == "block over n (8 sizes from 1000 to 100000), part = eta"


def test_a_rate_that_cannot_be_fitted_says_why_and_the_others_stand(ds):
    rates = [{"loss": "absent"}, {"loss": "L3", "over": "step"}, {"loss": "L3", "window": [1e3, 5e3]}]
    table = tables.rates(Evidence(ds, study_of(ds, rates=rates), "quick"))
    assert len(table) == 12 and not table["trusted"].any()
    assert "no variable 'absent'" in table["why"][0]
    assert "no axis 'step'" in table["why"][4]
    assert "3 sizes" in table["why"][8] and np.isfinite(table["slope"][8])
    assert len(views.rates(table).rows) == 12  # what cannot be fitted can still be shown


def test_failed_runs_are_counted_where_they_happened(ds, study):
    ds["status"][1, 2, 3] = int(Status.RAISED)
    ds["message"][1, 2, 3] = "ValueError: x"
    ds["status"][1, 3, 3] = int(Status.RAISED)
    ds["message"][1, 3, 3] = "ValueError: x"
    ds["status"][2, 0, 0] = int(Status.LIMIT)
    ds["status"][3, 0, 0] = -1
    table = tables.rates(Evidence(ds, study, "quick"))
    assert list(table["failed"][:4]) == [0, 2, 0, 0]
    assert list(table["not_converged"][:4]) == [0, 0, 1, 0]
    assert list(table["missing"][:4]) == [0, 0, 0, 1]
    assert list(table["trusted"][:4]) == [True, False, True, False]
    statuses = tables.statuses(Evidence(ds, study, "quick"))
    ended = ["runs", "converged", "failed", "not_converged", "missing"]
    assert statuses.iloc[-1][ended].tolist() == [320, 316, 2, 1, 1]
    assert statuses["raised"].tolist() == [0, 2, 0, 0, 2] and "not_finite" not in statuses
    failures = tables.failures(Evidence(ds, study, "quick")).to_dict("records")
    assert [(f["status"], f["runs"]) for f in failures] == [("RAISED", 2), ("LIMIT", 1)]
    assert (failures[0]["message"], failures[0]["example"]) == ("ValueError: x", "n = 3728, replicate 3")


def test_summaries_against_numpy(ds, study):
    table = tables.summaries(Evidence(ds, study, "quick"))
    assert len(table) == 2 * 4 * 8
    row = table[(table["variable"] == "rmse") & (table["arm"] == "sigmoid-relu") & (table["n"] == 3728)].iloc[0]
    samples = ds["rmse"].sel(arm="sigmoid-relu", n=3728).values
    mean, _, low, high = log_log.mean_interval(samples)
    assert row[["mean", "ci_low", "ci_high"]].tolist() == pytest.approx([mean, low, high])
    assert row["sd"] == pytest.approx(np.std(samples, ddof=1)) and row["median"] == pytest.approx(np.median(samples))
    share = table[table["variable"] == "good"].iloc[0]
    assert 0 <= share["ci_low"] < share["mean"] <= share["ci_high"] <= 1
    ds["curve"] = ds["L3"] * xr.DataArray([1.0, np.nan], dims="slot", coords={"slot": [0, 1]})
    ds["status"][0, 0, :4] = int(Status.NOT_FINITE)
    ds["status"][1, 1, :] = int(Status.NOT_FINITE)
    table = tables.summaries(Evidence(ds, study_of(ds, summaries=["curve", "L3", "absent"]), "quick"))
    assert set(table["slot"].dropna()) == {0}  # the padding is not shown
    of_loss = table[table["variable"] == "L3"]
    assert of_loss.iloc[0][["replicates", "lost"]].tolist() == [6, 4]
    assert len(of_loss) == 32 and of_loss["mean"].isna().sum() == 1  # a point of the grid is missed, not dropped


BLOCKS = [
    {"block": "A", "role": "gate", "atoms": "over-specified", "loss": "L3", "predicted": {"softmax-*": -0.25}},
    {"block": "eta", "role": "expert", "atoms": "exactly specified", "loss": "rmse", "arms": ["softmax-*"]},
    {"block": "c", "role": "gate", "loss": "none"},
]


def test_parameter_rates_are_rates_with_block_role_and_kind_of_atom(ds):
    ds["none"] = xr.zeros_like(ds["L3"])  # no atom of this kind anywhere
    ds["L3"].loc[{"arm": "sigmoid-linear", "n": 1000, "replicate": 0}] = np.nan
    study = study_of(ds, parameters=BLOCKS)
    table = tables.parameters(Evidence(ds, study, "quick"))
    plain = tables.rates(Evidence(ds, study, "quick"))
    assert list(table["block"]) == ["A"] * 4 + ["eta"] * 2
    assert list(table["slope"]) == list(plain["slope"][[0, 1, 2, 3, 4, 6]])
    assert list(table["predicted"][:4].fillna(0)) == [-0.25, 0, -0.25, 0]
    assert list(table["trusted"]) == [True] * 3 + [False] + [True] * 2


@pytest.mark.parametrize("raised", [0, 1])
def test_an_error_of_atoms_that_a_fit_does_not_have_is_no_failure(ds, raised):
    for replicate in range(3):
        ds["L3"].loc[{"arm": "sigmoid-linear", "n": 1000, "replicate": replicate}] = np.nan
    if raised:
        ds["status"].loc[{"arm": "sigmoid-linear", "n": 1000, "replicate": 5}] = Status.RAISED
    evidence = Evidence(ds, study_of(ds, parameters=BLOCKS), "quick")
    row = tables.parameters(evidence).set_index(["block", "arm"]).loc[("A", "sigmoid-linear")]
    told = "3 of these values are undefined, as the fit has no over-specified atom."
    assert not row["trusted"] and told in row["why"] and row["failed"] == raised and row["missing"] == 0
    plain = tables.rates(evidence).set_index(["loss", "arm"]).loc[("L3", "sigmoid-linear")]
    assert "3 of these values are undefined." in plain["why"]


def test_rates_are_shown_with_marks_for_what_is_not_to_be_relied_on(ds):
    ds["L3"][:] = (ds.n.astype(float) ** -0.5).broadcast_like(ds["L3"])
    ds["L3"][0] += 0.01
    ds["status"][3, 0, 0] = int(Status.RAISED)
    ds["rmse"][:] = 1 + 2e-17 * ds["L3"]
    study = study_of(ds, rates=[{"loss": "L3"}, {"loss": "rmse"}], parameters=BLOCKS[:1])
    table = tables.rates(Evidence(ds, study, "quick"))
    shown = views.rates(table)
    marks = [arm[-1] for arm in shown.column("arm")]
    assert [mark == "*" for mark in marks] == [k == 0 for k in range(8)]
    assert marks[3] == marks[7] == "\N{DAGGER}" and "e-17" not in str(shown.rows)
    blocks = views.rates(tables.parameters(Evidence(ds, study, "quick")))
    assert [arm[-1] in "*\N{DAGGER}" for arm in blocks.column("arm")] == [True, False, False, True]


def test_a_study_that_states_nothing_has_means_and_a_figure(ds):
    bare = study_of(ds, rates=[], claims=[], figures=[], summaries=[])
    filled = write.filled(bare, ds)
    assert set(filled.summaries) == {"L3", "rmse", "start_L3", "good"}
    (figure,) = filled.figures
    assert (figure.kind, figure.x, figure.logx) == ("lines", "n", True) and len(figure.panels) == 4
    assert write.filled(study_of(ds), ds).figures == study_of(ds).figures
    apart = ds.isel(n=0, drop=True)
    assert not write.filled(study_of(ds, rates=[], figures=[], summaries=[]), apart).figures


def test_claim_and_table_share_the_window_of_the_rate(ds):
    run = Evidence(ds, study_of(ds, rates=[{"loss": "L3", "window": [3000, 1e6]}]), "quick")
    fit = run.series("L3", "n", "softmax-relu", window=run.facts("L3", "n", "softmax-relu").window).fit
    judged = verdicts.judge_claim(run, run.study.claims[0])
    assert judged.estimate == fit.slope == tables.rates(run).iloc[0]["slope"] and fit.sizes[0] >= 3000


def test_a_rate_says_what_belongs_to_its_series(ds):
    rate = {"loss": "L3", "printed": {"softmax-*": -0.3}, "reference": "line", "start": "first", "window": [1, 9]}
    rate |= {"bound": -0.5, "predicted": {"*-tanh": -0.4}}
    study = study_of(ds, rates=[rate])
    here, there = (presets.facts(study, "quick", "L3", "n", arm) for arm in ("softmax-relu", "sigmoid-tanh"))
    assert (here.printed, here.reference, here.start, here.window) == (-0.3, "line", "first", (1, 9))
    assert (here.predicted, here.bound) == (None, -0.5) and (there.printed, there.predicted) == (None, -0.4)
    other = presets.facts(study, "quick", "rmse", "n", "softmax-relu")
    assert (other.printed, other.bound, other.reference, other.start, other.window) == (None, None, "", "", None)


@pytest.mark.parametrize("missing", [False, True])
def test_a_difference_of_two_fitted_series_is_that_of_their_losses(ds, missing):
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

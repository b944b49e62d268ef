"""The table of seeds on the page of CompeteSMoE: seeds and deviations of the records, sizes that the paper prints."""

from __future__ import annotations

import csv
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import quoted
import seed_table
import xarray as xr
from scipy import stats

from moestat.rates import paired_seeds
from moestat.report import csv_text
from moestat.runner import records, results
from moestat.study import load, presets, seal
from moestat.study.spec import Claim

ROOT = Path(__file__).resolve().parents[1]
HEAD = {"id": "c", "source": "ours", "statement": "s", "variable": "bpc", "arm": "a"}
BY_LAMBDA = {"over": "lambda", "values": [0.0, 1.0, 2.0]}


@pytest.fixture(scope="module")
def ds():
    """Two arms, three points, five seeds."""
    losses = np.random.default_rng(5).normal(size=(2, 3, 5))
    coords = {"arm": np.array(["a", "b"], dtype=object), "lambda": [0.0, 1.0, 2.0], "replicate": np.arange(5)}
    return xr.Dataset({"bpc": (("arm", "lambda", "replicate"), losses)}, coords)


def test_a_difference_is_taken_seed_by_seed(ds):
    """Between arms at one point, and between points of one arm."""
    losses = ds["bpc"].values
    arms = Claim(**HEAD, kind="difference", versus="b", at={"lambda": 1.0}, at_most=0.0)
    assert np.array_equal(seed_table.differences(ds, arms), (losses[0, 1] - losses[1, 1])[None])
    points = Claim(**HEAD, kind="difference", at={"lambda": 2.0}, versus_at={"lambda": 0.0}, at_most=0.0, level=0.99)
    sd, run, needed = seed_table.plan(ds, points, 1.5)
    assert sd == pytest.approx(np.std(losses[0, 2] - losses[0, 0], ddof=1)) and run == 5
    assert needed == paired_seeds(1.5, sd, level=0.99) > paired_seeds(1.5, sd)


def test_the_widest_change_is_planned_for_the_pair_that_scatters_most(ds):
    """Three values have three pairs, each at a level of 1 - 0.05 / 3."""
    widest = Claim(**HEAD, kind="function", function=seed_table.WIDEST, options=BY_LAMBDA, at_most=1.0)
    x = ds["bpc"].values[0]
    sds = [np.std(x[i] - x[j], ddof=1) for i, j in ((0, 1), (0, 2), (1, 2))]
    sd, run, needed = seed_table.plan(ds, widest, 1.0)
    assert (sd, run) == (pytest.approx(max(sds)), 5) and needed == paired_seeds(1.0, sd, level=1 - 0.05 / 3)


@pytest.mark.parametrize("row", seed_table.ROWS, ids=lambda row: f"{row.study}-{row.claim}-{row.size}")
def test_a_row_is_of_its_record_and_its_size_is_the_one_that_its_claim_names(row):
    """The interval that follows from the standard deviation is the verdict's, so that both are of one difference."""
    folder = records.path(ROOT / "outputs", row.study, row.preset)
    claim = next(c for c in load.read(row.study).study.claims if c.id == row.claim)
    gaps = seed_table.differences(seed_table.read(folder / results.NAME), claim)
    kept = next(r for r in csv.DictReader((folder / "claims.csv").open(encoding="utf-8")) if r["claim"] == row.claim)
    assert f"{row.size:g}" in f"{claim.predicted} {claim.statement} {claim.because}"
    mean, level = gaps.mean(axis=1), 1 - (1 - claim.level) / len(gaps)
    half = stats.t.ppf(0.5 + level / 2, gaps.shape[1] - 1) * gaps.std(axis=1, ddof=1) / np.sqrt(gaps.shape[1])
    high = (mean + half).max() if len(gaps) == 1 else (abs(mean) + half).max()
    estimate = mean[0] if len(gaps) == 1 else abs(mean).max()
    assert [float(kept[key]) for key in ("estimate", "ci_high")] == pytest.approx([estimate, high], abs=1e-12)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Records of one study: two claims, a rate, a variable."""
    out = tmp_path_factory.mktemp("quoted")
    hits = xr.DataArray(
        [[1.0, 0.0, 1.0, 1.0], [0.2, 0.4, np.nan, 0.6]],
        dims=("arm", "replicate"),
        coords={"arm": np.array(["a", "b"], dtype=object)},
    )
    claims = "claim,estimate,ci_low,ci_high,scale,verdict,wording\n"
    claims += "one,-0.5231,-0.5512,-0.4949,reduced,not supported,not shown at reduced scale\n"
    claims += "share,0.9714,0.9591,0.9838,stand-in,supported,supported on a stand-in\n"
    claims += "all,1,1,1,reduced,refuted,refuted by 3 of 40 at reduced scale\n"
    content = {
        "results.nc": records.packed(xr.Dataset({"hit": hits})),
        "claims.csv": claims.encode(),
        "rates.csv": b"arm,loss,over,slope,ci_low,ci_high\na,D1,n,-1.63,-2.04,-1.22\n",
        "rules.json.gz": seal.packed(b"{}"),
        "manifest.json": b"{}",
    }
    records.write(records.path(out, "toy", "quick"), content)
    return out


RIGHT = [
    "−0.523 [−0.551, −0.495]<!-- = toy one -->",
    "0.52 [0.49, 0.55]<!-- = toy one * -1 -->",
    "−0.52 ± 0.03<!-- = toy/quick one -->",
    "97.1 % [95.9, 98.4]<!-- = toy share -->",
    "97 %<!-- = toy share -->",
    "*not shown at\nreduced scale*<!-- = toy one -->, *supported on a stand-in*<!-- = toy share -->",
    "*refuted at reduced scale*<!-- = toy all -->, *refuted by 3 of 40 at reduced scale*<!-- = toy all -->",
    "-1.63 ± 0.41<!-- = toy slope D1 arm=a -->",
    "3 of 4<!-- = toy count hit arm=a -->",
    "0.75<!-- = toy mean hit arm=a -->",
    "0.40 [-0.10, 0.90]<!-- = toy mean hit arm=b -->",
    "from 0.2<!-- = toy min hit arm=b --> to 0.6<!-- = toy max hit arm=b -->",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_the_records_hold_stands(text, out):
    found = list(quoted.quotes(text, out))
    assert found and not any(quote.problem for quote in found), found
    assert quoted.rewritten(text, out) == text


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("-0.53<!-- = toy one -->", "-0.52<!-- = toy one -->"),
        ("0.52 [0.49, 0.56]<!-- = toy one * -1 -->", "0.52 [0.49, 0.55]<!-- = toy one * -1 -->"),
        ("96 % [95, 98]<!-- = toy share -->", "97 % [96, 98]<!-- = toy share -->"),
        ("−0.52 ± 0.02<!-- = toy one -->", "−0.52 ± 0.03<!-- = toy one -->"),
        ("so *not supported*<!-- = toy one -->", "so *not shown at reduced scale*<!-- = toy one -->"),
        ("so *refuted*<!-- = toy all -->", "so *refuted by 3 of 40 at reduced scale*<!-- = toy all -->"),
        ("4 of 4<!-- = toy count hit arm=a -->", "3 of 4<!-- = toy count hit arm=a -->"),
        ("1 − 0.5<!-- = toy one -->", "1 − −0.5<!-- = toy one -->"),
    ],
)
def test_another_number_is_found_and_can_be_put_right(text, right, out):
    (quote,) = quoted.quotes(text, out)
    assert quote.problem.startswith("the record says")
    assert quoted.rewritten(f"Before {text} after.", out) == f"Before {right} after."
    assert not any(quote.problem for quote in quoted.quotes(right, out))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.1<!-- = toy/paper one -->", "there is no record of toy, preset paper"),
        ("0.1<!-- = toy none -->", "claims.csv has 0 rows with claim = none"),
        ("0.1<!-- = toy mean hit arm=c -->", "hit has no arm = c"),
        ("0.1<!-- = toy mode hit -->", "is neither the id of a claim nor one of"),
        ("much<!-- = toy one -->", "there is no number"),
        ("0.1 [0, 1]<!-- = toy max hit -->", "the record has no such number"),
        (f"{quoted.EVERY}\nis 0.5 [0.4, 0.6] of Unif[0, 1].", "the interval has no mark"),
    ],
)
def test_what_cannot_be_looked_up_is_said(text, problem, out):
    (quote,) = quoted.quotes(text, out)
    assert problem in quote.problem


@pytest.mark.parametrize("page", quoted.PAGES, ids=lambda page: page.name)
def test_our_pages_quote_what_the_records_hold(page):
    found = list(quoted.quotes(page.read_text(encoding="utf-8"), ROOT / "outputs"))
    wrong = [f"line {q.line}: {q.text} [{q.words}]: {q.problem}" for q in found if q.problem]
    assert not wrong, "\n".join(["python docs/quoted.py --write puts other numbers right:", *wrong])


ROWS = csv_text.load(ROOT / "benchmarks" / "results" / "stability.csv")
RUNS = {run: list(rows) for run, rows in groupby(ROWS, lambda row: (row["study"], row["preset"]))}


@pytest.mark.parametrize("run", RUNS, ids="/".join)
def test_every_claim_of_the_preset_has_a_row(run):
    name, preset = run
    study = load.read(name).study
    judged = [claim.id for claim in study.claims if presets.judges(study, preset, claim)]
    assert sorted(row["claim"] for row in RUNS[run]) == sorted(judged)


@pytest.mark.parametrize("run", RUNS, ids="/".join)
def test_the_verdicts_at_the_study_s_seed_are_those_of_the_record(run):
    folder = records.path(ROOT / "outputs", *run)
    if not records.is_record(folder):
        pytest.skip("no record of this preset is kept")
    kept = {row["claim"]: row["verdict"] for row in csv_text.load(folder / "claims.csv")}
    assert {row["claim"]: row["seed_0"] for row in RUNS[run]} == kept

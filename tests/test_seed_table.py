"""The table of seeds on the page of CompeteSMoE: seeds and deviations of the records, sizes that the paper prints."""

import csv
from pathlib import Path

import numpy as np
import pytest
import seed_table
import xarray as xr
from scipy import stats

from moestat.rates import paired_seeds
from moestat.runner import records, results
from moestat.study import load
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

"""The table of verdicts at five seeds is one of today's claims, and its first column is that of the records."""

from itertools import groupby
from pathlib import Path

import pytest

from moestat.report import csv_text
from moestat.runner import records
from moestat.study import load, presets

ROOT = Path(__file__).resolve().parents[1]
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

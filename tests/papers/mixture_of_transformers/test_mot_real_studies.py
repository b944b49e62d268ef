"""The studies of mixtures of transformers on images and texts, as a user runs them, with networks of a few weights."""

import csv

import numpy as np
import pytest

import moestat
from moestat.errors import InputError
from moestat.runner import plan
from moestat.study import load

pytest.importorskip("torch")

TINY = {"stage_one": 1, "stage_two": 2, "epochs": 3, "width": 4, "depth": 1, "heads": 1, "hidden": 4, "batch": 64}
STUDIES = {"mot_images": {"train": 60, "test": 40}, "mot_text": {"train": 40, "test": 40, "length": 8}}


@pytest.mark.parametrize("name", STUDIES)
def test_every_preset_plans(name):
    study_file = load.read(name)
    for preset, found in study_file.study.presets.items():
        if "data" in found.settings:  # the user's own; a plan says which file it wants
            with pytest.raises(InputError, match=found.settings["data"]):
                plan.make(study_file, preset)
        else:
            assert plan.make(study_file, preset).cells


@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_finds_its_numbers_and_every_figure_draws(name, tmp_path):
    settings = TINY | STUDIES[name]
    ds = moestat.run(name, preset="quick", out=tmp_path, replicates=2, jobs=1, quiet=True, **settings)
    assert ds.attrs["count_raised"] == 0
    folder = tmp_path / name / "quick"
    with open(folder / "claims.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows
    for row in rows:
        assert np.isfinite(float(row["estimate"])), f"{row['claim']}: {row['why']}"
    study = load.read(name).study
    drawn = {path.stem for path in folder.glob("*.png")}
    assert len(drawn) >= len(study.figures) and "figure" in drawn
    assert (folder / "report.html").stat().st_size > 10_000

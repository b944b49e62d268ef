"""The verbs around a study: new, settings, merge, export, status; and what a dry run says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from machine import inside, outside, results, said, write_study

import moestat
from moestat.errors import InputError
from moestat.report import variables, write
from moestat.runner import experiments
from moestat.study import load

GRID = "n = [10, 20, 40, 100, 160]"


def test_a_new_study_plans_and_is_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = inside("new", "mine")
    assert code == 0 and "moestat.study mine.py --dry-run" in out
    code, out, err = inside("mine.py", "--dry-run")
    assert code == 0 and "2 arms" in out, err
    code, _, err = inside("new", "mine")
    assert code == 2 and "mine.py exists already" in err
    assert inside("new", "my study")[0] == 2
    code, _, err = inside("mine")
    assert code == 2 and "but a file of that name; give its path: mine.py" in err
    study = load.read("mine.py").study
    assert study.claims and study.rates and study.figures and set(study.presets) == {"quick", "large"}


def test_every_setting_and_variable_of_every_experiment_is_explained():
    for name in experiments.own_experiments():
        about, rows = experiments.described(name)
        assert about == experiments.about(name) != "", name
        assert [row.key for row in rows if not row.meaning or not row.kind] == [], name
        assert variables.of_experiment(name), name


def test_the_settings_and_variables_of_an_experiment_are_listed(monkeypatch):
    code, out, _ = inside("settings", "regression")
    assert code == 0 and 'regime          default "dense"' in out and "quotient" in out
    assert len(out.splitlines()) <= 40 and max(map(len, out.splitlines())) <= 100
    code, out, _ = inside("settings", "regression", "-v")
    words = " ".join(out.split())
    assert code == 0 and 'regime text, default "dense"; allowed: "dense", "sparse"' in words
    assert "L3 Voronoi loss L3, equation (12)" in words
    code, _, err = inside("settings", "regresion")
    assert code == 2 and "did you mean 'regression'?" in err
    assert "task_training" in inside("settings")[1]
    monkeypatch.syspath_prepend(Path(__file__).parent)
    own = " ".join(inside("settings", "toy")[1].split())
    assert "kind" in own, "an experiment of one's own"


@pytest.mark.parametrize(
    "words", [["help"], ["list", "SA"], ["settings"], ["--claims", "SA"], ["--paper", "SA"], ["claim", "moe-routing"]]
)
def test_a_short_answer_is_one_screen(words):
    done = outside(*words)
    lines = done[1].splitlines()
    assert done[0] == 0 and 5 < len(lines) <= 40, done[2]
    assert max(len(line) for line in lines if "python -m" not in line) <= 100, "but a command is not broken"


def test_a_figure_that_cannot_be_drawn_fails_the_command_and_the_rest_of_the_report_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "_draw", lambda *given: write.Drawn("figure", problem="there is no ink"))
    code, out, err = inside(write_study(tmp_path), "--out", tmp_path, "--jobs", 1, "--quiet")
    assert code == 1 and "figures could not be drawn" in err and "there is no ink" in out
    assert (tmp_path / "study" / "quick" / "report.html").is_file()


def test_runs_are_merged_by_what_they_are(tmp_path):
    study, folder = write_study(tmp_path, grid=GRID), tmp_path
    for out, words in {"p": ["--part", "1/2"], "q": ["--part", "2/2"], "c": ["--set", "shift=1.0"], "b": []}.items():
        assert inside(study, *words, "--out", folder / out, "--jobs", 1, "--quiet", "--no-report")[0] == 0
    p, q, c = (folder / name / "study/quick" for name in "pqc")
    merged = inside("merge", study, p, q, "--out", folder / "m", "--no-report")
    assert merged[0] == 0, merged[2]
    np.testing.assert_array_equal(results(folder / "m")["error"].values, results(folder / "b")["error"].values)
    code, _, err = inside("merge", study, p, q, "--out", folder / "m")
    assert code == 2 and "holds results already" in err
    code, _, err = inside("merge", study, p, c, "--out", folder / "n")
    assert code == 2 and "are not one run: their settings: {} and {'shift': 1.0}" in err
    write_study(folder, name="other", seed=8)
    assert inside(folder / "other.py", "--out", folder, "--jobs", 1, "--quiet", "--no-report")[0] == 0
    code, _, err = inside("merge", study, p, folder / "other/quick", "--out", folder / "n")
    assert code == 2 and "holds results of the study 'other', by its manifest" in err
    shard = next((q / "shards").rglob("*.shard"))
    shard.write_bytes(shard.read_bytes()[:-9])
    code, _, err = inside("merge", study, p, q, "--out", folder / "n")
    assert code == 1 and "damaged shard" in err
    assert not (folder / "n").exists(), "a merge that is refused leaves nothing behind"


def test_results_are_exported_as_a_tidy_table(tmp_path):
    study = write_study(tmp_path, grid=GRID, replicates=4)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--quiet", "--set", "shift=1.0")[0] == 0
    folder = tmp_path / "study/quick"
    said("export", folder, "--write", tmp_path / "losses.csv")
    table = pd.read_csv(tmp_path / "losses.csv")
    assert list(table.columns) == ["arm", "n", "replicate", "status", "loss", "value"] and len(table) == 2 * 5 * 4
    ds = moestat.load(folder)
    row = table[(table.arm == "median") & (table.n == 40) & (table.replicate == 3)]
    assert row["value"].item() == ds["error"].sel(arm="median", n=40, replicate=3).item()
    atoms = moestat.tidy(ds, ["centre"])
    assert len(atoms) == 2 * 5 * 4 * 2 and "expert" in atoms.columns
    with pytest.raises(InputError, match="no variable 'eror'; did you mean 'error'"):
        moestat.tidy(ds, ["eror"])
    assert inside("export", folder, "--write", tmp_path / "losses.txt")[0] == 2
    assert '"median": {"kind": "median", "shift": 1.0' in ds.attrs["settings"]


def test_a_library_that_is_missing_is_told_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, err = inside("task_routing", "--dry-run")
    assert code == 2 and 'install it with: python -m pip install -c constraints.txt -e ".[neural]"' in err
    assert inside("task_routing", "--out", tmp_path / "new", "--jobs", 1)[0] == 2
    with pytest.raises(InputError, match="the study task_routing needs PyTorch, which is not installed; install"):
        moestat.run("task_routing", out=tmp_path, jobs=1, quiet=True)
    assert os.listdir(tmp_path) == []


def test_status_sums_up_by_arm_and_lists_cells_that_are_not_complete(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = "an-arm-of-the-longest-name"
    study = write_study(tmp_path, more=f'study.arm("{name}", raise_at=[1])\n')
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--quiet", "--no-report")[0] == 1, "an arm raises"
    _, out, _ = inside("status", study, "--out", tmp_path, "--replicates", 7)
    sums, cells = out.split("6 cells that are not complete")
    rows = [line.split() for line in sums.splitlines() if line.strip().startswith(("mean", "median", "an-arm"))]
    assert rows[:2] == [["mean", "2", "12", "2", "0", "0", "0"], ["median", "2", "12", "2", "0", "0", "0"]]
    assert rows[2][1:] == ["2", "12", "2", "2", "0", "0", "2", "RAISED"]
    assert sum(line.split()[:1] == ["mean"] for line in cells.splitlines()) == 2 and name in out
    told, again, rest = out.splitlines()[-3:]
    assert told.startswith(f"2 of 42 replicates ended with an error (2 RAISED), such as: arm {name}, n =")
    assert "ArithmeticError: replicate 1 cannot be computed" in told and again.endswith(" --retry-failed")
    assert rest.startswith("Complete it with: ") and "--retry-failed" not in rest
    told = json.loads(inside("status", study, "--out", tmp_path, "--replicates", 7, "--json")[1])
    assert (told["tally"]["done"], told["tally"]["missing"], told["tally"]["raised"]) == (36, 6, 2)
    failed = [cell for cell in told["cells"] if cell["failed"]]
    assert {(cell["arm"], cell["missing"], cell["how"]) for cell in failed} == {(name, 1, "1 RAISED")}
    assert told["advice"].endswith(rest)
    complete = inside("status", study, "--out", tmp_path)[1].splitlines()[-3:]
    assert complete[1].endswith("--retry-failed") and complete[2].startswith("Complete, but for those. Make the report")

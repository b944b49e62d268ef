"""The subcommands around a study: new, settings, diff, merge, export."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from machine import inside, results, write_study

import moestat
from moestat import cli
from moestat.errors import InputError
from moestat.report import variables
from moestat.runner import experiments, labels, settings_table
from moestat.study import keys, load


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs of the toy study: 4 replicates, 6 replicates, and another setting; the folders of their results."""
    folder = tmp_path_factory.mktemp("runs")
    study = write_study(folder, grid="n = [10, 20, 40, 100, 160]")
    for out, words in {"a": [4], "b": [6], "c": [4, "--set", "shift=1.0"]}.items():
        more = ["--replicates", *words, "--out", folder / out, "--jobs", 1, "--quiet"]
        assert inside(study, *more)[0] == 0
    return {name: folder / name / "study" / "quick" for name in "abc"}


def test_a_new_study_plans_and_is_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = inside("new", "mine")
    assert code == 0 and "moestat mine.toml --dry-run" in out
    code, out, err = inside("mine.toml", "--dry-run")
    assert code == 0 and "2 arms" in out, err
    code, _, err = inside("new", "mine")
    assert code == 2 and "mine.toml exists already" in err
    assert inside("new", "my study")[0] == 2
    code, _, err = inside("mine")
    assert code == 2 and "but a file of that name; give its path: mine.toml" in err
    study = load.read("mine.toml").study
    assert study.claims and study.rates and study.figures and set(study.presets) == {"quick", "large"}


def test_every_setting_of_every_experiment_is_explained():
    for name in experiments.own_experiments():
        about, rows = settings_table.of_experiment(name)
        assert about == settings_table.about(name) != "", name
        assert [row.key for row in rows if not row.meaning or not row.kind] == [], name


def test_the_settings_of_an_experiment_are_listed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = inside("settings", "regression")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    words = " ".join(out.split())
    assert 'regime text, default "dense"; allowed: "dense", "sparse"; sparse: the gates of two experts vanish' in words
    assert "d whole number, default 8; allowed: at least 1 and at most 16; input dimension" in words
    code, _, err = inside("settings", "regresion")
    assert code == 2 and "did you mean 'regression'?" in err
    assert "task_training" in inside("settings")[1]
    monkeypatch.syspath_prepend(Path(__file__).parent)
    own = " ".join(inside("settings", "toy")[1].split())
    assert "kind" in own and "those that its run() puts into the dataset" in own, "an experiment of one's own"


def test_the_variables_of_an_experiment_are_listed_with_their_words():
    """Own ones first; what its source cannot name is left out, and every experiment has some of its own."""
    _, out, _ = inside("settings", "regression")
    lines = out.split("Variables that it returns")[1].splitlines()
    rows = dict(line.split(maxsplit=1) for line in lines if line[:1].strip() and " " in line)
    assert rows["L3"] == "Voronoi loss L3, equation (12)" and {"L1", "L2_1", "rmse", "start_*"} <= set(rows)
    assert rows["start_*"] == "..., where the optimiser started" and "hellinger" not in rows
    assert list(rows).index("rmse") < list(rows).index("status")
    for name in experiments.own_experiments():
        common = set(labels.texts_of(""))
        assert [row for row in variables.of_experiment(name) if row.name not in common and row.meaning], name


def test_the_keys_of_a_study_file_are_listed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = inside("keys", "claims")
    assert code == 0 and out.startswith("[[claims]]\n") and max(map(len, out.splitlines())) <= 80
    assert "statement required; what the paper says, in one sentence" in " ".join(out.split())
    assert "\n[[rates]]\n" not in out and inside("keys", "[[claims]]")[1] == out
    every = inside("keys")[1]
    assert all(title in every for title in keys.TABLES) and out.strip() in every
    assert inside("keys", "presets.NAME")[1] == inside("keys", "presets")[1]
    for name, field in keys.TABLES["[[figures]]"].model_fields.items():
        assert f"\n{name} " in inside("keys", "figures")[1], (name, field)
    code, _, err = inside("keys", "claim")
    assert code == 2 and "there is no table 'claim'; did you mean 'claims'?" in err


@pytest.mark.parametrize(("script", "shown"), [("/bin/moestat", "moestat"), ("__main__.py", "python -m moestat.study")])
def test_the_help_says_the_name_it_was_called_by(script, shown, monkeypatch):
    monkeypatch.setattr(sys, "argv", [script])
    assert cli.parser("run").format_usage().startswith(f"usage: {shown} [-h]")
    assert cli.parser("diff").format_usage().startswith(f"usage: {shown} diff")


@pytest.mark.parametrize(("word", "meant"), [("statsu", "status"), ("setings", "settings")])
def test_a_misspelt_subcommand_is_named(word, meant):
    code, _, err = inside(word, "anything")
    assert code == 2 and f"did you mean the subcommand {meant!r}?" in err and len(err.splitlines()) == 1


def test_two_runs_are_compared(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = inside("diff", runs["a"], runs["b"])
    assert code == 0 and "Settings: no difference" in out and "replicate: 4 -> 6" in out
    assert "Code: no difference" in out and "are equal bit for bit where both runs have them" in out
    _, out, _ = inside("diff", runs["a"] / "results.nc", runs["c"])
    assert "mean: shift: 0.0 -> 1.0" in out and "error: 40 of 40 differ" in out
    assert "mean error: " in out and "the intervals are apart" in out
    assert "mean-rate: " in out and "not supported" in out.split("mean-rate: ")[1]
    for name in ("results.nc", "manifest.json"):
        shutil.copy(runs["c"] / name, tmp_path)
    _, out, _ = inside("diff", runs["a"], tmp_path)
    assert " ".join(out.split()).count("B has no report") == 2 and "no difference" not in out.split("Numbers")[1]
    code, _, err = inside("diff", runs["a"], runs["a"].parent)
    assert code == 2 and "name the folder" in err


def test_runs_are_merged_by_what_they_are(runs, tmp_path):
    folder = tmp_path
    study = write_study(folder, grid="n = [10, 20, 40, 100, 160]")
    for out, words in {"p": ["--part", "1/2"], "q": ["--part", "2/2"]}.items():
        assert inside(study, *words, "--out", folder / out, "--jobs", 1, "--quiet")[0] == 0
    merged = inside(
        "merge", study, folder / "p/study/quick", folder / "q/study/quick", "--out", folder / "m", "--no-report"
    )
    assert merged[0] == 0, merged[2]
    whole = moestat.load(runs["b"])
    np.testing.assert_array_equal(results(folder / "m")["error"].values, whole["error"].values)
    code, _, err = inside("merge", study, folder / "p/study/quick", folder / "q/study/quick", "--out", folder / "m")
    assert code == 2 and "holds results already" in err
    code, _, err = inside("merge", study, runs["a"], runs["c"], "--out", folder / "n")
    assert code == 2 and "--set shift = None and 1.0" in err
    write_study(folder, name="other", seed=8)
    assert inside(folder / "other.toml", "--out", folder, "--jobs", 1, "--quiet", "--no-report")[0] == 0
    code, _, err = inside("merge", study, runs["a"], folder / "other/quick", "--out", folder / "n")
    assert code == 2 and "holds results of the study 'other', by its manifest" in err
    shard = next((folder / "q/study/quick/shards").rglob("*.shard"))
    shard.write_bytes(shard.read_bytes()[:-9])
    code, _, err = inside("merge", study, folder / "p/study/quick", folder / "q/study/quick", "--out", folder / "n")
    assert code == 1 and "damaged shard" in err
    assert not (folder / "n").exists(), "a merge that is refused leaves nothing behind"


def test_results_are_exported_as_a_tidy_table(runs, tmp_path):
    code, out, err = inside("export", runs["a"], "--write", tmp_path / "losses.csv")
    assert code == 0, err
    table = pd.read_csv(tmp_path / "losses.csv")
    assert list(table.columns) == ["arm", "n", "replicate", "status", "loss", "value"] and len(table) == 2 * 5 * 4
    ds = moestat.load(runs["a"])
    row = table[(table.arm == "median") & (table.n == 40) & (table.replicate == 3)]
    assert row["value"].item() == ds["error"].sel(arm="median", n=40, replicate=3).item()
    atoms = moestat.tidy(ds, ["centre"])
    assert len(atoms) == 2 * 5 * 4 * 2 and "expert" in atoms.columns
    with pytest.raises(InputError, match="no variable 'eror'; did you mean 'error'"):
        moestat.tidy(ds, ["eror"])
    assert inside("export", runs["a"], "--write", tmp_path / "losses.txt")[0] == 2


def test_parquet_without_its_library_says_how_to_get_it(runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = inside("export", runs["a"], "--write", tmp_path / "losses.parquet")
    assert code == 2 and "needs pyarrow; install it with: python -m pip install" in err and "parquet]" in err
    assert not (tmp_path / "losses.parquet").exists() and len(err.splitlines()) == 1


def test_all_settings_are_in_the_results_and_the_report(runs):
    ds = moestat.load(runs["c"])
    assert '"median": {"kind": "median", "shift": 1.0' in ds.attrs["settings"]
    page = (runs["c"] / "report.html").read_text()
    assert "All settings of every arm" in page and "<td>raise_at</td>" in page.replace(
        '<th scope="row">', "<td>"
    ).replace("</th>", "</td>")


def test_a_dry_run_says_what_is_missing_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, err = inside("task_routing", "--dry-run")
    assert code == 2 and 'install it with: python -m pip install -c constraints.txt -e ".[neural]"' in err
    assert inside("task_routing", "--out", tmp_path / "new", "--jobs", 1)[0] == 2
    assert not (tmp_path / "new").exists() and os.listdir(tmp_path) == []


def test_a_dry_run_states_the_time_of_a_preset_for_that_preset(tmp_path):
    study = write_study(tmp_path, grid="n = [10, 40]")
    study.write_text(study.read_text().replace("[presets.quick]\n", '[presets.quick]\nexpected = "a minute"\n'))

    def told(*words):
        return next(line for line in inside(study, "--dry-run", *words)[1].splitlines() if line.startswith("expected"))

    assert told() == told("--seed", 3) == told("--block", 1) == told("--replicates", 6) == "expected: a minute"
    changed = "expected for the preset as it stands (4 cells x 6 replicates): a minute"
    for words in (("--replicates", 300), ("--set", "n=10,20"), ("--set", "shift=2.0"), ("--set", "shift=1,2,3")):
        assert told(*words) == changed, words


def test_status_sums_up_by_arm_and_lists_cells_that_are_not_complete(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = "an-arm-of-the-longest-name"
    study = write_study(tmp_path, more=f'\n[[arms]]\nname = "{name}"\nsettings = {{ raise_at = [1] }}\n')
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--quiet", "--no-report")[0] == 0
    _, out, _ = inside("status", study, "--out", tmp_path, "--replicates", 7)
    sums, cells = (part.splitlines() for part in out.split("cells that are not complete"))
    rows = [line.split() for line in sums if line.strip().startswith(("mean", "median", "an-arm"))]
    assert rows[:2] == [["mean", "2", "12", "2", "0", "0"], ["median", "2", "12", "2", "0", "0"]]
    assert rows[2][1:] == ["2", "12", "2", "2", "0", "2", "RAISED"]
    assert sum(line.split()[:1] == ["mean"] for line in cells) == 2
    assert name in out and max(map(len, out.splitlines()[:-3])) <= 80
    told, again, rest = out.splitlines()[-3:]
    assert told.startswith(
        "2 of 42 replicates ended with an error (2 RAISED), such as: arm an-arm-of-the-longest-name, n ="
    )
    assert "replicate 1: ArithmeticError: replicate 1 cannot be computed" in told
    assert again.startswith("Compute them again, on the same data, with: ") and again.endswith(" --retry-failed")
    assert rest.startswith("Complete it with: ") and "--retry-failed" not in rest
    complete = inside("status", study, "--out", tmp_path)[1].splitlines()[-3:]
    assert complete[0].startswith("2 of 36 replicates ended with an error")
    assert complete[1].endswith("--retry-failed") and complete[2].startswith("Complete, but for those. Make the report")

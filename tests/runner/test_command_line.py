"""The command line from end to end, the same from Python, and the plan that both make."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import types

import numpy as np
import pytest
import xarray as xr
from machine import HERE, command, environment, inside, outside, own, results, said, write_study

import moestat
from moestat.cli_options import settings
from moestat.errors import InputError, StaleError
from moestat.runner import begin, plan
from moestat.runner.request import Request
from moestat.study import load


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A complete run of a study by name, from a folder with ``studies/`` in it, in a process of its own."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "studies").mkdir()
    more = 'study.preset("tiny", replicates=2)\nstudy.figure(panels=[dict(arms=["*"], variable="error")])\n'
    write_study(folder / "studies", name="toy", grid="n = [10, 40, 160, 640]", more=more)
    done = subprocess.run(command("toy"), env=environment(), cwd=folder, capture_output=True, text=True, timeout=300)
    return folder, done


def test_one_command_gives_everything(toy):
    folder, done = toy
    assert done.returncode == 0, done.stderr
    root = folder / "outputs/toy/quick"
    wanted = {"results.nc", "rates.csv", "claims.csv", "figure.png", "figure.pdf", "report.html"}
    assert wanted | {"manifest.json", "shards"} <= {path.name for path in root.iterdir()}
    assert "mean-rate" in done.stdout and "Claims: " in done.stdout and "report.html" in done.stdout
    assert len(done.stdout.splitlines()) < 25 and "Rates" not in done.stdout, "the answer alone"
    assert "48 of 48 replicates (100 %), 0 failed, 0 not converged" in done.stderr and "\x1b" not in done.stderr
    assert not list(root.glob("running/*")) and not list(root.glob("locks/*.txt"))
    with xr.open_dataset(root / "results.nc") as dataset:
        attrs = dataset.attrs
        assert dict(dataset.sizes) == {"arm": 2, "n": 4, "replicate": 6, "expert": 2}
    assert attrs["study"] == "toy" and attrs["preset"] == "quick" and attrs["seed"] == 7
    assert attrs["command"] == "python -m moestat.study toy --preset quick" and "numpy" in attrs["versions"]
    manifest = json.loads((root / "manifest.json").read_text())
    assert manifest["state"] == "collected" and len(manifest["cells"]) == 8 and "toy" in manifest["code"]


def test_the_report_is_made_again_and_all_is_the_same_from_python(toy, tmp_path, monkeypatch):
    folder, _ = toy
    monkeypatch.chdir(folder)
    (folder / "outputs/toy/quick/report.html").unlink()
    code, out, err = inside("report", "toy")
    assert code == 0 and (folder / "outputs/toy/quick/report.html").exists() and "mean-rate" in out, err
    code, _, err = inside("report", "toy", "--preset", "tiny")
    assert code == 2 and "there are results of the presets quick; run the study with: " in err, "it was never run"
    stored = moestat.load("toy")
    assert stored.identical(moestat.load("outputs/toy/quick"))
    assert stored.identical(moestat.load(folder / "outputs/toy/quick/results.nc"))
    monkeypatch.syspath_prepend(str(HERE))
    how = {"jobs": 1, "report": False, "quiet": True}
    assert moestat.run("toy", out=tmp_path, **how).drop_attrs().identical(stored.drop_attrs())
    other = moestat.run("toy", replicates=np.int64(2), out=tmp_path / "x", n=[5], shift=1.0, **how)
    assert other["error"].shape == (2, 1, 2) and (other["error"] > 1).all()
    with pytest.raises(StaleError, match="setting shift 1.0 -> 2.0"):
        moestat.run("toy", replicates=2, out=tmp_path / "x", n=[5], shift=2.0, **how)
    with pytest.raises(InputError, match="there is no preset 'tinny'; did you mean 'tiny'"):
        moestat.load("toy", preset="tinny")
    with pytest.raises(InputError, match="run the study with: python -m moestat.study toy --preset quick --out"):
        moestat.load("toy", out=tmp_path / "nowhere")
    assert "MOESTAT_CACHE" not in os.environ


def test_a_reader_that_leaves_is_no_error_of_the_study(toy):
    folder, _ = toy
    how = {"cwd": folder, "env": environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command("status", "toy"), **how) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode != 0


def test_every_study_at_once_ends_with_one_table_of_claims(tmp_path, monkeypatch):
    folder = tmp_path / "studies"
    folder.mkdir()
    for name, seed in (("one", 1), ("two", 2)):
        write_study(folder, name=name, seed=seed, replicates=3, grid="n = [10, 20, 40, 80, 160]")
    broken = "from moestat import Study\nstudy = Study('Broken', seed=1, experiment='toy', arms=[{}])\n"
    (folder / "broken.py").write_text(broken)
    monkeypatch.setattr(load, "study_folders", lambda: [folder])
    code, out, err = inside("--all", "--jobs", 1, "--out", tmp_path / "out")
    assert code == 1 and "1 of 3 studies did not complete: broken" in err and "broken.py:2: arm 1: name is miss" in err
    last = out[out.rindex("2 primary claims:") :]
    assert "one" in last and "two" in last and last.count("mean-rate") == 2
    assert inside("--all", "one")[0] == 2
    code, _, err = inside("--all", "--paper", "other", "--dry-run")
    assert code == 2 and "no study of the paper 'other'" in err


def test_status_and_collect_remember_what_the_run_was_asked_for(tmp_path):
    study = write_study(tmp_path)
    code, out, _ = inside("status", study, "--out", tmp_path / "none")
    assert code == 0 and "24 missing" in out and "Complete it with: python -m moestat.study" in out
    assert inside("collect", study, "--out", tmp_path / "none")[0] == 2 and not (tmp_path / "none").exists()
    words = ("--replicates", 3, "--set", "shift=0.5", "--seed", 11)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet", *words)[0] == 0
    code, out, _ = inside("status", study, "--out", tmp_path)
    assert code == 0 and "12 done, 0 missing, 0 failed, 0 not converged, 0 stale" in out
    assert inside("collect", study, "--out", tmp_path, "--no-report", "--quiet")[0] == 0
    assert results(tmp_path).sizes["replicate"] == 3


def test_a_command_that_is_printed_can_be_typed():
    request = Request("x", settings={"a": 1, "b": "text", "c": [1, 2], "d": True, "e": 0.5}, part=(2, 3), jobs=4)
    again = shlex.split(request.command())
    assert again[:4] == ["python", "-m", "moestat.study", "x"] and again[again.index("--part") + 1] == "2/3"
    pairs = [again[i + 1] for i, word in enumerate(again) if word == "--set"]
    assert settings(pairs) == dict(request.settings)


def test_what_cells_share_is_prepared_once_in_the_cache_of_the_user(tmp_path, monkeypatch):
    study = write_study(tmp_path, settings='share = "a"')
    study.write_text(study.read_text().replace('kind="median"', 'kind="median", share="b"'))
    words = (study, "--out", tmp_path, "--no-report", "--quiet")
    assert inside(*words, "--jobs", 2)[0] == 0
    prepared = tmp_path / "cache" / "prepared.log"
    assert sorted(prepared.read_text().split()) == ["a", "b"]
    assert inside(*words, "--jobs", 1)[0] == 0
    assert len(prepared.read_text().split()) == 2, "nothing is prepared when nothing is missing"
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "mine"))
    assert inside(*words, "--jobs", 1, "--fresh")[0] == 0
    assert (tmp_path / "mine/prepared.log").exists() and os.environ["MOESTAT_CACHE"] == str(tmp_path / "mine")


def test_an_error_in_prepare_is_told_and_left_to_the_cells(tmp_path):
    head = "def prerequisites(cell):\n    return [{'a': 1}]\n"
    head += "def prepare(prerequisite, *, device):\n    raise ValueError('not today')\n"
    study = write_study(tmp_path, experiment=own(tmp_path, "unprepared", "", head))
    code, _, err = inside(study, "--out", tmp_path, "--jobs", 1, "--no-report")
    assert code == 0 and "preparing what cells share failed: ValueError: not today (unprepared.py line 7)" in err


def test_settings_are_merged_in_a_stated_order(tmp_path):
    study = write_study(tmp_path, settings="shift = 1.0\nseconds = 0.0", replicates=2)
    text = study.read_text().replace('kind="median"', 'kind="median", shift=3.0')
    study.write_text(text.replace("block=2", "block=2, settings=dict(shift=2.0, experts=5)"))
    cells = plan.make(load.read(study)).cells
    assert [(c.cell.settings["shift"], c.cell.settings["experts"]) for c in cells] == [(2.0, 5)] * 2 + [(3.0, 5)] * 2
    assert cells[0].cell.settings["die_at"] == [], "defaults are part of the identity"
    changed = plan.make(load.read(study), "quick", Request("study", settings={"experts": 7}))
    assert {c.cell.settings["experts"] for c in changed.cells} == {7}
    with pytest.raises(InputError, match="the arms of .* differ in shift, which median set themselves"):
        plan.make(load.read(study), "quick", Request("study", settings={"shift": 4.0}))


def test_cells_of_gpus_get_one_process_per_visible_device(tmp_path, monkeypatch):
    """On a machine without GPUs: the processes are spawned, see one device each, and compute the same numbers."""
    body = """\
found = toy.run(cell, replicates, device=device)
seen = {"device": device, "gpu": os.environ["CUDA_VISIBLE_DEVICES"], "pid": os.getpid()}
return found.assign({name: ("replicate", [value] * len(replicates)) for name, value in seen.items()})"""
    cpu = write_study(tmp_path, name="cpu", settings="seconds = 0.05", replicates=4)
    assert inside(cpu, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
    monkeypatch.setattr(begin, "resolve_device", lambda asked, made: "cuda")
    study = write_study(
        tmp_path, experiment=own(tmp_path, "seen", body), settings="seconds = 0.05", replicates=4, block=1
    )
    said(study, "--out", tmp_path, "--no-report", "--quiet")
    found = results(tmp_path)
    assert set(found["device"].values.ravel()) == {"cuda"} and set(found["gpu"].values.ravel()) == {"3", "5"}
    pids = {(gpu, pid) for gpu, pid in zip(found["gpu"].values.ravel(), found["pid"].values.ravel(), strict=True)}
    assert len(pids) == 2 and os.getpid() not in {pid for _, pid in pids}
    assert found["error"].equals(results(tmp_path, "cpu")["error"])


def test_auto_takes_the_first_device_that_an_experiment_names_and_that_is_there(monkeypatch):
    def taken(asked, *devices, there="cuda"):
        monkeypatch.setattr("moestat.arrays.resolve_device", lambda device: there if device == "auto" else device)
        made = types.SimpleNamespace(experiment=types.SimpleNamespace(DEVICES=devices), module_name="x")
        return begin.resolve_device(asked, made)

    assert taken("auto", "cpu", "cuda") == "cpu" and taken("auto", "cuda", "cpu") == taken("auto", "cuda") == "cuda"
    assert taken("cuda", "cpu", "cuda") == "cuda" and taken("cpu", "cuda", "cpu") == "cpu"
    assert taken("auto", "cuda", "cpu", there="cpu") == "cpu"
    with pytest.raises(InputError, match="computes on cpu"):
        taken("cuda", "cpu")


HEAVY = {"numpy", "scipy", "xarray", "pandas", "matplotlib", "torch", "joblib", "pydantic", "rich"}


@pytest.mark.parametrize("words", [["--list"], ["replay", "--help"]])
def test_nothing_heavy_is_imported_to_start(words):
    script = (
        "import sys\n"
        "from moestat.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], env=environment(), capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


def test_a_study_file_is_checked_without_the_libraries_of_the_report(tmp_path):
    """A dry run imports the experiment and nothing of the report."""
    code, out, err = outside(write_study(tmp_path), "--dry-run", PYTHONPROFILEIMPORTTIME="1")
    assert code == 0 and "4 cells x 6 replicates in blocks of 2" in out and "nothing was written" in out
    imported = {line.split("|")[-1].strip() for line in err.splitlines() if "|" in line}
    assert "moestat.runner.plan" in imported and not {"matplotlib", "jinja2", "statsmodels"} & imported

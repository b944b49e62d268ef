"""Results of other settings, another seed or other code never mix with new ones, and nobody is left in the dark."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys

import pytest
from machine import HERE, environment, inside, logged, outside, run, shards, write_study

from moestat.experiment import code_version
from moestat.runner import store, worker


@pytest.fixture(scope="module")
def computed_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("computed")
    assert run(write_study(folder), folder, "--quiet")[0] == 0
    return folder


@pytest.fixture
def computed(tmp_path, computed_once):
    shutil.copytree(computed_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "study.py"


def contents(out):
    return {path: path.read_bytes() for path in shards(out)}


def test_a_change_is_refused_and_named_and_nothing_is_touched(tmp_path, computed):
    before, told = contents(tmp_path), "seed 7 -> 8, setting shift 0.0 -> 1.0"
    changed = write_study(tmp_path, seed=8, settings="shift = 1.0")
    code, _, err = run(changed, tmp_path)
    assert code == 3 and told in err and "24 replicates" in err and "--replace-stale" in err
    assert len(err.strip().splitlines()) == 1
    code, _, err = inside("collect", changed, "--out", tmp_path, "--no-report")
    assert code == 3 and told in err
    _, out, _ = inside("status", changed, "--out", tmp_path)
    assert "24 missing, 0 failed, 0 not converged, 24 stale" in out and "--replace-stale" in out and told in out
    code, _, err = run(computed, tmp_path, "--fresh", "--part", "1/2")
    assert code == 2 and "--part" in err
    assert contents(tmp_path) == before and not (tmp_path / "study/quick/set-aside").exists()


def test_only_the_changed_arm_is_stale(tmp_path, computed, monkeypatch):
    text = computed.read_text().replace('kind="median"', 'kind="median", shift=2.0')
    computed.write_text(text)
    code, _, err = run(computed, tmp_path)
    assert code == 3 and "setting shift 0.0 -> 2.0 (12 replicates)" in err
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    code, _, err = run(computed, tmp_path, "--replace-stale")
    assert code == 0 and "6 shards were set aside" in err
    assert len(logged(tmp_path / "log")) == 12
    assert len(list((tmp_path / "study/quick/set-aside").rglob("*.shard"))) == 6


def test_fresh_computes_everything_again_and_keeps_the_old(tmp_path, computed, monkeypatch):
    before = {(path.parent.name, path.name): content for path, content in contents(tmp_path).items()}
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    code, _, err = run(computed, tmp_path, "--fresh")
    assert code == 0 and "--fresh: 12 shards were set aside" in err
    assert len(logged(tmp_path / "log")) == 24
    aside = (tmp_path / "study/quick/set-aside").rglob("*.shard")
    assert {(path.parent.name, path.name): path.read_bytes() for path in aside} == before


def test_what_another_part_has_set_aside_before_is_left_there(tmp_path, computed):
    """Parts that start together with --replace-stale find the same stale shards."""
    root, paths = tmp_path / "study/quick", shards(tmp_path)
    first, second = store.set_aside(root, paths[:5]), store.set_aside(root, paths)
    assert [len(list(folder.rglob("*.shard"))) for folder in (first, second)] == [5, len(paths) - 5]
    assert not shards(tmp_path)


@pytest.fixture
def own_code(tmp_path):
    """An experiment of the user's own with a module beside it that it imports."""
    (tmp_path / "helper.py").write_text('"""Helps."""\nFACTOR = 1.0\n')
    text = (HERE / "toy.py").read_text().replace("float(np.abs(centre).max())", "FACTOR * float(np.abs(centre).max())")
    (tmp_path / "mine.py").write_text(text.replace("import os\n", "import os\nfrom helper import FACTOR\n"))
    return write_study(tmp_path, experiment="mine", replicates=2)


def test_code_that_changed_is_refused_and_its_module_named(tmp_path, own_code):
    words = (own_code, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    assert outside(*words)[0] == 0
    helper = tmp_path / "helper.py"
    helper.write_bytes(b'"""Helps."""  \r\nFACTOR = 1.0\r\n\r\n')
    code, _, err = outside(*words)
    assert code == 0, f"line endings and trailing blanks must not matter: {err}"
    helper.write_text("FACTOR = 2.0\n")
    code, _, err = outside(*words)
    assert code == 3 and "the code of helper.py (8 replicates)" in err


def test_code_that_changes_while_the_study_runs_stops_it(tmp_path, monkeypatch):
    study = write_study(tmp_path)
    monkeypatch.setattr(worker, "_code_of", lambda name: {"toy": "1", "toy.py": "another"})
    code, _, err = run(study, tmp_path)
    assert code == 3 and "changed while the study was running" in err and "the code of toy.py" in err


def test_what_two_versions_computed_is_not_mixed(tmp_path, computed, monkeypatch):
    """The version that the experiment declares, 1 if it declares none, is the one of the shards and of the manifest."""
    manifest = tmp_path / "study/quick/manifest.json"
    assert json.loads(manifest.read_text())["code"]["toy"] == "1"
    toy = importlib.import_module("toy")
    monkeypatch.setattr(toy, "VERSION", "2", raising=False)
    code, _, err = run(computed, tmp_path)
    assert code == 2 and "VERSION of toy is '2'; allowed are whole numbers from 1" in err
    monkeypatch.setattr(toy, "VERSION", 2)
    monkeypatch.setattr(worker, "_code_of", code_version)
    code, _, err = run(computed, tmp_path)
    assert code == 3 and "version of toy 1 -> 2 (24 replicates)" in err
    assert "24 stale" in inside("status", computed, "--out", tmp_path)[1]
    code, _, err = run(computed, tmp_path, "--replace-stale")
    assert code == 0 and "version of toy 1 -> 2" in err
    assert json.loads(manifest.read_text())["code"]["toy"] == "2"
    assert run(computed, tmp_path)[0] == 0


EDITED = """
import sys
from pathlib import Path
import moestat
from moestat.errors import StaleError
sys.path.append(".")
import mine
Path(sys.argv[1]).write_text(Path(sys.argv[1]).read_text().replace(sys.argv[2], sys.argv[3]))
try:
    moestat.run("study.py", jobs=1, report=False, quiet=True, out=".")
except StaleError as error:
    print(error)
"""


def test_code_that_was_edited_after_its_import_is_not_run(tmp_path, own_code):
    """What would be computed is the old code's, what is on the disk, and in the stamp, is the new code's."""
    words = [sys.executable, "-c", EDITED, "helper.py", "FACTOR = 1.0", "FACTOR = 2.0"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "restart the process" in done.stdout and "helper" in done.stdout
    assert not shards(tmp_path)

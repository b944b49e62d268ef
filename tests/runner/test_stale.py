"""Results of other settings, another seed or other code never mix with new ones, and nobody is left in the dark."""

from __future__ import annotations

import os
import re
import shutil

import numpy as np
import pytest
import xarray as xr
from machine import HERE, inside, logged, outside, results, shards, write_study

from moestat import fingerprint


def run(study, out, *words):
    return inside(study, "--out", out, "--jobs", 1, "--no-report", *words)


@pytest.fixture
def computed(tmp_path):
    study = write_study(tmp_path)
    assert run(study, tmp_path, "--quiet")[0] == 0
    return study


def contents(out):
    return {path: path.read_bytes() for path in shards(out)}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"settings": "shift = 1.0"}, "setting shift 0.0 -> 1.0"),
        ({"seed": 8}, "seed 7 -> 8"),
        ({"seed": 8, "settings": "shift = 1.0"}, "seed 7 -> 8, setting shift 0.0 -> 1.0"),
    ],
)
def test_a_change_is_refused_and_named(tmp_path, computed, change, told):
    before = contents(tmp_path)
    code, _, err = run(write_study(tmp_path, **change), tmp_path)
    assert code == 3 and told in err and "24 replicates" in err and "--accept-stale" in err
    assert len(err.strip().splitlines()) == 1
    assert contents(tmp_path) == before
    assert not (tmp_path / "study/quick/set-aside").exists()


def test_collect_refuses_as_well(tmp_path, computed):
    code, _, err = inside("collect", write_study(tmp_path, seed=8), "--out", tmp_path, "--no-report")
    assert code == 3 and "seed 7 -> 8" in err


def test_status_counts_what_is_stale(tmp_path, computed):
    _, out, _ = inside("status", write_study(tmp_path, seed=8), "--out", tmp_path)
    assert "24 missing, 0 failed, 24 stale" in out and "--replace-stale" in out and "seed 7 -> 8" in out


def test_only_the_changed_arm_is_stale(tmp_path, computed, monkeypatch):
    text = computed.read_text().replace('{ kind = "median" }', '{ kind = "median", shift = 2.0 }')
    computed.write_text(text)
    code, _, err = run(computed, tmp_path)
    assert code == 3 and "setting shift 0.0 -> 2.0 (12 replicates)" in err
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    code, _, err = run(computed, tmp_path, "--replace-stale")
    assert code == 0 and "6 shards were set aside" in err
    assert len(logged(tmp_path / "log")) == 12
    assert len(list((tmp_path / "study/quick/set-aside").rglob("*.shard"))) == 6


def test_fresh_computes_everything_again_and_keeps_the_old(tmp_path, computed, monkeypatch):
    before = {path.name: content for path, content in contents(tmp_path).items()}
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    code, _, err = run(computed, tmp_path, "--fresh")
    assert code == 0 and "--fresh: 12 shards were set aside" in err
    assert len(logged(tmp_path / "log")) == 24
    kept = {path.name: path.read_bytes() for path in (tmp_path / "study/quick/set-aside").rglob("*.shard")}
    assert kept == before


def test_accepted_stale_results_are_used_and_told(tmp_path, computed):
    old = results(tmp_path)
    study = write_study(tmp_path, settings="shift = 1.0", replicates=8)
    code, _, err = run(study, tmp_path, "--accept-stale")
    assert code == 0 and "24 replicates were accepted although stale: setting shift 0.0 -> 1.0" in err
    mixed = results(tmp_path)
    assert mixed.sel(replicate=slice(0, 5))["error"].equals(old["error"])
    assert (mixed["error"].sel(replicate=[6, 7]) > 1.0).all()
    attrs = xr.open_dataset(tmp_path / "study/quick/results.nc").attrs
    assert "setting shift 0.0 -> 1.0" in attrs["accepted_stale"]


def test_fresh_is_refused_for_one_part(tmp_path, computed):
    code, _, err = run(computed, tmp_path, "--fresh", "--part", "1/2")
    assert code == 2 and "--part" in err and len(shards(tmp_path)) == 12


# --- the code that computes ------------------------------------------------------------------------------------


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
    helper.write_text('"""Helps a lot."""\n# a remark\nFACTOR = 1.0  # another\n')
    code, _, err = outside(*words)
    assert code == 0, f"comments and docstrings must not matter: {err}"
    helper.write_text("FACTOR = 2.0\n")
    code, _, err = outside(*words)
    assert code == 3 and "the code of helper (8 replicates)" in err
    assert outside(*words, "--replace-stale")[0] == 0


def test_code_that_changes_while_the_study_runs_stops_it(tmp_path, monkeypatch):
    from moestat.runner import worker

    study = write_study(tmp_path)
    monkeypatch.setitem(worker._codes, "toy", {"toy": "another", "numpy": "2", "scipy": "1"})
    code, _, err = run(study, tmp_path)
    assert code == 3 and "changed while the study was running" in err and "the code of toy" in err


def test_another_major_version_of_numpy_is_refused(tmp_path, computed, monkeypatch):
    monkeypatch.setattr(fingerprint, "_major", lambda library: "99")
    code, _, err = run(computed, tmp_path)
    assert code == 3 and re.search(r"numpy \d+ -> 99", err)


# --- the fingerprint itself ------------------------------------------------------------------------------------


def sources(folder, texts):
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    texts = {
        "fingerprinted_a": "import numpy\ndef f():\n    from fingerprinted_b import g\n    return g()\n",
        "fingerprinted_b": "import fingerprinted_p.deep\ndef g():\n    'doc'\n    return 1\n",
        "fingerprinted_p/__init__": "",
        "fingerprinted_p/deep": "from . import side\n",
        "fingerprinted_p/side": "from moestat.rates import fit_rate\nX = 1\n",
        "fingerprinted_other": "X = 1\n",
    }
    sources(tmp_path, texts)
    return tmp_path


def test_the_fingerprint_follows_imports_at_any_depth(package):
    code = fingerprint.fingerprint("fingerprinted_a")
    own = {"fingerprinted_a", "fingerprinted_b", "fingerprinted_p", "fingerprinted_p.deep", "fingerprinted_p.side"}
    assert own | {"moestat.rates", "numpy", "scipy"} <= set(code)
    assert "fingerprinted_other" not in code and "moestat" not in code
    assert not any(name.startswith(("moestat.study", "moestat.report")) for name in code)


@pytest.mark.parametrize(
    ("module", "text", "told"),
    [
        ("fingerprinted_b", "import fingerprinted_p.deep\n# new\ndef g():\n    'other doc'\n    return 1\n", []),
        ("fingerprinted_b", "import fingerprinted_p.deep\ndef g():\n    return 2\n", ["the code of fingerprinted_b"]),
        ("fingerprinted_p/side", "from moestat.rates import fit_rate\nX = 2\n", ["the code of fingerprinted_p.side"]),
        ("fingerprinted_other", "X = 2\n", []),
        ("fingerprinted_p/deep", "", ["the code of fingerprinted_p.deep", "fingerprinted_p.side is gone"]),
    ],
)
def test_code_counts_and_comments_do_not(package, module, text, told):
    before = fingerprint.fingerprint("fingerprinted_a")
    sources(package, {module: text})
    after = fingerprint.fingerprint("fingerprinted_a")
    assert [line for line in fingerprint.changes(before, after) if "moestat" not in line] == told
    assert (fingerprint.digest(before) == fingerprint.digest(after)) == (before == after)


def test_every_constant_of_a_module_counts(tmp_path, monkeypatch):
    """Changing any single number in a real experiment's source changes its fingerprint."""
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (HERE / "toy.py").read_text()
    body = text.index("def run")
    target = tmp_path / "fingerprinted_toy.py"
    seen = set()
    places = [m.start() for m in re.finditer(r"\b\d\b", text) if m.start() > body]
    for place in [None, *places]:
        changed = text if place is None else text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
        target.write_text(changed)
        os.utime(target, ns=(len(seen) + 1, len(seen) + 1))
        seen.add(fingerprint.digest(fingerprint.fingerprint("fingerprinted_toy")))
    assert len(seen) == len(places) + 1 >= 4


def test_a_moved_copy_has_the_same_fingerprint(tmp_path, monkeypatch):
    """Two clones of a repository accept each other's shards."""
    hashes = []
    for clone in ("one", "two"):
        folder = tmp_path / clone
        folder.mkdir()
        shutil.copy(HERE / "toy.py", folder / "fingerprinted_clone.py")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            hashes.append(fingerprint.fingerprint("fingerprinted_clone"))
    assert hashes[0] == hashes[1]
    assert np.unique(list(hashes[0])).size == len(hashes[0])

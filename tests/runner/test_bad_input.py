"""Bad input: whatever a study file or a command line holds, a sentence names the place; never a traceback.

A mistake ends with exit code 2 and writes nothing. ``--hypothesis-profile=search`` tries a thousand of each kind.
"""

from __future__ import annotations

import copy
import functools
import math
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine import command, environment, inside, results, write_study

from moestat import extras
from moestat.study import load

BASE = {
    "title": "T", "paper": "none", "source": "a textbook", "experiment": "toy", "seed": 7,
    "settings": {"shift": 0.5, "experts": 2},
    "grid": {"n": [10, 40]},
    "arms": [{"name": "mean"}, {"name": "median", "label": "m", "settings": {"kind": "median"}}],
    "presets": {
        "quick": {"replicates": 3, "block": 2, "arms": ["*"], "settings": {"seconds": 0.0}},
        "paper": {"replicates": 5, "grid": {"n": [10, 20]}, "window": [10, 40]},
    },
    "rates": [{"loss": "error", "over": "n", "arms": ["m*"], "bound": -0.5}],
    "summaries": ["error"],
    "claims": [{"id": "c", "source": "s", "statement": "t", "kind": "slope", "variable": "error", "arm": "mean",
                "predicted": -0.5, "within": [-0.6, -0.4], "presets": ["*"]}],
    "figures": [{"name": "figure", "columns": 2, "panels": [{"arms": ["mean"], "variable": "error"}]}],
}  # fmt: skip
WRONG = [
    ("seed", [-1, 2**63, 1.5, "x", [], {}, math.nan]), ("title", [1, [], {}, True]), ("arms", [[], "x", 3, {}]),
    ("arms.0.name", ["", "1x", "a b", 3, "médian", "median"]), ("arms.1.settings", [3, "x", []]),
    ("arms.1.settings.kind", ["mode", 3, ["mean"], {}]), ("settings.shift", ["x", [], {}, math.nan, math.inf]),
    ("settings.experts", [0, -1, 1.5, "two", True]), ("presets", [{}, [], "x"]),
    ("presets.quick.replicates", [0, -3, 1.5, "many", [], 2**40, 10**9, True]), ("presets.quick.block", [0, -1, "x"]),
    ("presets.quick.arms", [["x*"], "mean", [1]]), ("presets.quick.settings.seconds", ["fast", []]),
    ("presets.paper.window", [[1], [1, 2, 3], "x", ["a", "b"]]), ("presets.paper.grid.n", [[], [10, 10], [0], 7]),
    ("grid.n", [[], [10, 10], ["a"], [0], [math.nan], [math.inf], 3, [[1]], [10, "x"], [2**64], [True, 10]]),
    ("rates.0.arms", [["nobody"], "mean"]), ("rates.0.bound", ["x", []]), ("claims.0.kind", ["slop", "", 3]),
    ("claims.0.arm", ["nobody"]), ("claims.0.presets", [["papier"]]), ("claims.0.within", [[-0.4, -0.6], [1], "x"]),
    ("figures.0.columns", [0, 7, "x"]), ("figures.0.panels.0.arms", [["nobody"]]),
]  # fmt: skip
PLACES = ("", "presets.quick.", "presets.paper.", "rates.0.", "claims.0.", "figures.0.", "arms.0.", "settings.")
REQUIRED = "title experiment seed arms presets presets.quick.replicates arms.0.name rates.0.loss claims.0.id"
GONE = object()


def changed(path: str, value: object) -> bytes:
    """Return the study file with another value at a place, or without it."""
    study = copy.deepcopy(BASE)
    *above, last = path.split(".")
    here = functools.reduce(lambda table, part: table[int(part) if part.isdecimal() else part], above, study)
    if value is GONE:
        del here[last]
    else:
        here[last] = value
    return f"from math import inf, nan\nfrom moestat import Study\nstudy = Study(**{study!r})\n".encode()


def refused(folder, *words) -> str:
    """Return the sentence that refuses a command line, "" if none does; nothing is written in any case."""

    def listing():
        return sorted(set(os.listdir(folder)) - {"__pycache__"})

    before = listing()
    code, _, err = inside(*words, "--dry-run", "--out", folder / "out")
    assert listing() == before and "Traceback" not in err
    assert code in (0, 2) and (code == 2) == err.startswith("error: "), err
    return err if code == 2 else ""


@pytest.fixture(scope="module")
def mutant(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "mutant.py"
    path.write_bytes(changed("title", "T"))
    return path


def tried(strategy):
    """Try a hundred examples of a strategy, or as many as the profile says."""
    fixtures = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return lambda test: given(strategy)(settings(deadline=None, suppress_health_check=fixtures)(test))


unknown = st.tuples(
    st.sampled_from(PLACES), st.text(st.characters(codec="utf-8", exclude_characters="\0."), min_size=9)
)
mistakes = st.one_of(
    unknown.map(lambda pair: ("".join(pair), 1)),
    st.sampled_from(REQUIRED.split()).map(lambda path: (path, GONE)),
    st.sampled_from([(path, value) for path, values in WRONG for value in values]),
)


@tried(mistakes)
def test_a_wrong_key_is_named(mutant, mistake):
    path, value = mistake
    mutant.write_bytes(changed(path, value))
    # a mistake in a preset that was not asked for shows when it is
    told = refused(mutant.parent, mutant) or refused(mutant.parent, mutant, "--preset", "paper")
    key = path.rpartition(".")[2]
    assert "mutant.py" in told and (key in told or repr(key)[1:-1] in told), told


WORDS = "run status collect report --preset quick papier --replicates 3 --jobs --device gpu --out --set shift=x n=[3]"
WORDS += " kind=median nope=1 = --part 1/2 3/2 --backend dask --scheduler tcp://x --seed -1 1e3 --fresh --lst"
WORDS += " -- - é nosuch nosuch.py . experts=99999999999999999999 shift=nan n=[10,10] n=[] n={} raise_at=[1,2]"


@tried(st.lists(st.sampled_from([*WORDS.split(), "", "a b=1", "x" * 5000]) | st.text(max_size=6), max_size=6))
def test_a_wrong_command_line_is_a_sentence(mutant, words):
    refused(mutant.parent, *words, write_study(mutant.parent))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("sed", 7, "sed is an unknown key; did you mean 'seed'? allowed here are title,"),
        ("arms.1.settings.kind", "mode", "arms[1].settings.kind ('median') is 'mode'; allowed are 'mean' or 'median'"),
        ("settings.experts", True, "settings.experts is True: a truth value is no number; allowed are whole numbers"),
        ("settings.n", 5, "settings.n is 5, which never counts: the grid replaces it by n = 10, 40; allowed is one of"),
        ("experiment", "json", "has no Settings and no run"),
    ],
)  # fmt: skip
def test_the_sentence_names_place_fault_and_remedy(mutant, path, value, told):
    mutant.write_bytes(changed(path, value))
    assert told in refused(mutant.parent, mutant)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--preset", "papper", "there is no preset 'papper'; did you mean 'paper'? allowed are quick, paper"),
        ("--timeout", "nan", "timeout is nan"),
        ("--set", "shfit=1", "--set shfit: the setting is an unknown key; did you mean 'shift'?"),
        ("--set", "n=[5,5]", "--set n: the axis n of the grid has a value twice: [5, 5]"),
        ("--set", "shift", "--set is 'shift'; allowed is KEY=VALUE"),
        ("--part", "5/4", "argument --part: it is '5/4'; allowed is I/K with 1 <= I <= K"),
        ("--replicates", "0", "replicates is 0; allowed are whole numbers from 1"),
        ("--replicate", "3", "unknown argument '--replicate'; did you mean '--replicates'?"),
    ],
)
def test_a_wrong_option_is_named(mutant, option, value, told):
    mutant.write_bytes(changed("title", "T"))
    found = refused(mutant.parent, mutant, option, value)
    assert told in found and len(found.strip().splitlines()) == 1


def test_a_missing_study_names_the_near_one_or_lists_the_known_ones_with_their_titles(monkeypatch, tmp_path):
    (tmp_path / "mean.py").write_text("from moestat import Study\nstudy = Study('The mean')\n")
    (tmp_path / "torn.py").write_text("study = ")
    monkeypatch.setattr(load, "study_folders", lambda: [tmp_path])
    code, _, err = inside("maen")
    assert code == 2 and "did you mean 'mean'? The list of all: python -m moestat.study --list" in err
    code, _, err = inside("xyzzy")
    assert code == 2 and "mean  The mean" in err and "torn  (cannot be read" in err and "did you mean" not in err
    code, out, _ = inside("--list")
    assert code == 0 and "The mean" in out
    assert inside()[0] == 2 and inside(tmp_path / "nosuch.py")[0] == 2 and inside(tmp_path)[0] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def run(:\n", "SyntaxError"),
        ("import nosuchmodule\n", "No module named 'nosuchmodule'"),
        ("raise RuntimeError('at import')\n", "RuntimeError: at import (exp_broken.py line 1)"),
        ("raise ModuleNotFoundError('no torch', name='torch')\n", 'constraints.txt -e ".[neural]"'),
    ],
)
def test_an_experiment_that_cannot_be_imported_is_named(mutant, text, told):
    sys.modules.pop("exp_broken", None)
    (mutant.parent / "exp_broken.py").write_text(text)
    mutant.write_bytes(changed("experiment", "exp_broken"))
    found = refused(mutant.parent, mutant)
    assert "mutant.py: experiment" in found and told in found


def test_cuda_without_a_gpu_says_so_and_names_the_extra(mutant, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    code, _, err = inside(write_study(mutant.parent), "--device", "cuda", "--out", mutant.parent / "out")
    assert code == 2 and "needs CuPy" in err and f"{extras.command('cuda13')} (or cuda12)" in err
    assert not (mutant.parent / "out").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: "x = " + "[" * 50_000 + "]" * 50_000 + "\n" + text, "the file is not valid Python"),
        (lambda text: "a" + ".a" * 50_000 + "\n" + text, "study.py"),
        (lambda text: text.replace("a textbook", "a\\u0000b", 1), "source holds a NUL character"),
        (lambda text: text + 'study.figure("a")\nstudy.figure("figure")\n', "allowed are different names"),
    ],
)
def test_a_study_file_that_cannot_be_is_one_sentence(tmp_path, change, told):
    study = write_study(tmp_path)
    study.write_text(change(study.read_text()))
    code, _, err = inside(study, "--dry-run")
    assert code == 2 and told in err and len(err.splitlines()) == 1


def test_a_mark_before_the_text_is_passed_over(tmp_path):
    study = write_study(tmp_path)
    study.write_bytes(b"\xef\xbb\xbf" + study.read_bytes())
    assert inside(study, "--dry-run")[0] == 0


@pytest.mark.parametrize("name", ["..", ".hidden", "x "])
def test_a_study_file_whose_name_is_no_folder_is_refused(tmp_path, name):
    study = write_study(tmp_path, name=name)
    code, _, err = inside(study, "--out", tmp_path / "out" / "below", "--jobs", 1)
    assert code == 2 and "the name of a study, or of its file, must be" in err and not (tmp_path / "out").exists()


@pytest.mark.parametrize("out", ["two\nlines", "a\x1b[31mcolour", os.fsdecode(b"f\xff")])
def test_a_folder_that_no_script_or_file_can_name_is_refused_before_anything_is_computed(tmp_path, out):
    code, _, err = inside(write_study(tmp_path), "--jobs", 1, "--out", tmp_path / out)
    assert code == 2 and f"--out is {str(tmp_path / out)!r}; allowed are paths in UTF-8 without control" in err
    assert not (tmp_path / out).exists()


@pytest.mark.parametrize("name", ["cache", "records"])
def test_a_study_is_not_called_as_a_folder_of_ours(tmp_path, name):
    assert f"outputs/{name} is a folder of ours" in refused(tmp_path, write_study(tmp_path, name=name))


def test_a_locale_without_letters_is_no_reason_to_stop(tmp_path):
    words = command(write_study(tmp_path, replicates=1), "--out", tmp_path, "--jobs", 1)
    locale = environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    run = subprocess.run(words, env=locale, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("how", ["ascii", "closed"])
def test_a_terminal_without_letters_or_without_streams_is_no_reason_to_stop(tmp_path, how):
    study = write_study(tmp_path, replicates=1)
    study.write_text(study.read_text().replace("The mean of", "Möbius 😀"))
    words = command(study, "--out", tmp_path, "--jobs", 1, "--no-report")
    if how == "closed":
        words = ["sh", "-c", 'exec "$@" 2>&- >&-', "sh", *words]
    run = subprocess.run(words, env=environment(PYTHONIOENCODING="ascii"), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert results(tmp_path)["status"].size == 4
    if how == "ascii":
        (tmp_path / "studies").mkdir()
        study.rename(tmp_path / "studies/study.py")
        ascii = {"env": environment(PYTHONIOENCODING="ascii"), "cwd": tmp_path}
        assert b"M\\xf6bius" in subprocess.run(command("--list"), **ascii, capture_output=True).stdout

"""A variable that no results will hold is refused or told before hours are spent, else at the end, with near names."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import xarray as xr
from machine import inside, results, write_study

from moestat.errors import InputError
from moestat.runner import begin, returned
from moestat.runner.possible import Source
from moestat.runner.request import Request
from moestat.study import load

REGRESSION = """\
from moestat import Study
from moestat.study.rules import function, slope

study = Study(
    "T",
    source="a textbook",
    experiment="regression",
    seed=7,
    summaries=["{summary}"],
    settings=dict(n_true=2, n_fitted=2),
    grid=dict(n=[100, 1000]),
)
study.preset("quick", replicates=2)
study.arm("relu")
study.rate("{loss}")
study.figure({axis}, panels=[dict(variable="{drawn}")])
study.ours("falls", "It falls.", slope("{variable}", "relu", over="{over}", at=dict({at})).at_most(-0.3), source="ours")
study.ours("most", "It is small.", function("{function}", "{asked}", "relu").at_most(1.0), source="ours")
"""
RIGHT = {"summary": "L1", "loss": "L3", "variable": "L2_2", "function": "moestat.claims.rules:largest", "asked": "rmse"}
RIGHT |= {"drawn": "rmse", "axis": 'kind="rates"', "over": "n", "at": ""}


def plan_of(folder, **names):
    """Return the plan of a study of regression, with some of its variables called otherwise."""
    path = folder / "mine.py"
    path.write_text(REGRESSION.format(**(RIGHT | names)))
    return begin.make_plan(Request(study=str(path)))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"variable": "L33"}, "claims[0].variable ('falls') is 'L33', which the experiment 'regression' does not"),
        (
            {"loss": "L33"},
            "rates[0].loss is 'L33', which the experiment 'regression' does not return; did you mean 'L3'?",
        ),
        ({"summary": "rmsee"}, "summaries[0] is 'rmsee', which the experiment 'regression' does not return; did you"),
        ({"asked": "rmsee"}, "claims[1].variable ('most') is 'rmsee'"),
        (
            {"drawn": "rmsee"},
            "figures[0].panels[0].variable ('figure') is 'rmsee', which the experiment 'regression' does not return",
        ),
        ({"axis": 'kind="lines", x="nn"'}, "figures[0].x ('figure') is 'nn', which the experiment 'regression'"),
        (
            {"over": "xyzzy", "at": "n = 100"},
            "claims[0].over ('falls') is 'xyzzy', which the experiment 'regression' does not return; the axes of the "
            "grid are n",
        ),
        ({"at": "xyzzy = 3"}, "claims[0].at ('falls') is 'xyzzy', which the experiment 'regression' does not return"),
        (
            {"variable": "xyzzy"},
            "claims[0].variable ('falls') is 'xyzzy', which the experiment 'regression' does not return; among its",
        ),
    ],
)
def test_what_an_experiment_of_moestat_cannot_return_is_refused_in_advance(tmp_path, names, told):
    with pytest.raises(InputError) as caught:
        returned.refuse_unknown(plan_of(tmp_path, **names))
    assert f"mine.py: {told}" in str(caught.value)


@pytest.mark.parametrize(
    "names",
    [
        {},
        {"variable": "start_L3", "loss": "b_over_atom"},  # made of other names
        {"variable": "expert_eta_vanished"},  # not of a run: a study that reads it adds it to the record
        {"function": "mine:rule", "asked": "whatever"},  # to another rule it may be anything
        {"axis": 'kind="function", function="mine:figure"', "drawn": "whatever"},  # and to another figure
        {"over": "atom", "at": "n = 100"},  # an axis of its own
    ],
)
def test_what_it_can_return_is_not(tmp_path, names):
    returned.refuse_unknown(plan_of(tmp_path, **names))


@pytest.mark.parametrize("words", [("--dry-run",), ("--jobs", 1)])
def test_the_refusal_comes_before_anything_is_written(tmp_path, words):
    plan_of(tmp_path, variable="L33", loss="L33")
    code, out, err = inside(tmp_path / "mine.py", "--out", tmp_path / "out", *words)
    assert code == 2 and not out and err.count("did you mean 'L3'?") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.py"]


@pytest.mark.parametrize(
    ("settings", "equal"),
    [
        ("", True),
        ('expert = "relu"', True),
        ("d = 8", True),
        ("d = 7", False),
        ("n = 100", False),
        ("n = [100, 1000]", True),
    ],
)
def test_two_arms_of_equal_settings_are_two_names_of_one_thing(tmp_path, settings, equal):
    path = tmp_path / "mine.py"
    path.write_text(REGRESSION.format(**RIGHT) + f'study.arm("twin", {settings})\n')
    told = r"mine.py: arms\[1\] \('twin'\) has the settings of arms\[0\] \('relu'\) in every cell of preset 'quick'"
    with pytest.raises(InputError, match=told) if equal else contextlib.nullcontext():
        begin.make_plan(Request(study=str(path)))


def test_no_study_of_moestat_is_refused():
    for name in load.known_studies():
        returned.refuse_unknown(begin.make_plan(Request(study=name)))


def misspelt(folder, old='slope("error"', new='slope("eror"'):
    path = write_study(folder)
    path.write_text(path.read_text().replace(old, new))
    return path


def test_of_ones_own_code_it_is_a_caution_and_at_the_end_an_error_that_keeps_the_results(tmp_path):
    study = misspelt(tmp_path)
    code, out, err = inside(study, "--out", tmp_path, "--dry-run")
    assert code == 0 and not err
    told = "claims[0].variable ('mean-rate') is 'eror', and nothing in the code of the experiment is called so"
    assert f"caution: {told}; did you mean 'error'" in out
    code, out, err = inside(study, "--out", tmp_path, "--jobs", 1)
    assert code == 1 and f"caution: {told}" in err
    last = err.strip().splitlines()[-1]
    assert last.startswith("error: ") and "study.py: 1 claim names a variable that the results do not hold" in last
    assert "did you mean 'error'" in last and "The results are kept" in last
    assert "error" in results(tmp_path) and "no variable 'eror'; did you mean 'error'?" in " ".join(out.split())
    code, _, err = inside(study, "--out", tmp_path, "--no-report", "--quiet")
    assert code == 0 and "note: " in err and "is 'eror'" in err, "claims are not judged"
    code, out, err = inside("report", write_study(tmp_path), "--out", tmp_path)
    assert code == 0 and "no variable" not in out, err


def test_names_that_code_puts_together_are_possible(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = '''"""Prose names nothing: rmse."""
from typing import NamedTuple

KINDS = "far near".split()

class Errors(NamedTuple):
    bias: float

def scatter():
    found = {f"{kind}_error": 1 for kind in KINDS} | {"start_" + name: 2 for name in Errors._fields}
    return dict(found, spread=3) | {"{}_of_{}".format("gap", 7): 4, "_".join(("far", "gap")): 5}
'''
    (tmp_path / "put_together.py").write_text(text)
    source = Source(["put_together"], {"gelu"})
    for name in ("far_error", "start_bias", "spread", "gap_of_7", "far_gap", "gelu_error", "scatter"):
        assert source.may_name(name), name
    for name in ("rmse", "far_eror", "begin_bias", "spreadd", "x_of_7", "error"):
        assert not source.may_name(name), name


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, "1 claim names a variable that the results do not hold: claims[0].variable ('falls') is 'L1'."),
        ({"statuses": [[8], [0]]}, ""),  # nothing of the arm has a value
        ({"preset": "other"}, ""),  # the claim is not judged there
    ],
)
def test_what_is_told_at_the_end_is_of_arms_with_values(tmp_path, change, told):
    study = plan_of(tmp_path, variable="L1").study_file.study
    claim = study.claims[0].model_copy(update={"presets": ["quick"]})
    study = study.model_copy(update={"claims": [claim]})
    values = np.array(change.get("statuses", [[0], [0]]))
    ds = xr.Dataset(
        {"status": (("arm", "replicate"), values), "rmse": (("arm", "replicate"), np.ones((2, 1)))},
        coords={"arm": ["relu", "gelu"]},
    )
    assert returned.absent(ds, study, change.get("preset", "quick")) == told

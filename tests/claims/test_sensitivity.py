"""Which verdicts turn on the last digit, or on the kernels that compute."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from machine import environment, inside, results, write_study

from moestat.claims import sensitivity
from moestat.claims.verdicts import judge
from moestat.study import load

OWN = """\
import os
import numpy as np, xarray as xr
from moestat.experiment import SettingsModel, assemble

class Settings(SettingsModel):
    n: int = 1
    kind: str = "mean"

def run(cell, replicates, *, device):
    moved = SHIFT if os.environ.get("MOESTAT_KERNEL") == "numpy" else 0.0
    draws = [KIND(cell.generator(r, "data", n=1).standard_normal() + moved) for r in replicates]
    return assemble(replicates, {"x": np.array(draws)}, finished="drawn")
"""


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Run a study of three draws whose claim lies a little inside its rule; return the words of the command."""
    monkeypatch.delenv("MOESTAT_KERNEL", raising=False)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])

    def judged(name: str, shift: float, room: float, kind: str = "float"):
        (tmp_path / f"{name}.py").write_text(OWN.replace("SHIFT", repr(shift)).replace("KIND", kind))
        study = write_study(tmp_path, name=name, experiment=name, replicates=3, grid="n = [1, 2]")
        text = (
            study.read_text().replace('variable = "error"', 'variable = "x"').replace('kind = "slope"', 'kind = "mean"')
        )
        text = text.replace('[[rates]]\nloss = "error"\n', "").replace("predicted = -0.5", "at = { n = 1 }")
        study.write_text(text.replace("within = [-0.6, -0.4]", "at_most = 99.0"))
        words = (study, "--out", tmp_path, "--jobs", 1)
        assert inside(*words, "--quiet", "--no-report")[0] == 0
        (verdict,) = judge(results(tmp_path, name), load.read(study).study, "quick")
        high = verdict.ci_high
        study.write_text(study.read_text().replace("at_most = 99.0", f"at_most = {high + room!r}"))
        return (*words, "--sensitivity")

    return judged


def test_a_verdict_at_the_edge_of_its_rule_turns_on_the_last_digit(judged, monkeypatch):
    monkeypatch.setattr(sensitivity, "_elsewhere", lambda *_: (None, []))
    code, out, err = inside(*judged("at_the_edge", shift=0.0, room=0.0))
    assert code == 1 and "1 verdicts are not robust: mean-rate: supported becomes inconclusive" in err
    assert "moved by one unit in the last place, 8 times: mean-rate" in out and "whole numbers" not in out


def test_a_count_that_no_last_digit_moves_is_said_and_computed_again(judged, monkeypatch):
    cells = []
    monkeypatch.setattr(sensitivity, "_elsewhere", lambda *given: (None, cells.extend(given[4]) or []))
    code, out, err = inside(*judged("a_count", shift=0.0, room=1.0, kind="round"))
    assert code == 0, err
    assert "resting on whole numbers, which this does not move: mean-rate" in out
    assert [planned.label for planned in cells] == ["arm mean, n = 1"]


@pytest.mark.slow
def test_a_count_that_other_kernels_change_is_told(judged):
    code, out, err = inside(*judged("other_count", shift=7.0, room=1.0, kind="round"))
    assert code == 1, out
    assert "mean-rate: supported becomes not supported with cells computed by other kernels" in err


@pytest.mark.slow
def test_a_verdict_that_other_kernels_change_is_told(judged):
    code, out, err = inside(*judged("other_kernel", shift=1e-6, room=1e-7))
    assert code == 1, out
    assert "mean-rate: supported becomes inconclusive with cells computed by other kernels" in err
    assert "3 replicates computed again" in out and "arm mean, n = 1" in out and "n = 2" not in out
    assert "largest relative difference is" in out


@pytest.mark.slow
def test_a_robust_verdict_is_said(judged):
    code, out, err = inside(*judged("robust", shift=1e-9, room=1e-3))
    assert code == 0, err
    assert "every verdict is robust" in out


def test_sensitivity_needs_results(tmp_path):
    code, _, err = inside(write_study(tmp_path), "--out", tmp_path, "--sensitivity")
    assert code == 2 and "24 replicates are missing" in err and "complete them with" in err
    assert not (tmp_path / "study").exists()


def test_cells_are_shared_among_the_claims(monkeypatch):
    planned = {n: SimpleNamespace(digest=f"{n}", took=n) for n in range(20)}
    monkeypatch.setattr(sensitivity, "concerns", lambda claim, cell: cell.took in claim)
    monkeypatch.setattr(sensitivity, "seconds", lambda scan, cells: cells[0].took)
    cells = sensitivity.nearest_cells(SimpleNamespace(cells=planned.values()), None, [range(20), {7, 19}, {18}])
    assert [cell.took for cell in cells] == [0, 7, 18, 1, 19, 2, 3, 4, 5, 6, 8, 9], "at most twelve, in turns"


def test_whole_numbers_are_counts_and_stay():
    ds = xr.Dataset({"x": ("replicate", [0.0, 2.0, 0.1, np.nan, np.inf]), "k": ("replicate", [1, 2, 3, 4, 5])})
    moved = [sensitivity.perturbed(ds, draw) for draw in range(8)]
    assert all(np.array_equal(one["x"][[0, 1, 3, 4]], ds["x"][[0, 1, 3, 4]], equal_nan=True) for one in moved)
    assert {float(one["x"][2]) for one in moved} == {np.nextafter(0.1, 0.0), 0.1, np.nextafter(0.1, 1.0)}
    assert all(one["k"].identical(ds["k"]) for one in moved)

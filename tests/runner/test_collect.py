"""Collection: the shape of the results, gaps, properties of cells, own dimensions, contradictions."""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np
import pytest
from machine import inside, own, results, shards, write_study

from moestat.runner import origin

EXPERIMENT = """\
import numpy as np
import xarray as xr
from pydantic import Field
from moestat.experiment import SettingsModel

class Settings(SettingsModel):
    n: int = 1
    kind: str = "mean"
    way: str = ""

def run(cell, replicates, *, device):
    s = Settings(**cell.settings)
    size = len(replicates)
    data = {"status": ("replicate", [0] * size), "value": ("replicate", np.array(replicates) * 10.0 + s.n)}
BODY
    return xr.Dataset(data, coords={"replicate": list(replicates)}, attrs=attrs)
"""


@pytest.fixture
def collected(tmp_path):
    """Run an experiment with some lines of its own and return (exit code, stderr, results)."""
    number = itertools.count()

    def collected(body: str, *words: object, **study):
        name = f"own_{tmp_path.name}_{next(number)}".replace("[", "_")
        lines = "\n".join("    " + line for line in ["attrs = {}", *body.splitlines()])
        (tmp_path / f"{name}.py").write_text(EXPERIMENT.replace("BODY", lines))
        path = write_study(tmp_path, experiment=name, name=f"study_of_{name}", **study)
        code, _, err = inside(path, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet", *words)
        return code, err, results(tmp_path, path.stem) if code == 0 else None

    return collected


def test_the_shape_of_the_results(tmp_path):
    study = write_study(tmp_path, grid='n = [10, 40]\nexperts = [2, 3]\nkind = ["mean", "median"]', replicates=3)
    text = study.read_text().replace('"median", kind="median"', '"median", "The middle", shift=1.0')
    study.write_text(text.replace('"error", "mean"', '"error", "mean", at=dict(kind="mean", experts=2)'))
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    found = results(tmp_path)
    assert found["error"].dims == ("arm", "n", "experts", "kind", "replicate")
    assert found["centre"].dims == ("arm", "n", "experts", "kind", "replicate", "expert")
    assert found["theory"].dims == found["policy"].dims == ("arm", "n", "experts", "kind")
    assert found["arm_label"].values.tolist() == ["mean", "The middle"]
    assert found["kind"].values.tolist() == ["mean", "median"] and found["n"].values.tolist() == [10, 40]
    assert (found["policy"].sel(kind="median") == "the median").all()
    assert found["status"].dtype == np.int64 and found["iterations"].dtype == np.int64
    centre = found["centre"].sel(experts=2, expert=2)
    assert np.isnan(centre).all(), "an expert that a cell does not have is a gap"
    assert np.isfinite(found["centre"].sel(experts=3)).all()


def test_an_arm_that_sets_an_axis_lives_only_there(tmp_path):
    more = 'study.arm("small", n=10)\nstudy.arm("two", n=[10, 90])\n'
    study = write_study(tmp_path, grid="n = [10, 40, 90]", more=more, replicates=2)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    status = results(tmp_path)["status"]
    assert (status.sel(arm=["mean", "median"]) == 0).all()
    assert status.sel(arm="small").values.tolist() == [[0, 0], [-1, -1], [-1, -1]]
    assert status.sel(arm="two").values.tolist() == [[0, 0], [-1, -1], [0, 0]]
    assert "12 done, 0 missing" in inside("status", study, "--out", tmp_path)[1], "equal cells are computed once"
    study.write_text(study.read_text().replace("n=10)", "n=11)"))
    code, _, err = inside(study, "--dry-run")
    assert code == 2 and "arms[2].settings.n ('small') is 11" in err and "allowed are 10, 40, 90" in err


def test_what_is_missing_is_a_gap_and_said(tmp_path):
    study = write_study(tmp_path, replicates=4, block=1)
    inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    whole = results(tmp_path)
    for path in shards(tmp_path)[::3]:
        path.unlink()
    code, _, err = inside("collect", study, "--out", tmp_path, "--no-report")
    assert code == 1 and "6 replicates are missing; complete them with: python -m moestat.study" in err
    partial = results(tmp_path)
    gone = partial["status"] == -1
    assert gone.sum() == 6 and np.isnan(partial["error"].where(gone, drop=True)).all()
    assert np.isnan(partial["iterations"].values[gone.values]).all(), "a gap in integers is NaN, not a number"
    assert partial["error"].where(~gone).equals(whole["error"].where(~gone))
    assert (partial["message"].values[gone.values] == "").all()


def test_truth_values_with_gaps_are_still_known_as_truth_values(collected):
    body = 'if s.n == 10:\n    data["flag"] = ("replicate", [r % 2 == 0 for r in replicates])'
    code, err, found = collected(body, replicates=3)
    assert code == 0, err
    assert found["flag"].dtype == float and found["flag"].attrs["binary"] == 1
    assert found["flag"].sel(arm="mean", n=10).values.tolist() == [1, 0, 1] and np.isnan(found["flag"].sel(n=40)).all()


def test_own_labels_that_differ_between_cells_are_united_in_order(collected):
    body = """\
labels = [s.n, s.n + 10]
data["curve"] = (("replicate", "step"), np.array([[r + label for label in labels] for r in replicates]) * 1.0)
data["step"] = ("step", labels)"""
    code, err, found = collected(body, grid="n = [20, 10]", replicates=2)
    assert code == 0, err
    assert found["step"].values.tolist() == [10, 20, 30]
    curve = found["curve"].sel(arm="mean", replicate=1)
    assert np.array_equal(curve.sel(n=20).values, [np.nan, 21, 31], equal_nan=True)
    assert np.array_equal(curve.sel(n=10).values, [11, 21, np.nan], equal_nan=True)


@pytest.mark.parametrize("line", ['data["line"] = float(replicates[0])', 'attrs = {"line": str(replicates[0])}'])
def test_a_property_of_the_cell_must_not_depend_on_the_block(collected, line):
    code, err, _ = collected(line, replicates=4, block=2)
    assert code == 1 and "'line' of arm mean, n = 10 differs between the shards" in err
    assert collected(line, replicates=4, block=4)[0] == 0
    code, err, _ = collected('data["line"] = ("replicate", np.zeros(size)) if s.n == 10 else 1.0', replicates=2)
    assert code == 1 and "the variable 'line' has other dimensions" in err


def test_a_computation_that_is_not_repeatable_is_noticed(tmp_path):
    """Two runs that overlap, with numbers that come from the clock: the first shard counts, and it is said."""
    now = "values = [time.perf_counter()] * len(replicates)\n"
    now += "return toy.run(cell, replicates, device=device).assign(now=('replicate', values))"
    study = write_study(tmp_path, experiment=own(tmp_path, "clock", now), replicates=2, block=2)
    for out, block in ((tmp_path, 2), (tmp_path / "other", 1)):
        assert inside(study, "--out", out, "--jobs", 1, "--block", block, "--no-report", "--quiet")[0] == 0
    for path in shards(tmp_path / "other"):
        path.rename(tmp_path / "study/quick/shards" / path.parent.name / path.name)
    assert inside("collect", study, "--out", tmp_path, "--no-report")[0] == 0
    notes = json.loads((tmp_path / "study/quick/manifest.json").read_text())["notes"]
    assert len(notes) >= 4 and "'now' differs between shards of equal code" in notes[0]


def test_a_claim_about_a_variable_that_the_results_do_not_hold_is_told_at_the_end_and_loses_nothing(tmp_path):
    study = write_study(tmp_path, grid="n = [10, 20, 40, 80, 160]")
    study.write_text(study.read_text().replace('slope("error"', 'slope("eror"'))
    code, _, err = inside(study, "--out", tmp_path, "--jobs", 1)
    last = err.strip().splitlines()[-1]
    assert code == 1 and "hold no variable 'eror' of the claim 'mean-rate'; did you mean 'error'" in last
    assert "The results are kept" in last


TINY = 1 + 1e-15


GRIDS = """\
eps = 10.0 ** -np.arange(3.0)
data["curve"] = (("replicate", "eps"), np.array(replicates, dtype=float)[:, None] + eps)
data |= {"line": 1 / 3, "eps": eps}"""


@pytest.mark.parametrize(("factor", "blas", "code"), [(TINY, "another", 0), (TINY, "", 1), (1.01, "another", 1)])
def test_shards_of_two_machines_are_one_run(collected, tmp_path, monkeypatch, factor, blas, code):
    how = {"replicates": 4, "block": 2, "grid": "n = [10]"}
    _, _, before = collected(GRIDS, **how)
    (study,) = tmp_path.glob("study_of_*.py")
    for path in shards(tmp_path, study.stem)[::2]:
        path.unlink()
    here = origin.here()
    if blas:
        monkeypatch.setattr(origin, "here", lambda: here | {"blas": [blas]})
    made = sys.modules[study.stem.removeprefix("study_of_")]
    whole = made.run

    def elsewhere(cell, replicates, *, device):
        found = whole(cell, replicates, device=device)
        return found.assign_coords(eps=found["eps"] * factor).assign(line=found["line"] * factor)

    monkeypatch.setattr(made, "run", elsewhere)
    ended, _, err = inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    assert ended == code, err
    if code:
        assert "'line' of" in err and "differs between the shards" in err
    else:
        found = results(tmp_path, study.stem)
        assert found.sizes == before.sizes and np.allclose(found["eps"], before["eps"], rtol=1e-14)
        assert found["curve"].equals(before["curve"].assign_coords(eps=found["eps"]))

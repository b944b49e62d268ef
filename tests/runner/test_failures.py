"""Failures are data: the replicate that cannot be computed says so and is counted, its neighbours keep their values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from machine import inside, logged, results, write_study

from moestat.status import Status


def run(study, out, *words, jobs=1):
    return inside(study, "--out", out, "--jobs", jobs, "--no-report", *words)


@pytest.mark.parametrize("block", [1, 8])
def test_only_the_replicates_that_raise_have_no_value(tmp_path, block):
    study = write_study(tmp_path, settings="raise_at = [2, 7]\nstall_at = [3]", replicates=8, block=block)
    code, out, err = run(study, tmp_path)
    assert code == 0 and "32 of 32 replicates, 12 failed" in out
    assert err.count("raised ArithmeticError: replicate") == 3 and "further ones are in the results only" in err
    found = results(tmp_path)
    wanted = [0, 0, Status.RAISED, Status.STALLED, 0, 0, 0, Status.RAISED]
    assert (found["status"].values == wanted).all()
    assert (np.isnan(found["error"].values) == (found["status"] == Status.RAISED)).all()
    message = found["message"].values[0, 0]
    assert message[2].startswith("ArithmeticError: replicate 2 cannot be computed (toy.py line ")
    assert message[3] == Status.STALLED.sentence and message[4] == ""
    assert np.isnan(found["iterations"].values[0, 0, 2]) and found["iterations"].values[0, 0, 4] == 3
    _, status, _ = inside("status", study, "--out", tmp_path)
    assert "12 failed" in status and "2 RAISED" in status and "1 STALLED" in status
    counts = json.loads((tmp_path / "study/quick/manifest.json").read_text())["tally"]
    assert (counts["raised"], counts["stalled"], counts["failed"], counts["missing"]) == (8, 4, 12, 0)


def test_a_failed_replicate_is_not_drawn_again_unless_asked(tmp_path, monkeypatch):
    study = write_study(tmp_path, settings="raise_at = [1]", replicates=3)
    run(study, tmp_path)
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    run(study, tmp_path)
    assert logged(tmp_path / "log") == []
    code, out, _ = run(study, tmp_path, "--retry-failed")
    assert code == 0 and {replicate for _, replicate in logged(tmp_path / "log")} == {1}
    assert "4 failed" in out, "the same data raise the same"


# --- workers that die --------------------------------------------------------------------------------------------


def test_a_worker_that_dies_costs_only_the_replicate_that_kills_it(tmp_path):
    study = write_study(tmp_path, replicates=2, block=2, grid="n = [10]")
    study.write_text(study.read_text().replace('kind="median"', 'kind="median", die_at=[1]'))
    code, out, err = run(study, tmp_path, jobs=2)
    assert code == 0 and "4 of 4 replicates, 1 failed" in out
    assert "a worker died" in err and "trying again" in err and "recorded as failed (it ended with SIGKILL" in err
    found = results(tmp_path)
    assert found["status"].values[:, 0].tolist() == [[0, 0], [0, Status.WORKER_DIED]]
    assert "died twice" in found["message"].values[1, 0, 1]
    run(write_study(tmp_path, name="healthy", replicates=2, grid="n = [10]"), tmp_path)
    healthy = results(tmp_path, "healthy")["error"].values
    healthy[1, 0, 1] = np.nan
    assert np.array_equal(found["error"].values, healthy, equal_nan=True)


def test_a_broken_contract_ends_as_a_failed_replicate(tmp_path):
    (tmp_path / "no_status.py").write_text(
        "import xarray\nfrom toy import Settings\n"
        "def run(cell, replicates, *, device):\n"
        "    return xarray.Dataset(coords={'replicate': list(replicates)})\n"
    )
    code, _, err = run(write_study(tmp_path, experiment="no_status", replicates=1), tmp_path)
    assert code == 1 and "without 'status'" in err

"""Failures are data: the replicate that cannot be computed says so and is counted, and it costs nobody beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from machine import command, environment, inside, logged, own, results, run, write_study

from moestat import files
from moestat.experiment import Cell
from moestat.runner import pool, worker
from moestat.status import Status


@pytest.mark.parametrize("block", [1, 8])
def test_only_the_replicates_that_raise_have_no_value(tmp_path, block):
    study = write_study(tmp_path, settings="raise_at = [2, 7]\nstall_at = [3]", replicates=8, block=block)
    code, out, err = run(study, tmp_path)
    assert code == 1 and "32 of 32 replicates, 8 failed, 4 not converged" in out
    assert "of 32 replicates 8 raised; the others are kept. Try again with: " in err
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
    assert "8 failed, 4 not converged" in status and "2 RAISED" in status and "1 STALLED" in status
    counts = json.loads((tmp_path / "study/quick/manifest.json").read_text())["tally"]
    assert [counts[how] for how in ("raised", "stalled", "failed", "not_converged", "missing")] == [8, 4, 8, 4, 0]


def test_a_failed_replicate_is_not_drawn_again_unless_asked(tmp_path, monkeypatch):
    study = write_study(tmp_path, settings="raise_at = [1]", replicates=3)
    run(study, tmp_path)
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    run(study, tmp_path)
    assert logged(tmp_path / "log") == []
    code, out, _ = run(study, tmp_path, "--retry-failed")
    assert code == 1 and {replicate for _, replicate in logged(tmp_path / "log")} == {1}
    assert "4 failed, 0 not converged" in out, "the same data raise the same"


def test_a_worker_that_dies_costs_only_the_replicate_that_kills_it(tmp_path):
    study = write_study(tmp_path, replicates=2, block=2, grid="n = [10]")
    study.write_text(study.read_text().replace('kind="median"', 'kind="median", die_at=[1]'))
    code, out, err = run(study, tmp_path, jobs=2)
    assert code == 1 and "4 of 4 replicates, 1 failed, 0 not converged" in out and "1 worker died" in err
    assert "a worker died" in err and "trying again" in err and "recorded as failed (it ended with SIGKILL" in err
    found = results(tmp_path)
    assert found["status"].values[:, 0].tolist() == [[0, 0], [0, Status.WORKER_DIED]]
    assert "died twice" in found["message"].values[1, 0, 1]
    run(write_study(tmp_path, name="healthy", replicates=2, grid="n = [10]"), tmp_path)
    healthy = results(tmp_path, "healthy")["error"].values
    healthy[1, 0, 1] = np.nan
    assert np.array_equal(found["error"].values, healthy, equal_nan=True)


def test_a_broken_contract_ends_as_a_failed_replicate(tmp_path):
    name = own(tmp_path, "no_status", "return xarray.Dataset(coords={'replicate': list(replicates)})")
    code, _, err = run(write_study(tmp_path, experiment=name, replicates=1), tmp_path)
    assert code == 1 and "without 'status'" in err


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("raise type('Mine', (BaseException,), {})('x')", "Mine: x"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()", "Mute"),
    ],
)
def test_whatever_an_experiment_raises_costs_its_replicate_alone(tmp_path, lines, told):
    name = own(tmp_path, f"leaving_{abs(hash(lines))}", f"if 1 in replicates:\n    {lines}")
    code, out, err = run(write_study(tmp_path, experiment=name, replicates=4, block=4), tmp_path)
    assert code == 1 and "16 of 16 replicates, 4 failed, 0 not converged" in out, err
    assert results(tmp_path)["message"].values[0, 0, 1].startswith(told)


@pytest.mark.slow
def test_orphans_end_at_once_even_in_compiled_code(tmp_path):
    """``sum`` of a range lets no other thread of Python run, so no thread of ours can end the worker."""
    if not os.path.exists("/proc/self/stat"):
        pytest.skip("needs Linux")
    body = f"open({str(tmp_path)!r} + '/pid', 'w').write(str(os.getpid()))\nsum(range(10**11))"
    study = write_study(tmp_path, experiment=own(tmp_path, "endless", body), replicates=1)
    words = command(study, "--out", tmp_path, "--jobs", 2, "--no-report", "--quiet")
    run = subprocess.Popen(words, env=environment())
    end = time.monotonic() + 60
    while not (tmp_path / "pid").exists() and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(0.5)
    pid = int((tmp_path / "pid").read_text())
    assert files.alive(pid)
    run.kill()
    run.wait()
    time.sleep(1.0)
    alive = files.alive(pid)
    if alive:
        os.kill(pid, signal.SIGKILL)
    assert not alive


@pytest.mark.slow
def test_workers_that_cannot_begin_stop_the_run(tmp_path):
    """Not one after the other for every replicate of a study."""
    head = f"if os.getpid() != {os.getpid()}:\n    os.kill(os.getpid(), signal.SIGSEGV)"
    study = write_study(tmp_path, experiment=own(tmp_path, "stillborn", "", head), replicates=40, block=1)
    code, _, err = run(study, tmp_path, jobs=2)
    assert code == 1 and "workers end before they compute anything (it ended with SIGSEGV" in err


@pytest.mark.slow
def test_a_replicate_that_takes_too_long_is_ended_and_the_rest_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    body = "if cell.arm == 'mean' and 2 in replicates and os.environ.get('HANG'):\n    time.sleep(600)"
    study = write_study(tmp_path, experiment=own(tmp_path, "hanging", body), replicates=4, block=2, grid="n = [10]")
    monkeypatch.setenv("HANG", "1")
    begin = time.monotonic()
    code, out, err = run(study, tmp_path, "--timeout", 1, jobs=1)
    assert time.monotonic() - begin < 60
    assert code == 0 and "8 of 8 replicates, 1 failed, 0 not converged" in out, err
    data = results(tmp_path)
    assert data["status"].values[0, 0].tolist() == [0, 0, Status.TIMED_OUT, 0]
    assert data["message"].values[0, 0, 2] == "The replicate was ended: it took longer than 1 s."
    _, told, _ = inside("status", study, "--out", tmp_path)
    assert "1 TIMED_OUT" in told
    before = (tmp_path / "log").read_text()
    assert run(study, tmp_path, "--timeout", 1)[0] == 0 and (tmp_path / "log").read_text() == before
    monkeypatch.delenv("HANG")
    code, out, _ = run(study, tmp_path, "--retry-failed")
    assert code == 0 and "8 of 8 replicates, 0 failed, 0 not converged" in out
    assert np.isfinite(results(tmp_path)["error"]).all()


class Blaming(pool.Here):
    """A cluster that counts the death of a worker against every task that it had been handed."""

    def __init__(self) -> None:
        self.rounds: list[int] = []

    def results(self, function, arguments):
        self.rounds.append(len(arguments))
        for argument in arguments:
            task = argument[0]
            alone = len(arguments) == 1
            yield worker.Outcome(task.cell.digest, task.replicates, [0]) if alone else pool.Lost(argument, "4 died")


def test_who_was_only_beside_a_death_is_tried_alone_before_it_is_recorded(tmp_path):
    context = worker.Context("toy", (), str(tmp_path), "", "cpu", {})
    tasks = [worker.Task(context, Cell("toy", 1, "mean", {}, {}), [2 * n, 2 * n + 1]) for n in range(2)]
    blaming = Blaming()
    outcomes = list(pool.run(blaming, tasks, lambda text: None))
    assert sorted(tuple(outcome.replicates) for outcome in outcomes) == [(0,), (1,), (2,), (3,)]
    assert all(tuple(outcome.status) == (0,) for outcome in outcomes) and blaming.rounds == [2, 4, 1, 1, 1, 1]


def test_to_debug_the_first_failure_stops_with_a_traceback_and_nothing_is_stored(tmp_path, monkeypatch):
    monkeypatch.delenv("MOESTAT_CACHE", raising=False)
    study = write_study(tmp_path, settings="raise_at = [0]", replicates=2)
    code, _, err = inside(study, "--debug", "--out", tmp_path / "o")
    told = "ArithmeticError: replicate 0 cannot be computed"
    assert code == 1 and "in run" in err and f"\n{told}" in err
    assert f"arm mean, n = 10, replicate 0: {told} (toy.py line " in err and "; nothing was stored" in err
    assert "debug.py" not in err, "the traceback begins in the experiment"
    assert not (tmp_path / "o").exists() and "MOESTAT_CACHE" not in os.environ
    code, out, err = inside(study, "--debug", "--set", "raise_at=[9]", "--replicates", 2)
    assert code == 0 and "no failure" in out and err.count("n = ") == 8


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("review,stars\ngood film,5\nbad film,x\n", "texts.csv, row 3, column 'stars'"),
        ("review,stars\ngood film,5\nbad film\n", "texts.csv, row 3"),
        ("text,stars\ngood film,5\n", "texts.csv.*'review'"),
    ],
)
def test_bad_data_are_refused_before_the_first_replicate_with_row_and_column(tmp_path, content, sentence):
    data = tmp_path / "texts.csv"
    data.write_text(content)
    words = ["mot_text", "--set", f"data={data}", "--set", "text=review", "--set", "number=stars"]
    for more in (["--dry-run"], ["--out", tmp_path / "o", "--jobs", 1]):
        code, _, err = inside(*words, "--set", 'task=["regression"]', *more)
        assert code == 2 and re.search(sentence, err), err
    assert not (tmp_path / "o").exists()

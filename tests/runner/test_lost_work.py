"""What a failure costs: the replicate itself, and nobody's work beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import numpy as np
import pytest
from machine import command, environment, inside, results, write_study

from moestat import files
from moestat.experiment import Cell
from moestat.runner import pool, worker
from moestat.status import Status


def own(folder, name: str, body: str, head: str = "") -> str:
    """Write an experiment that runs the toy one after some lines of its own; return its name."""
    lines = "\n".join("    " + line for line in body.splitlines())
    (folder / f"{name}.py").write_text(
        f"import os, sys, time, signal\nimport toy\nfrom toy import Settings\n{head}\n"
        f"def run(cell, replicates, *, device):\n{lines}\n    return toy.run(cell, replicates, device=device)\n"
    )
    return name


def run(study, out, *words, jobs=1):
    return inside(study, "--out", out, "--jobs", jobs, "--no-report", *words)


# --- exceptions ----------------------------------------------------------------------------------------------------


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
    assert code == 0 and "16 of 16 replicates, 4 failed" in out, err
    assert results(tmp_path)["message"].values[0, 0, 1].startswith(told)


# --- workers ---------------------------------------------------------------------------------------------------------


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
    assert code == 0 and "8 of 8 replicates, 1 failed" in out, err
    data = results(tmp_path)
    assert data["status"].values[0, 0].tolist() == [0, 0, Status.TIMED_OUT, 0]
    assert data["message"].values[0, 0, 2] == "The replicate was ended: it took longer than 1 s."
    _, told, _ = inside("status", study, "--out", tmp_path)
    assert "1 TIMED_OUT" in told
    before = (tmp_path / "log").read_text()
    assert run(study, tmp_path, "--timeout", 1)[0] == 0 and (tmp_path / "log").read_text() == before
    monkeypatch.delenv("HANG")
    code, out, _ = run(study, tmp_path, "--retry-failed")
    assert code == 0 and "8 of 8 replicates, 0 failed" in out
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

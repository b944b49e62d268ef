"""A run can be killed anywhere: started again it computes only what is missing, and the results are the same."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from machine import command, environment, finished, inside, logged, results, write_study

from moestat import files


def everyone_gone(group: int) -> bool:
    """Wait until no process of a group is left: orphaned workers must end by themselves."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        members = subprocess.run(["ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True).stdout.split()
        if all(state.startswith("Z") for state in members):
            return True
        time.sleep(0.05)
    return False


def kill_until_done(folder, random, *, jobs: int, most: int) -> int:
    """Start a run, kill it at a random moment, again and again, until it ends by itself; return the kills."""
    folder.mkdir()
    log = folder / "log"
    words = command(write_study(folder, **SLOW), "--out", folder, "--jobs", jobs, "--no-report")
    for kills in itertools.count():
        before, seen, done = finished(folder), len(logged(log)), True
        process = subprocess.Popen(
            words, env=environment(TOY_LOG=str(log)), stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(timeout=random.uniform(0.2, 2.2) if kills < most else 100)
        except subprocess.TimeoutExpired:
            done = False
            if random.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()  # the parent alone: its workers must notice
            process.wait()
        assert everyone_gone(process.pid), "workers of a killed run are still there after 20 s"
        twice = before & set(logged(log)[seen:])
        assert not twice, f"computed again although finished: {twice}"
        if done:
            assert process.returncode == 0
            return kills


SLOW = {"settings": "seconds = 0.03", "replicates": 8, "block": 1}


@pytest.mark.slow
def test_two_hundred_kills_at_random_moments(tmp_path):
    study = write_study(tmp_path, **SLOW)
    assert inside(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")[0] == 0
    undisturbed, random, kills = results(tmp_path), np.random.default_rng(200), 0
    for episode in itertools.count():
        folder = tmp_path / str(episode)
        kills += kill_until_done(folder, random, jobs=1 + episode % 2, most=20)
        assert results(folder).identical(undisturbed)
        if kills >= 200:
            break


STEPS = ("replace", "fsync", "open", "mkdir", "unlink")


def die_at(step: int, study, out) -> int:
    """Run in a forked child that is killed just before its ``step``-th change on the disk; return the wait status."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    counter = itertools.count(1)

    def killing(function):
        def step_or_die(*arguments, **options):
            if next(counter) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return step_or_die

    for name in STEPS:
        setattr(os, name, killing(getattr(os, name)))
    code = 99
    try:
        code = inside(study, "--out", out, "--jobs", 1, "--no-report", "--quiet")[0]
    finally:
        os._exit(code)


@pytest.mark.parametrize(("stride", "least"), [(7, 4), pytest.param(1, 30, marks=pytest.mark.slow)])
def test_killed_before_its_changes_on_the_disk(tmp_path, stride, least):
    folder = tmp_path
    study = write_study(folder, replicates=2, block=1, grid="n = [10]")
    assert inside(study, "--out", folder / "whole", "--jobs", 1, "--no-report", "--quiet")[0] == 0
    whole = results(folder / "whole")
    for kills, step in enumerate(itertools.count(1, stride)):
        out = folder / str(step)
        status = die_at(step, study, out)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0 and kills >= least
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        kept = finished(out)
        assert inside(study, "--out", out, "--jobs", 1, "--no-report", "--quiet")[0] == 0
        assert results(out).identical(whole)
        assert kept <= finished(out)
        assert not list(out.rglob(f"*{files.TEMPORARY}")), "a temporary file of the killed run is left"

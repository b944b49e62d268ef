"""Bad days: a full disk, a folder that cannot be written, two runs at once, a clock that jumps, Ctrl-C. No damage."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from machine import command, environment, finished, inside, logged, own, run, said, write_study

from moestat import files
from moestat.runner import lock


def one_sentence(err: str, *parts: str) -> str:
    """Check that stderr ends with one error line that has these parts, and has no traceback."""
    lines = [line for line in err.splitlines() if line.startswith("error:")]
    assert len(lines) == 1 and "Traceback" not in err, err
    for part in parts:
        assert part in lines[0], (part, lines[0])
    return lines[0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_loses_nothing_that_was_finished(tmp_path, monkeypatch, jobs):
    head = 'def full(*_):\n    raise OSError(28, "no space left")\n'
    body = "if 5 in replicates and os.path.exists(__file__ + '.full'):\n    os.replace = full"
    experiment, out = own(tmp_path, f"full_disk{jobs}", body, head), tmp_path / "out"
    study = write_study(tmp_path, experiment=experiment, replicates=8, block=1)
    (tmp_path / f"{experiment}.py.full").touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", os.replace)
        code, _, err = run(study, out, jobs=jobs)
    assert code == 1
    one_sentence(err, "the disk is full", "What is done is kept; go on with: python -m moestat.study")
    kept = finished(out)
    assert 0 < len(kept) < 32 and not list(out.rglob(f"*{files.TEMPORARY}"))
    assert not list((out / "study/quick/locks").glob("*.txt")), "the lock must be given back"
    (tmp_path / f"{experiment}.py.full").unlink()
    assert run(study, out, "--quiet")[0] == 0 and kept <= finished(out)


@pytest.mark.parametrize("at", [1, 6])
def test_a_disk_error_at_any_flush_is_one_sentence(tmp_path, monkeypatch, at):
    study, flush, calls = write_study(tmp_path, replicates=2), os.fsync, []

    def failing(handle):
        calls.append(handle)
        if len(calls) >= at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return flush(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        one_sentence(run(study, tmp_path)[2], "cannot write to")
    assert not list(tmp_path.rglob(f"*{files.TEMPORARY}")) and run(study, tmp_path, "--quiet")[0] == 0


@pytest.mark.parametrize("blocked", ["study", "study/quick/shards"])
def test_a_file_in_the_way_is_one_sentence(tmp_path, blocked):
    study = write_study(tmp_path)
    place = tmp_path / "out" / blocked
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine")
    code, _, err = run(study, tmp_path / "out")
    assert code == 1
    one_sentence(err, "cannot write to")
    assert place.read_text() == "mine"


def test_a_second_run_on_a_folder_is_refused_and_names_the_first(tmp_path):
    study = write_study(tmp_path, settings="seconds = 0.1", replicates=20)
    first = subprocess.Popen(
        command(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet"), env=environment()
    )
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "study/quick/locks/all.txt").exists() and time.monotonic() < end:
            time.sleep(0.05)
        code, _, err = run(study, tmp_path)
        assert code == 1
        one_sentence(err, "another run works in", f"process {first.pid} on {socket.gethostname()}", "--out")
        code, _, err = run(study, tmp_path, "--part", "1/2")
        assert code == 1 and f"process {first.pid}" in err
        _, out, _ = inside("status", study, "--out", tmp_path)
        assert f"at work: all: process {first.pid}" in out
    finally:
        first.kill()
        first.wait()
    _, out, _ = inside("status", study, "--out", tmp_path)
    assert "at work" not in out, "a killed run is not at work"
    assert run(study, tmp_path, "--set", "seconds=0.0", "--fresh")[0] == 0


def test_parts_run_beside_each_other_but_not_beside_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "PATIENCE", 0.2)
    with lock.held(tmp_path, "part-1-of-2"), lock.held(tmp_path, "part-2-of-2"):
        for part in ("all", "part-1-of-2"):
            with pytest.raises(lock.LockedError, match=f"process {os.getpid()}"), lock.held(tmp_path, part):
                pass
    with lock.held(tmp_path), pytest.raises(lock.LockedError), lock.held(tmp_path, "part-1-of-2"):
        pass
    for content in ("", "\0"):  # of a process that was killed while it wrote its name
        (tmp_path / "locks/all.txt").write_text(content)
        with lock.held(tmp_path):
            assert list(lock.owners(tmp_path)) == ["all"]


@pytest.mark.parametrize("flock", [True, False])
def test_of_many_processes_that_start_at_once_one_gets_the_lock(tmp_path, flock):
    script = (
        "import errno, fcntl, sys, time, pathlib\n"
        "def missing(*_):\n"
        "    raise OSError(errno.ENOTSUP, 'no flock')\n"
        "if sys.argv[2] == 'False':\n"
        "    fcntl.flock = missing\n"
        "from moestat.runner import lock\n"
        "try:\n"
        "    with lock.held(pathlib.Path(sys.argv[1])):\n"
        "        print('got'); sys.stdout.flush(); time.sleep(2)\n"
        "except lock.LockedError:\n"
        "    print('refused')\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path), str(flock)]
    racers = [subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = sorted(racer.communicate(timeout=60)[0].strip() for racer in racers)
    assert said == ["got"] + ["refused"] * 2


def test_temporary_files_of_the_living_and_of_other_machines_are_left_alone(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyError))
        patch.setattr(type(tmp_path), "unlink", lambda *_, **__: None)
        with pytest.raises(KeyError):
            files.write(tmp_path / "results.nc", b"x", durable=False)
    (ours,) = tmp_path.iterdir()
    theirs = ours.with_name(ours.name.replace("~", "~elsewhere-", 1))
    shutil.copy(ours, theirs)
    assert files.clean(tmp_path) == 0
    monkeypatch.setattr(files, "alive", lambda pid: False)
    assert files.clean(tmp_path) == 1 and list(tmp_path.iterdir()) == [theirs]


@pytest.mark.parametrize(
    ("number", "code", "jobs"),
    [(signal.SIGINT, 130, 2), pytest.param(signal.SIGTERM, 143, 1, marks=pytest.mark.slow)],
)
def test_ctrl_c_finishes_nothing_half_and_says_how_to_go_on(tmp_path, monkeypatch, number, code, jobs):
    study = write_study(tmp_path, settings="seconds = 0.05", replicates=12, block=1)
    process = subprocess.Popen(
        command(study, "--out", tmp_path, "--jobs", jobs, "--no-report", "--block", 1),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # as from a terminal: whoever runs the tests in the background ignores Ctrl-C, and its children would too
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while len(finished(tmp_path)) < 3 and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(process.pid, number)  # a terminal sends it to the whole group
    _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    line = one_sentence(err, "interrupted:", "of 48 replicates are done and kept in", "Go on with: python -m")
    assert not list(tmp_path.rglob(f"*{files.TEMPORARY}"))
    again = line.split("Go on with: ")[1].split()
    assert again[:3] == ["python", "-m", "moestat.study"] and "--block" in again
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    kept = finished(tmp_path)
    said(*again[3:], "--jobs", 1, "--quiet")
    assert not kept & set(logged(log))

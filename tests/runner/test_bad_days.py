"""Bad days: a full disk, a folder that cannot be written, two runs at once, a clock that jumps, Ctrl-C. No damage."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from random import Random

import pytest
from machine import command, environment, finished, inside, logged, results, shards, write_study

from moestat import files
from moestat.runner import lock


def run(study, out, *words, jobs=1):
    return inside(study, "--out", out, "--jobs", jobs, "--no-report", *words)


def one_sentence(err: str, *parts: str) -> str:
    """Check that stderr ends with one error line that has these parts, and has no traceback."""
    lines = [line for line in err.splitlines() if line.startswith("error:")]
    assert len(lines) == 1 and "Traceback" not in err, err
    for part in parts:
        assert part in lines[0], (part, lines[0])
    return lines[0]


# --- the disk --------------------------------------------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path):
    """Mount a tmpfs of a given size (where this account may), and unmount it at the end."""
    where = tmp_path / "disk"
    where.mkdir()

    def mount(options: str):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", where], capture_output=True)
        if done.returncode:
            pytest.skip("needs the right to mount a tmpfs")
        return where

    yield mount
    subprocess.run(["umount", where], capture_output=True)


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_full_disk_loses_nothing_that_was_finished(tmp_path, mounted, jobs):
    disk = mounted("size=256k")
    study = write_study(tmp_path, replicates=80, block=4)
    code, _, err = run(study, disk, jobs=jobs)
    assert code == 1
    one_sentence(err, "the disk is full", "What is done is kept; go on with: python -m moestat.study")
    kept = finished(disk)
    assert 8 <= len(kept) < 320
    assert not list(disk.rglob(f"*{files.TEMPORARY}"))
    assert not list((disk / "study/quick/locks").glob("*.json")), "the lock must be given back"
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    assert run(study, disk, "--quiet")[0] == 0
    assert kept <= finished(disk)
    assert run(study, tmp_path / "elsewhere", "--quiet")[0] == 0
    assert results(disk).identical(results(tmp_path / "elsewhere"))


def test_a_disk_that_is_full_when_results_are_written_keeps_the_old_ones(tmp_path, mounted):
    disk = mounted("size=4m")
    study = write_study(tmp_path, replicates=2)
    assert run(study, disk, "--quiet")[0] == 0
    before = (disk / "study/quick/results.nc").read_bytes()
    with pytest.raises(OSError, match="No space"), open(disk / "ballast", "wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
    code, _, err = inside("collect", study, "--out", disk, "--no-report")
    assert code == 1
    one_sentence(err, "the disk is full")
    assert (disk / "study/quick/results.nc").read_bytes() == before


@pytest.mark.parametrize(
    ("number", "at"), [(errno.ENOSPC, 1), (errno.ENOSPC, 4), (errno.ENOSPC, 9), (errno.EDQUOT, 4), (errno.EIO, 9)]
)
def test_a_disk_error_at_any_write_is_one_sentence(tmp_path, monkeypatch, number, at):
    """The same without a mount: the ``at``-th flush to the disk fails."""
    study, flush, calls = write_study(tmp_path, replicates=2), os.fsync, []

    def failing(handle):
        calls.append(handle)
        if len(calls) >= at:
            raise OSError(number, os.strerror(number))
        return flush(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        patch.setattr(files, "FLUSH_EVERY", 0.0)  # every shard by itself
        code, _, err = run(study, tmp_path)
    assert code == 1
    one_sentence(err, "cannot write to")
    assert not list(tmp_path.rglob(f"*{files.TEMPORARY}"))
    assert run(study, tmp_path, "--quiet")[0] == 0


def test_small_shards_are_flushed_together_and_all_of_them_before_the_end(tmp_path, monkeypatch):
    """A flush takes longer than a small replicate; a second of work is what a power cut may cost."""
    study, flush, single, whole = write_study(tmp_path, replicates=20, block=1), os.fsync, [], []
    monkeypatch.setattr(os, "fsync", lambda handle: (single.append(handle), flush(handle))[1])
    together = files.flush
    monkeypatch.setattr(files, "flush", lambda folder: (whole.append(len(shards(tmp_path))), together(folder)))
    monkeypatch.setattr(files, "FLUSH_EVERY", 3600.0)
    monkeypatch.setattr(files, "_flushed", -1e9)
    assert run(study, tmp_path, "--quiet")[0] == 0
    assert whole == [80] and len(single) < 20
    single.clear()
    monkeypatch.setattr(files, "FLUSH_EVERY", 0.0)
    assert run(study, tmp_path, "--quiet", "--fresh")[0] == 0
    assert len(single) >= 160, "where shards take long, each is flushed, and its folder"


def test_a_read_only_disk_is_one_sentence(tmp_path, mounted):
    disk = mounted("ro")
    code, _, err = run(write_study(tmp_path), disk)
    assert code == 1
    one_sentence(err, "cannot write to", "the file system is read-only")


def test_a_folder_without_permission_is_one_sentence(tmp_path):
    study = write_study(tmp_path)
    assert run(study, tmp_path / "before", "--quiet")[0] == 0  # everything is imported while it can be read
    out = tmp_path / "out"
    out.mkdir(mode=0o555)
    root = os.geteuid() == 0
    if root:  # root may write everywhere: be nobody for a moment
        for parent in (tmp_path, *tmp_path.parents[:2]):
            parent.chmod(0o755)
        os.seteuid(65534)
    try:
        code, _, err = run(study, out)
    finally:
        if root:
            os.seteuid(0)
    assert code == 1
    one_sentence(err, "cannot write to", "permission is denied")


@pytest.mark.parametrize("blocked", ["", "study", "study/quick", "study/quick/shards", "study/quick/locks"])
def test_a_file_in_the_way_is_one_sentence(tmp_path, blocked):
    study = write_study(tmp_path)
    place = tmp_path / "out" / blocked
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine")
    code, _, err = run(study, tmp_path / "out")
    assert code == 1
    one_sentence(err, "cannot write to")
    assert place.read_text() == "mine"


# --- two runs ------------------------------------------------------------------------------------------------------


def test_a_second_run_on_a_folder_is_refused_and_names_the_first(tmp_path):
    study = write_study(tmp_path, settings="seconds = 0.1", replicates=20)
    first = subprocess.Popen(
        command(study, "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet"), env=environment()
    )
    try:
        place = tmp_path / "study/quick/locks/all.json"
        end = time.monotonic() + 60
        while not place.exists() and time.monotonic() < end:
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
    code, _, err = run(study, tmp_path, "--set", "seconds=0.0", "--fresh")
    assert code == 0 and f"took over the lock of process {first.pid}" in err and "which has ended" in err


def test_two_parts_run_at_the_same_time(tmp_path):
    with lock.Lock(tmp_path, "part-1-of-2"), lock.Lock(tmp_path, "part-2-of-2"):
        for part in ("all", "part-1-of-2"):
            with pytest.raises(lock.LockedError, match=f"process {os.getpid()}"), lock.Lock(tmp_path, part):
                pass
    with lock.Lock(tmp_path, "all"), pytest.raises(lock.LockedError), lock.Lock(tmp_path, "part-1-of-2"):
        pass
    with lock.Lock(tmp_path):
        pass


def foreign_lock(root, **changes):
    folder = root / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    owner = {"host": "elsewhere", "pid": 1, "token": "x", "since": "2020-01-01 00:00:00"} | changes
    (folder / "all.json").write_text(json.dumps(owner))
    return folder / "all.json"


def test_a_silent_lock_of_another_machine_is_taken_over_and_said(tmp_path):
    foreign_lock(tmp_path)
    told = []
    with lock.Lock(tmp_path, say=told.append, heartbeat=0.05, patience=0.3):
        assert len(told) == 1 and "process 1 on elsewhere" in told[0] and "no sign of life" in told[0]


def test_a_living_lock_of_another_machine_is_respected_whatever_its_clock_says(tmp_path):
    place = foreign_lock(tmp_path)
    stop = threading.Event()

    def beat():
        stamp = 10**9
        while not stop.wait(0.05):
            stamp -= 10**8  # the owner's clock runs backwards, in 1970
            os.utime(place, ns=(stamp, stamp))

    owner = threading.Thread(target=beat)
    owner.start()
    try:
        with pytest.raises(lock.LockedError, match="elsewhere"), lock.Lock(tmp_path, heartbeat=0.05, patience=2):
            pass
    finally:
        stop.set()
        owner.join()


def test_a_process_that_inherited_the_number_of_a_dead_owner_does_not_count(tmp_path):
    foreign_lock(tmp_path, **files.machine(), pid=os.getpid(), process_started="1")
    if not files.started(os.getpid()):
        pytest.skip("the start of a process is not known on this platform")
    told = []
    with lock.Lock(tmp_path, say=told.append):
        assert "has ended" in told[0]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', "\0\0\0"])
def test_a_torn_lock_file_is_taken_over(tmp_path, content):
    foreign_lock(tmp_path).write_text(content)
    with lock.Lock(tmp_path, heartbeat=0.02, patience=0.1) as held:
        assert json.loads(held.path.read_text())["pid"] == os.getpid()


def test_a_lock_beats_and_notices_that_it_was_taken_over(tmp_path):
    with lock.Lock(tmp_path, heartbeat=0.02) as held:
        before = held.path.stat().st_mtime_ns
        time.sleep(0.2)
        assert held.path.stat().st_mtime_ns != before and not held.lost
        foreign_lock(tmp_path)
        time.sleep(0.2)
        assert held.lost
    assert held.path.exists(), "the lock of the new owner is not ours to remove"


def test_of_many_processes_that_start_at_once_one_gets_the_lock(tmp_path):
    foreign_lock(tmp_path, **files.machine(), pid=2**22 - 1)
    script = (
        "import sys, time, pathlib\n"
        "from moestat.runner.lock import Lock, LockedError\n"
        "try:\n"
        "    with Lock(pathlib.Path(sys.argv[1])):\n"
        "        print('got'); sys.stdout.flush(); time.sleep(3)\n"
        "except LockedError:\n"
        "    print('refused')\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    racers = [subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(5)]
    said = sorted(racer.communicate(timeout=60)[0].strip() for racer in racers)
    assert said == ["got"] + ["refused"] * 4


@pytest.mark.parametrize("other", [{"namespace": "pid:[1]"}, {"boot": "another"}])
def test_a_lock_of_another_container_with_our_name_is_judged_by_its_heartbeat(tmp_path, other):
    """Its process numbers mean nothing here: one that does not exist, or another one's, may be alive there."""
    place = foreign_lock(tmp_path, **(files.machine() | other), pid=2**22 - 1)
    stop = threading.Event()

    def beat():
        while not stop.wait(0.02):
            os.utime(place)

    owner = threading.Thread(target=beat)
    owner.start()
    try:
        with pytest.raises(lock.LockedError), lock.Lock(tmp_path, heartbeat=0.02, patience=1.0):
            pass
    finally:
        stop.set()
        owner.join()
    told = []
    with lock.Lock(tmp_path, say=told.append, heartbeat=0.02, patience=0.1):
        assert "no sign of life" in told[0]


def test_a_live_lock_of_an_older_moestat_is_respected_and_a_dead_one_is_watched_first(tmp_path):
    started = files.started(os.getpid())
    foreign_lock(tmp_path, host=socket.gethostname(), pid=os.getpid(), process_started=started)
    with pytest.raises(lock.LockedError), lock.Lock(tmp_path, heartbeat=0.02, patience=0.1):
        pass
    foreign_lock(tmp_path, host=socket.gethostname(), pid=2**22 - 1)
    told = []
    with lock.Lock(tmp_path, say=told.append, heartbeat=0.02, patience=0.1):
        assert "no sign of life" in told[0]


def test_temporary_files_of_another_container_with_our_name_are_left_alone(tmp_path, monkeypatch):
    def leave(name: str):
        monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyError))
        with monkeypatch.context() as patch:
            patch.setattr(type(tmp_path), "unlink", lambda *_, **__: None)
            with pytest.raises(KeyError):
                files.write(tmp_path / name, b"x", durable=False)

    leave("theirs")
    monkeypatch.setattr(files, "alive", lambda pid: False)
    monkeypatch.setattr(files, "machine", lambda: {"host": socket.gethostname(), "boot": "b", "namespace": "pid:[1]"})
    leave("ours")
    assert files.clean(tmp_path) == 1
    assert [path.name.split("~")[0] for path in tmp_path.iterdir()] == [".theirs"]


@pytest.mark.parametrize("flock", [True, False])
def test_of_many_that_start_at_once_one_gets_the_lock_without_flock_too(tmp_path, monkeypatch, flock):
    """Each trial has a lock of a dead owner in the way, and slow reads, which make every race likely."""
    import fcntl

    if not flock:
        monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOTSUP, "no flock")))
    read = lock._read

    def slow(path):
        owner = read(path)
        time.sleep(random.uniform(0.0, 0.004))
        return owner

    monkeypatch.setattr(lock, "_read", slow)
    random = Random(3)
    for trial in range(10):
        root = tmp_path / str(trial)
        foreign_lock(root, **files.machine(), pid=2**22 - 1)
        barrier, owners, refused = threading.Barrier(3), [], []

        def start(root=root, barrier=barrier, owners=owners, refused=refused):
            barrier.wait()
            try:
                with lock.Lock(root) as held:
                    owners.append(held.token)
                    end = time.monotonic() + 10
                    while len(owners) + len(refused) < 3 and time.monotonic() < end:
                        time.sleep(0.005)
            except lock.LockedError:
                refused.append(1)

        racers = [threading.Thread(target=start) for _ in range(3)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert (len(owners), len(refused)) == (1, 2), trial
        assert not list((root / "locks").glob(".turn*"))


def test_a_turn_whose_owner_died_in_it_is_passed_over(tmp_path):
    (tmp_path / "locks").mkdir()
    turn = tmp_path / "locks" / ".turn.0"
    turn.write_text(json.dumps(files.machine() | {"pid": 2**22 - 1, "process_started": "1"}))
    with lock.Lock(tmp_path):
        assert not turn.exists()
    turn.write_text("{")  # of nobody knows whom
    with lock.Lock(tmp_path, patience=0.1):
        assert not turn.exists()


def test_a_lock_that_was_removed_by_hand_is_made_again_or_given_up(tmp_path):
    with lock.Lock(tmp_path, heartbeat=0.02) as held:
        held.path.unlink()
        end = time.monotonic() + 5
        while not held.path.exists() and time.monotonic() < end:
            time.sleep(0.02)
        assert json.loads(held.path.read_text())["token"] == held.token and not held.lost


@pytest.mark.slow
def test_two_runs_that_both_believe_to_own_the_folder_cost_time_and_no_number(tmp_path):
    """As on a file system where no lock works: both compute, and write, the same shards and products."""
    study = write_study(tmp_path, settings="seconds = 0.02", replicates=12, block=2)
    assert run(study, tmp_path / "alone", "--quiet")[0] == 0
    script = (
        "import sys\n"
        "from moestat.runner import lock\n"
        "lock.Lock.__enter__ = lambda self: self\n"
        "lock.Lock.__exit__ = lambda self, *rest: None\n"
        "from moestat.cli import main\n"
        "raise SystemExit(main(sys.argv[1:]))\n"
    )
    words = [sys.executable, "-c", script, str(study), "--out", str(tmp_path / "both"), "--no-report", "--quiet"]
    runs = [subprocess.Popen([*words, "--jobs", str(jobs)], env=environment()) for jobs in (1, 2)]
    assert [process.wait(timeout=120) for process in runs] == [0, 0]
    assert results(tmp_path / "both").identical(results(tmp_path / "alone"))
    assert (
        not list((tmp_path / "both").rglob(f"*{files.TEMPORARY}"))
        and not (tmp_path / "both/study/quick/quarantine").exists()
    )


# --- the clock and the keyboard ----------------------------------------------------------------------------------


def test_a_clock_that_goes_backwards_changes_nothing(tmp_path, monkeypatch):
    study = write_study(tmp_path)
    assert run(study, tmp_path / "whole", "--quiet")[0] == 0
    now = [4e9]

    def backwards() -> float:
        now[0] -= 86_400.0
        return now[0]

    with monkeypatch.context() as patch:
        patch.setattr(time, "time", backwards)
        assert run(study, tmp_path / "odd", "--replicates", 3)[0] == 0
        code, _, err = run(study, tmp_path / "odd")
    assert code == 0, err
    assert results(tmp_path / "odd").identical(results(tmp_path / "whole"))


@pytest.mark.parametrize(
    ("number", "code", "jobs"),
    [(signal.SIGINT, 130, 2)]
    + [
        pytest.param(signal.SIGTERM, 143, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, 2, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 129, 1, marks=pytest.mark.slow),
    ],
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
    assert json.loads((tmp_path / "study/quick/progress.json").read_text())["state"] == "interrupted"
    again = line.split("Go on with: ")[1].split()
    assert again[:3] == ["python", "-m", "moestat.study"] and "--block" in again
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    kept = finished(tmp_path)
    code, _, err = inside(*again[3:], "--jobs", 1, "--quiet")
    assert code == 0, err
    assert not kept & set(logged(log))


def test_a_disk_that_vanishes_is_one_sentence(tmp_path, monkeypatch):
    """The folder of the results is removed while the study runs."""
    from moestat.runner import run as run_module

    study, ordered = write_study(tmp_path), run_module.pool.run

    def vanishing(*arguments):
        for number, outcome in enumerate(ordered(*arguments)):
            if number == 2:
                shutil.rmtree(tmp_path / "out", ignore_errors=True)
                (tmp_path / "out").write_text("")
            yield outcome

    monkeypatch.setattr(run_module.pool, "run", vanishing)
    code, _, err = run(study, tmp_path / "out")
    assert code == 1
    one_sentence(err, "cannot write to")
    assert not shards(tmp_path / "out")

"""Progress: a live bar on a terminal, plain lines in a log."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import time

import pytest
from machine import command, environment, inside, write_study

from moestat.runner import progress
from moestat.runner.progress import Estimate, Progress, duration


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def made(stream, clock, **more) -> Progress:
    estimate = Estimate({"a": 100.0, "b": 10.0}, {"a": 4, "b": 4}, jobs=2)
    values = {"total": 10, "done": 2, "failed": 1} | more
    return Progress("s/quick", estimate, **values, stream=stream, clock=clock)


def test_a_log_gets_a_line_soon_and_then_one_a_minute_whatever_the_number_of_blocks():
    stream, clock = io.StringIO(), Clock()
    with made(stream, clock, shared=2) as shown:
        shown.share()
        clock.now += 6
        shown.share()
        for _ in range(8):
            clock.now += 20
            shown.add("a", 1, 0, 20.0)
    lines = stream.getvalue().splitlines()
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d s/quick: 0 of 2 shared results, 2 of 10 replicates \(20 %\), 1 failed, 0 s elapsed", lines[0]
    )
    assert lines[1].endswith("s/quick: 2 of 10 replicates (20 %), 1 failed, 6 s elapsed")
    assert "5 of 10 replicates (50 %), 1 failed, 1 min 06 s elapsed" in lines[2]
    assert "10 of 10 replicates (100 %), 1 failed, 2 min 46 s elapsed" in lines[-1] and "left" not in lines[-1]
    assert len(lines) == 5


def test_a_block_that_takes_hours_does_not_silence_the_log(monkeypatch):
    monkeypatch.setattr(progress, "LOOK_EVERY", 0.01)
    stream, clock = io.StringIO(), Clock()
    with made(stream, clock):
        for _ in range(3):
            clock.now += 61
            time.sleep(0.2)
        assert len(stream.getvalue().splitlines()) == 4


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_estimate_learns_how_time_grows_with_size_within_arms(power):
    """An arm with one size is guessed by what the others show; one without any by the mean of all."""
    sizes = {f"{arm} {n}": float(n) for arm in ("slow", "fast", "other") for n in (10, 100, 1000)}
    estimate = Estimate(sizes, {"slow 1000": 3}, arms={name: name.split()[0] for name in sizes})
    assert estimate.remaining() is None
    estimate.learn("slow 10", 2, 2 * 50.0 * 10.0**power)
    assert estimate.remaining() is None, "how time grows with size is not known yet"
    estimate.learn("fast 10", 1, 0.1 * 10.0**power)
    estimate.learn("fast 100", 5, 5 * 0.1 * 100.0**power)
    assert estimate.remaining() == pytest.approx(3 * 50.0 * 1000.0**power)
    estimate.left = {"other 10": 1}
    assert estimate.remaining() == pytest.approx((50.0 + 0.1 + 0.1) * 10.0**power / 3)
    estimate.left = {"fast 10": 0}
    assert estimate.remaining() == 0.0


def test_cells_that_took_less_the_larger_they_are_say_nothing_of_size():
    estimate = Estimate({"a": 1.0, "b": 2.0, "c": 8.0}, {"c": 1})
    estimate.learn("a", 1, 4.0)
    estimate.learn("b", 1, 2.0)
    assert estimate.remaining() == pytest.approx(3.0)


def test_counts_are_written_for_people():
    with made(io.StringIO(), Clock(), total=1_234_567, done=12_345, quiet=True) as shown:
        assert "12,345 of 1,234,567 replicates (0 %)" in shown.line()


def test_durations_are_said_as_people_say_them():
    assert [duration(s) for s in (None, 0.2, 59.4, 60, 3599, 7265)] == [
        "unknown",
        "0 s",
        "59 s",
        "1 min 00 s",
        "59 min 59 s",
        "2 h 01 min",
    ]


def test_quiet_is_quiet(tmp_path):
    code, out, err = inside(write_study(tmp_path), "--out", tmp_path, "--jobs", 1, "--no-report", "--quiet")
    assert (code, out, err) == (0, "", "")


def test_a_terminal_gets_a_live_bar(tmp_path):
    study = write_study(tmp_path, settings="seconds = 0.1", replicates=4, block=1)
    parent, child = pty.openpty()
    words = command(study, "--out", tmp_path, "--jobs", 1, "--no-report")
    process = subprocess.Popen(words, env=environment(TERM="xterm"), stdout=subprocess.DEVNULL, stderr=child)
    os.close(child)
    shown = b""
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:  # the terminal is closed
            break
        if not piece:
            break
        shown += piece
    os.close(parent)
    assert process.wait() == 0
    assert b"\x1b[" in shown and "━".encode() in shown and b"0 failed" in shown
    assert re.search(rb"[1-9]\d* of 16", shown)

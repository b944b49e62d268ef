"""Progress: a live bar on a terminal, plain lines in a log."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess

from machine import command, environment, inside, write_study

from moestat.runner.progress import Progress


def test_a_log_gets_a_line_soon_and_then_one_a_minute_whatever_the_number_of_blocks():
    stream, now, lost = io.StringIO(), [1000.0], {"failed": 0, "not_converged": 1}
    with Progress("s/quick", total=10, done=2, work=16, lost=lost, stream=stream, clock=lambda: now[0]) as shown:
        now[0] += 10  # what they share is no work of theirs
        shown.start()
        for work in (4, 4, 2, 2, 1, 1, 1, 1):
            now[0] += 20
            shown.add(1, {}, work)
    lines, ended = stream.getvalue().splitlines(), "0 failed, 1 not converged"
    assert re.fullmatch(rf"\d\d:\d\d:\d\d s/quick: 2 of 10 replicates \(20 %\), {ended}, 0 s elapsed", lines[0])
    assert lines[1].endswith(f"3 of 10 replicates (30 %), {ended}, 30 s elapsed, about 1 min 00 s left")
    assert lines[-1].endswith(f"10 of 10 replicates (100 %), {ended}, 2 min 50 s elapsed") and len(lines) <= 5


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
    assert b"\x1b[" in shown and "━".encode() in shown and b"0 not converged" in shown
    assert re.search(rb"[1-9]\d* of 16", shown)

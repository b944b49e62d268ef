"""Every study in turn: the order, what is said on the way, and what is left out."""

from __future__ import annotations

import re

import pytest
from machine import HERE, inside

from moestat.errors import InputError
from moestat.runner import agenda
from moestat.runner.request import Request


def studies(folder, **expected):
    """Write toy studies of a paper of their own, with what their presets state."""
    (folder / "studies").mkdir()
    text = (HERE / "toy_study.py").read_text().replace('paper="none"', 'paper="mine"')
    for name, words in expected.items():
        path = folder / "studies" / f"{name}.py"
        path.write_text(text.replace('preset("quick"', f'preset("quick", expected="{words}"'))
        (folder / "toy.py").write_text((HERE / "toy.py").read_text())


def test_the_shortest_rest_comes_first_and_nothing_before_what_it_reads():
    def entry(name, left, *needs):
        return agenda.Entry(name, Request(name), needs, left)

    listed = [entry("unknown", None), entry("long", 90.0), entry("reads", 1.0, "middle"), entry("middle", 50.0)]
    listed += [entry("short", 2.0), entry("after", 0.0, "unknown")]
    assert [e.name for e in agenda.ordered(listed)] == ["short", "middle", "reads", "long", "unknown", "after"]
    with pytest.raises(InputError, match="circle"):
        agenda.ordered([entry("a", 1.0, "b"), entry("b", 1.0, "a")])


def test_progress_over_studies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    studies(tmp_path, one="about 2 minutes", gpu="", two="")
    path = tmp_path / "studies" / "gpu.py"
    path.write_text(path.read_text().replace('"toy"', '"gpu_toy"'))
    (tmp_path / "studies" / "gpu_toy.py").write_text('from toy import Settings, run\n\nDEVICES = ("cuda",)\n')
    monkeypatch.setattr(agenda, "resolve_device", lambda asked: "cpu")
    words = ("--all", "--paper", "mine", "--jobs", 1, "--out", tmp_path / "out", "--no-report")
    code, out, err = inside(*words)
    assert code == 0, err
    lines = [line for line in err.splitlines() if line.startswith("[")]
    assert lines[0] == "[1 of 2] one/quick: about 2 minutes; 0 s passed"
    assert re.fullmatch(r"\[2 of 2\] two/quick: time not stated; \d+ s passed", lines[1])
    assert "gpu was left out: it computes on a GPU" in err and "study gpu --preset quick --out" in err
    (tmp_path / "out" / "one" / "quick" / "shards").rename(tmp_path / "gone")
    code, _, err = inside(*words)  # what is done is known to take no time
    assert [line.split()[3] for line in err.splitlines() if line.startswith("[")] == ["two/quick:", "one/quick:"]
    assert code == 0 and "two/quick: 0 s left" in err


def test_an_interruption_says_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    studies(tmp_path, one="about 1 s", two="about 2 s")

    def interrupted(request, report):
        from moestat.runner.run import InterruptedRunError

        raise InterruptedRunError("interrupted")

    monkeypatch.setattr("moestat.runner.run.run", interrupted)
    code, _, err = inside("--all", "--paper", "mine", "--out", tmp_path / "out")
    assert code == 130 and "0 of 2 studies are done, and the same command goes on" in err


def test_a_preset_that_no_study_has_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    studies(tmp_path, one="about 1 s")
    code, _, err = inside("--all", "--paper", "mine", "--preset", "papre")
    assert code == 2 and "one was left out: it has no preset 'papre'; it has quick" in err

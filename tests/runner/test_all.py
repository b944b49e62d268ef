"""Every study in turn: the order, what is said on the way, and what is left out."""

from __future__ import annotations

import pytest
from machine import inside, own, write_study

from moestat.errors import InputError
from moestat.runner import needs
from moestat.runner.run import InterruptedRunError


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Two studies of a paper of their own, of which one states how long it takes, and one that needs a GPU."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").mkdir()
    own(tmp_path, "gpu_toy", "", 'DEVICES = ("cuda",)')
    for name, more in (("one", {"replicates": '1, expected="about 2 minutes"'}), ("two", {}), ("gpu", GPU)):
        path = write_study(tmp_path / "studies", name=name, **more)
        path.write_text(path.read_text().replace('paper="none"', 'paper="mine"'))
    return tmp_path / "out"


GPU = {"experiment": "gpu_toy"}
ALL = ("--all", "--paper", "mine", "--jobs", 1, "--no-report")


def test_nothing_runs_before_what_it_reads():
    assert needs.ordered({"a": ["c"], "b": [], "c": ["b", "elsewhere"]}) == ["b", "c", "a"]
    with pytest.raises(InputError, match="circle"):
        needs.ordered({"a": ["b"], "b": ["a"]})


def test_every_study_in_turn_but_those_that_cannot_be_run_here(written, monkeypatch):
    def resolved(asked):
        if asked != "cpu":
            raise ValueError("there is no GPU")
        return asked

    monkeypatch.setattr("moestat.arrays.resolve_device", resolved)
    code, _, err = inside(*ALL, "--out", written)
    assert code == 0, err
    lines = [line for line in err.splitlines() if line.startswith("[")]
    assert lines == ["[1 of 2] one/quick: about 2 minutes", "[2 of 2] two/quick: time not stated"]
    assert "gpu was left out: it computes on a GPU" in err and "study gpu --preset quick --out" in err
    code, _, err = inside(*ALL, "--preset", "papre")
    assert code == 2 and "one was left out: it has no preset 'papre'; it has quick" in err

    def interrupted(request, report):
        raise InterruptedRunError("interrupted")

    monkeypatch.setattr("moestat.runner.run.run", interrupted)
    code, _, err = inside(*ALL, "--out", written)
    assert code == 130 and "0 of 2 studies are done, and the same command goes on" in err

"""What an experiment really calls while it runs is among the definitions that its code version covers."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from moestat.experiment import COMPUTES, Cell
from moestat.runner import plan
from moestat.source.graph import Graph
from moestat.study import load


@pytest.mark.parametrize(
    "study",
    [
        "minimax_lower_bound",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("competition_gaps", "identifiability", "mot_attention", "non_identifiability", "task_split")
        ),
    ],
)
def test_every_function_that_runs_is_covered(study, tmp_path, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path))
    monkeypatch.setenv("MOESTAT_OUTPUTS", str(tmp_path))
    made = plan.make(load.read(study), "quick", plan.Overrides(replicates=1))
    cell = min(made.cells, key=lambda planned: planned.size).cell
    called: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if event == "call" and module.startswith("moestat.") and not frame.f_code.co_filename.startswith("<"):
            called.add((module, name.partition(".")[0]))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        made.experiment.run(cell, [0], device="cpu")
    finally:
        sys.setprofile(before)

    graph = Graph()
    for name in COMPUTES:
        graph.root(made.module_name, name)
    graph.root(Cell.__module__, "Cell.generator")
    covered = {(module, name.partition(".")[0]) for kind, module, name in graph.nodes if kind == "definition"}
    left_out = {(m, name) for m in graph.loaded for name in graph.left_out(m)}
    missing = {(m, name) for m, name in called - covered - left_out if not name.startswith("<")}
    assert {(m, name) for m, name in missing if (m, "*") not in left_out} == set()
    assert len(called) > 10

"""The script for a quarter of an hour on a GPU: it computes what it says, and goes on where it was stopped."""

import importlib
import json
from pathlib import Path

import pytest

pytest.importorskip("threadpoolctl")


@pytest.fixture
def campaign(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    return importlib.import_module("gpu_campaign")


def test_its_units_agree_with_a_core_and_are_done_once(campaign, tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    words = ["--device", "cpu", "--tiny", "--output", str(path)]
    assert campaign.main([*words, "--seconds", "-1"]) == 0
    assert "out of time before: peak" in capsys.readouterr().out and path.read_text() == ""
    assert campaign.main(words) == 0
    rows = campaign.read(path)
    evaluations = [row for name, row in rows.items() if name.startswith("evaluation")]
    fits = [row for name, row in rows.items() if name.startswith("fits")]
    assert len(evaluations) == len(fits) == 4
    assert all(row["differs_kernels"] < 1e-5 and row["differs_plain"] < 1e-5 for row in evaluations)
    assert all(row["differs"] < 1e-3 and row["steps"] > 5 for row in fits)
    *before, last = path.read_text().splitlines()
    path.write_text("\n".join([*before, last[:40]]))  # killed while it wrote
    capsys.readouterr()
    assert campaign.main(words) == 0
    done = [line for line in capsys.readouterr().out.splitlines() if line.endswith(" s")]
    assert len(done) == 1 and done[0].startswith(json.loads(last)["unit"])
    assert campaign.read(path).keys() == rows.keys()

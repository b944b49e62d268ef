"""While an experiment is written: --debug, and stale results that name the file of the change."""

from __future__ import annotations

import os
import re

import pytest
from machine import inside

BROKEN = """
import numpy as np
from moestat.experiment import SettingsModel, assemble


class Settings(SettingsModel):
    n: int
    limit: int = 15


def run(cell, replicates, *, device="cpu"):
    settings = Settings(**cell.settings)
    return assemble(replicates, {"error": [inner(settings) for _ in replicates]}, finished="Computed.")


def inner(settings):
    if settings.n > settings.limit:
        raise ArithmeticError(f"{settings.n} is too many")
    return 1.0 / settings.n
"""


def _study(folder):
    (folder / "half_done.py").write_text(BROKEN)
    path = folder / "study.py"
    path.write_text(
        "from moestat import Study\n"
        "study = Study('t', experiment='half_done', seed=1, grid=dict(n=[20, 10]))\n"
        "study.arm('a')\nstudy.preset('quick', replicates=2)\n"
    )
    return path


def test_the_first_failure_stops_with_a_traceback(tmp_path, monkeypatch):
    monkeypatch.delenv("MOESTAT_CACHE", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    study = _study(tmp_path)
    code, out, err = inside(study, "--debug", "--out", tmp_path / "o")
    assert code == 1 and "in inner" in err and "ArithmeticError: 20 is too many" in err
    assert (
        "arm a, n = 20, replicate 0: ArithmeticError: 20 is too many (half_done.py line 18); nothing was stored" in err
    )
    assert "debug.py" not in err, "the traceback begins in the experiment"
    assert not (tmp_path / "o").exists() and "MOESTAT_CACHE" not in os.environ
    code, out, err = inside(study, "--debug", "--set", "limit=50", "--replicates", 2)
    assert code == 0 and "no failure" in out and err.count("arm a, n = ") == 4


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("review,stars\ngood film,5\nbad film,x\n", "texts.csv, row 3, column 'stars'"),
        ("review,stars\ngood film,5\nbad film\n", "texts.csv, row 3"),
        ("text,stars\ngood film,5\n", "texts.csv.*'review'"),
    ],
)
def test_bad_data_are_refused_before_the_first_replicate_with_row_and_column(tmp_path, content, sentence):
    data = tmp_path / "texts.csv"
    data.write_text(content)
    words = ["mot_text", "--set", f"data={data}", "--set", "text=review", "--set", "number=stars"]
    for more in (["--dry-run"], ["--out", tmp_path / "o", "--jobs", 1]):
        code, _, err = inside(*words, "--set", 'task=["regression"]', *more)
        assert code == 2 and re.search(sentence, err), err
    assert not (tmp_path / "o").exists()

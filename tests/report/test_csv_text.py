"""Texts in CSV files are not formulas to a spreadsheet, and come back as they were."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from moestat.report import csv_text


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-1/2", "'-1/2"),
        ("+x", "'+x"),
        ("-0.5", "-0.5"),
        ("+1e-3", "+1e-3"),
        ("plain", "plain"),
        ("'quoted'", "'quoted'"),
        ("'=x", "''=x"),
        ("", ""),
    ],
)
def test_a_text_that_begins_as_a_formula_is_escaped_and_comes_back(tmp_path, cell, written):
    table = pd.DataFrame({"text": [cell], "number": [-0.5]})
    (tmp_path / "x.csv").write_text(csv_text.dump(table), encoding="utf-8")
    assert pd.read_csv(tmp_path / "x.csv", dtype=str, keep_default_na=False)["text"][0] == written
    (row,) = csv_text.load(tmp_path / "x.csv")
    assert row == {"text": cell, "number": "-0.5"}
    if cell and cell not in ("-0.5", "+1e-3"):
        assert csv_text.frame(tmp_path / "x.csv")["text"][0] == cell


def test_numbers_and_gaps_stay():
    table = pd.DataFrame({"mixed": [-1.5, "=x", None, math.nan], "number": [-1.0, 2.0, 3.0, math.nan]})
    assert csv_text.dump(table) == "mixed,number\n-1.5,-1.0\n'=x,2.0\n,3.0\n,\n"

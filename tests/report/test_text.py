"""Text and tables for print: escaping, exponents, CSV, and tables that lose nothing in a terminal."""

import io
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser
from rich.console import Console

from moestat.claims.evidence import Evidence
from moestat.report import csv_text, tables, text, views, write
from moestat.report.grid import Shown

STUDIES = Path(__file__).parents[2] / "studies"
SPECIAL = st.text(alphabet="aN1^()-_$\\{}%&#*.<>=~ ", max_size=20)
EXPONENTS = st.text(alphabet="aN1-_$\\{}%*. ", max_size=4).map(lambda s: f"x^({s}) y^{s}")
ANY = st.one_of(st.text(alphabet=st.characters(codec="utf-8"), max_size=40), SPECIAL, EXPONENTS)


@settings(deadline=None)
@given(ANY)
def test_html_shows_the_text_and_no_markup_of_its_own(words):
    shown = str(text.html(words))
    assert not re.search(r"<(?!/?sup>)", shown)
    seen = []
    reader = HTMLParser()
    reader.handle_data = seen.append
    reader.feed(shown)
    reader.close()

    def plain(s):
        return re.sub(r"[\^()\r\n\0-]", "", text.minus(s)).replace("\N{MINUS SIGN}", "")

    assert plain("".join(seen)) == plain(words)


@settings(deadline=None)
@given(ANY)
def test_latex_leaves_no_special_character_alone_and_mathtext_can_be_drawn(words):
    bare = re.sub(r"\\[a-z]+(\{\})?|\\[&%$#_{}]", "", text.latex(words))
    assert not re.search(r"[&%#_~^\\]", re.sub(r"\$[^$]*\$", "", bare))
    shown = text.mathtext("".join(c for c in words if c.isprintable() and ord(c) < 0x250))
    if shown.replace(r"\$", "").count("$"):
        MathTextParser("path").parse(shown)


def test_tables_lose_no_row_in_html_latex_and_a_terminal(ds, study):
    ds["status"][1, 2, 3] = 8
    ds["message"][1, 2, 3] = "ValueError: a_1 & <b>"
    evidence = Evidence(ds.drop_vars("arm_label"), study, "quick")
    shown = dict(views.frames({name: getattr(tables, name)(evidence) for name in write.ALL}))
    for table in shown.values():
        html, tex = str(views.html(table)), views.latex(table, label="tab:x")
        assert html.count('scope="row"') == len(table.rows) and html.count('scope="col"') == len(table.columns)
        rows = [line for line in tex.splitlines() if len(re.findall(r"(?<!\\)&", line)) == len(table.columns) - 1]
        assert len(rows) == len(table.rows) + 2 * tex.count(r"\begin{longtable}")
    assert r"a\_1 \& $<$b$>$" in views.latex(shown["failures"])
    whole, console = views.rates(tables.rates(evidence)), Console(file=io.StringIO(), width=80)
    console.print(Shown(whole, spare=("bound", *write.NOT_IN_PAPER)))
    said = console.file.getvalue()
    cells = [cell for row in whole.without(["bound", *write.NOT_IN_PAPER]).rows for cell in row]
    assert max(map(len, said.splitlines())) <= 80 and all(cell in said for cell in (*cells, *whole.groups))
    assert "\N{DAGGER} not trusted: 1 of 10 replicates are incomplete" in " ".join(said.split())


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("-0.5", "-0.5"),
        ("'quoted'", "'quoted'"),
        ("'=x", "''=x"),
    ],
)
def test_a_text_that_begins_as_a_formula_is_escaped_and_comes_back(tmp_path, cell, written):
    table = pd.DataFrame({"text": [cell, None], "number": [-0.5, math.nan]})
    (tmp_path / "x.csv").write_text(csv_text.dump(table), encoding="utf-8")
    assert pd.read_csv(tmp_path / "x.csv", dtype=str, keep_default_na=False)["text"][0] == written
    assert csv_text.load(tmp_path / "x.csv")[0] == {"text": cell, "number": "-0.5"}

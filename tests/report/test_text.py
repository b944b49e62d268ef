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

from moestat.claims import verdicts
from moestat.claims.evidence import Evidence
from moestat.report import csv_text, tables, text, views, write
from moestat.report.views import Shown

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


@pytest.fixture
def shown(ds, study):
    ds["status"][1, 2, 3] = 8
    ds["message"][1, 2, 3] = "ValueError: a_1 & <b>"
    made = dict(views.frames({name: getattr(tables, name)(Evidence(ds, study, "quick")) for name in write.ALL}))
    return made | {"claims": views.claims(tables.claims(verdicts.judge(ds, study, "quick")))}


def test_every_table_has_every_row_in_html_and_latex(shown):
    assert set(shown) == {"rates", "summaries", "statuses", "failures", "diagnostics", "claims"}
    for table in shown.values():
        assert all(isinstance(cell, str) for cell in table.to_numpy().ravel())
        html, tex = str(views.html(table)), views.latex(table, label="tab:x")
        assert html.count('scope="row"') == len(table) and html.count('scope="col"') == table.shape[1]
        rows = [line for line in tex.splitlines() if len(re.findall(r"(?<!\\)&", line)) == table.shape[1] - 1]
        heads = 2 * tex.count(r"\begin{longtable}")
        assert len(rows) == len(table) + heads and "<b>" not in html.replace("<b>&", "")
    assert r"a\_1 \& $<$b$>$" in views.latex(shown["failures"])


def printed(renderable, width):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    said = console.file.getvalue()
    assert max(map(len, said.splitlines())) <= width
    return said


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_loses_no_number_and_no_name(ds, study, width):
    ds["status"][1, 2, 3] = 8
    whole = views.rates(tables.rates(Evidence(ds.drop_vars("arm_label"), study, "quick")))
    table = whole.drop(columns=["bound", *write.NOT_IN_PAPER], errors="ignore")
    said = printed(Shown(whole, spare=("bound", *write.NOT_IN_PAPER)), width)
    assert all(cell in said for cell in table.to_numpy().ravel())
    assert all(heading in said for heading in table.index)
    assert "\N{DAGGER} not trusted: 1 of 10 replicates are incomplete" in " ".join(said.split())


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("-1/2", "'-1/2"),
        ("-0.5", "-0.5"),
        ("'quoted'", "'quoted'"),
        ("'=x", "''=x"),
        ("", ""),
    ],
)
def test_a_text_that_begins_as_a_formula_is_escaped_and_comes_back(tmp_path, cell, written):
    table = pd.DataFrame({"text": [cell, None], "number": [-0.5, math.nan]})
    (tmp_path / "x.csv").write_text(csv_text.dump(table), encoding="utf-8")
    assert pd.read_csv(tmp_path / "x.csv", dtype=str, keep_default_na=False)["text"][0] == written
    assert csv_text.load(tmp_path / "x.csv")[0] == {"text": cell, "number": "-0.5"}

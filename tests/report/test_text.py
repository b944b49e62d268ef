"""Text and tables for print: escaping, exponents, and tables whose rows have as many cells as their heads."""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from moestat.claims import verdicts
from moestat.claims.evidence import Evidence
from moestat.report import exponents, ledger, render, tables, views
from moestat.report.latex_table import escaped, latex
from moestat.report.write import MeansTable

SPECIAL = st.text(alphabet="aN1^()-_$\\{}%&#*.<>=~ ", max_size=20)
EXPONENTS = st.text(alphabet="aN1-_$\\{}%*. ", max_size=4).map(lambda s: f"x^({s}) y^{s}")
ANY = st.one_of(st.text(alphabet=st.characters(codec="utf-8"), max_size=40), SPECIAL, EXPONENTS)


@settings(deadline=None)
@given(ANY)
def test_html_shows_the_text_and_no_markup_of_its_own(text):
    shown = str(exponents.html(text))
    assert not re.search(r"<(?!/?sup>)", shown)

    class Reader(HTMLParser):
        seen = ""

        def handle_data(self, data):
            self.seen += data

    reader = Reader()
    reader.feed(shown)
    reader.close()

    def plain(s):
        return re.sub(r"[\^()\r\n\0-]", "", exponents.minus(s)).replace("\N{MINUS SIGN}", "")

    assert plain(reader.seen) == plain(text)


@settings(deadline=None)
@given(ANY)
def test_latex_leaves_no_special_character_alone(text):
    shown = escaped(text)
    bare = re.sub(r"\\[a-z]+(\{\})?|\\[&%$#_{}]", "", shown)
    bare = re.sub(r"\$[^$]*\$", "", bare)
    assert not re.search(r"[&%#_~^\\]", bare)


@settings(deadline=None)
@given(ANY)
def test_mathtext_can_be_drawn(text):
    from matplotlib.mathtext import MathTextParser

    shown = exponents.mathtext("".join(c for c in text if c.isprintable() and ord(c) < 0x250))
    if shown.replace(r"\$", "").count("$"):
        MathTextParser("path").parse(shown)


def test_exponents_and_signs():
    assert exponents.html("n^(-1/2), [-1, 1]^d, x <= 3, 3-6") == "n<sup>−1/2</sup>, [−1, 1]<sup>d</sup>, x ≤ 3, 3-6"
    assert exponents.mathtext("n^(-1/2)") == "n$^{\N{MINUS SIGN}1/2}$"
    assert escaped("50 % of A_1") == r"50 \% of A\_1"


def test_prose_keeps_the_stars_of_mathematics():
    text = "f*(x) and N* + 1 with *emphasis* and **weight**.\n\nNext `code`.\n\n- one\n- two *2*"
    assert render.paragraphs(text) == (
        "<p>f*(x) and N* + 1 with <em>emphasis</em> and <strong>weight</strong>.</p>\n"
        "<p>Next <code>code</code>.</p>\n<ul>\n<li>one</li>\n<li>two <em>2</em></li>\n</ul>"
    )
    assert "<script>" not in render.paragraphs("<script>alert(1)</script>")


@pytest.fixture
def shown(ds, study):
    ds["status"][1, 2, 3] = 8
    judged = tables.claims(verdicts.judge(ds, study, "quick"))
    table = tables.rates(Evidence(ds, study, "quick"))
    return [
        views.rates(table),
        views.rates(table, brief=True),
        *views.rates_by_loss(table),
        views.claims(judged),
        views.summaries(tables.summaries(Evidence(ds, study, "quick"))),
        views.statuses(tables.statuses(Evidence(ds, study, "quick"))),
        views.failures(tables.failures(ds)),
        views.diagnostics(tables.diagnostics(Evidence(ds, study, "quick"))),
    ]


def test_tables_are_rectangular_in_every_format(shown):
    for view in shown:
        width = len(view.columns)
        assert view.rows and all(len(row) == width for row in view.rows)
        assert not view.groups or len(view.groups) == len(view.rows)
        html = str(render.html(view))
        rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
        assert len(rows) == len(view.rows) + 1
        assert all(len(re.findall(r"<t[hd][ >]", row)) == width for row in rows)
        assert html.count('scope="row"') == len(view.rows) and html.count('scope="col"') == width
        assert "<caption>" in html
        tabular = latex(view, label="tab:x")
        body = tabular.split(r"\endfoot")[1].split(r"\end{longtable}")[0]
        lines = [line for line in body.splitlines() if line.endswith(r" \\") and "multicolumn" not in line]
        assert len(lines) == len(view.rows)
        assert all(len(re.findall(r"(?<!\\)&", line)) == width - 1 for line in lines)
        pipes = [line for line in render.markdown(view).splitlines() if line.startswith("|")]
        assert all(len(re.findall(r"(?<!\\)\|", line)) == width + 1 for line in pipes)


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_loses_no_number(shown, width):
    text = render.text(shown[1], width)
    for row in shown[1].rows:
        assert all(cell in text for cell in row[1:])
    assert "\N{DAGGER} not trusted: 1 of 10 replicates are incomplete" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [70, 80])
def test_no_verdict_is_cut_off_in_a_narrow_terminal(shown, width):
    long = views.View("Claims", ("claim", "predicted", "estimate", "verdict"), [("a-long-name" * 3, "0 (bound: 2)")])
    long = replace(long, rows=[(*long.rows[0], "0.0079544 [0.0079544, 0.0079544]", "not supported")])
    assert "not supported" in render.text(long, width)
    told = ("no counterexample in 748 of 748 at reduced scale", "refuted by 68 of 68 on a stand-in")
    row = {"claim": "partially-quadratic", "says": "ours, neutral", "estimate": "1.9910 [1.9895, 1.9925]"}
    row = row if width < 80 else {"claim": row.pop("claim"), "predicted": "bounded"} | row
    text = render.text(views.View("Claims", (*row, "verdict"), [(*row.values(), word) for word in told]), width)
    assert all(text.count(word) >= 1 for wording in told for word in wording.split())
    assert "counterexample" in text and "1.9910" in text and max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 120])
def test_ids_are_not_broken_and_headings_run_over_the_whole_width(width):
    name, heading = "theorem-1-argmin-sparse-gelu-near-m", "lemma over m (10 sizes from 8 to 4096), at r = 2 and p = 3"
    row = {"claim": name, "says": "implied, against", "estimate": "-0.251 [-0.331, -0.171]"}
    row |= {"verdict": "not shown at reduced scale"}
    text = render.text(views.View("Claims", tuple(row), [tuple(row.values())] * 2, [heading] * 2), width)
    assert len(name) == 35 and text.count(name) == 2 and text.count(heading) == 1
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize(
    ("width", "name"),
    [
        (60, ["theorem-1-argmin-", "sparse-gelu-near-m"]),
        (80, ["theorem-1-argmin-sparse-gelu-", "near-m"]),
        (120, ["A sentence of words. A sentence of", "words. A sentence of words."]),
    ],
)
def test_in_the_ledger_a_name_gives_way_before_a_word_or_a_number(width, name):
    row = {"paper": "p", "study": "s", "preset": "quick", "date": "2026-01-05", "version": "0.1.0", "group": "g"}
    row |= {"origin": "implied", "bearing": "against", "scale": "reduced", "estimate": -0.1234, "predicted": "bounded"}
    row |= {"ci_low": -0.17850, "ci_high": -0.07125, "verdict": "no counterexample"}
    row |= {
        "wording": "no counterexample in 748 of 748 at reduced scale",
        "statement": " ".join(["A sentence of words."] * 3),
    }
    table = pd.DataFrame([row | {"claim": "theorem-1-argmin-sparse-gelu-near-m"}])
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(ledger.rich(table))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    rules = [line for line in lines if line.startswith("\N{BOX DRAWINGS LIGHT HORIZONTAL}")]
    assert (
        max(map(len, lines)) <= width and len(rules) == 1 and rules[0].strip("\N{BOX DRAWINGS LIGHT HORIZONTAL}") == ""
    )
    heads = ["claim", "says", *["predicted"] * (width >= 80), "estimate", "verdict"]
    assert [line.split() for line in lines if line.startswith("claim ")] == [heads]
    words = {word for line in lines for word in line.split()}
    assert {"implied,", "against", "counterexample", "-0.123", "[-0.178,", "-0.071]", "reduced"} <= words
    below = lines[lines.index("p: s (quick, 2026-01-05, moestat 0.1.0)") + 1 :]
    assert [line[: len(part)] for line, part in zip(below, name, strict=False)] == name
    assert all(line[len(part) : len(part) + 2].strip() == "" for line, part in zip(below, name, strict=False))


def test_verdicts_are_words_with_signs_not_colours_alone(shown):
    html = str(render.html(shown[4]))
    assert '<span class="verdict supported"><span aria-hidden="true">✓</span> supported at reduced scale</span>' in html
    assert '<span class="verdict not-supported">' in html and "not shown at reduced scale" in html
    assert ">not supported" not in html
    assert '<span class="verdict inconclusive">' in html


def test_the_text_of_a_table_is_returned_inside_a_notebook_too(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    shown = views.View("Slopes", ("arm", "slope"), [("one", "-0.5")], [""])
    assert "-0.5" in render.text(shown)


def test_means_keep_the_names_of_arms_and_of_places_in_a_terminal_of_80_columns():
    record = {"mean": 0.12345, "ci_low": 0.1, "ci_high": 0.2, "mcse": 0.025, "sd": 0.1, "median": 0.1}
    record |= {"replicates": 200, "lost": 1}
    arms = {"moe": "Theorem 4.2", "dense-templates": "Theorem 4.1, shared templates"}
    table = pd.DataFrame(
        [
            {"arm": arm, "label": label, "variable": "low_mass", "size": size, **record}
            for arm, label in arms.items()
            for size in ("one-task", "shared-subject")
        ]
    )
    table.attrs["axes"] = ["size"]
    console = Console(width=80, file=io.StringIO())
    console.print(MeansTable(table))
    shown = console.file.getvalue()
    assert "MCSE" not in shown  # for it a name would be folded
    narrow = table.assign(arm="moe", label="Theorem 4.2")
    console = Console(width=80, file=io.StringIO())
    console.print(MeansTable(narrow))
    assert "MCSE" in console.file.getvalue()
    assert shown.count("Theorem 4.1, shared templates") == shown.count("shared-subject") == 2
    assert "[0.100, 0.200]" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_column_of_lost_values_is_shown_where_some_were_lost():
    record = {"arm": "a", "label": "a", "variable": "L3", "mean": 1.0, "ci_low": 0.9, "ci_high": 1.1, "mcse": 0.1}
    table = pd.DataFrame([record | {"sd": 0.1, "median": 1.0, "replicates": 9, "lost": lost} for lost in (0, 1)])
    assert "lost" in views.summaries(table).columns
    assert "lost" not in views.summaries(table.iloc[:1]).columns

"""The items of a paper: which claims belong to each, how its verdicts are counted and shown."""

from pathlib import Path

import pytest

from moestat import cli
from moestat.report import items
from moestat.report.items import Part
from moestat.study.contents import Paper

ITEMS = [
    {"name": "Theorem 1", "says": "W*_i has the rate n^(-1/2)."},
    {"name": "Figure 2", "says": "A picture."},
    {"name": "Table 3", "says": "Settings.", "unchecked": "Nothing is stated."},
]
PAPER = Paper.model_validate({"name": "toy", "key": "T", "title": "A toy", "problem": "None.", "items": ITEMS})


def row(claim, source, verdict, bearing="for", group="", scale="paper"):
    wording = verdict if scale == "paper" else f"{verdict} at reduced scale"
    made = {"study": "toy", "claim": claim, "source": source, "bearing": bearing, "group": group or claim}
    return made | {"verdict": verdict, "wording": wording, "scale": scale}


ROWS = [
    row("a", "T Theorem 1", "supported", group="rate"),
    row("b", "T Theorem 1", "not supported", group="rate"),
    row("c", "T Theorem 1, Fig. 2", "supported", group="other"),
    row("d", "T Theorem 1", "not supported", scale="reduced"),
    row("e", "ours, for T Theorem 1", "refuted", bearing="against"),
    row("f", "ours", "supported"),
]


def test_variants_of_a_statement_count_once_and_objections_apart():
    theorem = items.parts(PAPER, ROWS)[0]
    assert theorem.verdicts == "1 supported, 1 not shown at reduced scale, 1 mixed; objections: 1 refuted"
    assert theorem.standing == "holds in part"


def test_what_variants_of_an_open_statement_have_decided_is_not_hidden():
    rows = [
        row("a", "T Theorem 1", "supported", group="rate"),
        row("b", "T Theorem 1", "inconclusive", group="rate"),
        row("c", "T Theorem 1", "not supported", group="other", scale="reduced"),
        row("d", "T Theorem 1", "not run", group="other", scale="reduced"),
    ]
    theorem, *_ = items.parts(PAPER, rows)
    assert theorem.verdicts == "2 inconclusive (variants: 1 supported, 1 not shown at reduced scale)"


def test_a_consequence_does_not_make_an_item_hold_in_part_whose_conclusion_fails():
    first = PAPER.items[0].model_copy(update={"conclusion": ["toy:main*"]})
    consequence, against = row("then", "T Theorem 1", "supported"), row("main-1", "T Theorem 1", "refuted")
    assert Part(first, [consequence, against]).standing == "stands against"
    assert Part(PAPER.items[0], [consequence, against]).standing == "holds in part"
    assert Part(first, [consequence, against, row("main-2", "T Theorem 1", "supported")]).standing == "holds in part"
    assert Part(first, [consequence, row("main-1", "T Theorem 1", "inconclusive")]).standing == "holds in part"
    assert Part(first, [row("main-1", "T Theorem 1", "inconclusive")]).standing == "open"


def test_an_argument_decides_an_item_whatever_its_runs_say():
    given = {"id": "a", "item": "Theorem 1", "says": "It fails.", "premises": [{"words": "w", "where": "p"}]}
    given |= {"derivation": ["d"], "reading": "none", "check": "math:pi", "shows": {"x": (0, 1)}}
    made = [given | {"verdict": "proved", "id": "b"}, given | {"verdict": "disproved"}]
    theorem, figure, _ = items.parts(Paper.model_validate(PAPER.model_dump() | {"arguments": made}), ROWS)
    assert (theorem.stands, theorem.standing) == ("disproved, by argument", "holds in part")
    assert theorem.told.startswith("It fails. (a) It fails. (b) By simulation: 1 supported")
    assert figure.stands == figure.standing == "not checked"


def test_an_item_without_verdicts_says_why():
    found = items.parts(PAPER, [*ROWS, row("g", "T Table 3", "supported", bearing="neutral")])
    assert [part.told for part in found][1:] == ["see Theorem 1", "what was found is neutral to the paper"]
    assert (Part(PAPER.items[2]).standing, Part(PAPER.items[2]).told) == ("not checked", "Nothing is stated.")


def test_the_items_of_papers_in_the_terminal_and_as_a_page(tmp_path, capsys):
    assert cli.main(["--paper", "demystifying-softmax", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Theorem 1" in shown and "not run" in shown and "--claims demystifying-softmax" in shown
    page = tmp_path / "made" / "items.md"
    assert cli.main(["--paper", "--out", str(tmp_path), "--write", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == sorted(
        path.name.replace("_", "-") for path in Path("studies").iterdir() if (path / "items.py").is_file()
    )
    assert cli.main(["--paper", "task-routing", "--write", str(tmp_path / "x.csv")]) == 2
    assert "allowed is FILE.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verdicts", "word"),
    [
        (["supported", "not supported"], "mixed"),
        (["no counterexample", "refuted", "inconclusive", "not run"], "refuted"),
        (["not supported", "inconclusive"], "inconclusive"),
        (["supported", "not run"], "inconclusive"),
        (["supported", "refuted", "not run"], "mixed"),
        (["not run", "not run"], "not run"),
        (["supported", "no counterexample"], "no counterexample"),
    ],
)
def test_one_counterexample_refutes_else_the_weakest_variant_counts_and_contradictions_are_mixed(verdicts, word):
    assert items.of_group(verdicts) == items.of_group(verdicts[::-1]) == word

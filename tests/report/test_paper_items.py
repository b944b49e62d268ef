"""The items of a paper: which claims belong to each, how its verdicts are counted and shown."""

from pathlib import Path

import pytest

from moestat import cli
from moestat.report import paper_items
from moestat.report.paper_items import Part
from moestat.study.contents import Contents

PAPER = Contents.model_validate(
    {
        "paper": "toy",
        "key": "T",
        "title": "A toy",
        "problem": "None.",
        "items": [
            {"name": "Theorem 1", "says": "W*_i has the rate n^(-1/2)."},
            {"name": "Figure 2", "says": "A picture."},
            {"name": "Table 3", "says": "Settings.", "unchecked": "Nothing is stated."},
        ],
    }
)


def row(claim, source, verdict, bearing="for", group="", scale="paper"):
    wording = verdict if scale == "paper" else f"{verdict} at reduced scale"
    return {
        "study": "toy",
        "claim": claim,
        "source": source,
        "bearing": bearing,
        "group": group or claim,
        "verdict": verdict,
        "wording": wording,
        "scale": scale,
    }


ROWS = [
    row("a", "T Theorem 1", "supported", group="rate"),
    row("b", "T Theorem 1", "not supported", group="rate"),
    row("c", "T Theorem 1, Fig. 2", "supported", group="other"),
    row("d", "T Theorem 1", "not supported", scale="reduced"),
    row("e", "ours, for T Theorem 1", "refuted", bearing="against"),
    row("f", "ours", "supported"),
]


def test_claims_belong_to_the_item_that_their_source_names_first():
    found, beside = paper_items.parts(PAPER, ROWS)
    assert [len(part.rows) for part in found] == [5, 0, 0]
    assert found[1].elsewhere == [("Theorem 1", "theorem-1")]
    assert [record["claim"] for record in beside] == ["f"]


def test_variants_of_a_statement_count_once_and_objections_apart():
    theorem = paper_items.parts(PAPER, ROWS)[0][0]
    assert theorem.counts("for") == {"supported": 1, "not shown at reduced scale": 1, "mixed": 1}
    assert theorem.verdicts == "1 supported, 1 not shown at reduced scale, 1 mixed; objections: 1 refuted"
    assert theorem.standing == "holds in part"


def test_what_variants_of_an_open_statement_have_decided_is_not_hidden():
    rows = [
        row("a", "T Theorem 1", "supported", group="rate"),
        row("b", "T Theorem 1", "inconclusive", group="rate"),
        row("c", "T Theorem 1", "not supported", group="other", scale="reduced"),
        row("d", "T Theorem 1", "not run", group="other", scale="reduced"),
    ]
    (theorem, *_), _ = paper_items.parts(PAPER, rows)
    assert theorem.verdicts == "2 inconclusive (variants: 1 supported, 1 not shown at reduced scale)"


def test_a_consequence_does_not_make_an_item_hold_in_part_whose_conclusion_fails():
    first = PAPER.items[0].model_copy(update={"conclusion": ["toy:main*"]})
    consequence, against = row("then", "T Theorem 1", "supported"), row("main-1", "T Theorem 1", "refuted")
    assert Part(first, [consequence, against]).standing == "stands against"
    assert Part(PAPER.items[0], [consequence, against]).standing == "holds in part"
    assert Part(first, [consequence, against, row("main-2", "T Theorem 1", "supported")]).standing == "holds in part"
    assert Part(first, [consequence, row("main-1", "T Theorem 1", "inconclusive")]).standing == "holds in part"
    assert Part(first, [row("main-1", "T Theorem 1", "inconclusive")]).standing == "open"


def test_a_repair_stands_with_the_verdicts():
    repaired = Part(PAPER.items[0], [row("a", "T Theorem 1", "refuted")], repairs=["Without b it holds."])
    assert paper_items.view([repaired]).rows[0][3] == "1 refuted. Without b it holds."


def test_an_item_without_verdicts_says_why():
    found, _ = paper_items.parts(PAPER, [*ROWS, row("g", "T Table 3", "supported", bearing="neutral")])
    table = paper_items.view(found)
    assert [cells[3] for cells in table.rows][1:] == ["see Theorem 1", "what was found is neutral to the paper"]
    assert paper_items.view([Part(PAPER.items[2])]).rows[0][2:] == ("not checked", "Nothing is stated.")


@pytest.mark.parametrize(("width", "there"), [(80, False), (140, True)])
def test_what_an_item_says_is_shown_where_there_is_room(width, there):
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=width, force_terminal=False)
    console.print(paper_items.rich(paper_items.parts(PAPER, ROWS)[0], PAPER.title))
    shown = console.file.getvalue()
    assert "Theorem 1" in shown and "holds in part" in shown and ("A picture." in shown) is there


def test_the_page_escapes_what_markdown_would_read():
    papers = [(PAPER, paper_items.parts(PAPER, ROWS)[0])]
    page = paper_items.page(papers)
    assert "| Theorem 1 | W\\*\\_i has the rate n<sup>\N{MINUS SIGN}1/2</sup>. | **holds in part** |" in page
    assert page == paper_items.page(papers)


def test_the_items_of_a_paper_on_the_command_line(tmp_path, capsys):
    assert cli.main(["--paper", "demystifying-softmax", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Theorem 1" in shown and "not run" in shown and "--claims demystifying-softmax" in shown


def test_the_items_of_all_papers_as_a_page(tmp_path, capsys):
    page = tmp_path / "made" / "items.md"
    assert cli.main(["--paper", "--out", str(tmp_path), "--write", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == sorted(
        path.name.replace("_", "-") for path in Path("moestat/papers").iterdir() if (path / "contents.toml").is_file()
    )
    assert cli.main(["--paper", "task-routing", "--write", str(tmp_path / "x.csv")]) == 2
    assert "allowed is FILE.md" in capsys.readouterr().err

"""The items of a paper: how each stands by its cells, how their verdicts are counted and shown."""

from pathlib import Path

import pytest

from moestat import cli
from moestat.report import items
from moestat.report.items import standing
from moestat.study.contents import Paper

ITEMS = [
    {"name": "Theorem 1", "says": "W*_i has the rate n^(-1/2)."},
    {"name": "Figure 2", "says": "A picture."},
    {"name": "Table 3", "says": "Settings.", "unchecked": "Nothing is stated."},
]
PAPER = Paper.model_validate({"name": "toy", "key": "T", "title": "A toy", "problem": "None.", "items": ITEMS})


def row(claim, verdict, cell="statement", scale="paper"):
    made = {"study": "toy", "claim": claim, "item": "Theorem 1" if cell else "", "cell": cell}
    return made | {"verdict": verdict, "scale": scale}


def test_an_item_stands_as_the_first_of_its_cells_that_is_not_empty():
    rows = [
        row("a", "supported", "proof"),
        row("b", "not supported", "experiment", scale="reduced"),
        row("c", "not run", "experiment", scale="reduced"),
        row("d", "supported", ""),
    ]
    theorem, figure, table = items.parts(PAPER, rows)
    assert theorem.stands == "not shown"
    assert theorem.told == [
        "experiment: 1 not shown at reduced scale (1 sealed), 1 not run",
        "proof: holds; 1 supported (1 sealed)",
    ]
    assert [r["claim"] for r in theorem.rows] == ["b", "c", "a"]
    assert (figure.stands, figure.told) == ("not checked", ["no primary claim"])
    assert table.told == ["Nothing is stated."]


def test_an_item_stands_as_the_cell_that_it_names():
    first = PAPER.items[0].model_copy(update={"conclusion": "proof"})
    named = PAPER.model_copy(update={"items": [first, *PAPER.items[1:]]})
    rows = [row("a", "refuted", "proof"), row("b", "supported"), row("c", "supported", "example")]
    theorem, *_ = items.parts(named, rows)
    assert theorem.stands == "stands against", "what is seen in other cells counts for nothing"


def test_an_argument_decides_its_cell_whatever_runs_say():
    given = {"id": "a", "item": "Theorem 1", "says": "It fails.", "premises": [{"words": "w", "where": "p"}]}
    given |= {"derivation": ["d"], "reading": "none", "check": "math:pi", "shows": {"x": (0, 1)}}
    made = [given | {"verdict": "proved", "id": "b"}, given | {"verdict": "disproved"}]
    made += [given | {"verdict": "disproved", "id": "c", "cell": "proof"}]
    theorem, figure, _ = items.parts(Paper.model_validate(PAPER.model_dump() | {"arguments": made}), [row("x", "open")])
    assert (theorem.stands, figure.stands) == ("disproved, by argument", "not checked")
    assert theorem.told[1] == "proof: disproved, by argument; c"
    of_proof = Paper.model_validate(PAPER.model_dump() | {"arguments": made[2:]})
    theorem, *_ = items.parts(of_proof, [row("x", "supported")])
    assert (theorem.stands, theorem.word("proof")) == ("holds", "disproved, by argument")
    of_examples = Paper.model_validate(PAPER.model_dump() | {"arguments": [made[0] | {"cell": "example"}]})
    assert items.parts(of_examples, [])[0].stands == "proved for examples, by argument"


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ([], "not checked"),
        ([("inconclusive", "paper"), ("not run", "paper")], "open"),
        ([("no counterexample", "stand-in")], "holds on smaller problems"),
        ([("supported", "paper"), ("no counterexample", "reduced")], "holds"),
        ([("supported", "paper"), ("not supported", "paper")], "holds in part"),
        ([("supported", "paper"), ("inconclusive", "reduced")], "holds in part"),
        ([("supported", "paper"), ("not run", "paper")], "holds in part"),
        # one counterexample within the premises refutes, whatever is open, and whatever other cases have not found
        ([("refuted", "paper"), ("inconclusive", "paper"), ("no counterexample", "paper")], "stands against"),
        ([("refuted", "reduced"), ("no counterexample", "paper")], "holds in part"),
        ([("refuted", "paper"), ("supported", "paper")], "holds in part"),
        ([("not supported", "paper"), ("inconclusive", "paper")], "stands against"),
        ([("not supported", "reduced")], "not shown"),
    ],
)
def test_how_a_cell_stands(found, word):
    rows = [{"verdict": verdict, "scale": scale} for verdict, scale in found]
    assert standing(rows) == standing(rows[::-1]) == word


def test_the_ledger_and_a_paper_fit_on_one_screen_and_say_how_to_see_more(capsys):
    assert cli.main(["--claims"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and "--claims --all" in lines[-1] and "--paper PAPER" in lines[-1]
    text = "\n".join(lines)
    for folder in (path.parent for path in Path("studies").glob("*/items.py")):
        assert f"\n{folder.name.replace('_', '-')}, " in text
    rules = text.split(" sealed, ")[1:]
    assert len(rules) >= 6 and all("edited" in told and "added" in told and " survive" in told for told in rules)
    assert cli.main(["--paper", "SA"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines[:-1])) <= 80
    assert any(line.startswith("Theorem 1 ") and "disproved" in line for line in lines)


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

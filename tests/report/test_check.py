"""One question on an item of a paper, answered in at most fifteen lines."""

import pytest

from moestat import cli
from moestat.report import check, items
from moestat.study import contents, lookup


def asked(capsys, *words):
    assert cli.main(["check", *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "first", "parts"),
    [
        (["SA Fig. 1"], "sigmoid-attention, Figure 1: holds", ["-0.07 and -0.46", "(slope of L3), predicted -0.24"]),
        (["sa", "thm1"], "sigmoid-attention, Theorem 1: disproved, by argument", ["claim theorem-1-any-expert"]),
        (["MoT Theorem", "1"], "mixture-of-transformers, Theorem 1: ", ["studies/mixture_of_transformers/README.md"]),
    ],
)
def test_an_item_is_answered_in_fifteen_lines_with_a_number_and_where_to_read_on(capsys, words, first, parts):
    lines = asked(capsys, *words)
    assert lines[0].startswith(first) and len(lines) <= 15 and max(map(len, lines)) <= 100
    heads = [line[:12].strip() for line in lines]
    for head in ("paper", "we find", "kind", "number", "more"):
        assert head in heads, lines
    told = " ".join(" ".join(lines).split())
    assert all(part in told for part in parts), told
    assert any(word in told for word in ("sealed)", "in hindsight)", "edited"))


def test_every_item_of_every_paper_fits():
    for paper in contents.every():
        for part in items.parts(paper, []):
            lines = check.answer(paper, part, {}, "python -m moestat.study")
            assert len(lines) <= 15 and max(map(len, lines)) <= 100, part.item.name
            if part.item.objection:  # which is never cut
                told = " ".join(" ".join(lines).split())
                assert part.item.objection in told and "tested" in part.item.objection


def test_a_paper_alone_lists_its_items(capsys):
    lines = asked(capsys, "SA")
    listed = next(paper for paper in contents.every() if paper.key == "SA")
    assert len(lines) == len(listed.items) and max(map(len, lines)) <= 100
    assert all(line.startswith(item.name) for line, item in zip(lines, listed.items, strict=True))


def test_an_answer_without_a_record_says_that_there_is_none(capsys, tmp_path):
    assert "none of this paper in" not in " ".join(asked(capsys, "SA Fig. 1"))
    lines = asked(capsys, "SA Fig. 1", "--out", str(tmp_path))
    told = " ".join(" ".join(lines).split())
    assert lines[0].endswith("open") and f"none of this paper in {tmp_path}, and no run" in told


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("SA Fig. 1a", ("sigmoid-attention", "Figure 1")),
        ("sigmoid_attention fig1", ("sigmoid-attention", "Figure 1")),
        ("MoT thm 1", ("mixture-of-transformers", "Theorem 1")),
        ("tr Table 1", ("task-routing", "Table 1")),
        ("EC prop 3", ("expert-count", "Proposition 3")),
        ("ds simulations", ("demystifying-softmax", "Simulations")),
    ],
)
def test_papers_and_items_are_understood_as_they_are_written(word, found):
    paper, item = lookup.item(word)
    assert (paper.name, item.name) == found


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("SA Theorem 9", "sigmoid-attention has no item 'Theorem 9'; of these it has Theorem 1, Theorem 2"),
        ("SA Thm", "sigmoid-attention has no item 'Thm'; of these it has Theorem 1, Theorem 2"),
        ("SA theorm 1", "has no item 'theorm 1'; did you mean 'Theorem 1'?"),
        ("sigmoid-atention Fig. 1", "begins with no paper; did you mean 'sigmoid-attention'?"),
        ("XY Fig. 1", "papers are CS (compete-smoe), DS (demystifying-softmax)"),
    ],
)
def test_what_is_not_there_is_said_with_what_is_near(capsys, word, told):
    assert cli.main(["check", word]) == 2
    assert told in capsys.readouterr().err


def test_a_verdict_by_argument_is_shown_by_its_id_and_on_its_item(capsys):
    assert cli.main(["claim", "SA:lemma-2-repaired"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "proved, by argument" in shown and "(Lemma 2)" in shown and "difference of f" in shown
    assert cli.main(["claim", "SA Lemma 2"]) == 0
    assert "Lemma 2 is proved, by argument" in capsys.readouterr().out

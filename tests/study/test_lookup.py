"""Claims are found by what a reader types, and name the cheapest preset that decides them."""

import csv
from types import SimpleNamespace

import pytest
from machine import inside

from moestat.errors import InputError
from moestat.study import contents, load, lookup, presets
from moestat.study.spec import Study

ABOUT = {"source": "SA Fig. 1", "statement": "s", "kind": "slope", "variable": "L", "arm": "a", "at_most": 0.0}


def study(*claims, whose="p", **sizes):
    content = {"title": "t", "paper": whose, "source": "s", "experiment": "e", "seed": 1, "grid": {"n": [1, 2]}}
    content |= {"arms": [{"name": "a"}, {"name": "b"}], "presets": {k: {"replicates": 2} | v for k, v in sizes.items()}}
    return Study.model_validate(content | {"claims": [ABOUT | {"id": f"c{i}"} | c for i, c in enumerate(claims)]})


@pytest.mark.parametrize(
    ("sizes", "claim", "best"),
    [
        ({"quick": {}, "paper": {}}, {}, "paper"),  # nearer to the paper's problem
        ({"quick": {"scale": "paper"}, "more": {"scale": "paper"}}, {}, "more"),  # quick is only a look
        ({"quick": {}, "small": {}, "large": {}}, {}, "small"),  # the first is the cheapest of those that decide alike
        ({"quick": {}, "small": {}, "large": {"rank": 2}}, {}, "large"),
        ({"quick": {}, "paper": {"scale": "stand-in"}}, {}, "quick"),
        ({"quick": {}, "paper": {"arms": ["b"]}}, {}, "quick"),  # paper does not run the arm
        ({"quick": {}, "paper": {"grid": {"n": [2]}}}, {"at": {"n": 1}}, "quick"),
        ({"quick": {}, "paper": {}}, {"presets": ["qu*"]}, "quick"),
        ({"quick": {}}, {"presets": ["never"]}, ""),
    ],
)
def test_the_cheapest_preset_that_decides_is_named(sizes, claim, best):
    made = study(claim, **sizes)
    assert presets.decisive(made, made.claims[0]) == best


@pytest.mark.parametrize(("paper", "scale"), [("none", "paper"), ("", "paper"), ("p", "reduced")])
def test_without_a_paper_there_is_nothing_to_be_reduced_from(paper, scale):
    made = study({}, whose=paper, quick={}, paper={})
    assert [made.scale_of(preset, made.claims[0]) for preset in ("quick", "paper")] == [scale, "paper"]
    assert made.model_copy(update={"scale": "stand-in"}).scale_of("quick") == "stand-in"


def test_of_runs_that_say_alike_the_largest_counts():
    made = study({}, quick={}, small={}, large={}, paper={})
    order = ["large", "small", "quick"]
    assert presets.strongest_first(made, made.claims[0], sorted(order)) == order
    assert presets.strongest_first(made, made.claims[0], ["large", "gone", "paper"])[0] == "paper"


def test_a_run_of_a_part_of_another_never_takes_its_place():
    small = {"replicates": 1}
    made = study({}, quick={}, large={}, fewer=small, point={"grid": {"n": [1]}}, other=small | {"settings": {"k": 2}})
    ran = ["quick", "large", "fewer", "point", "other"]
    order = ["other", "large", "point", "fewer", "quick"]  # other settings are another problem, which the author ranks
    assert presets.strongest_first(made, made.claims[0], ran) == order


def test_an_unknown_id_names_those_that_are_near():
    known = {"task_construction": load.known_studies()["task_construction"]}
    with pytest.raises(InputError, match=r"near are .*:moe-routing"):
        lookup.chosen("moe-rooting", known)
    with pytest.raises(InputError, match="there is no study 'nowhere'"):
        lookup.chosen("nowhere:moe", known)
    found = lookup.chosen("task_construction:moe-routing", known)
    assert [claim.id for claim in found["task_construction"].claims] == ["moe-routing"]


BARE = {"name": "Lemma 3", "unchecked": "It is a step."}
WIDE = {"name": "Theorem 1", "also": ["Section 4.1", "Equation 9"]}
ITEMS = {
    "one": [WIDE, {"name": "Theorem 10"}, {"name": "Figure 2"}, BARE],
    "two": [{"name": "Theorem 1"}, {"name": "Theorem 1.1"}],
}
SOURCES = {
    "one": {
        "a": "ON Thm 1",
        "b": "ON Theorem 10",
        "c": "ON \N{SECTION SIGN}4.1, in words",
        "d": "ON Fig. 2a",
        "e": "ON Fig. 2b",
        "f": "ours: beside ON Thms 1 and 10, statement 3",
        "g": "ours: a control",
    },
    "two": {"h": "TW Theorem 1", "i": "TW Theorem 1.1", "j": "TW abstract"},
    "three": {"k": "Theorem 1 of a textbook"},
}


@pytest.fixture
def papers(monkeypatch, tmp_path):
    """Studies of three papers, two of which have a list of what they contain."""
    lists = {
        paper: contents.Paper(
            name=paper, key=paper[:2].upper(), title="t", problem="p", items=[{"says": "s"} | item for item in items]
        )
        for paper, items in ITEMS.items()
    }
    known = {f"of_{paper}": tmp_path / f"of_{paper}" for paper in SOURCES}

    def read(name):
        paper = str(name).rpartition("of_")[2]
        claims = [{"id": id, "source": source} for id, source in SOURCES[paper].items()]
        return SimpleNamespace(study=study(*claims, whose=paper, quick={}))

    monkeypatch.setattr(contents, "read", lists.get)
    monkeypatch.setattr(load, "known_studies", lambda: known)
    monkeypatch.setattr(load, "read", read)
    return known


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Theorem 1", "acfhk"),  # c by the item that its source leads to; neither Theorem 10 nor 1.1
        ("thm. 1", "acfhk"),
        ("on Thm 1", "acf"),
        ("three Theorem 1", "k"),
        ("of_two:Theorem 1", "h"),
        ("Theorems 1.1 and 10", "bfi"),
        ("Theorem 1, statement 3", "f"),
        ("Fig. 2b", "e"),
        ("Figure 2", "de"),
        ("Fig. 2c", "de"),  # what there is of the figure
        ("Section 4", "c"),
        ("eq. (9)", "acf"),  # of the theorem's: no source names it
        ("abstract", "j"),
        ("ours: a control", "g"),
        ("TW", "hij"),
    ],
)
def test_claims_are_found_by_where_a_paper_says_them(papers, text, ids):
    found = lookup.chosen(text, papers)
    assert sorted(claim.id for study in found.values() for claim in study.claims) == list(ids)
    assert lookup.papers(text, found).startswith(f"{text!r} is in 3 papers (one, three, two)") == (ids == "acfhk")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ON Theorem 7", r"no claim on 'ON Theorem 7'; there are claims on ON Theorem 1, ON Theorem 10\. "),
        ("ON Lemma 3", "ON Lemma 3 is not checked: It is a step. The claims"),
        ("Theorem 1, statement 4", "no claim on 'Theorem 1, statement 4'; there are claims on ON Theorem 1, "),
        ("TW control", "no claim on 'TW control'"),
        ("1", r"no claim '1'\. The claims"),
    ],
)
def test_a_place_without_claims_is_told_with_those_that_have_some(papers, text, told):
    with pytest.raises(InputError, match=told):
        lookup.chosen(text, papers)


def test_the_command_line_lists_the_claims_of_a_place(papers, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "140")
    code, out, _ = inside("claim", "Theorem 1", "--out", tmp_path)
    assert code == 0 and out.startswith("5 primary claims: ") and "5 not run" in out and "claim of_one:a" in out
    assert inside("claim", "TW Theorem 1", "--out", tmp_path)[1].startswith("h  (of_two, two)")
    code, out, _ = inside("--claims", "Theorem 1", "--out", tmp_path)
    assert code == 0 and "'Theorem 1' is in 3 papers" in out and "two: of_two\nh " in out
    page = tmp_path / "page.csv"
    assert inside("--claims", "ON Fig. 2b", "--out", tmp_path, "--write", page)[0] == 0
    [row] = csv.DictReader(page.open(newline="", encoding="utf-8"))
    assert (row["claim"], row["source"]) == ("e", "ON Fig. 2b")


def test_a_paper_is_meant_by_its_name_or_its_key():
    known = load.known_studies()
    of = lookup.of_paper(known, "task-routing")
    assert of and set(of) < set(known)
    assert lookup.of_paper(known, "TR") == lookup.of_paper(known, "tr") == lookup.of_paper(known, "Task_Routing") == of
    with pytest.raises(InputError, match="no study of the paper 'XX'; papers are .*, sigmoid-attention, "):
        lookup.of_paper(known, "XX")

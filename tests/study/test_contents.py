"""What a paper contains: every source leads to an item of its list, and every item has claims or a reason."""

import fnmatch

import pytest

from moestat.errors import InputError
from moestat.study import contents, load, lookup

STUDIES = {name: load.read(path).study for name, path in load.known_studies().items()}
PAPERS = sorted({study.paper for study in STUDIES.values()})


@pytest.mark.parametrize("paper", PAPERS)
def test_every_source_leads_to_an_item_and_every_item_has_claims_or_a_reason(paper):
    listed = contents.read(paper)
    assert listed is not None and listed.name == paper
    reached = {one.item for one in listed.arguments}
    for name, study in STUDIES.items():
        for claim in study.claims if study.paper == paper else ():
            items = listed.items_of(claim.source)
            reached |= {item.name for item in items}
            # a claim of ours may name no place; one that names a place must name one of the list
            assert items or (claim.origin == "ours" and not contents.places(claim.source)), (name, claim.id)
    bare = [item.name for item in listed.items if item.name not in reached and not item.unchecked]
    assert bare == []


@pytest.mark.parametrize("paper", PAPERS)
def test_findings_name_what_there_is(paper):
    listed = contents.read(paper)
    assert len({item.name for item in listed.items}) == len(listed.items)
    claims = [f"{name}:{claim.id}" for name, study in STUDIES.items() for claim in study.claims]
    for item in listed.items:
        for pattern in (pattern for finding in item.findings for pattern in finding.when):
            assert fnmatch.filter(claims, pattern), pattern


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("SA \N{SECTION SIGN}4.1.1, (i) and (ii) after Thm 1", [("Theorem", "1"), ("Section", "4.1.1")]),
        ("CS Theorem 4.2, (11)", [("Theorem", "4.2"), ("Equation", "11")]),
        ("SA Defs 1-4", [("Definition", k) for k in "1234"]),
        ("MT Appendix D", [("Section", "D")]),
        ("ours: n = 10 (as above), Fisher line", []),
    ],
)
def test_places_of_a_source(source, found):
    assert contents.places(source) == found


def test_an_item_holds_what_lies_within_it():
    items = [contents.Item(name="Figure 1", says="s"), contents.Item(name="Section 6", says="s", also=["a phrase"])]
    listed = contents.Paper(name="my-paper", key="MP", title="t", problem="p", items=items)
    sources = ("MP Fig. 1b", "MP section 6.4.1", "MP, a phrase", "MP section 6.3, Fig. 1", "MP Fig. 2")
    found = [[items.index(item) for item in listed.items_of(source)] for source in sources]
    assert found == [[0], [1], [1], [0, 1], []] and contents.read("another") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("paper = Paper(name='mine', key='M', title='', problem='', items=[Item(syas='x')])", r"items.py:2: .*syas"),
        ("paper = Paper(name='x', key='M', title='', problem='', items=[Item(name='n', says='')])", "named 'mine'"),
        ("papers = []", "its variable paper is not there"),
    ],
)
def test_a_broken_list_is_told_with_its_file_and_breaks_no_other_paper(tmp_path, monkeypatch, text, told):
    folder = tmp_path / "studies" / "mine"
    folder.mkdir(parents=True)
    (folder / "items.py").write_text(f"from moestat.study.contents import Item, Paper\n{text}\n")
    study = "from moestat import Study\nstudy = Study('T', paper='mine', experiment='regression', seed=1)\n"
    (folder / "own.py").write_text(f"{study}study.arm('a')\nstudy.preset('quick', replicates=1)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"(?s){told}"):
        contents.read("mine")
    assert "sigmoid_vs_softmax" in lookup.chosen("SA Fig. 1", load.known_studies())

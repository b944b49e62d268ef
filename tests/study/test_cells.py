"""Which claims are primary, and in which cell of which item they stand."""

import re

import pytest

from moestat.errors import InputError
from moestat.study import cells, contents, load
from moestat.study.contents import Paper
from moestat.study.spec import Claim, Study

STUDIES = {name: load.read(path).study for name, path in load.known_studies().items()}


def paper(*items):
    return Paper.model_validate({"name": "toy", "key": "T", "title": "t", "problem": "p", "items": list(items)})


def claim(source="T Theorem 1", **more):
    made = {"id": "c", "source": source, "statement": "s", "kind": "mean", "variable": "v", "arm": "a", "at_most": 0}
    return Claim.model_validate(made | more)


THEOREM = {"name": "Theorem 1", "says": "s"}
FIGURE = {"name": "Figure 2", "says": "s"}


@pytest.mark.parametrize("made", contents.every(), ids=lambda made: made.key)
def test_every_pattern_of_a_paper_has_claims_and_no_claim_is_in_two_cells(made):
    mine = {name: study for name, study in STUDIES.items() if study.paper == made.name}
    found = cells.placed(made, cells.claims_of(mine), complete=True)
    assert found and all(cells.primary(cells.claims_of(mine)[name]) for name in found)


def test_what_is_listed_is_primary_and_the_rest_of_its_item_is_not():
    claims = {"s:a": claim(), "s:b": claim(), "s:c": claim("T Fig. 2"), "s:d": claim("T Fig. 2"), "s:e": claim("none")}
    listed = THEOREM | {"statement": ["s:a"], "proof": ["s:d"]}
    assert cells.placed(paper(listed, FIGURE), claims, complete=True) == {
        "s:a": ("Theorem 1", "statement"),
        "s:d": ("Theorem 1", "proof"),  # wherever its source leads
        "s:c": ("Figure 2", "experiment"),  # an item that lists nothing has its claims by their sources
    }


@pytest.mark.parametrize("more", [{"origin": "ours", "bearing": "for"}, {"bearing": "neutral"}])
def test_what_is_ours_or_beside_the_paper_is_never_primary(more):
    listed = paper(THEOREM | {"statement": ["s:*"]})
    claims = {"s:a": claim(**more), "s:b": claim()}
    assert set(cells.placed(listed, claims, complete=True)) == set(cells.placed(paper(THEOREM), claims)) == {"s:b"}
    with pytest.raises(InputError, match="no claim is that the paper states"):
        cells.placed(listed, {"s:a": claims["s:a"]}, complete=True)


@pytest.mark.parametrize(
    ("items", "told"),
    [
        (
            [THEOREM | {"statement": ["s:*"], "example": ["s:c"]}],
            "T: the claim s:c is in two cells: statement of Theorem 1, example of Theorem 1",
        ),
        (
            [THEOREM | {"statement": ["s:c"]}, FIGURE | {"experiment": ["*:c"]}],
            "two cells: statement of Theorem 1, experiment of Figure 2",
        ),
        ([THEOREM | {"statement": ["s:c", "s:x*"]}], "T Theorem 1: statement has 's:x*', which no claim is"),
        ([THEOREM | {"conclusion": "proof"}], "T Theorem 1: its conclusion is 'proof', and that cell is empty"),
    ],
)
def test_errors_of_cells_name_what_is_wrong(items, told):
    with pytest.raises(InputError, match=re.escape(told)):
        cells.placed(paper(*items), {"s:c": claim()}, complete=True)


def test_of_a_part_of_the_studies_a_pattern_without_a_claim_is_no_error():
    assert cells.placed(paper(THEOREM | {"statement": ["other:*"]}), {"s:c": claim()}) == {}


def test_a_study_without_a_list_of_its_paper_has_all_its_statements_in_cells():
    about = {"title": "t", "paper": "mine", "source": "s", "experiment": "regression", "seed": 1}
    about |= {"arms": [{"name": "a"}], "presets": {"quick": {"replicates": 1}}}
    claims = [claim(id="a"), claim(id="b", source="hers, Figure 3"), claim(id="c", source="her notes")]
    study = Study.model_validate(about | {"claims": [*claims, claim(id="d", origin="ours")]})
    found = cells.of_studies({"./mine.py": study})
    assert found["mine:a"] == ("Theorem 1", "statement") and found["mine:b"] == ("Figure 3", "experiment")
    assert found["mine:c"] == ("Claims", "statement") and "mine:d" not in found
    assert cells.where(found, "./mine.py", "d") == {"item": "", "cell": ""}

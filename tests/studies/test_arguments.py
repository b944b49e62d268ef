"""Verdicts by argument: what each says is computed, and lies where the argument has it."""

import pytest
from pydantic import ValidationError

from moestat.errors import InputError
from moestat.study import arguments, contents, load

PAPERS = sorted({load.read(path).study.paper for path in load.known_studies().values()})
FOUND = [(made, one) for paper in PAPERS if (made := contents.read(paper)) for one in made.arguments]


def test_there_are_arguments():
    assert {made.name for made, _ in FOUND} >= {"sigmoid-attention"}


@pytest.mark.parametrize(("paper", "argument"), FOUND, ids=[f"{made.key}-{one.id}" for made, one in FOUND])
def test_what_an_argument_says_is_computed(paper, argument):
    numbers = argument.computed()
    assert argument.holds(numbers), numbers
    outside = {name: high + 1.0 for name, (_, high) in argument.shows.items()}
    assert not argument.holds(outside)
    assert argument.item in [item.name for item in paper.items]


def test_ids_are_of_one_argument_each_and_of_no_claim():
    ids = [one.id for _, one in FOUND]
    assert len(set(ids)) == len(ids)
    claims = {claim.id for path in load.known_studies().values() for claim in load.read(path).study.claims}
    assert not claims & set(ids)


def test_a_broken_argument_is_refused(tmp_path):
    one = FOUND[0][1]
    with pytest.raises(ValidationError, match="allowed is 'module:function'"):
        one.model_validate(one.model_dump() | {"check": "nothing"})
    with pytest.raises(InputError, match="has no 'absent'"):
        one.model_copy(update={"check": "math:absent"}).computed()
    with pytest.raises(InputError, match="did you mean 'Theorem 1'"):
        arguments.checked([one.model_copy(update={"item": "Theorm 1"})], ["Theorem 1"], "here")
    path = tmp_path / "arguments.py"
    path.write_text("arguments = 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="must be a list of Argument"):
        arguments.read(path)

"""Claims that a reader would object to: there is none, and none may be added."""

import pytest

from moestat.study import load, review
from moestat.study.spec import Study


@pytest.mark.parametrize("name", sorted(load.known_studies()))
def test_every_claim_can_be_read_looked_up_judged_and_failed(name):
    assert not review.objections(load.read(name).study)


def of(*claims, **more):
    about = {"source": "SA Fig. 1", "statement": "Losses fall.", "kind": "slope", "variable": "L", "arm": "a"}
    claims = [about | {"id": f"c{i}", "at_most": 0.0} | claim for i, claim in enumerate(claims)]
    content = {"title": "t", "paper": "p", "source": "s", "experiment": "e", "seed": 1, "grid": {"n": [1, 2]}}
    content |= {"arms": [{"name": "a"}, {"name": "b"}], "presets": {"quick": {"replicates": 2, "arms": ["a"]}}}
    return [
        text.split(": ", 1)[1] for text in review.objections(Study.model_validate(content | {"claims": claims} | more))
    ]


def test_what_is_objected_to():
    assert of({}) == []
    assert of({}, {"statement": "losses  fall"}) == [
        "its statement is also that of c1",
        "its statement is also that of c0",
    ]
    assert of({"statement": "The same for ReLU."}) == ["its statement leans on a neighbour: 'The same for ReLU.'"]
    assert of({"statement": "Those of GELU fall."})[0].startswith("its statement leans")
    assert of({"source": "Theorem 2"}) == ["its source names no paper: 'Theorem 2'"]
    assert of({"source": "ours"}) == []
    assert of({"arm": "b"}) == of({"arm": "a", "at": {"n": 3}}) == ["no preset runs its arms at its points"]
    loose = {"predicted": -0.07, "at_most": None, "within": [-0.17, 0.03]}
    assert of(loose) == ["its rule calls a loss that does not fall at all convergence"]
    assert of(loose | {"within": [-0.17, -0.01]}) == []
    above = {"predicted": "+0.001", "kind": "difference", "versus": "a"}
    assert of(above) == ["its rule is failed by the number that it predicts, +0.001"]
    assert of(above | {"predicted": "-0.001"}) == []


def test_a_finding_that_no_preset_can_show_is_objected_to():
    small = {"id": "low", "presets": ["quick"]}
    large = {"id": "low-large", "statement": "Losses fall far.", "presets": ["paper"]}
    sizes = {"presets": {"quick": {"replicates": 2}, "paper": {"replicates": 2}}}

    def finding(*patterns):
        return {"findings": [{"when": dict.fromkeys(patterns, "supported"), "text": "They fall."}]}

    assert of(small, large, **sizes, **finding("low*")) == [
        "no preset judges all claims of low*, so that this is never shown: 'They fall.'"
    ]
    assert of(small, large, **sizes, **finding("low", "low-large"))
    assert of(small, large, **sizes, **finding("low")) == of(small, large, **sizes, **finding("*-large")) == []

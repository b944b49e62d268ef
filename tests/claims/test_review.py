"""Claims that a reader would object to: none may be added; the known ones wait to be mended."""

import pytest

from moestat.study import load, review
from moestat.study.spec import Study

LEANING = {
    "task_split": "routing-new-facts",
}
TWINS = {
    "task_construction": "moe-mass dense-mass",
    "task_construction_gaps": "printed-moe printed-dense repaired-moe repaired-dense",
    "task_routing": (
        "favourite clearer-than-ce clearer-than-balance ce-diffuse balance-diffuse balance-uniform favourite-20x7 "
        "clearer-than-ce-20x7 clearer-than-balance-20x7 ce-diffuse-20x7 balance-diffuse-20x7 balance-uniform-20x7 "
        "table-10-router-comparable table-10-load-balance-comparable table-10-router-higher "
        "table-20-router-comparable table-20-load-balance-comparable table-20-router-higher "
        "table-30-router-comparable table-30-load-balance-comparable table-30-router-higher "
        "table-40-router-comparable table-40-load-balance-comparable table-40-router-higher"
    ),
}
NO_KEY: dict[str, str] = {}
NOTHING = {}
KNOWN = {"leans on a neighbour": LEANING, "is also that of": TWINS, "names no paper": NO_KEY, "does not fall": NOTHING}


@pytest.mark.parametrize("name", sorted(load.known_studies()))
def test_no_study_has_a_new_claim_that_cannot_be_read_looked_up_judged_or_failed(name):
    objections = review.objections(load.read(name).study)
    told = {kind: {text.split(": ")[0] for text in objections if kind in text} for kind in KNOWN}
    for kind, listed in KNOWN.items():
        known = set(listed.get(name, "").split())
        assert not told[kind] - known, f"{kind}: mend {sorted(told[kind] - known)}"
        assert not known - told[kind], f"{kind}: {sorted(known - told[kind])} are mended; take them off the list"
    others = [text for text in objections if not any(kind in text for kind in KNOWN)]
    assert not others


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

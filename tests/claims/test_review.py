"""Claims that a reader would object to: none may be added; the known ones wait to be mended."""

import pytest

from moestat.study import load, review
from moestat.study.spec import Study

LEANING = {
    "attention_is_moe": "softmax biases",
    "non_identifiability": "unique-gelu-null thm1-relu-b",
}
TWINS: dict[str, str] = {}
NO_KEY = {
    "competition_gaps": "squared-continuous squared-variance squared-sign squared-mean",
    "regression_rate": (
        "root-sparse-relu-d1 root-sparse-relu-d2 root-sparse-relu-d8 root-sparse-linear-d1 root-sparse-linear-d2 "
        "root-sparse-linear-d8 root-dense-relu-d1 root-dense-relu-d2 root-dense-relu-d8 root-dense-linear-d1 "
        "root-dense-linear-d2 root-dense-linear-d8"
    ),
    "sigmoid_regimes": (
        "fisher-dense-relu-quick fisher-dense-relu-paper fisher-dense-gelu-quick fisher-dense-gelu-paper "
        "fisher-dense-linear-quick fisher-dense-linear-paper fisher-dense-square-quick fisher-dense-square-paper "
        "fisher-sparse-relu-quick fisher-sparse-relu-paper fisher-sparse-gelu-quick fisher-sparse-gelu-paper "
        "fisher-sparse-linear-quick fisher-sparse-linear-paper fisher-sparse-square-quick "
        "fisher-sparse-square-paper"
    ),
    "softmax_gaussian": (
        "D1-exact-near D1-exact-random D1-exact-grid D2-three-near D2-three-random D2-three-grid D2-four-near "
        "D2-four-random hellinger-exact hellinger-three-near hellinger-three-random hellinger-four-near "
        "hellinger-four-random exact-b exact-a exact-beta exact-v three-exact-a three-exact-beta three-exact-v "
        "three-over-b three-over-beta three-over-a three-over-v three-slower published-exact published-three "
        "D1-published D2-published"
    ),
}
NOTHING = {
    "paper_protocol": "printed-softmax-softmax-linear printed-sparse-linear",
    "sigmoid_regimes": "printed-sparse-linear",
    "sigmoid_vs_softmax": "slope-softmax-linear-ls slope-softmax-linear-sgd-fixed slope-softmax-linear-sgd-root",
}
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

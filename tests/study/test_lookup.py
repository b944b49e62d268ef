"""Claims are found by what a reader types, and name the cheapest preset that decides them."""

import pytest

from moestat.errors import InputError
from moestat.study import load, lookup, presets
from moestat.study.spec import Study


def of(*claims, **sizes):
    about = {"source": "SA Fig. 1", "statement": "s", "kind": "slope", "variable": "L", "arm": "a", "at_most": 0.0}
    content = {"title": "t", "paper": "p", "source": "s", "experiment": "e", "seed": 1, "grid": {"n": [1, 2]}}
    content |= {"arms": [{"name": "a"}, {"name": "b"}], "presets": {k: {"replicates": 2} | v for k, v in sizes.items()}}
    study = Study.model_validate(content | {"claims": [about | {"id": f"c{i}"} | c for i, c in enumerate(claims)]})
    return study, study.claims


@pytest.mark.parametrize(
    ("sizes", "claim", "best"),
    [
        ({"quick": {}, "paper": {}}, {}, "paper"),  # nearer to the paper's problem
        ({"quick": {"scale": "paper"}, "more": {"scale": "paper"}}, {}, "more"),  # quick is only a look
        ({"quick": {}, "small": {}, "large": {}}, {}, "small"),  # the first is the cheapest of those that decide alike
        ({"quick": {}, "small": {}, "large": {"rank": 2}}, {}, "large"),
        ({"quick": {"rank": 1}, "large": {}}, {}, "quick"),
        ({"quick": {}, "paper": {"scale": "stand-in"}}, {}, "quick"),
        ({"quick": {}, "paper": {"arms": ["b"]}}, {}, "quick"),  # paper does not run the arm
        ({"quick": {}, "paper": {"grid": {"n": [2]}}}, {"at": {"n": 1}}, "quick"),
        ({"quick": {}, "paper": {}}, {"presets": ["qu*"]}, "quick"),
        ({"quick": {}}, {"presets": ["never"]}, ""),
    ],
)
def test_the_cheapest_preset_that_decides_is_named(sizes, claim, best):
    study, (judged,) = of(claim, **sizes)
    assert presets.decisive(study, judged) == best


def test_of_runs_that_say_alike_the_largest_counts():
    study, (claim,) = of({}, quick={}, small={}, large={}, paper={})
    assert presets.strongest_first(study, claim, ["quick", "small", "large"]) == ["large", "small", "quick"]
    assert presets.strongest_first(study, claim, ["large", "gone", "paper"])[0] == "paper"


def test_figure_2_of_task_routing_takes_minutes_not_hours():
    study = load.read("task_routing").study
    named = {presets.decisive(study, claim) for claim in study.claims if "Fig. 2" in claim.source}
    assert "figure2" in named and "paper" not in named


def test_an_unknown_or_ambiguous_id_names_those_that_are_near():
    known = {name: path for name, path in load.known_studies().items() if name.startswith("task_construction")}
    with pytest.raises(InputError, match=r"near are .*:moe-routing"):
        lookup.one("moe-rooting", known)
    with pytest.raises(InputError, match="there is no study 'nowhere'"):
        lookup.one("nowhere:moe", known)
    assert lookup.one("task_construction:moe-routing", known).claim.id == "moe-routing"

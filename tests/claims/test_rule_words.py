"""The rule of a claim as a sentence names the number, its arms and places, and the region."""

import pytest

from moestat.claims.wording import in_words
from moestat.study import load
from moestat.study.spec import Claim

ABOUT = {"id": "c", "source": "s", "statement": "t"}


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (
            {"kind": "mean", "variable": "loss", "arm": "a", "at": {"n": 10}, "within": (0, 1)},
            "Supported where the whole 95 % interval of the mean of loss, arm a, n = 10 is within [0, 1].",
        ),
        (
            {"kind": "difference", "variable": "loss", "arm": "a", "versus": "b", "equivalent": 0.1, "level": 0.9},
            "Supported where the whole 90 % interval of the mean difference of loss, paired by replicate, a against b "
            "is equivalent, within [-0.1, 0.1].",
        ),
        (
            {"kind": "slope", "variable": "loss", "arm": "a", "window": (10, 1000), "at_least": -0.25},
            "Supported where the whole 95 % interval of the slope of log loss against log n, arm a, n from 10 to 1000 "
            "is at least -0.25.",
        ),
    ],
)
def test_the_sentence(claim, words):
    assert in_words(Claim.model_validate(ABOUT | claim)) == words


def test_a_function_is_named_with_what_it_says_of_itself():
    about = {"kind": "function", "function": "moestat.claims.rules:peak", "variable": "accuracy", "arm": "mlp"}
    words = in_words(Claim.model_validate(ABOUT | about | {"options": {"value": 16}, "at_least": 0.0}))
    assert "moestat.claims.rules:peak (Estimate by how much the mean at value exceeds" in words
    assert "for accuracy, arm mlp, value = 16" in words
    missing = in_words(Claim.model_validate(ABOUT | about | {"function": "nowhere:f", "at_least": 0.0}))
    assert "the result of nowhere:f for accuracy" in missing


def test_every_rule_of_a_study_has_words():
    for claim in load.read("task_routing").study.claims:
        assert in_words(claim).endswith(".")

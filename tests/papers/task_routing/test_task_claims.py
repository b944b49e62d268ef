"""Claims about constructions."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import judge_one
from moestat.papers.task_routing.rules import worst
from moestat.study.spec import Claim, Study


@pytest.fixture
def results():
    failing = np.array([[[0, 3], [0, 0]], [[5, 40], [0, 0]]])  # size, repairs, replicate
    words = np.array([[["", "[a] of R"], ["", ""]], [["[b] of R", "[c] of R"], ["", ""]]], dtype=object)
    dims = ("arm", "size", "repairs", "replicate")
    return xr.Dataset(
        {
            "failing": (dims, failing[None].astype(np.int64)),
            "failure": (dims, words[None]),
            "status": (dims, np.zeros((1, 2, 2, 2), dtype=np.int64)),
        },
        coords={
            "arm": np.array(["moe"], dtype=object),
            "arm_label": ("arm", np.array(["moe"], dtype=object)),
            "size": np.array(["small", "large"], dtype=object),
            "repairs": np.array(["none", "all"], dtype=object),
            "replicate": [0, 1],
        },
    )


def claim(**changes):
    base = {
        "id": "c",
        "source": "s",
        "statement": "t",
        "kind": "function",
        "function": "moestat.papers.task_routing.rules:worst",
        "variable": "failing",
        "arm": "moe",
        "at": {"repairs": "none"},
        "at_most": 0,
    }
    return Claim.model_validate(base | changes)


def test_the_worst_dataset_decides_and_the_first_failure_is_named(results):
    found = worst(results, claim(), witness="failure", without="all")
    assert (found.value, found.low, found.high) == (40, 40, 40)
    assert "4 datasets, 3 of them above the rule" in found.note
    assert "first: [a] of R" in found.note
    assert "with repairs = all the largest is 0" in found.note
    mended = worst(results, claim(at={"repairs": "all"}), witness="failure")
    assert mended.value == 0
    assert "first" not in mended.note


def test_verdicts(results):
    study = Study.model_validate(
        {
            "title": "t",
            "paper": "p",
            "source": "s",
            "experiment": "e",
            "seed": 0,
            "arms": [{"name": "moe"}],
            "grid": {"size": ["small", "large"], "repairs": ["none", "all"]},
            "presets": {"quick": {"replicates": 2}},
        }
    )
    assert judge_one(results, study, claim(), "quick").verdict == "refuted"
    assert judge_one(results, study, claim(at={"repairs": "all"}), "quick").verdict == "no counterexample"
    assert judge_one(results, study, claim(at={"repairs": "half"}), "quick").verdict == "inconclusive"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arm": "dense"}, "The arm 'dense' is not part"),
        ({"at": {"repairs": "half"}}, "repairs = 'half' is not on the grid"),
        ({"at": {"colour": "red"}}, "no axis 'colour'"),
        ({"variable": "mass"}, "no variable 'mass'"),
    ],
)
def test_what_is_not_there_is_said(results, changes, message):
    with pytest.raises(NoAnswerError, match=message):
        worst(results, claim(**changes))


def test_nothing_computed_is_no_answer(results):
    empty = results.assign(failing=results["failing"] * np.nan)
    with pytest.raises(NoAnswerError, match="no value"):
        worst(empty, claim())

"""Rules about trainings: the last step without a choice of seeds, and settings tuned on other seeds."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.papers.compete_smoe import rules_training
from moestat.study.spec import Claim


def claim(**about):
    """Make a claim on a loss."""
    about = {"variable": "bpc", "arm": "a", "versus": "base", "at_most": 0.0} | about
    return Claim(id="c", source="ours", statement="s", kind="function", function="m:f", **about)


def test_the_last_step_counts_in_every_replicate():
    """The difference of the last step alone, over all replicates."""
    steps = np.array([[[9.0, 1.0], [9.0, 2.0], [9.0, 3.0]], [[0.0, 0.5], [0.0, 1.5], [0.0, 2.0]]])
    ds = xr.Dataset(
        {"train": (("arm", "replicate", "step"), steps)}, {"arm": ["a", "base"], "replicate": range(3), "step": [0, 7]}
    )
    found = rules_training.at_last_step(ds, claim(variable="train"))
    assert found.value == pytest.approx(2 / 3) and found.replicates == 3
    assert found.low < 2 / 3 < found.high


def test_settings_are_chosen_on_seeds_that_do_not_judge():
    """The second choice is among the arms of the first, and the judged seeds are others."""
    arms = ["base", "low", "high", "high-small", "low-best"]
    valid = [[0, 0], [2, 2], [1, 1], [0.5, 0.5], [0, 0]]  # low-best is of the first choice that lost
    ds = xr.Dataset(
        {
            "valid": (("arm", "replicate"), [[*row, 0.0, 0.0, 0.0] for row in np.array(valid, dtype=float)]),
            "bpc": (
                ("arm", "replicate"),
                [[99.0, 99, 1, 1, 1.3], *([[0.0, 0, 5, 5, 5]] * 2), [0, 0, 2, 2, 2], [9] * 5],
            ),
        },
        {"arm": arms, "replicate": range(5)},
    )
    options = {"first": ["low", "high"], "then": {"low": ["low-best"], "high": ["high", "high-small"]}, "by": "valid"}
    found = rules_training.tuned(ds, claim(), **options, seeds=2)
    assert found.value == pytest.approx(0.9) and found.replicates == 3
    assert "high-small" in found.note
    with pytest.raises(NoAnswerError, match="two are needed"):
        rules_training.tuned(ds, claim(), **options, seeds=4)

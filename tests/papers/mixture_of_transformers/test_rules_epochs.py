"""Rules of claims about the course of a training."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.papers.mixture_of_transformers import rules_epochs
from moestat.study.spec import Claim


def courses(**arms: np.ndarray) -> xr.Dataset:
    """Return a run of some arms with courses (replicates, epochs) and stages that end at epochs 2, 4 and 5."""
    values = np.stack(list(arms.values()))
    return xr.Dataset(
        {
            "test_error": (("arm", "replicate", "epoch"), values),
            "stage_end": (("arm", "stage"), np.tile([2, 4, 5], (len(arms), 1))),
        },
        coords={
            "arm": list(arms),
            "replicate": np.arange(values.shape[1]),
            "epoch": np.arange(1, values.shape[2] + 1),
            "stage": ["I", "II", "III"],
        },
    )


def claim(function: str) -> Claim:
    """Return a claim that the first of two arms is lower."""
    return Claim(
        id="a",
        source="ours",
        statement="a",
        kind="function",
        function=f"moestat.papers.mixture_of_transformers.rules_epochs:{function}",
        variable="test_error",
        arm="mot",
        versus="transformer",
        at_most=0,
    )


def test_the_mean_over_a_stage_takes_its_epochs_alone():
    """Stage I is epochs 1 and 2, stage II 3 and 4, stage III 5; the rest may be anything."""
    rng = np.random.default_rng(0)
    transformer = rng.normal(size=(6, 5))
    mot = transformer + np.array([3.0, 1.0, -1.0, -2.0, 100.0])
    ds = courses(transformer=transformer, mot=mot)
    for stage, expected in (("I", 2.0), ("II", -1.5), ("III", 100.0)):
        found = rules_epochs.stage_mean(ds, claim("stage_mean"), stage=stage)
        assert found.value == pytest.approx(expected)
        assert found.low <= found.value <= found.high
    assert "epochs 3 to 4" in rules_epochs.stage_mean(ds, claim("stage_mean"), stage="II").note
    with pytest.raises(NoAnswerError, match="no stage 'IV'"):
        rules_epochs.stage_mean(ds, claim("stage_mean"), stage="IV")


def test_a_rival_that_is_trained_too_long_is_judged_where_it_is_best():
    """At the last epoch the mixture leads by 4; each at its best epoch, there is a lead of 1."""
    transformer = np.array([5.0, 2.0, 3.0, 4.0, 6.0]) + np.zeros((5, 1))
    mot = np.array([5.0, 4.0, 3.0, 1.0, 2.0]) + np.arange(5)[:, None] / 10
    ds = courses(transformer=transformer + np.arange(5)[:, None] / 10, mot=mot)
    found = rules_epochs.at_chosen_epoch(ds, claim("at_chosen_epoch"))
    assert found.value == pytest.approx(-1.0)
    assert "mot at epoch 4, transformer at epoch 2" in found.note


def test_no_replicate_chooses_its_own_epoch():
    """A dip of one run at an epoch of its own does not count for it: the others choose another epoch."""
    transformer = np.full((4, 5), 1.0)
    mot = np.full((4, 5), 1.0)
    mot[:, 3] = 0.9  # what all have in common
    mot[0, 1] = -5.0  # one run's luck, which moves the choice of the others to epoch 2
    ds = courses(transformer=transformer, mot=mot)
    found = rules_epochs.at_chosen_epoch(ds, claim("at_chosen_epoch"))
    assert found.value == pytest.approx(((0.9 - 1.0) + 3 * 0.0) / 4)


def test_of_level_epochs_the_first_is_taken():
    """The sum of the same numbers in another order differs in the last digit, and must not choose."""
    mot = np.array([[0.9, 0.1, 0.1], [0.9, 0.2, 0.2], [0.9, 0.3, 0.6], [0.9, 0.6, 0.3]])
    ds = courses(transformer=np.ones((4, 5)), mot=np.hstack([mot, np.ones((4, 2))]))
    found = rules_epochs.at_chosen_epoch(ds, claim("at_chosen_epoch"))
    # epochs 2 and 3 are level for the first two; without the third run epoch 3 is lower, without the fourth epoch 2
    assert found.value == pytest.approx(np.mean([0.1, 0.2, 0.6, 0.6]) - 1)


def test_pure_noise_gives_no_lead():
    """The minimum of a noisy course is low by luck; at an epoch that others chose it is not (false alarm 1e-6)."""
    rng = np.random.default_rng(1)
    ds = courses(transformer=np.ones((400, 5)), mot=1 + 0.1 * rng.normal(size=(400, 5)))
    found = rules_epochs.at_chosen_epoch(ds, claim("at_chosen_epoch"))
    assert abs(found.value) < 4.9 * 0.1 / np.sqrt(400)


def test_replicates_with_holes_are_left_out():
    """Two whole replicates are too few to choose for each other."""
    values = np.random.default_rng(2).normal(size=(4, 5))
    holes = values.copy()
    holes[0, 0] = np.nan
    found = rules_epochs.at_chosen_epoch(courses(transformer=values, mot=holes), claim("at_chosen_epoch"))
    assert found.replicates == 3
    holes[1, 0] = np.nan
    with pytest.raises(NoAnswerError, match="2 in all are whole"):
        rules_epochs.at_chosen_epoch(courses(transformer=values, mot=holes), claim("at_chosen_epoch"))

"""Rules of the routers and of competition: bounds, trainings, printed tables, the best of those that were run."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from scipy import stats

from moestat.claims.selection import NoAnswerError
from moestat.rates import Cases
from moestat.study import load
from moestat.study.spec import Claim
from studies.compete_smoe.parts import rules_training
from studies.compete_smoe.parts.rules import (
    at_the_end,
    larger_gains,
    lead_of_means,
    lead_of_those_run,
    lower_in_most,
)
from studies.compete_smoe.parts.rules_bound import steepest

LENGTHS = np.array([0.1, 0.03, 0.01, 0.003])


def steepness(ratios, rule=("at_most", 0.1), **options):
    """Judge ratios (replicates, lengths)."""
    asked = Claim(
        id="c",
        source="ours",
        statement="s",
        kind="function",
        function="m:f",
        variable="ratio",
        over="length",
        arm="a",
        **{rule[0]: rule[1]},
    )
    coords = {"arm": ["a"], "length": LENGTHS[: np.shape(ratios)[-1]]}
    ds = xr.Dataset({"ratio": (("arm", "replicate", "length"), np.asarray(ratios, dtype=float)[None])}, coords)
    return steepest(ds, asked, **options)


def test_the_largest_exponent_counts_and_that_of_another_order_refutes():
    """A constant ratio and one that grows pass; E h ~ D^2, in one direction of three, does not."""
    fine = steepness([0.04 + 0 * LENGTHS, 0.02 * LENGTHS**-0.3])
    assert fine.value == pytest.approx(0, abs=1e-12) and fine.cases == Cases(2, 2, 2, 2)
    square = steepness([0.04 + 0 * LENGTHS, 0.5 * LENGTHS, 0.02 + 0 * LENGTHS])
    assert square.value == pytest.approx(1) and square.cases == Cases(3, 2, 3, 2)
    # the least ratio is 0.0015 there, which a bound of 0.001 had let pass
    assert 0.5 * LENGTHS.min() > 0.001


def test_a_ratio_of_0_refutes_and_has_no_exponent():
    """Whether at all lengths or at one."""
    for ratios in ([0.0] * 4, [0.01, 0.01, 0.01, 0.0]):
        found = steepness([ratios, 0.02 + 0 * LENGTHS])
        assert found.value == np.inf and found.cases == Cases(2, 1, 2, 1) and "1 of which it is 0" in found.note


claim = partial(a_claim, variable="bpc", arm="a", versus="base")


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


def claim_of(study, name):
    return next(c for c in load.read(study).study.claims if c.id == name)


def test_gains_over_the_second_best_are_compared_pair_by_pair():
    claim = claim_of("compete_tables", "gain-larger")
    values = [[80.0, 40.0, 85.0, 70.0], [79.0, 36.0, 84.0, 60.0], [78.0, 37.5, 84.5, 66.0]]
    dims = ("arm", "replicate", "row", "column")
    coords = {
        "arm": ["fine-tuning"],
        "row": ["CompeteSMoE", "a", "b"],
        "column": ["SST-2", "SST-5", "IMDB", "BANKING77"],
    }
    ds = xr.Dataset({"printed": (dims, np.array(values)[None, None])}, coords=coords)
    at = larger_gains(ds, claim, **claim.options)
    # over the best other: 1, 2.5, 0.5 and 4
    assert at.value == at.low == at.high == pytest.approx(1.5) and at.cases == Cases(4, 4)
    assert at.note == "SST-5 2.5, BANKING77 4 against SST-2 1, IMDB 0.5"
    ds["printed"][0, 0, 2, 1] = 39.5
    worse = larger_gains(ds, claim, **claim.options)
    assert worse.value == pytest.approx(-0.5) and worse.cases == Cases(4, 2)
    with pytest.raises(NoAnswerError, match="no number"):
        larger_gains(ds.where(ds.column != "IMDB"), claim, **claim.options)


def test_the_lead_of_a_mean_is_over_the_largest_mean_of_the_other_rows_of_its_table():
    claim = claim_of("compete_tables", "fixed-worst-mean-glam")
    values = np.full((2, 1, 4, 3), np.nan)  # another table has a row and a column that this one lacks
    values[0, 0, :3, :2] = [[0.0, 1.0], [5.0, 0.0], [2.0, 4.0]]
    values[1] = 7.0
    coords = {"arm": ["glam", "switch"], "row": ["CompeteSMoE", "SMoE", "SMoE-Fixed", "other"]}
    ds = xr.Dataset(
        {"behind": (("arm", "replicate", "row", "column"), values)}, coords=coords | {"column": list("abc")}
    )
    found = lead_of_means(ds, claim, **claim.options)
    assert found.value == found.low == found.high == pytest.approx(3.0 - 2.5) and found.exact
    assert found.note == "3 against 2.5 of SMoE, 2 columns"
    ds["behind"][0, 0, 0, 1] = np.nan
    with pytest.raises(NoAnswerError, match="every column"):
        lead_of_means(ds, claim, **claim.options)


def test_at_the_end_leaves_out_what_was_tested_with_earlier_weights():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 2, 6))
    names = np.array(["always", "smoe"], dtype=object)
    best = np.array([[300, 300, 100, 300, 300, 300], [300, 300, 300, 200, 300, 300]])
    ds = xr.Dataset(
        {
            "bpc": (("arm", "replicate"), values[0]),
            "bpc_winners": (("arm", "replicate"), values[1]),
            "best_step": (("arm", "replicate"), best),
        },
        coords={"arm": names, "arm_label": ("arm", names), "replicate": range(6), "step": [0, 100, 200, 300]},
    )
    asked = {"id": "c", "source": "s", "statement": "t", "kind": "function", "variable": "bpc_winners", "at_most": 0}
    claim = Claim.model_validate(
        asked | {"function": "studies.compete_smoe.parts.rules:at_the_end", "arm": "always", "versus": "smoe"}
    )
    found = at_the_end(ds, claim, other="bpc")
    kept = (values[1, 0] - values[0, 1])[[0, 1, 4, 5]]
    test = stats.ttest_1samp(kept, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose([found.value, found.low, found.high], [kept.mean(), *test])
    assert "4 of 6 replicates" in found.note
    with pytest.raises(NoAnswerError, match="1 replicates"):
        at_the_end(ds.isel(replicate=[1, 2, 3]), claim, other="bpc")


HEAD = {"id": "c", "source": "ours", "statement": "s", "kind": "function", "function": "m:f"}
LOSS = Claim(**HEAD, variable="bpc", arm="ours", at_least=0.0)
ENTROPY = Claim(**HEAD, variable="entropy", arm="ours", at_most=0.0)
ARMS = ["ours", "near", "far", "worse"]


@pytest.fixture
def ds():
    """Six seeds, two layers; "near" is a little lower than ours, "far" much higher in one layer alone."""
    rng = np.random.default_rng(3)
    shift = np.array([[0.0, 0.0], [-0.1, -0.1], [1.0, -0.2], [1.0, 1.0]])
    entropy = shift[:, None, :] + 0.01 * rng.normal(size=(4, 6, 2))
    bpc = np.array([0.0, -0.1, 0.3, 0.4])[:, None] + 0.01 * rng.normal(size=(4, 6))
    coords = {"arm": np.array(ARMS, dtype=object), "replicate": np.arange(6), "layer": [0, 1]}
    variables = {"entropy": (("arm", "replicate", "layer"), entropy), "bpc": (("arm", "replicate"), bpc)}
    return xr.Dataset(variables, coords)


def test_most_of_layers_and_rivals_is_judged_jointly(ds):
    """Of six cases that with the fourth smallest difference; every interval at a level of 1 - 0.05 / 6."""
    answer = lower_in_most(ds, ENTROPY, others=["near", "far", "worse"])
    entropy = ds["entropy"].values
    gaps = np.concatenate([entropy[0] - entropy[k] for k in (1, 2, 3)], axis=1)
    half = stats.t.ppf(1 - 0.025 / 6, 5) * gaps.std(axis=0, ddof=1) / np.sqrt(6)
    ends = [np.sort(x)[3] for x in (gaps.mean(axis=0), gaps.mean(axis=0) - half, gaps.mean(axis=0) + half)]
    assert (answer.value, answer.low, answer.high) == pytest.approx(tuple(ends)) and answer.replicates == 6


def test_one_rival_that_is_ahead_refutes_and_nothing_supports_without_the_others(ds):
    """Where a rival was not run the arm cannot be shown to be the best."""
    answer = lead_of_those_run(ds, LOSS, others=["near", "missing"], lower=True)
    assert answer.high < 0 and answer.note.endswith("not run: missing") and not answer.reasons
    for others in (["far", "missing"], ["ours", "worse", "missing"]):
        with pytest.raises(
            NoAnswerError, match="missing were not run, and none of the others is shown to be beyond ours"
        ):
            lead_of_those_run(ds, LOSS, others=others, lower=True)
    with pytest.raises(NoAnswerError, match="At least one other arm"):
        lead_of_those_run(ds, LOSS, others=["ours", "missing"], lower=True)

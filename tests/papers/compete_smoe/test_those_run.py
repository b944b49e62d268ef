"""Rules of routers: lower in most cases, and the best of all where some were not run."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from moestat.claims import rules
from moestat.claims.selection import NoAnswerError
from moestat.papers.compete_smoe.rules import lead_of_those_run, lower_in_most
from moestat.study import load
from moestat.study.spec import Claim

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


def test_most_is_more_than_half_of_the_layers(ds):
    """Of two layers both: half is not most."""
    assert lower_in_most(ds, ENTROPY, others=["worse"]).high < 0
    half = lower_in_most(ds, ENTROPY, others=["far"])
    assert half.low > 0 and "lower in 1 of 2 cases on average, in 6 of 12 by seeds" in half.note
    assert lower_in_most(ds, ENTROPY, others=["near"]).low > 0


def test_most_of_layers_and_rivals_is_judged_jointly(ds):
    """Of six cases that with the fourth smallest difference; every interval at a level of 1 - 0.05 / 6."""
    answer = lower_in_most(ds, ENTROPY, others=["near", "far", "worse"])
    entropy = ds["entropy"].values
    gaps = np.concatenate([entropy[0] - entropy[k] for k in (1, 2, 3)], axis=1)
    half = stats.t.ppf(1 - 0.025 / 6, 5) * gaps.std(axis=0, ddof=1) / np.sqrt(6)
    ends = [np.sort(x)[3] for x in (gaps.mean(axis=0), gaps.mean(axis=0) - half, gaps.mean(axis=0) + half)]
    assert (answer.value, answer.low, answer.high) == pytest.approx(tuple(ends)) and answer.replicates == 6


def test_a_seed_with_a_hole_is_left_out_and_none_is_no_answer(ds):
    """A hole in one layer of one arm."""
    ds["entropy"][3, 2, 1] = np.nan
    assert lower_in_most(ds, ENTROPY, others=["worse"]).replicates == 5
    ds["entropy"][0] = np.nan
    with pytest.raises(NoAnswerError, match="no value in all layers of ours and worse"):
        lower_in_most(ds, ENTROPY, others=["worse"])


def test_with_all_arms_the_lead_is_that_of_all(ds):
    """The rule is then the one that it stands for, and can support."""
    for others in (ARMS, ["ours", "far", "worse"]):
        assert lead_of_those_run(ds, LOSS, others=others, lower=True) == rules.lead(ds, LOSS, others=others, lower=True)


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


def test_the_studies_judge_by_them():
    """In pairs *best of all* is judged and *worst of all* is not; Figs 4 to 6 compare with each rival and with all."""
    claims = {claim.id: claim for claim in load.read("compete_lm").study.claims}
    assert claims["compete-best-glam"].presets == ["*"] and "pairs" not in claims["fixed-worst-glam"].presets
    assert claims["compete-best-glam"].options["others"] == claims["fixed-worst-glam"].options["others"]
    sharper = [claim for claim in load.read("router_entropy").study.claims if claim.group == "outputs-sharper"]
    assert sorted(len(claim.options["others"]) for claim in sharper) == [1, 1, 1, 1, 4]

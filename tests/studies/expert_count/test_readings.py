"""In which readings a sentence holds: intervals that hold at once, by another computation, and how often they fail."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from scipy import stats

from moestat.claims.selection import NoAnswerError
from studies.expert_count.parts import readings
from studies.expert_count.parts.curve_words import COUNTS, FIGURE, WORDS

N, STARTS, STEPS, RUNS = [250, 500], [0.1, 0.3], [1000, 5000], 10
claim = partial(a_claim, at_least=0.5, level=0.95)


def table(rng, curve=0.0, spread=0.03):
    """Return accuracies and entropies of both kinds of experts around a curve over M."""
    coords = {"arm": ["mlp-4", "cnn-4"], "n": N, "start_scale": STARTS, "experts": list(COUNTS), "step": STEPS}
    coords |= {"replicate": np.arange(RUNS)}
    shape = tuple(map(len, coords.values()))
    curve = np.broadcast_to(curve, len(COUNTS))[:, None, None]
    drawn = {name: curve + spread * rng.standard_normal(shape) for name in ("accuracy", "entropy")}
    return xr.Dataset({name: (tuple(coords), values) for name, values in drawn.items()}, coords)


def test_every_sentence_has_words_and_contrasts():
    assert set(readings.CONTRASTS) == set(WORDS) and set(readings.TITLES) == set(FIGURE) <= set(WORDS)


def test_a_reading_is_decided_by_intervals_that_hold_at_once():
    ds = table(np.random.default_rng(1), curve=[0, 0.02, 0.03, 0.03, 0.03])
    states = readings.judge(ds, "few", "mlp", 0.95)
    assert len(states) == 8
    for (n, start, step), (state, means, mean) in states.items():
        here = ds.accuracy.sel(arm="mlp-4", n=n, start_scale=start, step=step)
        test = stats.ttest_rel(here.sel(experts=16), here.sel(experts=4)).confidence_interval(1 - 0.05 / 8)
        assert state == (1 if test.low > 0 else -1 if test.high < 0 else 0)
        assert mean == pytest.approx(float((here.sel(experts=16) - here.sel(experts=4)).mean())) and means == (mean > 0)
    assert {state for state, *_ in states.values()} == {0, 1}
    found = readings.share(ds, claim(), sentence="few", kind="mlp")
    held = sum(state == 1 for state, *_ in states.values())
    assert (found.low, found.high) == (
        held / 8,
        1,
    ) and f"holds in {held}, open in {8 - held}, reversed in 0" in found.note


@pytest.mark.parametrize(
    ("curve", "states"),
    [
        ([0, 0, 1, 0, 0], {"few": 1, "peak": 1, "no-gain": 1, "decline": 1, "rise": -1, "tie": -1}),
        ([1, 1, 0, 0, 1], {"few": -1, "peak": -1, "no-gain": -1, "decline": -1, "rise": 1, "tie": 1}),
    ],
)
def test_a_curve_that_is_plain_to_see_decides_every_sentence(curve, states):
    ds = table(np.random.default_rng(2), np.array(curve, float), spread=0.001)
    for sentence, state in states.items():
        assert {s for s, *_ in readings.judge(ds, sentence, "mlp", 0.95).values()} == {state}, sentence
        found = readings.share(ds, claim(), sentence=sentence, kind="mlp")
        assert found.value == found.low == found.high == (state == 1) and found.exact


def test_without_an_effect_no_reading_is_decided_but_in_one_map_of_twenty():
    """200 maps: 10 expected, more than 24 with a probability below 1e-4."""
    rng = np.random.default_rng(3)
    wrong = sum(
        any(state for state, *_ in readings.judge(table(rng), "decline", "mlp", 0.95).values()) for _ in range(200)
    )
    assert 0 < wrong <= 24


def test_runs_that_chose_a_reading_and_other_steps_are_left_out():
    ds = table(np.random.default_rng(4)).isel(start_scale=0, n=0, drop=True).assign_coords(arm=["mlp", "cnn"])
    ds.accuracy.loc[{"replicate": [0, 1, 2], "experts": 16}] += 100
    ds.accuracy.loc[{"step": 5000, "experts": 16}] += 100
    found = readings.share(ds, claim(), sentence="few", kind="mlp", at_steps=[1000], after=3)
    assert found.value in (0, 1) and "of 1 readings, 7 runs each" in found.note and found.high - found.low == 1
    assert readings.share(ds, claim(), sentence="few", kind="mlp", at_steps=[5000], after=3).low == 1


def test_what_the_run_does_not_hold_has_no_answer():
    ds = table(np.random.default_rng(5))
    with pytest.raises(NoAnswerError, match="mlp-8"):
        readings.share(ds, claim(), sentence="patches-mlp", kind="mlp")
    ds.accuracy[0, 0, 0, 0, 0, 0] = np.nan
    with pytest.raises(NoAnswerError, match="no value"):
        readings.share(ds, claim(), sentence="few", kind="mlp")


def test_a_sentence_on_scatter_compares_the_runs():
    rng = np.random.default_rng(6)
    ds = table(rng)
    ds["accuracy"] = ds.accuracy.copy(data=ds.accuracy.values * np.array([1.0, 0.01])[:, None, None, None, None, None])
    assert {state for state, *_ in readings.judge(ds, "varies", "mlp", 0.95).values()} == {1}

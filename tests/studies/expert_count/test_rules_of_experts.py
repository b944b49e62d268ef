"""Rules of Figures 1 and 2: fresh replicates, entropy that mirrors accuracy along M, differences that can be seen."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from scipy import stats

from moestat.claims import rules as general
from studies.expert_count.parts import rules

EXPERTS = [4, 8, 16]


def table(values):
    """Return accuracies (arms, experts, replicates) of MLP and CNN experts."""
    coords = {"arm": ["mlp", "cnn"], "experts": EXPERTS, "replicate": np.arange(values.shape[2])}
    return xr.Dataset({"accuracy": (tuple(coords), values)}, coords)


claim = partial(a_claim, variable="accuracy", arm="mlp", at_least=0.0)


def test_replicates_that_chose_a_run_are_left_out():
    values = np.random.default_rng(6).standard_normal((2, 3, 12))
    values[..., :5] += 10 * np.arange(3)[:, None]  # the first five would decide everything
    ds, asked = table(values), claim(at={"experts": 16}, versus_at={"experts": 4})
    found = rules.difference(ds, asked, after=5)
    test = stats.ttest_rel(values[0, 2, 5:], values[0, 0, 5:]).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert found.replicates == 7 and "paired; 5 that chose the run are left out" in found.note
    assert found.low < 0 < rules.difference(ds, asked, after=0).low
    assert rules.peak(ds, claim(), value=16, after=5) == general.peak(
        ds.isel(replicate=slice(5, 12)), claim(), value=16
    )
    alone = ds.isel(replicate=slice(5))  # a run of those that chose is judged as it is
    assert rules.difference(alone, asked, after=5).replicates == 5


FIVE = [4, 8, 16, 32, 64]
CURVE = np.array([0.0, 1.0, 2.0, 1.2, 0.4])


def draw(rng, effect, replicates=10):
    """Runs whose accuracy and entropy have a correlation of -0.95 at one M, around curves of the size ``effect``."""
    shared, own = rng.standard_normal((2, len(FIVE), replicates))
    curve = effect * CURVE[:, None]
    values = {"accuracy": curve + shared, "entropy": -curve - 0.95 * shared + 0.31 * own}
    coords = {"arm": ["mlp"], "experts": FIVE, "replicate": np.arange(replicates)}
    return xr.Dataset({name: (tuple(coords), value[None]) for name, value in values.items()}, coords)


mirrored = partial(a_claim, variable="accuracy", arm="mlp", at_most=-0.5)


def test_the_mirror_is_spearmans_correlation_of_the_means():
    ds = draw(np.random.default_rng(1), 1.0)
    means = [ds[name].values[0].mean(axis=1) for name in ("accuracy", "entropy")]
    found = rules.mirror(ds, mirrored(), other="entropy")
    assert found.value == pytest.approx(stats.spearmanr(*means).statistic)
    assert -1 <= found.low <= found.value <= found.high and found.replicates == 10
    assert rules.mirror(ds, mirrored(), other="entropy") == found  # its draws are fixed


def test_runs_that_fail_whatever_their_number_of_experts_do_not_show_it():
    """Each is supported with a probability of at most 0.025: four of 30 or more with one of less than 0.01."""
    rng = np.random.default_rng(3)
    drawn = [draw(rng, 0.0) for _ in range(30)]
    found = [rules.mirror(ds, mirrored(), other="entropy") for ds in drawn]
    assert sum(not answer.reasons and answer.high <= -0.5 for answer in found) <= 3
    assert sum(answer.high <= -0.5 for answer in found) > 6  # which the bootstrap alone would say
    within = [general.spearman(ds["accuracy"].values[0].T, ds["entropy"].values[0].T) for ds in drawn]
    assert sum(stats.ttest_1samp(each, 0).confidence_interval().high <= -0.5 for each in within) > 25  # and each run
    assert any("not seen to come from experts" in answer.reasons[0] for answer in found if answer.reasons)


def test_spread_along_is_the_paired_difference_of_standard_deviations():
    values = np.random.default_rng(3).standard_normal((2, 3, 9)) * np.array([2.0, 1.0])[:, None, None]
    values[1, 2, 5] = np.nan
    found = rules.spread_along(table(values), claim(versus="cnn"), visible=0.0)
    kept = [r for r in range(9) if r != 5]
    each = [[stats.tstd(values[arm, :, r]) for r in kept] for arm in (0, 1)]
    test = stats.ttest_rel(*each).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert found.replicates == 8 and "8 replicates" in found.note


def test_a_difference_too_small_to_be_seen_decides_nothing():
    values = 1e-4 * np.random.default_rng(5).standard_normal((2, 3, 9)) * np.array([3.0, 1.0])[:, None, None]
    at_eight, along = claim(versus="cnn", at={"experts": 8}, versus_at={"experts": 8}), claim(versus="cnn")
    plain = general.spread(table(values), at_eight)
    assert plain.low > 0 and plain.value < 0.001
    for rule, asked in ((rules.spread, at_eight), (rules.spread_along, along)):
        assert "below 0.001 is too small to be seen" in rule(table(values), asked, visible=0.001).reasons[0]
        assert not rule(table(100 * values), asked, visible=0.001).reasons
    assert rules.spread(table(100 * values), at_eight, visible=0.001) == general.spread(table(100 * values), at_eight)

"""Rules along the number of experts: contrasts on fresh replicates, metrics that mirror each other, variation."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from scipy import stats

from moestat.claims import rules
from studies.expert_count.parts import contrasts, mirror, variation

EXPERTS, STARTS = [4, 8, 16], [0.1, 0.3]


def dataset(replicates=12):
    values = np.random.default_rng(6).standard_normal((1, 2, 3, replicates))
    values[..., :5] += 10 * np.arange(3)[:, None]  # the first five would decide everything
    dims = ("arm", "start_scale", "experts", "replicate")
    coords = {"arm": ["mlp"], "start_scale": STARTS, "experts": EXPERTS, "replicate": np.arange(replicates)}
    return xr.Dataset({"accuracy": (dims, values)}, coords)


claim = partial(a_claim, variable="accuracy", arm="mlp", at_least=0.0)


PAIR = {"at": {"start_scale": 0.1, "experts": 16}, "versus_at": {"start_scale": 0.1, "experts": 4}}


def test_replicates_that_chose_a_run_are_left_out():
    ds = dataset()
    found = contrasts.difference(ds, claim(**PAIR), after=5)
    values = ds["accuracy"].values[0, 0]
    test = stats.ttest_rel(values[2, 5:], values[0, 5:]).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert found.replicates == 7 and "7 replicates, paired; 5 that chose the run are left out" in found.note
    assert found.low < 0 < contrasts.difference(ds, claim(**PAIR)).low  # all of them decide it


def test_an_interaction_is_a_difference_of_paired_differences():
    ds = dataset()
    asked = claim(at={"start_scale": 0.1, "experts": 16}, versus_at={"start_scale": 0.3, "experts": 16})
    found = contrasts.interaction(ds, asked, other={"experts": 8})
    low, high = ds["accuracy"].values[0]
    test = stats.ttest_1samp((low[2] - high[2]) - (low[1] - high[1]), 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))


FIVE = [4, 8, 16, 32, 64]
CURVE = np.array([0.0, 1.0, 2.0, 1.2, 0.4])


def curves(accuracy, entropy):
    dims = ("arm", "experts", "replicate")
    coords = {"arm": ["mlp"], "experts": FIVE, "replicate": np.arange(accuracy.shape[1])}
    return xr.Dataset({"accuracy": (dims, accuracy[None]), "entropy": (dims, entropy[None])}, coords)


def draw(rng, effect, replicates=10):
    """Runs whose accuracy and entropy have a correlation of -0.95 at one M, around curves of the size ``effect``."""
    shared, own = rng.standard_normal((2, len(FIVE), replicates))
    curve = effect * CURVE[:, None]
    return curves(curve + shared, -curve - 0.95 * shared + 0.31 * own)


mirrored = partial(a_claim, variable="accuracy", arm="mlp", at_most=-0.5)


def supported(found):
    return not found.reasons and found.high <= -0.5


def test_the_estimate_is_spearmans_correlation_of_the_means():
    ds = draw(np.random.default_rng(1), 1.0)
    means = [ds[name].values[0].mean(axis=1) for name in ("accuracy", "entropy")]
    found = mirror.of_means(ds, mirrored(), other="entropy")
    assert found.value == pytest.approx(stats.spearmanr(*means).statistic)
    assert -1 <= found.low <= found.value <= found.high and found.replicates == 10
    assert mirror.of_means(ds, mirrored(), other="entropy") == found  # its draws are fixed


def test_runs_that_fail_whatever_their_number_of_experts_do_not_show_it():
    """Each is supported with a probability of at most 0.025: four of 30 or more with one of less than 0.01."""
    rng = np.random.default_rng(3)
    drawn = [draw(rng, 0.0) for _ in range(30)]
    found = [mirror.of_means(ds, mirrored(), other="entropy") for ds in drawn]
    assert sum(map(supported, found)) <= 3
    assert sum(answer.high <= -0.5 for answer in found) > 6  # which the bootstrap alone would say
    plain = [rules.rank_correlation(ds, mirrored(), other="entropy") for ds in drawn]
    assert sum(answer.high <= -0.5 for answer in plain) > 25  # and the correlation within a replicate
    assert any("not seen to come from experts" in answer.reasons[0] for answer in found if answer.reasons)


EXPERTS = [4, 8, 16]


def table(values):
    dims = ("arm", "experts", "replicate", "step")[: values.ndim]
    return xr.Dataset({"accuracy": (dims, values)}, {"arm": ["mlp", "cnn"], "experts": EXPERTS})


varies = partial(a_claim, variable="accuracy", arm="mlp", versus="cnn", at_least=0.0)


def test_along_is_the_paired_difference_of_standard_deviations():
    rng = np.random.default_rng(3)
    values = rng.standard_normal((2, 3, 9)) * np.array([2.0, 1.0])[:, None, None]
    values[1, 2, 5] = np.nan
    found = variation.along(table(values), varies())
    kept = [r for r in range(9) if r != 5]
    each = [[stats.tstd(values[arm, :, r]) for r in kept] for arm in (0, 1)]
    test = stats.ttest_rel(*each).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert found.replicates == 8 and "8 replicates" in found.note


def test_a_difference_too_small_to_be_seen_decides_nothing():
    rng = np.random.default_rng(5)
    values = 1e-4 * rng.standard_normal((2, 3, 9)) * np.array([3.0, 1.0])[:, None, None]
    asked = varies(at={"experts": 8}, versus_at={"experts": 8})
    plain = rules.spread(table(values), asked)
    assert plain.low > 0 and plain.value < 0.001
    for found in (
        variation.spread(table(values), asked, visible=0.001),
        variation.along(table(values), varies(), visible=0.001),
    ):
        assert "below 0.001 is too small to be seen" in found.reasons[0]
    assert variation.spread(table(values), asked, visible=0.001).value == plain.value
    large = table(100 * values)
    assert variation.spread(large, asked, visible=0.001) == rules.spread(large, asked)
    assert not variation.along(large, varies(), visible=0.001).reasons

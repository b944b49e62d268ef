"""How much a metric varies along the number of experts: against a loop, and what is refused."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from moestat.claims import rules
from moestat.claims.selection import NoAnswerError
from moestat.papers.expert_count import variation
from moestat.study.spec import Claim

EXPERTS = [4, 8, 16]


def dataset(values):
    dims = ("arm", "experts", "replicate", "step")[: values.ndim]
    return xr.Dataset({"accuracy": (dims, values)}, {"arm": ["mlp", "cnn"], "experts": EXPERTS})


def claim(**change):
    about = {"id": "c", "source": "EC Fig. 1", "statement": "s", "kind": "function", "function": "m:f"}
    about |= {"variable": "accuracy", "arm": "mlp", "versus": "cnn", "at_least": 0.0}
    return Claim.model_validate(about | change)


def test_along_is_the_paired_difference_of_standard_deviations():
    rng = np.random.default_rng(3)
    values = rng.standard_normal((2, 3, 9)) * np.array([2.0, 1.0])[:, None, None]
    values[1, 2, 5] = np.nan
    found = variation.along(dataset(values), claim())
    kept = [r for r in range(9) if r != 5]
    each = [[stats.tstd(values[arm, :, r]) for r in kept] for arm in (0, 1)]
    test = stats.ttest_rel(*each).confidence_interval()
    assert (found.low, found.high) == pytest.approx((test.low, test.high))
    assert found.replicates == 8 and "8 replicates" in found.note


def test_a_shift_of_an_arm_changes_nothing_and_a_scale_scales():
    rng = np.random.default_rng(4)
    values = rng.standard_normal((2, 3, 6))
    found = variation.along(dataset(values), claim())
    moved = variation.along(dataset(7 + 3 * values), claim())
    assert (moved.value, moved.low) == pytest.approx((3 * found.value, 3 * found.low))


def test_a_difference_too_small_to_be_seen_decides_nothing():
    rng = np.random.default_rng(5)
    values = 1e-4 * rng.standard_normal((2, 3, 9)) * np.array([3.0, 1.0])[:, None, None]
    asked = claim(at={"experts": 8}, versus_at={"experts": 8})
    plain = rules.spread(dataset(values), asked)
    assert plain.low > 0 and plain.value < 0.001
    for found in (
        variation.spread(dataset(values), asked, visible=0.001),
        variation.along(dataset(values), claim(), visible=0.001),
    ):
        assert "below 0.001 is too small to be seen" in found.reasons[0]
    assert variation.spread(dataset(values), asked, visible=0.001).value == plain.value
    large = dataset(100 * values)
    assert variation.spread(large, asked, visible=0.001) == rules.spread(large, asked)
    assert not variation.along(large, claim(), visible=0.001).reasons


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(NoAnswerError, match="all else fixed in 'at'"):
        variation.along(dataset(np.zeros((2, 3, 4, 2))), claim())
    with pytest.raises(NoAnswerError, match="two or more values of experts"):
        variation.along(dataset(np.zeros((2, 3, 4))).isel(experts=[0]), claim())

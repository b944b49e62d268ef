"""Whether a metric falls along M where another one rises, and that runs which fail whatever their M do not show it."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from moestat.claims import rules
from moestat.claims.selection import NoAnswerError
from moestat.papers.expert_count import mirror
from moestat.study.spec import Claim

EXPERTS = [4, 8, 16, 32, 64]
CURVE = np.array([0.0, 1.0, 2.0, 1.2, 0.4])


def dataset(accuracy, entropy):
    dims = ("arm", "experts", "replicate")
    coords = {"arm": ["mlp"], "experts": EXPERTS, "replicate": np.arange(accuracy.shape[1])}
    return xr.Dataset({"accuracy": (dims, accuracy[None]), "entropy": (dims, entropy[None])}, coords)


def draw(rng, effect, replicates=10):
    """Runs whose accuracy and entropy have a correlation of -0.95 at one M, around curves of the size ``effect``."""
    shared, own = rng.standard_normal((2, len(EXPERTS), replicates))
    curve = effect * CURVE[:, None]
    return dataset(curve + shared, -curve - 0.95 * shared + 0.31 * own)


def claim(**change):
    about = {"id": "c", "source": "EC Fig. 2", "statement": "s", "kind": "function", "function": "m:f"}
    about |= {"variable": "accuracy", "arm": "mlp", "at_most": -0.5}
    return Claim.model_validate(about | change)


def supported(found):
    return not found.reasons and found.high <= -0.5


def test_the_estimate_is_spearmans_correlation_of_the_means():
    ds = draw(np.random.default_rng(1), 1.0)
    means = [ds[name].values[0].mean(axis=1) for name in ("accuracy", "entropy")]
    found = mirror.of_means(ds, claim(), other="entropy")
    assert found.value == pytest.approx(stats.spearmanr(*means).statistic)
    assert -1 <= found.low <= found.value <= found.high and found.replicates == 10
    assert mirror.of_means(ds, claim(), other="entropy") == found  # its draws are fixed


def test_curves_that_go_against_each_other_are_seen():
    rng = np.random.default_rng(2)
    assert sum(supported(mirror.of_means(draw(rng, 4.0), claim(), other="entropy")) for _ in range(20)) >= 18


def test_runs_that_fail_whatever_their_number_of_experts_do_not_show_it():
    """Each is supported with a probability of at most 0.025: five of 60 or more with one of less than 0.02."""
    rng = np.random.default_rng(3)
    drawn = [draw(rng, 0.0) for _ in range(60)]
    found = [mirror.of_means(ds, claim(), other="entropy") for ds in drawn]
    assert sum(map(supported, found)) <= 4
    assert sum(answer.high <= -0.5 for answer in found) > 12  # which the bootstrap alone would say
    plain = [rules.rank_correlation(ds, claim(), other="entropy") for ds in drawn]
    assert sum(answer.high <= -0.5 for answer in plain) > 50  # and the correlation within a replicate
    assert any("not seen to come from experts" in answer.reasons[0] for answer in found if answer.reasons)


def test_replicates_that_chose_a_run_are_left_out():
    ds = draw(np.random.default_rng(4), 2.0, replicates=16)
    rest = ds.isel(replicate=slice(6, None))
    assert mirror.of_means(ds, claim(), other="entropy", after=6) == mirror.of_means(rest, claim(), other="entropy")


def test_what_has_no_order_is_refused():
    ds = draw(np.random.default_rng(5), 1.0)
    with pytest.raises(NoAnswerError, match="3 and 2 are needed"):
        mirror.of_means(ds.isel(experts=[0, 1]), claim(), other="entropy")
    flat = ds.assign(accuracy=xr.ones_like(ds["accuracy"]))
    with pytest.raises(NoAnswerError, match="is constant along experts"):
        mirror.of_means(flat, claim(), other="entropy")


def test_a_replicate_near_the_ceiling_has_no_order_within_it():
    ds = draw(np.random.default_rng(6), 1.0)
    ds["accuracy"][0, :, 3] = [1.0, 1.0, 0.9998, 1.0, 0.9995]
    asked = {"other": "entropy", "visible": 0.001}
    found = mirror.within_seeds(ds, claim(), **asked)
    assert found.replicates == 9
    kept = rules.rank_correlation(ds.isel(replicate=[r for r in range(10) if r != 3]), claim(), other="entropy")
    assert (found.value, found.low) == pytest.approx((kept.value, kept.low))

"""Rules of claims on constructions and losses."""

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from scipy import stats

from moestat.claims.selection import NoAnswerError
from studies.task_routing.parts.rules import built, cells_at_least, gap_for_its_share, trend, worst


@pytest.fixture
def results():
    failing = np.array([[[0, 3], [0, 0]], [[5, 40], [0, 0]]])  # size, repairs, replicate
    words = np.array([[["", "[a] of R"], ["", ""]], [["[b] of R", "[c] of R"], ["", ""]]], dtype=object)
    dims, zero = ("arm", "size", "repairs", "replicate"), np.zeros((1, 2, 2, 2), dtype=np.int64)
    return xr.Dataset(
        {"failing": (dims, failing[None]), "failure": (dims, words[None]), "status": (dims, zero)},
        coords={"arm": ["moe"], "size": ["small", "large"], "repairs": ["none", "all"], "replicate": [0, 1]},
    )


def claim(**changes):
    return a_claim(**{"variable": "failing", "arm": "moe", "at": {"repairs": "none"}, "at_most": 0} | changes)


def ahead(**changes):
    return claim(**{"variable": "accuracy", "arm": "router", "versus": "ce", "at": {}, "at_most": None} | changes)


def test_the_worst_dataset_decides_and_the_first_failure_is_named(results):
    found = worst(results, claim(), witness="failure")
    assert (found.value, found.low, found.high) == (40, 40, 40)
    assert found.note == "largest of 4 draws, 3 of them against the rule; first: [a] of R"
    mended = worst(results, claim(at={"repairs": "all"}), witness="failure")
    assert mended.value == 0 and mended.note == "largest of 4 draws, 0 of them against the rule"
    # datasets that the claim is not about decide nothing
    left = worst(results.assign(error=results["failing"] / 10), claim(), exact={"error": 1.0})
    assert left.value == 5 and left.cases.count == 3 and left.note.endswith("; 1 left out, error above 1")


def test_weights_that_fail_do_not_decide_whether_others_exist(results):
    failed, passed = (built(results, claim(at={"repairs": name}), witness="failure") for name in ("none", "all"))
    assert failed.value == 40 and failed.reasons == ("Our weights fail on a dataset, and others may do.",)
    assert passed.value == 0 and not passed.reasons
    sized = results.assign(size_ratio=results["failing"] / 3, error=results["failing"] / 10)
    large = built(sized, claim(at_most=40), exact={"error": 3.0}, fits={"size_ratio": 1.0})
    assert large.value == 5 and large.reasons == ("On 1 of 3 draws size_ratio is above 1, and others may do.",)


def test_the_trend_of_a_gap_is_the_least_squares_slope():
    rng = np.random.default_rng(0)
    experts, count = np.array([3, 5, 7, 9]), 6
    accuracy = rng.normal(0.8, 0.01, (2, 2, 4, count))
    accuracy[1] += 0.004 * experts[None, :, None]
    accuracy[0, 0, 0, 5] = np.nan
    ds = xr.Dataset(
        {"accuracy": (("arm", "tasks", "experts", "replicate"), accuracy)},
        coords={"arm": ["ce", "router"], "tasks": [10, 20], "experts": experts, "replicate": range(count)},
    )
    found = trend(ds, ahead(at_least=0.0))
    gap = (accuracy[1] - accuracy[0]).mean(axis=0)[:, :5]
    slopes = [np.polyfit(experts, gap[:, i], 1)[0] for i in range(5)]
    np.testing.assert_allclose(found.value, np.mean(slopes))
    np.testing.assert_allclose((found.low, found.high), stats.t.interval(0.95, 4, found.value, stats.sem(slopes)))
    assert trend(ds, ahead(at_least=0.0, at={"tasks": 20})).value != found.value
    with pytest.raises(NoAnswerError, match="Two or more values of 'experts'"):
        trend(ds.isel(experts=[1]), ahead(at_least=0.0))


def test_share_of_cells_that_are_not_behind():
    """Cells far ahead, far behind and at the limit: the share, and how many of them the intervals decide."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((200, 4)) * 0.01
    gap = np.array([0.05, -0.2, 0.1, -0.03]) + noise - noise.mean(axis=0)
    start = rng.uniform(0.8, 0.9, size=(200, 1))
    ds = xr.Dataset(
        {"accuracy": (("arm", "replicate", "experts"), np.stack([start + gap, start + 0 * gap]))},
        coords={"arm": ["router", "ce"], "experts": [3, 5, 7, 9], "replicate": np.arange(200)},
    )
    asked = ahead(at_least=0.501)
    found = cells_at_least(ds, asked, least=-0.03001)
    assert (found.value, found.low, found.high, found.exact) == (0.75, 0.5, 0.75, False)
    decided = cells_at_least(ds.isel(experts=slice(0, 3)), asked, least=-0.03)
    assert (decided.low, decided.high, decided.exact) == (2 / 3, 2 / 3, True)
    low, high = stats.t.interval(1 - 0.05 / 4, 199, loc=0.05, scale=stats.sem(gap[:, 0]))
    assert f"3: +0.050 [{low:+.3f}, {high:+.3f}]" in found.note


def test_a_gap_over_the_share_is_that_of_the_quotients():
    loss, share = np.array([[0.5, 0.6, 0.4], [0.1, 0.2, 0.1]]), np.array([[1.0, 1.0, 0.8], [0.5, 0.8, 0.5]])
    ds = xr.Dataset(
        {"loss": (("arm", "replicate"), loss), "share": (("arm", "replicate"), share)},
        coords={"arm": ["router", "ce"], "replicate": range(3)},
    )
    found = gap_for_its_share(ds, ahead(variable="loss", at_least=0.0), share="share")
    assert found.value == pytest.approx(np.mean(loss[0] / share[0] - loss[1] / share[1]))

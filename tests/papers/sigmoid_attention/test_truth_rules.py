"""Two gates over truths: data sets of one truth count as one, and losses that part leave a claim open."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import compared
from moestat.papers.sigmoid_attention import truth_rules
from moestat.rates.estimate import mean_interval
from moestat.study.spec import Claim

CLAIM = {"id": "x", "source": "s", "statement": "t", "kind": "function", "function": "moestat:x", "at_most": 0.0}
SIDES = {"variable": "loss", "arm": "one", "versus": "other"}
N = np.array([100, 300, 1000, 3000])
TRUTHS = np.arange(12) % 6


def run(loss: tuple[float, float], error: tuple[float, float] = (-0.5, 0.0), truths: bool = True) -> xr.Dataset:
    """Return two losses of *one*, n^slope e^level times that of *other*; what differs is the truth's, but for 0.01."""
    rng = np.random.default_rng(3)
    own = 0.1 * rng.standard_normal(6)[TRUTHS]
    dims, coords = ("arm", "n", "replicate"), {"arm": ["one", "other"], "n": N, "replicate": range(12)}

    def losses(slope, level):
        noise = 0.01 * rng.standard_normal((2, N.size, 12))
        noise[0] += level + own + (slope + own) * np.log(N / N[-1])[:, None]
        return np.exp(noise - 0.2 * np.log(N)[:, None])

    ds = xr.Dataset({"loss": (dims, losses(*loss)), "error": (dims, losses(*error))}, coords=coords)
    return ds.assign(truth=(dims, np.broadcast_to(TRUTHS, (2, N.size, 12)))) if truths else ds


def level(ds, together=()):
    return truth_rules.level_by_truth(ds, Claim(**CLAIM, **SIDES, at={"n": 3000}), together=together)


def slope(ds, together=()):
    return truth_rules.slope_by_truth(ds, Claim(**CLAIM, **SIDES), together=together)


def test_the_lines_that_bend_are_named_with_their_loss():
    ds = run((-0.3, -1.0))
    assert slope(ds).bend == level(ds).bend == ""
    ds["error"][0] += 1.0
    together = slope(ds, ["error"]).bend
    assert together.startswith("The first line of error is bent and flattens") and "of loss" not in together
    ds["loss"][1] += 1.0
    assert slope(ds).bend.startswith("The second line is bent and flattens")


@pytest.mark.parametrize("estimate", [level, slope])
def test_data_sets_of_one_truth_count_as_one(estimate):
    clustered, apart = estimate(run((-0.3, -1.0))), estimate(run((-0.3, -1.0), truths=False))
    assert clustered.value == pytest.approx(apart.value) and clustered.replicates == 6 and apart.replicates == 12
    assert clustered.high - clustered.low > 1.3 * (apart.high - apart.low)
    assert "6 truths, 12 data sets" in clustered.note and "12 replicates" in apart.note


def test_the_interval_is_that_of_the_means_of_truths():
    ds = run((-0.3, -1.0))
    logs = np.log(ds["loss"].sel(n=3000)).values
    means = (logs[0] - logs[1]).reshape(2, 6).mean(axis=0)
    mean, _, low, high = mean_interval(means)
    found = level(ds)
    assert (found.value, found.low, found.high) == pytest.approx((mean, low, high))


@pytest.mark.parametrize(
    ("loss", "error", "word"),
    [
        ((-0.5, -2.0), (-0.5, -1.0), "supported"),
        ((-0.5, -2.0), (0.5, 1.0), "inconclusive"),
        ((0.5, 1.0), (-0.5, -2.0), "inconclusive"),
        ((-0.5, -2.0), (0.0, 0.0), "inconclusive"),
        ((0.5, 2.0), (0.5, 1.0), "not supported"),
    ],
)
@pytest.mark.parametrize("estimate", [level, slope])
def test_losses_that_part_leave_it_open(estimate, loss, error, word):
    """Both losses decide, and neither alone, for the claim or against it."""
    found = estimate(run(loss, error), ["error"])
    assert compared(found, Claim(**CLAIM, **SIDES))[0] == word
    assert found.low <= found.value <= found.high and "loss -" in found.note + " loss -" and "error" in found.note


def test_a_replicate_without_a_value_is_told():
    ds = run((-0.3, -1.0))
    ds["loss"][{"arm": 0, "replicate": 4}] = np.nan
    for found in (level(ds), slope(ds)):
        assert any("1 of 12 replicates" in text for text in found.reasons)


def test_one_truth_gives_no_interval():
    ds = run((-0.3, -1.0))
    with pytest.raises(NoAnswerError, match="1 truths give no interval"):
        level(ds.assign(truth=xr.zeros_like(ds["truth"])))


def test_too_few_values_of_any_loss_are_no_number():
    """All losses that are asked for must be there."""
    ds = run((-0.3, -1.0))
    ds["error"][{"arm": 0, "n": 0, "replicate": slice(0, 11)}] = -1.0
    assert slope(ds).reasons == ()
    with pytest.raises(NoAnswerError, match="1 truths"):
        slope(ds, ["error"])

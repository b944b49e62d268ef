"""Rules of rates: the slower side has an order of its own, parts of a sum, gates over truths."""

import numpy as np
import pytest
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import compared
from moestat.study.spec import Claim
from studies.sigmoid_attention.parts import order_rules, sum_rules, truth_rules
from studies.sigmoid_attention.parts.sum_rules import slope_of_sum

ORDER = {"id": "x", "source": "s", "statement": "t", "kind": "function", "function": "moestat:x", "at_most": 0.0}
SERIES = {"variable": "exact", "versus_variable": "over", "arm": "a"}
ROWS = {"arm": "fast", "versus": "slow"}


def series(exact: float, over: float) -> xr.Dataset:
    """Return losses of two kinds with these slopes, up to 0.01 over six replicates."""
    n, rng = np.array([100, 300, 1000, 3000]), np.random.default_rng(0)

    def losses(slope):
        return np.exp(np.log(n)[:, None] * (slope + 0.01 * rng.standard_normal(6)))[None, :, None]

    dims, coords = ("arm", "n", "start", "replicate"), {"arm": ["a"], "n": n, "start": [0], "replicate": range(6)}
    return xr.Dataset({"exact": (dims, losses(exact)), "over": (dims, losses(over))}, coords=coords)


def rows(fast: float, slow: float, half: float = 0.02) -> xr.Dataset:
    jitter = np.array([-0.01, 0.0, 0.01])
    slopes = np.array([fast, slow])
    of_rows = {
        name: ("arm", slopes + move) for name, move in (("slope", 0), ("slope_low", -half), ("slope_high", half))
    }
    members = ("arm", "member"), slopes[:, None] + jitter * np.array([[1.0], [-1.0]])
    ds = xr.Dataset(of_rows | {"slopes": members, "slopes_converged": members}, coords={"arm": ["fast", "slow"]})
    ds = ds.assign(reasons=("arm", np.array(["", ""], dtype=object)))
    return ds.expand_dims(replicate=[0])


@pytest.mark.parametrize(("over", "decides"), [(-0.25, True), (0.0, False), (-0.14, False)])
def test_a_slower_series_needs_its_own_order(over, decides):
    found = order_rules.ordered_series(series(-0.5, over), Claim(**ORDER, **SERIES), slower_at_most=-0.15)
    assert found.value == pytest.approx(-0.5 - over, abs=0.02) and found.replicates == 6
    assert (found.reasons == ()) == decides
    if not decides:
        assert "The slower side has a slope of" in found.reasons[0] and "at most -0.15" in found.reasons[0]


@pytest.mark.parametrize(("slow", "half", "decides"), [(-0.25, 0.02, True), (-0.25, 0.2, False), (0.05, 0.02, False)])
def test_a_slower_row_needs_its_own_order(slow, half, decides):
    ds = rows(-0.5, slow, half)
    faster = order_rules.ordered_rows(ds, Claim(**ORDER, **ROWS), slower_at_most=-0.15)
    back = {**ORDER, "at_most": None, "at_least": 0.0, "arm": "slow", "versus": "fast"}
    slower = order_rules.ordered_rows(ds, Claim(**back), slower_at_most=-0.15)
    assert faster.value == pytest.approx(-slower.value) and faster.value == pytest.approx(-0.5 - slow)
    assert (faster.reasons == ()) == (slower.reasons == ()) == decides


PLAIN = {"id": "x", "source": "s", "statement": "t", "kind": "function", "function": "moestat:x"}
SUM = PLAIN | {"variable": "whole", "arm": "a"}
N = np.array([100, 300, 1000, 3000])


def results(fast: float, slow: float, share: float = 0.01) -> xr.Dataset:
    """Return a sum of two powers of n with scatter over eight replicates; ``slow`` has this share of it at first."""
    rng = np.random.default_rng(0)
    parts = [
        size * np.exp(np.log(N / N[0])[:, None] * (slope + 0.01 * rng.standard_normal(8)))
        for size, slope in ((1 - share, fast), (share, slow))
    ]
    dims, coords = ("arm", "n", "replicate"), {"arm": ["a"], "n": N, "replicate": range(8)}
    return xr.Dataset({"whole": (dims, sum(parts)[None]), "part": (dims, parts[1][None])}, coords=coords)


@pytest.mark.parametrize(("slow", "decides"), [(-0.5, True), (-0.41, True), (-0.25, False)])
def test_a_small_slow_part_does_not_show_in_the_slope_and_is_named(slow, decides):
    """One per cent of the sum hardly moves its slope, and in the end is all of it."""
    ds = results(-0.5, slow)
    found = slope_of_sum(ds, Claim(**SUM, at_most=-0.40), parts=["part"])
    plain = rates.fit(ds["whole"].sel(arm="a"), over="n", draws=0)
    assert (found.value, found.low, found.high) == (plain.slope, plain.low, plain.high) and found.high < -0.45
    assert (found.reasons == ()) == decides and found.replicates == 8
    assert decides or "part has the slope -0.25" in found.reasons[0] and "(8 of 8 replicates)" in found.reasons[0]


def test_errors_of_experts_are_computed_where_only_fitted_parameters_are_there(monkeypatch):
    """A record holds them in the place of the parameters, a run does not: both are judged alike."""
    ds, asked = results(-0.5, -0.25), []

    def errors(source, arm):
        asked.append((arm, "theta" in source.dataset))
        return xr.Dataset({"eta_vanished": ds["part"].sel(arm=arm, drop=True)})

    monkeypatch.setattr(sum_rules, "expert_errors", errors)
    claim = Claim(**SUM, at_most=-0.40)
    run = ds[["whole"]].assign(theta=ds["part"])
    record = ds.rename(part="expert_eta_vanished")
    found = [slope_of_sum(one, claim, parts=["expert_eta_vanished"]) for one in (run, record)]
    assert found[0] == found[1] and found[0].reasons and asked == [("a", True)]
    with pytest.raises(NoAnswerError, match="expert_eta_vanished"):
        slope_of_sum(ds, claim, parts=["expert_eta_vanished"])


TRUTH_CLAIM = {"id": "x", "source": "s", "statement": "t", "kind": "function", "function": "moestat:x", "at_most": 0.0}
SIDES = {"variable": "loss", "arm": "one", "versus": "other"}
SIZES = np.array([100, 300, 1000, 3000])
TRUTHS = np.arange(12) % 6


def run(loss: tuple[float, float], error: tuple[float, float] = (-0.5, 0.0), truths: bool = True) -> xr.Dataset:
    """Return two losses of *one*, n^slope e^level times that of *other*; what differs is the truth's, but for 0.01."""
    rng = np.random.default_rng(3)
    own = 0.1 * rng.standard_normal(6)[TRUTHS]
    dims, coords = ("arm", "n", "replicate"), {"arm": ["one", "other"], "n": SIZES, "replicate": range(12)}

    def losses(slope, level):
        noise = 0.01 * rng.standard_normal((2, SIZES.size, 12))
        noise[0] += level + own + (slope + own) * np.log(SIZES / SIZES[-1])[:, None]
        return np.exp(noise - 0.2 * np.log(SIZES)[:, None])

    ds = xr.Dataset({"loss": (dims, losses(*loss)), "error": (dims, losses(*error))}, coords=coords)
    return ds.assign(truth=(dims, np.broadcast_to(TRUTHS, (2, SIZES.size, 12)))) if truths else ds


def level(ds, together=()):
    return truth_rules.level_by_truth(ds, Claim(**TRUTH_CLAIM, **SIDES, at={"n": 3000}), together=together)


def slope(ds, together=()):
    return truth_rules.slope_by_truth(ds, Claim(**TRUTH_CLAIM, **SIDES), together=together)


@pytest.mark.parametrize("estimate", [level, slope])
def test_data_sets_of_one_truth_count_as_one(estimate):
    clustered, apart = estimate(run((-0.3, -1.0))), estimate(run((-0.3, -1.0), truths=False))
    assert clustered.value == pytest.approx(apart.value) and clustered.replicates == 6 and apart.replicates == 12
    assert clustered.high - clustered.low > 1.3 * (apart.high - apart.low)
    assert "6 truths, 12 data sets" in clustered.note and "12 replicates" in apart.note


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
    assert compared(found, Claim(**TRUTH_CLAIM, **SIDES))[0] == word
    assert found.low <= found.value <= found.high and "loss -" in found.note + " loss -" and "error" in found.note

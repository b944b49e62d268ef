"""Rules of the paper: gates over truths, parts of a sum, the slower side has an order of its own."""

import numpy as np
import pytest
import xarray as xr
from cells import a_claim as claim

from moestat import rates
from moestat.claims.selection import NoAnswerError
from moestat.rates.verdict import compared
from studies.sigmoid_attention.parts import rules

N = np.array([100, 300, 1000, 3000])


def results(**slopes) -> xr.Dataset:
    """Return losses of one arm with these slopes, up to 0.01 over eight replicates."""
    rng = np.random.default_rng(0)
    dims, coords = ("arm", "n", "replicate"), {"arm": ["a"], "n": N, "replicate": range(8)}
    logs = np.log(N / N[0])[:, None]
    found = {
        name: (dims, np.exp(logs * (slope + 0.01 * rng.standard_normal(8)))[None]) for name, slope in slopes.items()
    }
    return xr.Dataset(found, coords=coords)


@pytest.mark.parametrize(("over", "decides"), [(-0.25, True), (0.0, False), (-0.14, False)])
def test_a_slower_series_needs_its_own_order(over, decides):
    series = claim(variable="exact", versus_variable="over", arm="a")
    found = rules.ordered_series(results(exact=-0.5, over=over), series, slower_at_most=-0.15)
    assert found.value == pytest.approx(-0.5 - over, abs=0.02) and found.replicates == 8
    assert (found.reasons == ()) == decides
    assert decides or "at most -0.15" in found.reasons[0]


def rows(fast: float, slow: float, half: float = 0.02, settled: float = 0.0) -> xr.Dataset:
    slopes, jitter = np.array([fast, slow]), np.array([-0.01, 0.0, 0.01])
    ends = {"slope": 0.0, "slope_low": -half, "slope_high": half}
    members = slopes[:, None] + jitter * np.array([[1.0], [-1.0]])
    ds = xr.Dataset({name: ("arm", slopes + move) for name, move in ends.items()}, coords={"arm": ["fast", "slow"]})
    ds["slopes"], ds["slopes_converged"] = (("arm", "member"), members), (("arm", "member"), members + settled)
    ds["halving"], ds["reasons"] = ("arm", 2 ** (-1 / slopes)), ("arm", np.array(["", ""], dtype=object))
    return ds.expand_dims(replicate=[0])


@pytest.mark.parametrize(("slow", "half", "decides"), [(-0.25, 0.02, True), (-0.25, 0.2, False), (0.05, 0.02, False)])
def test_a_slower_row_needs_its_own_order(slow, half, decides):
    ds = rows(-0.5, slow, half)
    faster = rules.slope_of_row(ds, claim(arm="fast", versus="slow"), slower_at_most=-0.15)
    slower = rules.slope_of_row(ds, claim(arm="slow", versus="fast", at_least=0.0), slower_at_most=-0.15)
    assert faster.value == pytest.approx(-slower.value) and faster.value == pytest.approx(-0.5 - slow)
    assert (faster.reasons == ()) == (slower.reasons == ()) == decides


def test_a_row_decides_where_fits_that_converged_say_the_same():
    found = rules.slope_of_row(rows(-0.5, -0.25), claim(arm="fast", at_most=-0.4))
    assert found.value == pytest.approx(-0.5) and found.high < -0.45 and not found.reasons
    other = rules.slope_of_row(rows(-0.5, -0.25, settled=0.3), claim(arm="fast", at_most=-0.4))
    assert other.value == found.value and "did not converge" in other.reasons[0]


def a_sum(slow: float) -> xr.Dataset:
    ds = results(fast=-0.5, part=slow)
    return ds.assign(whole=0.99 * ds["fast"] + 0.01 * ds["part"], part=0.01 * ds["part"])


@pytest.mark.parametrize(("slow", "decides"), [(-0.5, True), (-0.41, True), (-0.25, False)])
def test_a_small_slow_part_does_not_show_in_the_slope_and_is_named(slow, decides):
    """One per cent of the sum hardly moves its slope, and in the end is all of it."""
    ds = a_sum(slow)
    found = rules.slope_of_sum(ds, claim(variable="whole", arm="a", at_most=-0.4), parts=["part"])
    plain = rates.fit(ds["whole"].sel(arm="a"), over="n")
    assert (found.value, found.low, found.high) == (plain.slope, plain.low, plain.high) and found.high < -0.45
    assert (found.reasons == ()) == decides
    assert decides or "part has the slope -0.2" in found.reasons[0] and "(8 of 8 replicates)" in found.reasons[0]


@pytest.mark.parametrize(
    ("own", "failing", "decides"), [(-0.5, -0.25, True), (-0.5, -0.5, False), (-0.5, -0.41, False), (-0.1, -0.5, True)]
)
def test_a_rate_is_shown_only_where_a_bound_that_fails_is_seen_to_fail(own, failing, decides):
    """A slope that is itself outside of the region decides, whatever the other one is."""
    ds = results(loss=own)
    other = results(bad=failing).assign_coords(arm=["b"])
    found = rules.slope_beside_failure(
        xr.merge([ds, other], join="outer"), claim(variable="loss", arm="a", at_most=-0.4), arm="b", variable="bad"
    )
    plain = rates.fit(ds["loss"].sel(arm="a"), over="n")
    assert (found.value, found.low, found.high) == (plain.slope, plain.low, plain.high)
    assert (found.reasons == ()) == decides
    assert decides or "bad of b, whose bound fails, has the slope" in found.reasons[0]


def test_errors_of_experts_are_computed_where_only_fitted_parameters_are_there(monkeypatch):
    """A record holds them in the place of the parameters, a run does not: both are judged alike."""
    ds, asked = a_sum(-0.25), []

    def errors(source, arm):
        asked.append((arm, "theta" in source.dataset))
        return xr.Dataset({"eta_vanished": ds["part"].sel(arm=arm, drop=True)})

    monkeypatch.setattr(rules, "expert_errors", errors)
    of, parts = claim(variable="whole", arm="a", at_most=-0.4), ["expert_eta_vanished"]
    run, record = ds[["whole"]].assign(theta=ds["part"]), ds.rename(part="expert_eta_vanished")
    found = [rules.slope_of_sum(one, of, parts=parts) for one in (run, record)]
    assert found[0] == found[1] and found[0].reasons and asked == [("a", True)]
    with pytest.raises(NoAnswerError, match="expert_eta_vanished"):
        rules.slope_of_sum(ds, of, parts=parts)


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


GATES = claim(variable="loss", arm="one", versus="other")
ESTIMATES = {rules.level_by_truth: GATES.model_copy(update={"at": {"n": 3000}}), rules.slope_by_truth: GATES}


@pytest.mark.parametrize("rule", ESTIMATES)
def test_data_sets_of_one_truth_count_as_one(rule):
    clustered, apart = (rule(run((-0.3, -1.0), truths=truths), ESTIMATES[rule]) for truths in (True, False))
    assert clustered.value == pytest.approx(apart.value) and clustered.replicates == 6 and apart.replicates == 12
    assert clustered.high - clustered.low > 1.3 * (apart.high - apart.low)


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
@pytest.mark.parametrize("rule", ESTIMATES)
def test_losses_that_part_leave_it_open(rule, loss, error, word):
    """Both losses decide, and neither alone, for the claim or against it."""
    found = rule(run(loss, error), ESTIMATES[rule], together=["error"])
    assert compared(found, ESTIMATES[rule].region)[0] == word
    assert found.low <= found.value <= found.high and "loss" in found.note and "error" in found.note


def test_a_printed_power_of_n_is_compared_with_a_variable_over_truths():
    ds = run((0.0, 0.0)).assign(line=lambda ds: xr.full_like(ds["loss"], 2.0))
    at = claim(variable="line", arm="one", at={"n": 3000})
    found = rules.log_ratio_to(ds, at, scale=2.0, exponent=-0.5)
    assert found.value == pytest.approx(-0.5 * np.log(3000)) and found.replicates == 6

"""Rules of the paper's claims, by hand: halves at once, open constants, censored times, losses together."""

import numpy as np
import pytest
import xarray as xr
from cells import a_claim

from moestat.claims.orders import exponent
from moestat.claims.selection import NoAnswerError
from studies.mixture_of_transformers.parts import rules


def claim(**more):
    return a_claim(**{"variable": "x", "arm": "a"} | ({} if {"at_least"} & set(more) else {"at_most": 1.0}) | more)


def data(values, *dims, **coords):
    return xr.Dataset({"x": (dims, np.asarray(values))}, coords=coords)


@pytest.mark.parametrize(
    ("true", "word"),
    [(1.3, "supported"), (1.0, "supported"), (0.9, "nothing"), (0.85, "nothing"), (0.5, "not supported")],
)
def test_an_order_that_is_not_reached_is_not_supported_within_what_is_left_for_logarithms(true, word):
    """The bound O(sigma) has the log ratio 1.099 between 0.3 and 0.1, the limit 0.879; a power of 0.85 keeps it."""
    sigma, noise = np.array([0.1, 0.3]), np.random.default_rng(1).normal(0, 0.02, (2, 20))
    ds = data([sigma[:, None] ** true * np.exp(noise)], "arm", "sigma", "replicate", arm=["a"], sigma=sigma)
    found = exponent(ds, claim(at={"sigma": 0.3}, versus_at={"sigma": 0.1}, at_least=0.879), target=1.099)
    inside = found.low >= 0.879
    assert {"supported": inside and not found.reasons, "nothing": inside and found.reasons}.get(
        word, found.high < 0.879 and not found.reasons
    )
    other = exponent(ds, claim(at={"sigma": 0.1}, versus_at={"sigma": 0.3}, at_most=-0.879), target=-1.099)
    assert other.value == pytest.approx(-found.value) and bool(other.reasons) == bool(found.reasons)


def test_the_largest_ratio_to_a_bound():
    """A quantity that is half of sigma_0^0.5 / M^2 in all cells, and twice that in one replicate of one cell."""
    sigma, experts = np.array([0.1, 0.3]), np.array([16, 32])
    values = np.repeat(0.5 * (sigma[:, None] ** 0.5 / experts**2.0)[None, :, :, None], 3, axis=3)
    values[0, 1, 0, 2] *= 4.0
    axes = ("arm", "start_scale", "experts", "replicate")
    ds = data(values, *axes, arm=["a"], start_scale=sigma, experts=experts, replicate=range(3))
    bound = {"start_scale": 0.5, "experts": -2}
    found = rules.largest_ratio(ds, claim(), bound=bound)
    assert found.value == pytest.approx(2.0) and "start_scale 0.3, experts 16, replicate 2" in found.note
    assert (found.cases.count, found.cases.inside) == (12, 11)
    assert rules.largest_ratio(ds, claim(at={"start_scale": 0.1}), bound=bound).value == pytest.approx(0.5)
    with pytest.raises(NoAnswerError, match="x does not run over classes"):
        rules.largest_ratio(ds, claim(), bound={"classes": 1})


def test_two_losses_go_together_by_a_power():
    t = np.geomspace(1, 1000, 31)
    losses = np.array([(1 + 0.01 * r) / t for r in range(4)])
    losses[3, -1] = np.nan
    ds = data(np.stack([losses**0.5, losses]), "arm", "replicate", "tuning", arm=["a", "b"], tuning=t)
    found = rules.joint_slope(ds, claim(versus="b"))
    assert found.value == pytest.approx(0.5) and found.note == "3 of 4 replicates, tuning from 100 to 1000"


def test_a_lead_of_the_start_is_no_gain():
    """The arms differ by a factor of 2 at stage II, and by 2 or 8 at stage III."""
    r = np.random.default_rng(2).uniform(1, 2, 5)
    ds = data([[r, 2 * r], [r, 8 * r]], "stage", "arm", "replicate", stage=["II", "III"], arm=["a", "b"])
    found = rules.adds(ds, claim(versus="b", at={"stage": "III"}), since="II")
    assert found.value == pytest.approx(-np.log(4)) and "it was -0.6931 at stage II" in found.note
    assert rules.adds(ds, claim(versus="b", at={"stage": "II"}), since="II").value == 0


def test_the_best_constant_is_chosen_by_the_other_half():
    """Shares at three rates in two arms: the best is the middle rate of the second arm."""
    mean = np.array([[0.3, 0.4, 0.2], [0.5, 0.8, 0.5]])
    share = mean[:, :, None] + np.random.default_rng(0).normal(0, 0.02, (2, 3, 12))
    ds = data(share, "arm", "rate", "replicate", arm=["few", "many"], rate=[1.0, 10.0, 100.0])
    best = {"over": "rate", "arms": ["few", "many"]}
    found = rules.best_of(ds, claim(at_least=0.95), **best)
    assert found.value == pytest.approx(float(ds.x[1, 1].mean())) and found.high < 0.95
    assert found.note == "12 of 12 replicates; many at rate 10" and not found.reasons
    odd = ds.copy(deep=True)
    odd["x"][0, 2, 1::2] = 0.99  # the odd half chooses it for the even one, where it is bad
    halves = float(ds.x[0, 2, ::2].sum()) + float(ds.x[1, 1, 1::2].sum())
    assert rules.best_of(odd, claim(at_least=0.95), **best).value == pytest.approx(halves / 12)
    low = rules.best_of(ds, claim(at_most=0.1), **best, lower=True)
    assert low.value == pytest.approx(float(ds.x[0, 2].mean())) and low.reasons  # at an end of the axis
    assert not rules.best_of(ds, claim(at_most=0.1), **best, lower=True, open_ends=False).reasons


def test_a_rate_is_chosen_by_the_mean_log_that_is_judged():
    """At the rate with the lowest median a quarter of the runs diverges: by the mean log it is not the best."""
    logs = np.tile(np.array([-5.0, -9.0, -10.0])[:, None], (1, 12)) + np.random.default_rng(4).normal(0, 0.1, (3, 12))
    logs[2, ::4] = logs[2, 1::4] = 0.0
    rival = np.tile(np.linspace(-7, -7.1, 12), (3, 1))
    ds = data(np.exp([logs, rival]), "arm", "rate", "replicate", arm=["a", "b"], rate=[1.0, 10.0, 100.0])
    found = rules.log_ratio_at_best(ds, claim(versus="b", at_most=0.0), over="rate")
    assert found.value == pytest.approx(-2.0, abs=0.2) and not found.reasons
    assert found.note == "12 of 12 replicates; a at rate 10; b at its one rate"
    two = ds.isel(rate=slice(2))  # the best is at an end: a better one could turn the second, and not the first
    assert not rules.log_ratio_at_best(two, claim(versus="b", at_least=0.0), over="rate").reasons
    assert rules.log_ratio_at_best(two, claim(versus="b", at_least=-3.0), over="rate").reasons
    with pytest.raises(NoAnswerError, match="four replicates"):
        rules.log_ratio_at_best(ds.isel(replicate=slice(3)), claim(versus="b"), over="rate")


def test_the_mean_over_a_stage_takes_its_epochs_alone():
    """Stage I is epochs 1 and 2, stage II 3 and 4, stage III 5; the rest may be anything."""
    rival = np.random.default_rng(0).normal(size=(6, 5))
    course = rival + np.array([3.0, 1.0, -1.0, -2.0, 100.0])
    coords = {"arm": ["a", "b"], "epoch": np.arange(1, 6), "stage": ["I", "II", "III"]}
    ds = data([course, rival], "arm", "replicate", "epoch", **coords)
    ds["stage_end"] = ("arm", "stage"), np.tile([2, 4, 5], (2, 1))
    for stage, expected in (("I", 2.0), ("II", -1.5), ("III", 100.0)):
        found = rules.stage_mean(ds, claim(versus="b"), stage=stage)
        assert found.value == pytest.approx(expected) and found.low <= found.value <= found.high
    assert "epochs 3 to 4" in rules.stage_mean(ds, claim(versus="b"), stage="II").note
    with pytest.raises(NoAnswerError, match="no stage 'IV'"):
        rules.stage_mean(ds, claim(versus="b"), stage="IV")


def test_both_halves_are_judged_at_the_step_that_suits_them_best():
    """The own pair gets to 0.4 as the others leave their bound of 0.1: at the second step the worse is 0.4 / 0.3."""
    own, other = np.array([0.2, 0.3, 0.5, np.nan]), np.array([0.05, 0.09, 0.2, 0.01])
    dims = ("arm", "replicate", "epoch")
    ds = xr.Dataset(
        {"own": (dims, np.tile(own, (2, 3, 1))), "x": (dims, np.tile(other, (2, 3, 1)))}, {"arm": ["a", "b"]}
    )
    found = rules.at_one_step(ds, claim(), own="own", least=0.4, bounds={"a": 0.1})
    assert found.value == pytest.approx(0.4 / 0.3) and "both halves hold in 0" in found.note
    assert rules.at_one_step(ds, claim(), own="own", least=0.4, bounds={"a": 0.2, "b": 0.4}).value == 1.0


def test_equation_11_is_one_statement():
    """Experts that have all classes alike have the own half; empty slots beyond M are passed over."""
    alike = np.array([[5.0, 4.5, 0.1], [4.0, 3.5, 0.2], [np.nan] * 3])
    one = np.array([[2.0, 0.1, -0.3], [2.0, 0.2, -1.0], [np.nan] * 3])
    labels = np.stack([np.stack([x, x * 1.01, x * 0.99]) for x in (alike, one, one / 3)])
    ds = data(labels, "arm", "replicate", "expert", "class", arm=["a", "b", "c"])
    assert rules.weights(ds, claim(), own=1.0, other=0.3).value == pytest.approx(4.0 / 0.3)
    assert rules.weights(ds, claim(arm="b"), own=1.0, other=0.3).value == pytest.approx(0.5, rel=0.01)
    found = rules.weights_order(ds, claim(versus="b", at_least=0.879), own=1.0, target=1.099)
    assert found.value == pytest.approx(np.log(4.0 / 0.15))
    with pytest.raises(NoAnswerError, match="not 1 or more in c"):
        rules.weights_order(ds, claim(arm="b", versus="c", at_least=0.879), own=1.0, target=1.099)
    both = xr.Dataset({"after_on_labels": ds.x, "x": (("arm", "replicate"), np.ones((3, 3)))}, {"arm": ["a", "b", "c"]})
    assert rules.beside_own(both, claim(arm="b")).value == pytest.approx(-np.log(2), abs=0.001)

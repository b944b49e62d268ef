"""Rules of three zones, of two halves at once, of gains of a training, and of rates chosen as they are judged."""

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from studies.mixture_of_transformers.parts.rules_gains import adds
from studies.mixture_of_transformers.parts.rules_joint import weights, weights_order

from moestat.claims.orders import exponent
from moestat.claims.selection import NoAnswerError
from studies.mixture_of_transformers.parts.rules_censored import growth
from studies.mixture_of_transformers.parts.rules_tuned import log_ratio_at_best


def claim(**more):
    return a_claim(**{"arm": "a"} | ({} if {"at_least", "at_most"} & set(more) else {"at_most": 1.0}) | more)


def power(exponents):
    """Values that go like sigma to a power of its own in every arm, at sigma = 0.1 and 0.3, with some spread."""
    sigma, noise = np.array([0.1, 0.3]), np.random.default_rng(1).normal(0, 0.02, (len(exponents), 2, 20))
    values = sigma[None, :, None] ** np.array(exponents)[:, None, None] * np.exp(noise)
    coords = {"arm": list("abc")[: len(exponents)], "sigma": sigma, "replicate": np.arange(20)}
    return xr.Dataset({"x": (("arm", "sigma", "replicate"), values)}, coords=coords)


@pytest.mark.parametrize(
    ("true", "word"),
    [(1.3, "supported"), (1.0, "supported"), (0.9, "nothing"), (0.85, "nothing"), (0.5, "not supported")],
)
def test_an_order_that_is_not_reached_is_not_supported_within_what_is_left_for_logarithms(true, word):
    """The bound O(sigma) has the log ratio 1.099 between 0.3 and 0.1, the limit 0.879; a power of 0.85 keeps it."""
    rule = {"variable": "x", "at": {"sigma": 0.3}, "versus_at": {"sigma": 0.1}}
    found = exponent(power([true]), claim(**rule, at_least=0.879), target=1.099)
    inside = found.low >= 0.879
    assert {"supported": inside and not found.reasons, "nothing": inside and found.reasons}.get(
        word, found.high < 0.879
    )
    assert word != "not supported" or not found.reasons  # a failure stays one
    turned = {"variable": "x", "at": {"sigma": 0.1}, "versus_at": {"sigma": 0.3}}
    other = exponent(power([true]), claim(**turned, at_most=-0.879), target=-1.099)
    assert other.value == pytest.approx(-found.value) and bool(other.reasons) == bool(found.reasons)


def test_equation_11_is_one_statement():
    """Experts that have all classes alike have the own half; empty slots beyond M are passed over."""
    alike = np.array([[5.0, 4.5, 0.1], [4.0, 3.5, 0.2], [np.nan] * 3])
    one = np.array([[2.0, 0.1, -0.3], [2.0, 0.2, -1.0], [np.nan] * 3])
    labels = np.stack([np.stack([x, x * 1.01, x * 0.99]) for x in (alike, one, one / 3)])
    dims = ("arm", "replicate", "expert", "class")
    ds = xr.Dataset({"x": (dims, labels)}, coords={"arm": ["a", "b", "c"], "replicate": [0, 1, 2]})
    assert weights(ds, claim(variable="x"), own=1.0, other=0.3).value == pytest.approx(4.0 / 0.3)
    assert weights(ds, claim(variable="x", arm="b"), own=1.0, other=0.3).value == pytest.approx(0.5, rel=0.01)
    rule = claim(variable="x", arm="a", versus="b", at_least=0.879)
    assert weights_order(ds, rule, own=1.0, target=1.099).value == pytest.approx(np.log(4.0 / 0.15))
    with pytest.raises(NoAnswerError, match="not 1 or more in c"):
        weights_order(ds, claim(variable="x", arm="b", versus="c", at_least=0.879), own=1.0, target=1.099)


def test_a_lead_of_the_start_is_no_gain():
    """The arms differ by a factor of 2 at stage II, and by 2 or 8 at stage III."""
    r = np.random.default_rng(2).uniform(1, 2, 5)
    x = np.stack([np.stack([r, r]), np.stack([2 * r, 8 * r])], axis=1)  # stage, arm, replicate
    ds = xr.Dataset({"x": (("stage", "arm", "replicate"), x)}, coords={"stage": ["II", "III"], "arm": ["a", "b"]})
    found = adds(ds, claim(variable="x", versus="b", at={"stage": "III"}), since="II", of="log_ratio")
    assert found.value == pytest.approx(-np.log(4)) and "it was -0.6931 at stage II" in found.note
    assert adds(ds, claim(variable="x", versus="b", at={"stage": "II"}), since="II").value == 0


@pytest.mark.parametrize(("longer", "decides"), [(1.0, False), (1.3, True)])
def test_a_growth_that_censoring_alone_makes_decides_nothing(longer, decides):
    """Times of those that arrive grow by a factor per doubling, or not; a share that grows does not arrive."""
    rng = np.random.default_rng(3)
    times = np.array([longer**k * rng.lognormal(5, 0.3, 200) for k in range(4)])
    for k in range(4):
        times[k, rng.permutation(200)[: 25 * k]] = np.nan
    ds = xr.Dataset(
        {"x": (("arm", "experts", "replicate"), times[None])}, coords={"arm": ["a"], "experts": [8, 16, 32, 64]}
    )
    found = growth(ds, claim(variable="x", at_least=0.0))
    assert found.low > 0 and bool(found.reasons) != decides


def test_a_rate_is_chosen_by_the_mean_log_that_is_judged():
    """At the rate with the lowest median a quarter of the runs diverges: by the mean log it is not the best."""
    logs = np.tile(np.array([-5.0, -9.0, -10.0])[:, None], (1, 12)) + np.random.default_rng(4).normal(0, 0.1, (3, 12))
    logs[2, ::4] = logs[2, 1::4] = 0.0
    y = np.stack([logs, np.tile(np.linspace(-7, -7.1, 12), (3, 1))])
    ds = xr.Dataset(
        {"x": (("arm", "rate", "replicate"), np.exp(y))}, coords={"arm": ["a", "b"], "rate": [1.0, 10.0, 100.0]}
    )
    found = log_ratio_at_best(ds, claim(variable="x", versus="b", at_most=0.0), over="rate")
    assert found.value == pytest.approx(-2.0, abs=0.2) and not found.reasons
    assert found.note == "12 of 12 replicates; a at rate 10; b at its one rate"
    worse = log_ratio_at_best(ds.isel(rate=slice(2)), claim(variable="x", versus="b", at_least=0.0), over="rate")
    assert (
        not worse.reasons
        and log_ratio_at_best(
            ds.isel(rate=slice(2)), claim(variable="x", versus="b", at_least=-3.0), over="rate"
        ).reasons
    )
    with pytest.raises(NoAnswerError, match="four replicates"):
        log_ratio_at_best(ds.isel(replicate=slice(3)), claim(variable="x", versus="b"), over="rate")

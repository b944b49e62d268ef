"""Rates of the argmin: as they are where searches agree, elsewhere only what more searching does not change."""

import numpy as np
import pytest
import xarray as xr
from cells import a_claim as claim

from moestat import rates
from moestat.rates.verdict import compared
from studies.sigmoid_attention.parts.settled_rules import slope_by_settled

N = np.array([100, 300, 1000, 3000])


def results(*, open_at=(), truths=2, local=-0.5, search=-0.5, tenfold=-0.5) -> xr.Dataset:
    """Return losses of an arm with a slope for each amount of searching; so many of eight truths are open somewhere."""
    jitter = 0.01 * np.random.default_rng(0).standard_normal(8)
    dims, logs = ("arm", "n", "replicate"), np.log(N / N[0])[:, None]
    settled = np.ones((1, N.size, 8))
    settled[0, np.isin(N, open_at), :truths] = 0
    slopes = {"L3": search, "L3_local": local, "L3_tenfold": tenfold}
    losses = {name: (dims, np.exp(logs * (slope + jitter))[None]) for name, slope in slopes.items()}
    coords = {"arm": ["a"], "n": N, "replicate": range(8)}
    ds = xr.Dataset({"settled": (dims, settled), **losses}, coords=coords)
    ds["L3_tenfold"] = ds["L3_tenfold"].where(ds["settled"] == 0)  # nothing more is searched where two searches agree
    return ds


def judged(ds: xr.Dataset, **of):
    asked = claim(**{"variable": "L3", "arm": "a", "at_most": -0.4} | of)
    found = slope_by_settled(ds, asked)
    return found, compared(found, asked.region)[0]


def test_settled_data_sets_are_taken_as_they_are():
    ds = results(local=7.0)
    found, verdict = judged(ds)
    plain = rates.fit(ds["L3"].sel(arm="a"), over="n")
    assert (found.value, found.low, found.high) == (plain.slope, plain.low, plain.high)
    assert verdict == "supported" and "all 32 data sets are settled" in found.note


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ({}, "supported"),
        ({"local": -0.45, "tenfold": -0.55}, "supported"),
        ({"local": 0.0}, "inconclusive"),
        ({"tenfold": 0.0}, "inconclusive"),
        ({"search": 0.0}, "inconclusive"),
        ({"local": 0.0, "search": 0.1, "tenfold": 0.2}, "not supported"),
    ],
)
def test_on_others_every_amount_of_searching_must_say_the_same(other, verdict):
    slopes = {"local": -0.5, "search": -0.5, "tenfold": -0.5} | other
    found, word = judged(results(open_at=N, truths=8, **slopes))
    assert word == verdict and not found.reasons
    assert found.low <= min(slopes.values()) + 0.02 and found.high >= max(slopes.values()) - 0.02
    assert "0 of 32 data sets are settled" in found.note and "ten times the search" in found.note


def test_an_open_data_set_alone_is_replaced():
    """A quarter of the truths is open at the last size: the others keep the loss of the search."""
    found, _ = judged(results(open_at=[3000], local=0.0))
    moved = results(open_at=[3000], local=0.0)
    moved["L3"] = moved["L3"].where(moved["settled"] == 1, moved["L3_local"])
    mixed = rates.fit(moved["L3"].sel(arm="a"), over="n")
    assert found.high == pytest.approx(mixed.high, abs=1e-12)


def test_sizes_out_of_the_window_need_not_be_settled():
    found, _ = judged(results(open_at=[100], local=0.0), window=(300, 3000))
    assert "all 24 data sets are settled" in found.note


def test_without_the_longer_search_nothing_is_decided():
    ds = results(open_at=[1000]).assign(L3_tenfold=lambda ds: ds["L3"] * np.nan)
    found, _ = judged(ds)
    assert found.reasons


@pytest.mark.parametrize(("other", "verdict"), [(-0.6, "supported"), (0.0, "inconclusive")])
@pytest.mark.parametrize("open_at", [(), N])
def test_losses_together_must_agree(other, verdict, open_at):
    of = dict(open_at=open_at, truths=8)
    ds, second = results(**of), results(**of, local=other, search=other, tenfold=other)
    ds = ds.assign({name.replace("L3", "quotient"): second[name] for name in second if name != "settled"})
    asked = claim(variable="L3", arm="a", at_most=-0.4)
    found = slope_by_settled(ds, asked, together=["quotient"])
    assert compared(found, asked.region)[0] == verdict
    assert found.low <= min(other, -0.5) + 0.02 and found.high >= max(other, -0.5) - 0.02

"""That one side is the slower one is decided only where it has an order of its own."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.papers.sigmoid_attention import order_rules
from moestat.study.spec import Claim

CLAIM = {"id": "x", "source": "s", "statement": "t", "kind": "function", "function": "moestat:x", "at_most": 0.0}
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
    found = order_rules.ordered_series(series(-0.5, over), Claim(**CLAIM, **SERIES), slower_at_most=-0.15)
    assert found.value == pytest.approx(-0.5 - over, abs=0.02) and found.replicates == 6
    assert (found.reasons == ()) == decides
    if not decides:
        assert "The slower side has a slope of" in found.reasons[0] and "at most -0.15" in found.reasons[0]


def test_the_line_that_bends_is_named():
    ds = series(-0.5, -0.25)
    ds["over"] += 0.1
    found = order_rules.ordered_series(ds, Claim(**CLAIM, **SERIES), slower_at_most=-0.15)
    assert found.bend.startswith("The second line is bent and flattens") and "first line" not in found.bend
    assert order_rules.ordered_series(series(-0.5, -0.25), Claim(**CLAIM, **SERIES), slower_at_most=-0.15).bend == ""
    told = rows(-0.5, -0.25).assign(turn=("arm", np.array(["", " and turns"], dtype=object)))
    assert order_rules.ordered_rows(told, Claim(**CLAIM, **ROWS), slower_at_most=-0.15).bend == (
        "The second line is bent and turns."
    )


def test_the_window_of_the_claim_is_that_of_both_slopes():
    ds = series(-0.5, -0.25)
    ds["over"][{"n": 0}] *= 100.0
    claim = Claim(**CLAIM, **SERIES, window=(300, 3000))
    found = order_rules.ordered_series(ds, claim, slower_at_most=-0.15)
    assert found.value == pytest.approx(-0.25, abs=0.02) and "3 sizes" in found.note


@pytest.mark.parametrize(("slow", "half", "decides"), [(-0.25, 0.02, True), (-0.25, 0.2, False), (0.05, 0.02, False)])
def test_a_slower_row_needs_its_own_order(slow, half, decides):
    ds = rows(-0.5, slow, half)
    faster = order_rules.ordered_rows(ds, Claim(**CLAIM, **ROWS), slower_at_most=-0.15)
    back = {**CLAIM, "at_most": None, "at_least": 0.0, "arm": "slow", "versus": "fast"}
    slower = order_rules.ordered_rows(ds, Claim(**back), slower_at_most=-0.15)
    assert faster.value == pytest.approx(-slower.value) and faster.value == pytest.approx(-0.5 - slow)
    assert (faster.reasons == ()) == (slower.reasons == ()) == decides


def test_a_region_with_two_ends_names_no_slower_side():
    claim = Claim(**{**CLAIM, "at_most": None, "within": (-0.1, 0.1)}, **ROWS)
    with pytest.raises(NoAnswerError, match="at_most or at_least"):
        order_rules.ordered_rows(rows(-0.5, -0.25), claim, slower_at_most=-0.15)

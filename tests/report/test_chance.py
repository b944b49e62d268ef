"""What chance may have decided: the p-values that intervals imply, what is expected wrong, what survives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from moestat.report import chance

DEGREES, LEVEL = 9, 0.95


def row(verdict, value, low, high, **more):
    made = {"verdict": verdict, "reason": "", "estimate": value, "ci_low": low, "ci_high": high, "cell": "proof"}
    return made | {"level": LEVEL, "survives": ""} | more


def judged(value, half, region, level=LEVEL):
    """Return a row as the rule has it."""
    low, high = value - half, value + half
    inside, outside = region[0] <= low and high <= region[1], high < region[0] or low > region[1]
    word = "supported" if inside else "not supported" if outside else "inconclusive"
    return row(word, value, low, high, reason="across the edge" if word == "inconclusive" else "", level=level)


numbers = st.floats(-5, 5).map(lambda value: round(value, 3))


@settings(max_examples=200, deadline=None)
@given(numbers, st.floats(0.01, 3), numbers, st.floats(0.1, 5), st.sampled_from([0.9, 0.95, 0.99]), st.integers(0, 2))
def test_a_claim_is_decided_where_its_p_value_is_below_one_minus_the_level(value, half, edge, width, level, form):
    region = [(edge, edge + width), (-math.inf, edge), (edge, math.inf)][form]
    found = judged(value, half, region, level)
    p = chance.p_value(found, region, level, 10)
    if abs(p - (1 - level)) > 1e-9:
        assert (found["verdict"] in chance.DECIDED) == (p < 1 - level)


def test_the_p_value_is_that_of_the_t_test_at_the_edge():
    sample = np.random.default_rng(5).normal(0.4, 1.0, DEGREES + 1)
    half = stats.t.interval(LEVEL, DEGREES, scale=stats.sem(sample))[1]
    p = chance.p_value(judged(sample.mean(), half, (0.0, math.inf)), (0.0, math.inf), LEVEL, DEGREES + 1)
    np.testing.assert_allclose(p, stats.ttest_1samp(sample, 0.0).pvalue, rtol=1e-10)


@pytest.mark.parametrize(
    ("found", "p"),
    [
        (row("refuted", 1.0, 0.5, 1.0), math.nan),  # it counts cases
        (row("supported", 1.0, 1.0, 1.0), math.nan),  # exact
        (row("not run", math.nan, math.nan, math.nan), math.nan),
        (row("inconclusive", 9.0, 8.9, 9.1, reason="failed"), 1.0),  # the interval decides nothing
        (row("supported", 1.0, 0.9, 1.0), 2 * stats.t.sf(10 * stats.t.ppf(0.975, DEGREES), DEGREES)),  # a share of 1
    ],
)
def test_what_rests_on_no_interval_has_no_p_value(found, p):
    np.testing.assert_allclose(chance.p_value(found, (0.0, 1.0), LEVEL, DEGREES + 1), p)


def test_what_survives_is_benjamini_and_hochbergs_over_primary_claims_that_have_an_interval():
    values = [0.001, 0.012, 0.03, 0.04, 0.2, 1.0]
    words = ["supported"] * 4 + ["inconclusive"] * 2
    rows = [row(word, 0, -1, 1, p=p) for word, p in zip(words, values, strict=True)]
    others = [row("supported", 0, -1, 1, p=1e-9, cell=""), row("refuted", 1, 1, 1, p=math.nan)]
    kept = multipletests(values, alpha=chance.RATE, method="fdr_bh")[0]
    assert list(kept) == [True, True, False, False, False, False]
    assert chance.survivors([*rows, *others]) == ["yes", "yes", "no", "no", "", "", "", ""]
    told = [one | {"survives": word} for one, word in zip(rows, ["yes", "yes", "no", "no", "", ""], strict=True)]
    found = chance.counts([*told, others[1]])
    assert found[:3] == (5, 4, 6) and found.survive == 2
    assert math.isclose(found.wrong, 6 * 0.05)  # the undecided could have been decided wrongly as well
    said = chance.told([*told, others[1]])
    assert said.startswith("4 of 5 decisions rest on an interval, and 2 of these survive") and "at most 0.3 are" in said
    assert chance.told(others[1:]) == "none of 1 decisions rests on an interval" and chance.told([]) == ""
    assert "does not survive" in chance.of_claim(told[2]) and chance.of_claim(others[0]) == ""
    assert chance.of_claim(others[1]).startswith("it rests on no interval of its own")

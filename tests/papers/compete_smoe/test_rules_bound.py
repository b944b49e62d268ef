"""The rule about a ratio that is bounded from below: E h of the order D^2 does not pass, and a ratio of 0 refutes."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.papers.compete_smoe.rules_bound import steepest
from moestat.rates import Cases
from moestat.study.spec import Claim

LENGTHS = np.array([0.1, 0.03, 0.01, 0.003])


def judged(ratios, rule=("at_most", 0.1), **options):
    """Judge ratios (replicates, lengths)."""
    claim = Claim(
        id="c",
        source="ours",
        statement="s",
        kind="function",
        function="m:f",
        variable="ratio",
        over="length",
        arm="a",
        **{rule[0]: rule[1]},
    )
    coords = {"arm": ["a"], "length": LENGTHS[: np.shape(ratios)[-1]]}
    ds = xr.Dataset({"ratio": (("arm", "replicate", "length"), np.asarray(ratios, dtype=float)[None])}, coords)
    return steepest(ds, claim, **options)


def test_the_largest_exponent_counts_and_that_of_another_order_refutes():
    """A constant ratio and one that grows pass; E h ~ D^2, in one direction of three, does not."""
    fine = judged([0.04 + 0 * LENGTHS, 0.02 * LENGTHS**-0.3])
    assert fine.value == pytest.approx(0, abs=1e-12) and fine.cases == Cases(2, 2, 2, 2)
    square = judged([0.04 + 0 * LENGTHS, 0.5 * LENGTHS, 0.02 + 0 * LENGTHS])
    assert square.value == pytest.approx(1) and square.cases == Cases(3, 2, 3, 2)
    # the least ratio is 0.0015 there, which a bound of 0.001 had let pass
    assert 0.5 * LENGTHS.min() > 0.001


def test_the_shortest_lengths_are_those_near_the_truth():
    """A ratio that levels off is flat there, and one that begins to fall there is not."""
    levels, falls = [0.015, 0.007, 0.006, 0.006], [0.01, 0.01, 0.01, 0.003]
    assert judged([levels]).value > 0.1 and judged([levels], shortest=2).value == pytest.approx(0, abs=1e-12)
    assert judged([falls], shortest=2).value == pytest.approx(1)


def test_a_ratio_of_0_refutes_and_has_no_exponent():
    """Whether at all lengths or at one."""
    for ratios in ([0.0] * 4, [0.01, 0.01, 0.01, 0.0]):
        found = judged([ratios, 0.02 + 0 * LENGTHS])
        assert found.value == np.inf and found.cases == Cases(2, 1, 2, 1) and "1 of which it is 0" in found.note


def test_one_length_other_rules_and_missing_values_are_refused():
    """There is no exponent."""
    with pytest.raises(NoAnswerError, match="at_most"):
        judged([LENGTHS], rule=("at_least", 0.1))
    for ratios in ([[0.01]], [[0.01, np.nan, 0.01, 0.01]]):
        with pytest.raises(NoAnswerError, match="two lengths"):
            judged(ratios)

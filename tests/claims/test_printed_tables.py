"""Printed tables and the rules of their sentences: against loops over the numbers, and what is refused."""

import itertools
import statistics

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from moestat import printed
from moestat.claims import printed as rules
from moestat.claims.selection import NoAnswerError
from moestat.experiment import Cell
from moestat.rates.verdict import compared
from moestat.study.spec import Claim

ONE, TWO = [1.303, 1.303, 1.307, 1.315, 1.304], [1.333, 1.322, 1.315, 1.320, 1.310]


def table(values, **settings):
    rows, columns = [f"r{i}" for i in range(len(values))], [f"c{j}" for j in range(len(values[0]))]
    made = printed.Settings(rows=rows, columns=columns, values=values, **settings).model_dump(mode="json")
    return printed.run(Cell("moestat.printed", 1, "a", {}, made), [0]).expand_dims(arm=["a"])


def claim(at_least=0.0):
    how = {"kind": "function", "function": "m:f", "variable": "printed", "at_least": at_least}
    return Claim(id="c", source="ours", statement="s", **how)


def test_a_lead_is_that_of_a_loop_and_one_number_may_refute_it():
    values = np.random.default_rng(0).uniform(1, 2, (4, 6)) + np.arange(4)[:, None]
    pairs = {"lower": {"row": "r0"}, "higher": {"row": ["r1", "r2", "r3"]}}
    gaps = [values[k, j] - values[0, j] for k, j in itertools.product(range(1, 4), range(6))]
    asked = claim(at_least=1e-6)
    found = rules.lead(table(values.tolist()), asked, **pairs)
    assert found.value == pytest.approx(min(gaps), abs=1e-8) and found.cases.count == 18
    assert (found.cases.inside, compared(found, asked.region)[0]) == (18, "no counterexample")
    values[2, 3] = values[0, 3]  # a tie is no lead
    tied = rules.lead(table(values.tolist()), asked, **pairs)
    assert (tied.cases.inside, compared(tied, asked.region)[0]) == (17, "refuted") and "r2" in tied.note
    assert rules.share(table(values.tolist()), claim(), **pairs).value == pytest.approx(17 / 18)


def test_decimals_are_subtracted_as_they_are_printed():
    first = {"lower": {"row": "r1", "column": "c0"}, "higher": {"row": "r0", "column": "c0"}}
    assert rules.lead(table([[38.3, 1.0], [35.3, 1.0]]), claim(), **first).value == 3.0


def test_statistics_are_those_of_the_standard_library():
    ds, first, second = table([ONE, TWO]), {"row": "r0"}, {"row": "r1"}
    assert rules.average(ds, claim(), of=second).value == pytest.approx(statistics.fmean(TWO))
    assert rules.deviation(ds, claim(), of=second).value == pytest.approx(statistics.stdev(TWO))
    pooled = (statistics.variance(ONE) + statistics.variance(TWO)) / 2
    t = (statistics.fmean(ONE) - statistics.fmean(TWO)) / (pooled * 2 / 5) ** 0.5
    assert rules.t_test(ds, claim(), first=first, second=second).value == pytest.approx(2 * stats.t.sf(abs(t), 8))


def test_a_ratio_knows_what_rounds_to_its_numbers():
    found = rules.ratio(table([[0.13], [0.11]]), claim(), of={"row": "r0"}, to={"row": "r1"}, unit=0.01)
    assert found.value == pytest.approx(0.13 / 0.11)
    assert (found.low, found.high) == pytest.approx((0.125 / 0.115, 0.135 / 0.105))


def test_how_far_a_number_is_behind():
    behind = table([[2.0, 0.0], [3.0, 1.0]])["behind"].values[0, 0]
    np.testing.assert_array_equal(behind, [[0.0, np.nan], [50.0, np.inf]])
    assert table([[80.0], [60.0]], better="higher")["behind"].values.ravel().tolist() == [0.0, 25.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": ["a", "a"], "columns": ["x"], "values": [[1.0], [2.0]]}, "names a twice"),
        ({"rows": ["a"], "columns": ["x"], "values": [[1.0], [2.0]]}, "values has 2 rows, and rows names 1"),
        ({"rows": ["a"], "columns": ["x", "y"], "values": [[1.0]]}, "row 'a' of values has 1 numbers for 2 columns"),
    ],
)
def test_a_table_with_holes_is_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        printed.Settings(**settings)


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        (rules.average, {"of": {"row": "r7"}}, "row = 'r7' is not in this table, which has r0, r1"),
        (rules.average, {"of": {"task": "r0"}}, "has no axis 'task'"),
        (rules.ratio, {"of": {"row": "r0"}, "to": {"row": "r1"}, "unit": 0.1}, "one number to one other"),
        (rules.deviation, {"of": {"row": "r0", "column": "c0"}}, "no standard deviation"),
        (rules.average, {"of": {"row": "r2"}}, "no number"),
        (rules.lead, {"lower": {"row": "r0"}, "higher": {"row": "r2"}}, "no place in common"),
    ],
)
def test_what_is_not_in_the_table_is_said(rule, options, message):
    ds = table([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with pytest.raises(NoAnswerError, match=message):
        rule(ds.assign(printed=ds["printed"].where(ds["row"] != "r2")), claim(), **options)

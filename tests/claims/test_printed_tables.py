"""Printed tables and the rules of their sentences: against loops over the numbers, and what is refused."""

import itertools
import statistics

import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError
from scipy import stats

from moestat import printed
from moestat.claims import printed as rules
from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import judge
from moestat.experiment import Cell
from moestat.study import load
from moestat.study.spec import Claim

COMPETE = load.read("compete_tables").study
TASKS = load.read("task_table").study


def run(arm, **settings):
    settings = printed.Settings(**settings).model_dump(mode="json")
    return printed.run(Cell("moestat.printed", 1, arm, {}, settings), [0]).expand_dims(arm=[arm])


def tables(study):
    """Return the results of a study of printed tables, without a run folder."""
    return xr.concat([run(arm.name, **{**study.settings, **arm.settings}) for arm in study.arms], "arm", join="outer")


def table(values, **settings):
    rows, columns = [f"r{i}" for i in range(len(values))], [f"c{j}" for j in range(len(values[0]))]
    return run("a", rows=rows, columns=columns, values=values, **settings)


def claim(at_least=0.0):
    how = {"kind": "function", "function": "m:f", "variable": "printed", "at_least": at_least}
    return Claim(id="c", source="ours", statement="s", **how)


def test_the_lead_of_table_2_is_that_of_a_loop_and_a_tie_is_none():
    ds = tables(COMPETE)
    numbers = {arm.name: np.array(arm.settings["values"]) for arm in COMPETE.arms if arm.name in ("switch", "glam")}
    leads = [v[k, j] - v[0, j] for v in numbers.values() for k, j in itertools.product(range(1, 5), range(6))]
    between = (numbers["switch"] - numbers["glam"]).ravel()
    for name, gaps in (("best-everywhere", np.array(leads)), ("glam-everywhere", between)):
        options = next(c for c in COMPETE.claims if c.id == name).options
        found = rules.lead(ds, claim(at_least=1e-6), **options)
        assert found.value == pytest.approx(gaps.min(), abs=1e-12)
        assert (found.cases.count, found.cases.inside) == (gaps.size, int((gaps > 1e-9).sum()))
    worse = ds["printed"].copy()
    worse.loc[{"arm": "glam", "row": "CompeteSMoE", "column": "text8 small"}] = 1.286  # as SMoE
    words = [{v.claim: v.verdict for v in judge(d, COMPETE, "quick")} for d in (ds, ds.assign(printed=worse))]
    assert [w["best-everywhere"] for w in words] == ["no counterexample", "refuted"]
    assert words[1]["better-in-all-runs"] == "no counterexample"


def test_statistics_of_table_9_are_those_of_the_standard_library():
    ds = tables(COMPETE)
    one, two = ([1.303, 1.303, 1.307, 1.315, 1.304], [1.333, 1.322, 1.315, 1.320, 1.310])
    of, first = {"arm": "runs", "row": "SMoE"}, {"arm": "runs", "row": "CompeteSMoE"}
    assert rules.average(ds, claim(), of=of).value == pytest.approx(statistics.fmean(two))
    assert rules.deviation(ds, claim(), of=of).value == pytest.approx(statistics.stdev(two))
    assert rules.spread(ds, claim(), of=of).value == pytest.approx(max(two) - min(two))
    pooled = (statistics.variance(one) + statistics.variance(two)) / 2
    t = (statistics.fmean(one) - statistics.fmean(two)) / (pooled * 2 / 5) ** 0.5
    assert rules.t_test(ds, claim(), first=first, second=of).value == pytest.approx(2 * stats.t.sf(abs(t), 8))
    gaps = [a - b for a, b in zip(one, two, strict=True)]
    t = statistics.fmean(gaps) / (statistics.stdev(gaps) / 5**0.5)
    paired = rules.t_test(ds, claim(), first=first, second=of, paired=True).value
    assert paired == pytest.approx(2 * stats.t.sf(abs(t), 4))


def test_the_gaps_of_table_1_are_those_of_a_loop():
    values = [arm.settings["values"] for arm in TASKS.arms]
    gaps = [router - ce for v in values for ce, router in zip(v[0][1:], v[1][1:], strict=True)]
    verdicts = {v.claim: v.estimate for v in judge(tables(TASKS), TASKS, "quick")}
    assert verdicts["mean-gain"] == pytest.approx(sum(gaps) / 16)
    assert verdicts["no-degradation"] == pytest.approx(min(gaps))
    assert verdicts["typically-higher"] == sum(gap > 0 for gap in gaps) / 16


def test_equal_numbers_are_no_lead_and_sums_of_decimals_are_exact():
    ds = table([[38.3, 1.0], [35.3, 1.0]])
    choice = {"lower": {"row": "r1"}, "higher": {"row": "r0"}}
    assert rules.lead(ds, claim(at_least=1e-6), **choice).cases.inside == 1
    assert rules.share(ds, claim(), **choice).value == 0.5 and rules.gain(ds, claim(), **choice).value == 1.5
    first = {axis: pick | {"column": "c0"} for axis, pick in choice.items()}
    assert rules.lead(ds, claim(), **first).value == 3.0


def test_a_ratio_knows_what_rounds_to_its_numbers():
    found = rules.ratio(table([[0.13], [0.11]]), claim(), of={"row": "r0"}, to={"row": "r1"}, unit=0.01)
    rng = np.random.default_rng(0)
    many = rng.uniform(0.125, 0.135, 20_000) / rng.uniform(0.105, 0.115, 20_000)
    assert found.value == pytest.approx(0.13 / 0.11)
    assert found.low < many.min() < found.low + 0.01 and found.high - 0.01 < many.max() < found.high


def test_how_far_a_number_is_behind():
    np.testing.assert_array_equal(
        table([[2.0, 0.0], [3.0, 1.0]])["behind"].values[0, 0], [[0.0, np.nan], [50.0, np.inf]]
    )
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

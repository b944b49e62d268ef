"""Claims about constructions."""

import itertools
import re

import numpy as np
import pytest
import xarray as xr
from cells import a_claim
from scipy import stats

from moestat import printed
from moestat.claims import printed as sentences
from moestat.claims.selection import NoAnswerError
from moestat.experiment import Cell
from studies.task_routing.parts.rules import (
    cells_at_least,
    dealt,
    neurons_over_bound,
    printed_spread,
    trend,
    worst,
)


@pytest.fixture
def results():
    failing = np.array([[[0, 3], [0, 0]], [[5, 40], [0, 0]]])  # size, repairs, replicate
    words = np.array([[["", "[a] of R"], ["", ""]], [["[b] of R", "[c] of R"], ["", ""]]], dtype=object)
    dims = ("arm", "size", "repairs", "replicate")
    return xr.Dataset(
        {
            "failing": (dims, failing[None].astype(np.int64)),
            "failure": (dims, words[None]),
            "status": (dims, np.zeros((1, 2, 2, 2), dtype=np.int64)),
        },
        coords={
            "arm": np.array(["moe"], dtype=object),
            "arm_label": ("arm", np.array(["moe"], dtype=object)),
            "size": np.array(["small", "large"], dtype=object),
            "repairs": np.array(["none", "all"], dtype=object),
            "replicate": [0, 1],
        },
    )


def claim(**changes):
    return a_claim(**{"variable": "failing", "arm": "moe", "at": {"repairs": "none"}, "at_most": 0} | changes)


def test_the_worst_dataset_decides_and_the_first_failure_is_named(results):
    found = worst(results, claim(), witness="failure", without="all")
    assert (found.value, found.low, found.high) == (40, 40, 40)
    assert "4 draws, 3 of them against the rule" in found.note
    assert "first: [a] of R" in found.note
    assert "with repairs = all the largest is 0" in found.note
    mended = worst(results, claim(at={"repairs": "all"}), witness="failure")
    assert mended.value == 0
    assert "first" not in mended.note
    # (1 - p)^4 = 5 % at p = 0.527
    assert "0 of them against the rule" in mended.note


def test_the_trend_of_a_gap_is_the_least_squares_slope():
    rng = np.random.default_rng(0)
    experts, count = np.array([3, 5, 7, 9]), 6
    accuracy = rng.normal(0.8, 0.01, (2, 2, 4, count))
    accuracy[1] += 0.004 * experts[None, :, None]
    accuracy[0, 0, 0, 5] = np.nan
    dims = ("arm", "tasks", "experts", "replicate")
    ds = xr.Dataset(
        {"accuracy": (dims, accuracy)},
        coords={"arm": ["ce", "router"], "tasks": [10, 20], "experts": experts, "replicate": range(count)},
    )
    asked = claim(variable="accuracy", arm="router", versus="ce", at={}, at_most=None, at_least=0.0)
    found = trend(ds, asked)
    gap = (accuracy[1] - accuracy[0]).mean(axis=0)[:, :5]
    slopes = [np.polyfit(experts, gap[:, i], 1)[0] for i in range(5)]
    np.testing.assert_allclose(found.value, np.mean(slopes))
    interval = stats.t.interval(0.95, 4, np.mean(slopes), stats.sem(slopes))
    np.testing.assert_allclose((found.low, found.high), interval)
    assert "5 replicates" in found.note
    assert trend(ds, claim(**{**asked.model_dump(), "at": {"tasks": 20}})).value != found.value
    with pytest.raises(NoAnswerError, match="two or more values of 'experts'"):
        trend(ds.isel(experts=[1]), asked)


def test_the_bound_on_neurons_has_one_pair_more_than_the_largest_table(results):
    """The theorem has |table| < N: with 3 tasks of at most 4 pairs and L|T| = 10 its bound is 10 + 5 * 3, not 22."""
    neurons = xr.DataArray([[[24.0, 26.0]] * 2, [[30.0, 35.0]] * 2], dims=("size", "repairs", "replicate"))
    bound = xr.DataArray([22.0, 40.0], dims="size")
    ds = results.assign(neurons=neurons.expand_dims("arm"), neurons_ratio=(neurons / bound).expand_dims("arm"))
    asked = claim(variable="neurons_ratio", at_most=1.0)
    assert worst(ds, asked).cases.inside == 2
    found = neurons_over_bound(ds, asked, tasks={"small": 3, "large": 6})
    assert found.value == pytest.approx(26 / 25)
    assert (found.cases.count, found.cases.inside) == (4, 3)
    assert "1 of them against the rule; N is the largest table and one more" in found.note
    with pytest.raises(NoAnswerError, match="size = 'large' has no number of tasks"):
        neurons_over_bound(ds, asked, tasks={"small": 3})
    with pytest.raises(NoAnswerError, match="no variable 'mass'"):
        neurons_over_bound(ds, claim(variable="mass"), tasks={"small": 3, "large": 6})


def test_the_spread_of_a_printed_table_cell_by_cell():
    tables = [[[88.8, 86.9], [88.8, 90.7], [88.8, 87.5]], [[88.8, 89.7], [88.8, 90.7], [88.8, 89.4]]]
    parts = []
    for name, values in zip("ab", tables, strict=True):
        settings = printed.Settings(rows=["x", "y", "z"], columns=["one", "nine"], values=values, better="higher")
        cell = Cell("moestat.printed", 1, name, {}, settings.model_dump(mode="json"))
        parts.append(printed.run(cell, [0]).expand_dims(arm=[name]))
    ds = xr.concat(parts, "arm")
    asked = claim(variable="printed", arm="", at={}, at_most=3.8)
    found = printed_spread(ds, asked, columns=["nine"])
    assert found.value == 3.8 and (found.cases.count, found.cases.inside) == (2, 2)
    assert "arm a, column nine" in found.note
    assert printed_spread(ds, claim(variable="printed", arm="", at={}, at_most=3.0), columns=["nine"]).cases.inside == 1
    assert printed_spread(ds, asked, columns=["one", "nine"], limit=3.0).value == 0.75
    with pytest.raises(NoAnswerError, match="column = 'two'"):
        printed_spread(ds, asked, columns=["two"])


def printed_table(values):
    """Two arms with two columns each; ``values`` has shape (rows, 4), the cells of arm a first."""
    parts = []
    for name, part in (("a", values[:, :2]), ("b", values[:, 2:])):
        rows = [f"r{i}" for i in range(len(values))]
        settings = printed.Settings(rows=rows, columns=["three", "nine"], values=part.tolist(), better="higher")
        cell = Cell("moestat.printed", 1, name, {}, settings.model_dump(mode="json"))
        parts.append(printed.run(cell, [0]).expand_dims(arm=[name]))
    return xr.concat(parts, "arm")


def test_deals_of_a_printed_table_are_counted_by_all_of_them():
    """The share of 4!^2 = 576 deals that pass, by enumeration; 400 draws miss it by 4 errors 1 time in 15 000."""
    values = np.array([[1.0, 2.0, 3.0, 4.0], [1.5, 3.5, 3.2, 4.5]])
    asked = claim(variable="printed", arm="", at={}, at_most=None, at_least=1e-6)
    both = ["three", "nine"]
    nine = {"lower": {"row": "r0", "column": "nine"}, "higher": {"row": "r1", "column": "nine"}}
    found = dealt(printed_table(values), asked, rule="lead", cells=both, draws=400, **nine)
    plain = sentences.lead(printed_table(values), asked, **nine)
    assert (found.value, found.cases) == (plain.value, plain.cases) and found.value == 0.5
    every = [(a, b) for a in itertools.permutations(values[0]) for b in itertools.permutations(values[1])]
    share = np.mean([b[1] > a[1] and b[3] > a[3] for a, b in every])
    passed = int(re.search(r"over the 4 cells (\d+) of 400 pass", found.note).group(1))
    assert abs(passed / 400 - share) < 4 * (share * (1 - share) / 400) ** 0.5
    # what holds of whole rows passes in every deal
    spread = dealt(printed_table(values), asked, rule="spread", cells=both, columns=both, limit=4.0)
    assert spread.value == 1 and "200 of 200 pass" in spread.note
    # and a column that is not among the cells is left where it is
    alone = dealt(printed_table(values), asked, rule="lead", cells=["three"], **nine)
    assert "over the 2 cells 200 of 200 pass" in alone.note
    with pytest.raises(NoAnswerError, match="column = 'two'"):
        dealt(printed_table(values), asked, rule="lead", cells=["two"], **nine)


def test_share_of_cells_that_are_not_behind():
    """Cells far ahead, far behind and at the limit: the share, and how many of them the intervals decide."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((200, 4)) * 0.01
    gap = np.array([0.05, -0.2, 0.1, -0.03]) + noise - noise.mean(axis=0)
    start = rng.uniform(0.8, 0.9, size=(200, 1))
    ds = xr.Dataset(
        {"accuracy": (("arm", "replicate", "experts"), np.stack([start + gap, start + 0 * gap]))},
        coords={"arm": ["router", "ce"], "experts": [3, 5, 7, 9], "replicate": np.arange(200)},
    )
    asked = claim(variable="accuracy", arm="router", versus="ce", at={}, at_most=None, at_least=0.501)
    found = cells_at_least(ds, asked, least=-0.03001)
    assert (found.value, found.low, found.high, found.exact) == (0.75, 0.5, 0.75, False)
    decided = cells_at_least(ds.isel(experts=slice(0, 3)), asked, least=-0.03)
    assert (decided.low, decided.high, decided.exact) == (2 / 3, 2 / 3, True)
    low, high = stats.t.interval(1 - 0.05 / 4, 199, loc=0.05, scale=stats.sem(gap[:, 0]))
    assert f"3: +0.050 [{low:+.3f}, {high:+.3f}]" in found.note
    with pytest.raises(NoAnswerError, match="two or more"):
        cells_at_least(ds.isel(experts=[0]), asked, least=-0.03)

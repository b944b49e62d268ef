"""What the report says of global searches: counts per point, and which slopes rest on searches that did not settle."""

import numpy as np
import pytest
import xarray as xr

from moestat.claims.evidence import Evidence
from moestat.report import searches, tables, views
from moestat.study.spec import Study

SIZES = [100, 200, 400, 800]


@pytest.fixture
def evidence() -> Evidence:
    shape, dims = (2, 4, 3), ("arm", "n", "replicate")
    rng = np.random.default_rng(3)
    loss = np.array(SIZES)[None, :, None] ** -0.5 * np.exp(0.1 * rng.standard_normal(shape))
    found = np.full(shape, np.nan)
    found[0] = 5
    found[0, 1] = [0, 1, 2]
    kind = np.full(shape, "", dtype=object)
    kind[0] = "local"
    kind[0, 1, 0] = "insert"
    values = {"L3": loss, "search_found": found, "search_kind": kind, "search_gain": found, "L3_wide_low": loss / 2}
    values |= {"search_distinct": found, "search_lower_left": found / 10, "L3_wide_high": loss * 2}
    ds = xr.Dataset(
        {name: (dims, array) for name, array in values.items()},
        coords={"arm": ["argmin", "near"], "n": SIZES, "replicate": range(3), "arm_label": ("arm", ["argmin", "near"])},
    )
    ds["status"] = (dims, np.zeros(shape, dtype=int))
    study = Study.model_validate(
        {
            "title": "t",
            "paper": "ours",
            "source": "ours",
            "experiment": "regression",
            "seed": 1,
            "grid": {"n": SIZES},
            "presets": {"quick": {"replicates": 3}},
            "arms": [{"name": "argmin"}, {"name": "near"}],
            "rates": [{"loss": "L3"}],
        }
    )
    return Evidence(ds, study, "quick")


def test_every_point_of_an_arm_that_searched_has_a_row(evidence):
    table = searches.table(evidence)
    assert table["arm"].tolist() == ["argmin"] * 4 and table["runs"].tolist() == [3] * 4
    assert table["other_won"].tolist() == pytest.approx([0, 1 / 3, 0, 0])
    assert table["found"].tolist() == [5, 1, 5, 5]
    assert "v p" in searches.view(table).columns[-1] and len(searches.view(table).rows) == 4


def test_slopes_that_rest_on_unsettled_searches_are_marked(evidence):
    table = tables.rates(evidence)
    marked = dict(zip(table["arm"], table["search"], strict=True))
    assert "n = 200 (2 of 3)" in marked["argmin"] and marked["near"] == ""
    view = views.rates(table)
    assert "\N{DOUBLE DAGGER}" in view.rows[0][0] and "\N{DOUBLE DAGGER}" not in view.rows[1][0]
    assert any("Something lower may be left" in note for note in view.notes)


def test_a_study_without_searches_has_no_table(evidence):
    plain = Evidence(evidence.ds.drop_vars([n for n in evidence.ds if n.startswith("search")]), evidence.study, "quick")
    assert searches.table(plain).empty and plain.unsettled("n", "argmin") == ""

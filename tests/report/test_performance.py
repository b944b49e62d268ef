"""Bias, coverage and power against plain loops and against repeated simulation; what a bare study shows."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from report_example import study_of

import moestat
from moestat import figures
from moestat.errors import InputError
from moestat.report import tidy, views
from moestat.report.write import write_outputs


def estimates(seed: int = 0, replicates: int = 200) -> xr.Dataset:
    """Means of 25 normal draws around 0.3, with their 95 % intervals of a known variance; one arm is off by 0.1."""
    rng = np.random.default_rng(seed)
    shape = (2, 1, replicates)
    dims = ("arm", "n", "replicate")
    x = 0.3 + 0.2 * rng.standard_normal(shape) + np.array([0.0, 0.1])[:, None, None]
    half = 0.392 + 0.01 * rng.random(shape)
    attrs = {"reference": "truth", "low": "low", "high": "high"}
    names = np.array(["exact", "biased"], dtype=object)
    ds = xr.Dataset(
        {"x": (dims, x, attrs), "low": (dims, x - half), "high": (dims, x + half)},
        {"arm": names, "arm_label": ("arm", names), "n": [25], "replicate": np.arange(replicates)},
    )
    return ds.assign(truth=(("arm", "n"), [[0.3], [0.3]]), status=(dims, np.zeros(shape, dtype=np.int64)))


def test_the_measures_are_those_of_plain_loops():
    ds = estimates()
    ds["x"][0, 0, 7] = np.nan
    table = moestat.performance(ds).set_index(["arm", "measure"])
    x, low, high = (ds[name].values[0, 0] for name in ("x", "low", "high"))
    kept = [r for r in range(200) if r != 7]
    off = [x[r] - 0.3 for r in kept]
    bias = sum(off) / 199
    mse = sum(o * o for o in off) / 199
    covers = sum(low[r] <= 0.3 <= high[r] for r in kept) / 199
    rejects = sum(low[r] > 0 or high[r] < 0 for r in kept) / 199
    row = table.loc["exact"]
    assert row.loc["bias", "value"] == pytest.approx(bias)
    assert row.loc["bias", "mcse"] == pytest.approx((sum((o - bias) ** 2 for o in off) / (199 * 198)) ** 0.5)
    assert row.loc["rmse", "value"] == pytest.approx(mse**0.5)
    assert row.loc["coverage", "value"] == covers and row.loc["power", "value"] == rejects
    assert row.loc["coverage", "mcse"] == pytest.approx((covers * (1 - covers) / 199) ** 0.5)
    assert (row["replicates"] == 199).all() and table.loc["biased"].loc["bias", "value"] > 0.05


def test_the_monte_carlo_errors_are_the_spread_over_repeated_simulations():
    """The spread of each measure over 1000 simulations is its mean error within 12 %, five sd of that spread's own."""
    rng = np.random.default_rng(0)
    x = 0.3 + 0.2 * rng.standard_normal((1000, 100))
    half = 0.392 + 0.05 * rng.random(x.shape)
    truth = np.full(100, 0.3)
    measured = [
        tidy.errors(row, truth) | tidy.intervals(row - width, row + width, truth)
        for row, width in zip(x, half, strict=True)
    ]
    for measure in views.MEASURES:
        values, mcse = np.array([m[measure] for m in measured]).T
        assert mcse.mean() == pytest.approx(values.std(ddof=1), rel=0.12), measure


def test_a_reference_that_is_no_variable_is_refused():
    ds = estimates(replicates=3)
    ds["x"].attrs["reference"] = "trut"
    with pytest.raises(InputError, match="'x' names 'trut', which is no variable; did you mean 'truth'"):
        moestat.performance(ds)
    assert moestat.performance(ds.drop_vars("x")).empty


def test_a_zip_plot_says_how_many_intervals_cover():
    ds = estimates()
    share = moestat.performance(ds).query("arm == 'biased' and measure == 'coverage'")["value"].item()
    canvas = figures.intervals(ds, "x", at={"n": 25})
    assert f"biased: {share:.0%} of 200 cover" in [axes.get_title(loc="left") for axes in canvas.axes]
    with pytest.raises(figures.FigureError, match="choose n by at"):
        figures.intervals(ds.isel(n=[0, 0]), "x")
    assert len(figures.intervals(ds, "x").axes) == len(ds["arm"]), "one point needs no choice"
    with pytest.raises(figures.FigureError, match="needs the attributes reference, low and high"):
        figures.intervals(ds, "low")


def test_a_study_that_states_nothing_shows_means_performance_and_a_figure(tmp_path):
    ds = estimates(replicates=20)
    bare = study_of(ds, rates=[], claims=[], figures=[], summaries=[])
    report = write_outputs(ds, bare, "quick", tmp_path, provenance={})
    assert not report.problems and set(report.tables["summaries"]["variable"]) == {"x"}, "not the ends of x"
    one = report.tables["summaries"].query("arm == 'exact' and variable == 'x'")
    assert one["mcse"].item() == pytest.approx(ds["x"].values[0].std(ddof=1) / 20**0.5)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"figure.png", "summaries.tex", "performance.csv", "performance.tex"} <= names
    page = (tmp_path / "report.html").read_text()
    assert "Performance" in page and "<figcaption>" in page and "MCSE" in page
    sized = ds.isel(n=[0, 0, 0]).assign_coords(n=[25, 50, 400])
    assert not write_outputs(sized, bare, "quick", tmp_path, provenance={}).problems

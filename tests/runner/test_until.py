"""Replicates until a slope is known well enough: Stein's procedure, by its law and through the machine."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import moestat as ms
from moestat import cli
from moestat.errors import InputError
from moestat.runner.until import Stage

SIZES = [100, 1000, 3000, 10_000]
QUIET = {"quiet": True, "report": False, "jobs": 1}
TRIALS = 4000


def test_intervals_have_the_wanted_half_width_and_cover_as_often_as_they_say():
    """False alarms: 1e-4 each way for the coverage; an interval of the variance of all replicates covers less."""
    rng, half_width = np.random.default_rng(11), 0.6
    covered, naive = 0, 0
    for _ in range(TRIALS):
        slopes = rng.normal(size=4)
        stage = Stage.of(slopes)
        needed = stage.needed(half_width)
        slopes = np.append(slopes, rng.normal(size=needed - 4))
        half = stage.half_width(needed)
        assert half <= half_width * (1 + 1e-12)
        covered += abs(slopes.mean()) <= half
        naive += abs(slopes.mean()) <= stats.t.ppf(0.975, needed - 1) * slopes.std(ddof=1) / np.sqrt(needed)
    least, most = stats.binom.ppf([1e-4, 1 - 1e-4], TRIALS, 0.95)
    assert least <= covered <= most
    assert naive < least


def study(name="until"):
    return ms.rate_study(
        lambda n, rng: {"steep": n ** (-1 + 0.05 * rng.normal()), "flat": n ** (-0.5 + 0.2 * rng.normal())},
        n=SIZES,
        replicates=5,
        seed=2,
        name=name,
    )


def test_a_run_adds_the_replicates_that_the_wider_rate_needs(tmp_path):
    ds = study().run(until=0.3, out=tmp_path, **QUIET)
    first = study().run(out=tmp_path / "first", **QUIET)
    x = np.log(SIZES) - np.log(SIZES).mean()

    def slopes(found, loss):
        return x @ np.log(found[loss].values[0]) / (x @ x)

    sd, t = slopes(first, "flat").std(ddof=1), stats.t.ppf(0.975, 4)
    needed = int(np.ceil((t * sd / 0.3) ** 2))
    assert 5 < needed < 50 and ds.sizes["replicate"] == needed
    half = t * sd / np.sqrt(needed)
    mean = slopes(ds, "flat").mean()
    line = next(line for line in ds.attrs["notes"].split("\n") if "flat" in line)
    assert f"[{mean - half:.2f}, {mean + half:.2f}]" in line and f"{needed} are needed in all" in line
    assert "the first stage of 5" in line
    xr.testing.assert_equal(ds.isel(replicate=slice(5)), first)
    whole = study().run(replicates=needed, out=tmp_path / "whole", **QUIET)
    xr.testing.assert_equal(ds, whole)
    again = study().run(until=0.3, out=tmp_path, **QUIET)
    xr.testing.assert_identical(ds.drop_attrs(), again.drop_attrs())


def test_ten_times_the_first_stage_is_the_most(tmp_path):
    ds = study().run(until=0.001, out=tmp_path, **QUIET)
    assert ds.sizes["replicate"] == 50
    assert "and 50, 10 times the first stage, is the most" in ds.attrs["notes"]


def test_bad_half_widths_are_refused(tmp_path, capsys):
    for word in ("0.1", "half_width=x", "width=0.1"):
        assert cli.main(["sigmoid_vs_softmax", "--until", word]) == 2
        assert "half_width=H" in capsys.readouterr().err
    with pytest.raises(InputError, match="half-widths above 0"):
        study().run(until=0.0, out=tmp_path, **QUIET)
    with pytest.raises(InputError, match="one part of a study"):
        from moestat.runner.request import Request
        from moestat.runner.until import run_until

        run_until(Request("x", until=0.1, part=(1, 2)))

"""Figures of a dataset that no study made: arms, replicates and status are filled in, or a sentence says what lacks."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import moestat
from moestat import figures, rates
from moestat.losses.rescore import rescore
from moestat.models.softmax_gaussian import SoftmaxGaussian


@pytest.fixture(scope="module")
def losses() -> xr.Dataset:
    truth = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
    sizes = [100, 400, 1600, 6400]
    noise = np.random.default_rng(0).normal(size=(4, 6, 2, 5)) * [0.1, 0.1, 0.1, 0.1, 0.01]
    fitted = truth + noise / np.sqrt(sizes)[:, None, None, None]
    return rescore(fitted, truth, n=sizes, model=SoftmaxGaussian(1))


def test_losses_of_ones_own_fits_are_drawn_and_saved(losses, tmp_path):
    plain = figures.rates(losses, "D1", over="n")
    plain.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000
    slope = rates.fit(losses["D1"], over="n").slope
    (shown,) = [text.get_text() for text in plain.legends[0].get_texts()]
    assert f"{slope:.2f}".replace("-", "\N{MINUS SIGN}") in shown


def test_a_panel_is_drawn_onto_axes_of_ones_own(losses):
    own = xr.Dataset({"error": (("arm", "m"), [[1, 0.5, 0.25, 0.1], [2, 1, 0.9, 0.5]])}, {"m": [10, 20, 40, 160]})
    before = dict(matplotlib.rcParams)
    canvas = Figure()
    left, right = canvas.subplots(1, 2)
    assert figures.rates(losses, "D1", ax=left, title="Mine") is canvas
    figures.rates(own.assign_coords(arm=["first", "second"]), "error", over="m", ax=right, ylabel="error of mine")
    assert left.get_xlabel() == "n" and left.get_title(loc="left") == "Mine" and right.get_xlabel() == "m"
    names = [text.get_text().split(":")[0] for text in right.get_legend().get_texts()]
    assert names == ["first", "second"] and right.get_ylabel() == "error of mine"
    assert dict(matplotlib.rcParams) == before
    lined = figures.lines(own, "error", over="m")
    assert len(lined.axes) == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda ds: figures.rates(ds, "D11"), "no variable 'D11'; did you mean 'D1'"),
        (lambda ds: figures.rates(ds, "D1", over="m"), "'D1' has no axis 'm'; its dimensions are n, replicate"),
        (lambda ds: figures.rates(ds.drop_vars("n"), "D1"), r"The axis 'n' has no values; .*assign_coords\(n="),
        (lambda ds: figures.rates([1, 2], "D1"), "takes an xarray.Dataset .* it was given a list"),
        (lambda ds: figures.rates(ds, "D1", ax="here"), "ax is a str; it takes matplotlib axes"),
        (lambda ds: figures.rates(ds, "D1", arms="other"), "None of the arms other is in the results"),
        (lambda ds: figures.rates(ds, "D1", windw=(1, 2)), "no option 'windw'; did you mean 'window'"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_words(losses, call, sentence):
    with pytest.raises(figures.FigureError, match=sentence):
        call(losses)


def test_the_package_shows_what_it_has():
    assert {"run", "load", "tidy", "rates", "figures", "losses", "fit", "identify", "models"} <= set(dir(moestat))
    assert all(getattr(moestat, name) is not None for name in moestat.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lod'; it has"):
        _ = moestat.lod

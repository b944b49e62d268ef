from pathlib import Path

import numpy as np
import pytest

from moestat import rates
from moestat.losses import minimisers, quotient, voronoi
from moestat.losses.divergences import expected_hellinger
from moestat.losses.measures import competition_losses, softmax_losses
from moestat.losses.rescore import rescore
from moestat.models.competition import Competition
from moestat.models.regression import Model
from moestat.models.softmax_gaussian import SoftmaxGaussian

SIZES = [100, 1000, 10_000, 100_000]
LINE = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
PLANES = np.array([[1.2, 0.3, 2, 0.15], [-0.9, 0.9, 2, 0.3], [-0.3, -1.2, 2, 0.2], [0.8, -0.7, 1.9, 0.4]])
SOFTMAX, ROUTED = SoftmaxGaussian(1), Competition(2, "affine", 2)
REGRESSION = Model("sigmoid", "full", "relu", 2)
QUADRATIC = np.random.default_rng(8).normal(size=(3, REGRESSION.atom_size))


def saved(truth, replicates=12, power=0.5, seed=0):
    """Fits whose errors fall exactly like n^-power: the same direction of a replicate at every size."""
    noise = np.random.default_rng(seed).normal(size=(replicates, *truth.shape))
    size = 0.2 * np.power(SIZES, -power)[:, None, None, None]
    out = truth + size * noise
    if truth is not QUADRATIC:
        out[..., -1] = truth[:, -1] * np.exp(size[..., 0] * noise[..., -1])
    return out


@pytest.mark.parametrize(
    ("model", "truth", "losses"),
    [
        (SOFTMAX, LINE, ["D1", "D2", "matched", "a_exact", "hellinger"]),
        (ROUTED, PLANES, ["D", "matched", "D_variances"]),
        (REGRESSION, QUADRATIC, ["L1", "L3", "L2_1", "matched", "eta_exact", "rmse"]),
    ],
    ids=["softmax", "competition", "regression"],
)
def test_the_rate_of_saved_fits_comes_out(model, truth, losses):
    x = np.random.default_rng(1).uniform(0, 1, (64, model.d))
    ds = rescore(saved(truth), truth, n=SIZES, model=model, x=x)
    assert dict(ds.sizes) == {"n": 4, "replicate": 12} and bool(ds["usable"].all())
    for name in losses:
        fit = rates.fit(ds[name], over="n")
        assert fit.trusted, fit.reasons
        assert abs(fit.slope + 0.5) < 0.02, f"{name}: {fit}"


def test_every_loss_is_that_of_the_function_it_comes_from():
    fitted = saved(LINE, 3)
    points = np.linspace(0, 1, 16)[:, None]
    ds = rescore(fitted, LINE, n=SIZES, model=SOFTMAX, x=points)
    for name, values in softmax_losses(fitted, LINE, SOFTMAX).items():
        if not name.endswith("_over"):
            np.testing.assert_array_equal(ds[name], values)
    np.testing.assert_array_equal(ds["hellinger"], expected_hellinger(SOFTMAX, fitted, LINE, points)[0])
    ds = rescore(saved(PLANES, 3), PLANES, n=SIZES, model=ROUTED)
    for name, values in competition_losses(saved(PLANES, 3), PLANES, ROUTED).items():
        np.testing.assert_array_equal(ds[name], values)
    fitted = saved(QUADRATIC, 3)
    ds = rescore(fitted, QUADRATIC, n=SIZES, model=REGRESSION)
    np.testing.assert_array_equal(ds["L1"], voronoi.L1(fitted, QUADRATIC, REGRESSION))
    np.testing.assert_array_equal(ds["L2_2"], voronoi.L2r(fitted, QUADRATIC, REGRESSION, r=2.0))
    np.testing.assert_array_equal(ds["L3"], minimisers.L3_infimum(fitted, QUADRATIC, REGRESSION))
    np.testing.assert_array_equal(ds["quotient"], quotient.quotient(fitted, QUADRATIC, REGRESSION))


def test_a_list_of_true_measures_gives_the_nearest():
    fitted = saved(QUADRATIC, 2)
    x = np.random.default_rng(1).uniform(-1, 1, (32, 2))
    both = rescore(fitted, np.stack([QUADRATIC + 5.0, QUADRATIC]), n=SIZES, model=REGRESSION, x=x)
    one = rescore(fitted, QUADRATIC, n=SIZES, model=REGRESSION, x=x)
    for name in ("L1", "L3", "matched", "rmse"):
        np.testing.assert_array_equal(both[name], one[name])
    assert "eta_exact" not in both


def test_missing_and_impossible_fits_are_nan_and_counted():
    fitted = saved(LINE, 4)
    fitted[1, 2] = np.nan
    fitted[3, 0, 1, -1] = -0.1
    ds = rescore(fitted, LINE, n=SIZES, model=SOFTMAX, x=np.array([[0.3], [0.6]]))
    assert int(ds["usable"].sum()) == 14 and not ds["usable"].values[[1, 3], [2, 0]].any()
    for name in ("D1", "hellinger", "matched", "cells_exact"):
        np.testing.assert_array_equal(np.isnan(ds[name]), ~ds["usable"])
    assert np.isnan(ds["a_over"]).all()  # no cell holds two atoms
    fit = rates.fit(ds["D1"], over="n")
    assert not fit.trusted and "2 of 4 replicates are incomplete" in " ".join(fit.reasons)


def test_the_example_of_the_documentation_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "howto-rescore.md").read_text(encoding="utf-8")
    exec(page.split("```python\n")[1].split("```")[0], {})
    printed = capsys.readouterr().out
    assert printed.startswith("slope -0.") and "NOT TRUSTED" not in printed

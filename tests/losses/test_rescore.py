from pathlib import Path

import array_api_strict as strict
import numpy as np
import pytest

from moestat import rates
from moestat.losses import minimisers, quotient, voronoi
from moestat.losses.divergences import expected_hellinger
from moestat.losses.measures import competition_losses, gaussian_gate_losses, softmax_losses
from moestat.losses.rescore import rescore
from moestat.models.competition import Competition
from moestat.models.gates import pack_symmetric
from moestat.models.gaussian_gate import GaussianGate
from moestat.models.regression import Model
from moestat.models.softmax_gaussian import SoftmaxGaussian

SIZES = [100, 1000, 10_000, 100_000]
LINE = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
PLANES = np.array([[1.2, 0.3, 2, 0.15], [-0.9, 0.9, 2, 0.3], [-0.3, -1.2, 2, 0.2], [0.8, -0.7, 1.9, 0.4]])
HILLS = np.array([[0.3, -0.1, -0.1, 0.05, 0.04, 0.02, 2, 1, 0.3, 0.02], [0.7, 0, 0, 0.02, 0.03, 0.01, -1, 0, 0.5, 0.1]])
CURVED = np.array([[-1.0, 2, 1, 3, -2, 0.5, 1, 0, 0.4, 0.2], [0, 0, 0, 0, 0, 0, -1, 2, 0.1, 0.3]])
GATED, QUADRATIC_SCORES = GaussianGate(2), SoftmaxGaussian(2, "full")
SOFTMAX, ROUTED = SoftmaxGaussian(1), Competition(2, "affine", 2)
REGRESSION = Model("sigmoid", "full", "relu", 2)
QUADRATIC = np.random.default_rng(8).normal(size=(3, REGRESSION.atom_size))


def saved(truth, replicates=12, power=0.5, seed=0):
    """Fits whose errors fall exactly like n^-power: the same direction of a replicate at every size."""
    noise = np.random.default_rng(seed).normal(size=(replicates, *truth.shape))
    size = 0.2 * np.power(SIZES, -power)[:, None, None, None]
    out = truth + size * noise
    if truth is HILLS:  # covariances and weights that stay positive
        out[..., :6] = truth[:, :6] * np.exp(0.2 * size * noise[..., :6])
    if truth is not QUADRATIC:
        out[..., -1] = truth[:, -1] * np.exp(size[..., 0] * noise[..., -1])
    return out


@pytest.mark.parametrize(
    ("model", "truth", "losses"),
    [
        (SOFTMAX, LINE, ["D1", "D2", "matched", "a_exact", "hellinger"]),
        (QUADRATIC_SCORES, CURVED, ["D1", "D2", "matched", "b_exact", "hellinger"]),
        (GATED, HILLS, ["D1", "D2", "matched", "Gamma_exact", "hellinger"]),
        (ROUTED, PLANES, ["D", "matched", "D_variances"]),
        (REGRESSION, QUADRATIC, ["L1", "L3", "L2_1", "matched", "eta_exact", "rmse"]),
    ],
    ids=["softmax", "quadratic", "gaussian", "competition", "regression"],
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


def test_losses_of_a_gaussian_gate_are_those_of_the_published_scripts():
    """Written down anew from the scripts of arXiv 2305.07572, whose saved losses all come out (16,000 of them)."""
    rng = np.random.default_rng(4)
    fitted = HILLS[[0, 1, 1, 0]] * np.exp(0.1 * rng.normal(size=(6, 4, 10)))
    fitted[3:, 3] = fitted[3:, 2] * 1.01  # three atoms in one cell
    losses = gaussian_gate_losses(fitted, HILLS, GATED)
    for name, values in gaussian_gate_losses(strict.asarray(fitted), strict.asarray(HILLS), GATED).items():
        np.testing.assert_allclose(np.asarray(values), losses[name], rtol=1e-12)
    for found, atoms in zip(losses["D2"], fitted, strict=True):
        parts = [slice(1, 3), slice(3, 6), slice(6, 8), slice(8, 9), slice(9, 10)]
        norms = np.array([[[np.linalg.norm(a[p] - t[p]) for p in parts] for t in HILLS] for a in atoms])
        cell = norms.sum(axis=2).argmin(axis=1)
        counts = np.bincount(cell, minlength=2)
        wanted = sum(abs(atoms[cell == j, 0].sum() - HILLS[j, 0]) for j in range(2))
        for a, j, own in zip(atoms, cell, norms, strict=True):
            r = {1: 1, 2: 4, 3: 6}[counts[j]]
            power = [1] * 5 if r == 1 else [r, r / 2, r / 2 if (HILLS[j, 1:3] == 0).all() else 2, r, r / 2]
            wanted += a[0] * np.sum(own[j] ** power)
        assert found == pytest.approx(wanted, rel=1e-12)


def test_a_gaussian_gate_is_a_softmax_gate_with_quadratic_scores():
    x = np.random.default_rng(0).normal(size=(5, 2))
    rows = []
    for atom in HILLS:
        inverse = np.linalg.inv([[atom[3], atom[5] / 2**0.5], [atom[5] / 2**0.5, atom[4]]])
        log_weight = np.log(atom[0]) - 0.5 * (atom[1:3] @ inverse @ atom[1:3] - np.log(np.linalg.det(inverse)))
        rows.append([log_weight, *(inverse @ atom[1:3]), *pack_symmetric(-0.5 * inverse), *atom[6:]])
    for one, two in zip(GATED.components(HILLS, x), QUADRATIC_SCORES.components(np.array(rows), x), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-10)


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
    gated = saved(HILLS, 2)
    gated[0, 0, 0, 5] = 1.0  # a covariance that is none
    gated[1, 1, 1, 0] = 0.0
    assert (
        rescore(gated, HILLS, n=SIZES, model=GATED)["usable"].values.tolist()
        == [[False, True], [True, False]] + [[True] * 2] * 2
    )
    fit = rates.fit(ds["D1"], over="n")
    assert not fit.trusted and "2 of 4 replicates are incomplete" in " ".join(fit.reasons)


def test_the_example_of_the_documentation_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "howto-rescore.md").read_text(encoding="utf-8")
    exec(page.split("```python\n")[1].split("```")[0], {})
    printed = capsys.readouterr().out
    assert printed.startswith("slope -0.") and "NOT TRUSTED" not in printed

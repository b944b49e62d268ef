"""Table 1 as it is read from the results of other studies, errors per atom, and errors of experts alone."""

import json

import numpy as np
import pytest
import xarray as xr

from moestat.experiment import Cell, Source
from moestat.losses import voronoi
from moestat.losses.matching import nearest_expert
from moestat.losses.minimisers import L3_infimum, eq12
from moestat.models.regression import Model
from moestat.study.spec import Arm
from studies.sigmoid_attention.parts import expert_error, regression, sample_complexity
from studies.sigmoid_attention.parts.expert_error import errors_of
from studies.sigmoid_attention.parts.regression_problem import draw_truth
from studies.sigmoid_attention.parts.regression_scores import per_atom


def test_errors_per_atom_are_means_over_the_atoms_of_each_kind():
    model = Model("sigmoid", "full", "linear", 1)
    truth = np.array([[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 5.0, 0.0, -1.0, 0.0]])  # c, b, A, a, beta
    fitted = np.repeat(truth[[0, 0, 1]][None], 2, axis=0)
    fitted[:, 0, 1] += 0.1  # b of an atom in a cell of two
    fitted[:, 1, 3] += 0.3  # a of the other one
    fitted[:, :2, 0] += 9.0  # c does not count there
    fitted[:, 2, 0] += 0.7  # it does in a cell of one
    fitted[1] = truth[0]  # all three in one cell
    found = per_atom(voronoi.blocks(fitted, truth, model), 3)
    np.testing.assert_allclose(found["over_atom"], [0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(found["exact_atom"], [0.7, np.nan], atol=1e-12)
    for block, over, exact in (("A", 0.0, 0.0), ("b", 0.05, 0.0), ("c", 9.0, 0.7), ("eta", 0.15, 0.0)):
        np.testing.assert_allclose(found[f"{block}_over_atom"][0], over, atol=1e-12)
        np.testing.assert_allclose(found[f"{block}_exact_atom"], [exact, np.nan], atol=1e-12)


def fitted_source(folder, truths: int) -> Source:
    """Fit a small problem at three sizes and return it as the results of a study."""
    common = {"d": 1, "n_true": 3, "n_fitted": 4, "expert": "linear", "evaluation_log2": 8, "max_iterations": 50}
    common |= {"truths": truths, "noise_variance": 1e-4}
    parts = []
    for n in (60, 120, 240):
        settings = regression.Settings(n=n, **common).model_dump(mode="json")
        cell = Cell("studies.sigmoid_attention.parts.regression", 3, "a", {"n": n}, settings)
        parts.append(regression.run(cell, [0, 1])[["theta", "status"]].expand_dims(n=[n]))
    del settings["n"]
    ds = xr.concat(parts, "n").expand_dims(arm=["a"])
    # another arm of the study has more atoms and coordinates
    ds = ds.pad(atom=(0, 1), coordinate=(0, 2), constant_values=np.nan)
    ds.attrs |= {"settings": json.dumps({"a": settings}), "seed": 3}
    return Source(folder / "results.nc", "0123", ds, "make it")


@pytest.mark.parametrize("truths", [1, 2])
def test_a_row_is_the_error_of_the_experts_to_the_truth_of_each_replicate(tmp_path, truths, monkeypatch):
    read = fitted_source(tmp_path, truths)
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))
    errors = expert_error.expert_errors(read, "a")
    model = Model("sigmoid", "full", "linear", 1)
    for replicate in (0, 1):
        truth = draw_truth(model, 3, "dense", 3, replicate % truths)
        theta = read.dataset.theta.sel(arm="a", n=120, replicate=replicate).values[:4, : model.atom_size]
        for name, values in expert_error.errors_of(theta[None], truth, model).items():
            assert float(errors[name].sel(n=120, replicate=replicate)) == values[0], name
    with monkeypatch.context() as once:  # a report reads the sources anew, and does not compute them anew
        once.setattr(expert_error, "errors_of", None)
        xr.testing.assert_identical(expert_error.expert_errors(read, "a"), errors)
    row = Arm(name="a", settings={"study": "s", "source_arm": "a", "order": "eps^-2"})
    table = sample_complexity.table({"s": read}, [row]).isel(arm=0)
    assert float(table["error_first"]) == pytest.approx(np.exp(np.log(errors["output"].sel(n=60)).mean()))
    slopes = np.polyfit(np.log([60, 120, 240]), np.log(errors["output"].values), 1)[0]
    np.testing.assert_allclose(table["slopes"], slopes)
    assert float(table["slope"]) == pytest.approx(slopes.mean())
    assert float(table["halving"]) == pytest.approx(sample_complexity.halving(slopes.mean()))


def split_error(truth, model, t):
    """Return the truth with its last expert in the parts t and 1 - t, for homogeneous experts of degree 1."""
    out = np.vstack([truth, truth[-1:]])
    out[-2, model.eta] *= t
    out[-1, model.eta] *= 1 - t
    return out


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("expert", ["relu", "linear"])
def test_splits_of_the_truth_have_no_error_but_a_distant_nearest_expert(gate, expert):
    model, rng = Model(gate, "full", expert, 2), np.random.default_rng(0)
    truth = rng.standard_normal((3, model.atom_size))
    if gate == "sigmoid":
        fits = np.stack([split_error(truth, model, t) for t in (0.2, 0.5, 0.9)])
        assert np.all(nearest_expert(fits, truth, model)[:2] > 0.1)
    else:  # shares of the weight, with the experts eta + u and eta - u
        equal = np.vstack([truth, truth[-1:]])
        equal[-2:, 0] -= np.log(2)
        fits = equal[None]
    assert np.all(errors_of(fits, truth, model)["eta"] < 1e-6)


def test_a_vanished_atom_has_no_error_wherever_its_gate_is():
    model, rng = Model("sigmoid", "partial", "gelu", 2), np.random.default_rng(1)
    truth = rng.standard_normal((2, model.atom_size))
    null = rng.standard_normal((1, model.atom_size))
    null[:, model.eta] = 0
    assert errors_of(np.vstack([truth, null])[None], truth, model)["eta"] < 1e-9


def test_it_is_the_expert_part_of_the_brute_force_minimum_near_a_split():
    """All shares on a fine grid; atoms move by 0.01, so that the two minimisers are as near as the grid."""
    model, rng = Model("sigmoid", "full", "relu", 1), np.random.default_rng(2)
    truth = rng.standard_normal((1, model.atom_size)) + 1.0
    for _ in range(2):
        fit = split_error(truth, model, 0.35) + 0.01 * rng.standard_normal((2, model.atom_size))
        grid = [split_error(truth, model, t) for t in np.linspace(0.3, 0.4, 2001)]
        losses = [eq12(fit, measure, model) for measure in grid]
        best = grid[int(np.argmin(losses))]
        pairs = np.linalg.norm((fit[:, None] - best)[..., 1:], axis=-1).argmin(axis=1)
        brute = np.linalg.norm(fit[:, model.eta] - best[pairs][:, model.eta], axis=1).sum()
        error = errors_of(fit[None], truth, model)["eta"][0]
        assert error == pytest.approx(brute, abs=2e-3)
        assert error <= L3_infimum(fit[None], truth, model)[0] + 1e-12

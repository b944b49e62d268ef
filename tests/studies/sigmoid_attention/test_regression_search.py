"""The global search in the regression experiment: paired with the local arm, recorded, independent of the block."""

from functools import partial

import numpy as np
import pytest
from cells import cell_of, computed

from moestat.experiment import Cell
from moestat.study import load
from studies.sigmoid_attention.parts import regression, regression_pseudo_truths, regression_targets
from studies.sigmoid_attention.parts.regression_scores import score
from studies.sigmoid_attention.parts.regression_search import BANDS

SMALL = {"n": 300, "d": 2, "n_true": 2, "n_fitted": 3, "truth_gate": "sigmoid", "fitted_gate": "sigmoid"}
SMALL |= {"expert": "linear", "evaluation_log2": 10, "pseudo_points_log2": 9, "pseudo_polish_log2": 10}
SMALL |= {"pseudo_starts": 2, "search": "global", "search_effort": 0.3}


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


cell = partial(cell_of, regression, seed=7, **SMALL)


run = partial(computed, regression, seed=7, **SMALL)


def test_the_search_starts_from_the_local_fit_and_is_never_above_it():
    local, searched = run(range(3), search="local"), run(range(3))
    np.testing.assert_array_equal(searched["search_local_loss"], local["train_loss"])
    assert (searched["train_loss"] <= local["train_loss"]).all()
    gain = 2 * 300 * (local["train_loss"] - searched["train_loss"]) / 0.01
    np.testing.assert_allclose(searched["search_gain"], gain, atol=1e-9)
    np.testing.assert_array_equal(searched["start_L3"], local["start_L3"])
    assert "L3_near_low" not in local and "search_kind" not in local
    assert "global search" in searched.attrs["start_policy"]


@pytest.mark.parametrize(
    "gates", [pytest.param(("softmax", "softmax"), marks=pytest.mark.slow), ("softmax", "sigmoid")]
)
def test_bands_hold_the_loss_at_the_best_point_and_widen(gates):
    n_true = 3 if gates[0] != gates[1] else 2
    settings = {"truth_gate": gates[0], "fitted_gate": gates[1], "n_true": n_true, "n_fitted": n_true + 1}
    ds = run(range(2), search_effort=0.15, **settings)
    assert np.all(ds["near_count"] >= 1) and np.all(ds["near_count"] <= ds["wide_count"])
    for loss in BANDS:
        if loss not in ds:
            continue
        assert np.all(ds[f"{loss}_near_low"] <= ds[loss] + 1e-12), loss
        assert np.all(ds[loss] <= ds[f"{loss}_near_high"] + 1e-12), loss
        assert np.all(ds[f"{loss}_wide_low"] <= ds[f"{loss}_near_low"]), loss
        assert np.all(ds[f"{loss}_near_high"] <= ds[f"{loss}_wide_high"]), loss
    assert "L3_near_high" in ds and "quotient_wide_low" in ds


def test_losses_to_the_truth_are_infima_over_unequal_splits():
    """A split 0.2 : 0.8, or a vanished atom anywhere, is a population minimiser as good as an equal split."""
    problem = regression.Settings(**{**SMALL, "expert": "relu", "search": "local"}).problem
    target = regression_targets.target_of(problem, 8)
    unequal = target.minimisers[0].copy()
    unequal[-2, problem.fitted.eta] *= 0.4
    unequal[-1, problem.fitted.eta] *= 1.6
    gone = np.concatenate([target.truth, 2 * np.ones((1, problem.fitted.atom_size))])
    gone[-1, problem.fitted.eta] = 0
    losses = score(problem, target, np.stack([unequal, gone]), 10)
    for name in ("L3", "quotient", "rmse"):
        np.testing.assert_allclose(losses[name], 0.0, atol=1e-7, err_msg=name)


def test_shipped_pseudo_truths_are_verified_before_they_are_used(tmp_path, monkeypatch):
    settings = {"truth_gate": "softmax", "n_true": 3, "expert": "relu", "search": "local", "pseudo_points_log2": 8}
    (wanted,) = regression.prerequisites(cell(**settings))
    monkeypatch.setattr(regression_pseudo_truths, "FOLDER", tmp_path / "shipped")
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "first"))
    found = regression_pseudo_truths.compute_pseudo_truths(wanted)
    regression_pseudo_truths.ship(wanted, {**found, "best_rmse": np.asarray(123.0)})  # a mark that only the file has
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "second"))
    assert float(regression_pseudo_truths.compute_pseudo_truths(wanted)["best_rmse"]) == 123.0
    # another problem does not get it, and neither does one whose numbers do not hold
    (other,) = regression.prerequisites(cell(**settings, box=6.0))
    assert float(regression_pseudo_truths.compute_pseudo_truths(other)["best_rmse"]) != 123.0
    for name, wrong in (("rmse", 1.01 * found["rmse"]), ("theta", found["theta"] + 1e-2)):
        regression_pseudo_truths.ship(wanted, {**found, name: wrong, "best_rmse": np.asarray(123.0)})
        monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / name))
        again = regression_pseudo_truths.compute_pseudo_truths(wanted)
        np.testing.assert_array_equal(again["theta"], found["theta"])
        assert float(again["best_rmse"]) == float(found["best_rmse"])


@pytest.mark.parametrize("expert", ["linear", "relu"])
def test_the_paper_s_own_problem_finds_its_shipped_pseudo_truths(expert):
    """Their file is named by the whole identity of the problem: whatever enters that must not touch this one."""
    study = load.read("sigmoid_vs_softmax").study
    arm = next(a for a in study.arms if a.settings["fitted_gate"] == "sigmoid" and a.settings["expert"] == expert)
    settings = regression.Settings(**study.settings | study.presets["paper"].settings | arm.settings, n=1000)
    wanted = regression_pseudo_truths.prerequisite(settings.problem, study.seed)
    with np.load(regression_pseudo_truths.file_of(wanted)) as shipped:
        theta, rmse = shipped["theta"][0], shipped["rmse"][0]
    x = regression_pseudo_truths.points_of(wanted)(12, "fresh")
    distance = settings.problem.fitted.predict(theta, x) - settings.problem.truth.predict(
        settings.problem.true_parameters(study.seed), x
    )
    assert np.sqrt(np.mean(distance**2)) == pytest.approx(rmse, rel=0.05)


def paper_cell(gate, expert, n, replicates, **settings):
    """The paper's problem and the study's own draws: d = 8, N* = 8, N = 9."""
    chosen = regression.Settings(
        n=n, truth_gate="softmax", fitted_gate=gate, expert=expert, search="global", pseudo_search="starts", **settings
    ).model_dump()
    cell = Cell("studies.sigmoid_attention.parts.regression", 20260101, "arm", {"n": n}, chosen)
    return regression.run(cell, replicates)


@pytest.mark.slow
def test_the_papers_problem_is_searched_below_31_noise_variances_of_the_local_fit():
    """Softmax gate, linear experts, n = 10,000, replicate 0: many other searches ended at 0.004628 to 0.004631."""
    ds = paper_cell("softmax", "linear", 10_000, [0])
    assert float(ds["search_local_loss"][0]) == pytest.approx(0.0046468, rel=1e-4)
    assert float(ds["train_loss"][0]) <= 0.004631

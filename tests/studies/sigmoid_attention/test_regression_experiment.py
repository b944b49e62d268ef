"""The regression experiment: what is paired, what does not depend on the batch, what is scored against what."""

from functools import partial

import numpy as np
import pytest
from cells import cell_of, computed

from moestat.study import load
from studies.sigmoid_attention.parts import regression, regression_targets
from studies.sigmoid_attention.parts.regression_scores import WORST

SMALL = {"n": 400, "d": 2, "n_true": 2, "n_fitted": 3, "truth_gate": "sigmoid", "fitted_gate": "sigmoid"}
SMALL |= {"expert": "linear", "evaluation_log2": 10, "pseudo_points_log2": 10, "pseudo_polish_log2": 11}
SMALL |= {"pseudo_starts": 2}


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


cell = partial(cell_of, regression, seed=7, **SMALL)


def run(replicates=range(3), **settings):
    return computed(regression, replicates, seed=7, **SMALL | settings)


def test_arms_share_their_data_whatever_they_fit():
    values = {
        name: run(**settings)["truth_loss"].values
        for name, settings in {
            "plain": {},
            "other gate": {"fitted_gate": "softmax"},
            "other estimator": {"estimator": "sgd"},
            "other box": {"box": 7.0},
            "exact": {"n_fitted": 2},
        }.items()
    }
    for name, value in values.items():
        np.testing.assert_array_equal(value, values["plain"], err_msg=name)
    assert np.all(run(n=401)["truth_loss"].values != values["plain"])


def test_the_protocol_from_its_target_is_the_other_one_where_the_gate_is_that_of_the_data():
    target, numbers = (run(estimator="sgd", truths=2, start_at=place)["theta"] for place in ("target", "numbers"))
    np.testing.assert_array_equal(target, numbers)


def test_a_copied_atom_counts_twice_and_is_a_start_near_the_truth_itself():
    """Started at the truth with its last atom copied, L3 is zero to the truth, and steps move off at once."""
    still = {"estimator": "sgd", "truth_gate": "softmax", "fitted_gate": "softmax", "n_true": 2, "n_fitted": 3}
    still |= {"superfluous": "copy", "radius_scale": 0.0, "scores": "L3", "batch_size": 0}
    ds = run(**still, epochs=0)
    assert np.all(ds["L3"] == 0) and np.all(ds["L3_to_truth"] == 0) and np.all(ds["moved"] == 0)
    for replicate, copied in ((0, 0), (1, 1), (2, 0)):
        np.testing.assert_array_equal(ds["theta"][replicate, 2], ds["theta"][replicate, copied])
    assert np.all(ds["rmse"] > 0.01), "the function of the copy is not that of the truth"
    split = run(**still | {"superfluous": "split", "epochs": 0})
    assert np.all(split["rmse"] < 1e-12) and np.all(split["L3"] < 1e-12)
    np.testing.assert_allclose(split["L3_to_truth"], 2 * np.log(2), rtol=1e-12)
    after, theirs = run(**still, epochs=3), run(**still | {"superfluous": "split"}, epochs=3)
    assert np.all(after["moved"] > 3 * theirs["moved"])


def test_misspecified_gate_is_scored_against_pseudo_truths():
    # two softmax atoms are three sigmoid atoms exactly (sigmoid(s) h1 + sigmoid(-s) h2), so the truth has three
    c = cell(truth_gate="softmax", n_true=3, n_fitted=4)
    (wanted,) = regression.prerequisites(c)
    regression.prepare(wanted, device="cpu")
    target = regression_targets.target_of(regression.Settings(**c.settings).problem, 7)
    assert target.is_pseudo and target.measures.shape[1:] == (4, 9)
    assert np.all(np.diff(target.rmse) >= 0) and target.rmse[-1] <= 1.01 * target.rmse[0]
    ds = regression.run(c, [0, 1], device="cpu")
    assert "pseudo-truth" in ds.attrs["target"] and "rmse_pseudo" in ds
    # the fitted function cannot be closer to f* than the population minimum it is near, up to quadrature
    assert (ds["rmse"] > 0.95 * target.rmse[0]).all()


def test_replicates_of_several_truths_are_those_of_each_truth_alone():
    """Replicate r has truth r mod 3, whatever is asked for together; lines are means, certificates the worst."""
    small = {"n": 60, "d": 2, "n_true": 2, "n_fitted": 3, "max_iterations": 20, "evaluation_log2": 8}
    small |= {"truth_gate": "softmax", "fitted_gate": "softmax", "expert": "linear", "truths": 3}
    several = cell(**small)
    together = regression.run(several, [0, 1, 2, 4])
    alone = regression.run(several, [4])
    assert together["truth"].values.tolist() == [0, 1, 2, 1]
    np.testing.assert_array_equal(together.sel(replicate=[4])["theta"], alone["theta"])
    assert float(together["fisher_L3"]) == float(alone["fisher_L3"]) and together.attrs == alone.attrs
    settings = regression.Settings(**several.settings)
    targets = [regression_targets.target_of(settings.problem_of(k), several.study_seed) for k in range(3)]
    assert len({target.truth.tobytes() for target in targets}) == 3
    lines = [target.lines(60)["fisher_L3"] for target in targets]
    assert float(together["fisher_L3"]) == pytest.approx(np.prod(lines) ** (1 / 3))
    first = regression.run(cell(**(small | {"truths": 1})), [0])
    np.testing.assert_array_equal(first["theta"], together.sel(replicate=[0])["theta"])


SEARCH = {"n": 300, "search": "global", "search_effort": 0.3, "pseudo_points_log2": 9, "pseudo_polish_log2": 10}


def test_the_search_starts_from_the_local_fit_and_is_never_above_it():
    local, searched = (run(**SEARCH | kind) for kind in ({"search": "local"}, {}))
    np.testing.assert_array_equal(searched["search_local_loss"], local["train_loss"])
    assert (searched["train_loss"] <= local["train_loss"]).all()
    gain = 2 * 300 * (local["train_loss"] - searched["train_loss"]) / 0.01
    np.testing.assert_allclose(searched["search_gain"], gain, atol=1e-9)
    np.testing.assert_array_equal(searched["start_L3"], local["start_L3"])
    assert "L3_wide_high" not in local and "search_found" not in local


def test_the_worst_near_minimiser_is_no_better_than_the_best_point():
    ds = run(range(2), **SEARCH | {"search_effort": 0.15}, truth_gate="softmax", n_true=3, n_fitted=4)
    kept = [loss for loss in WORST if loss in ds]
    assert {"L3", "quotient", "rmse_pseudo"} <= set(kept)
    for loss in kept:
        assert np.all(ds[loss] <= ds[f"{loss}_wide_high"] + 1e-12), loss


def test_shipped_pseudo_truths_are_verified_before_they_are_used(tmp_path, monkeypatch):
    settings = {"truth_gate": "softmax", "n_true": 3, "expert": "relu", "pseudo_points_log2": 8}
    (wanted,) = regression.prerequisites(cell(**settings))
    monkeypatch.setattr(regression_targets, "FOLDER", tmp_path / "shipped")
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "first"))
    found = regression_targets.compute_pseudo_truths(wanted)
    file = regression_targets.file_of(wanted)
    file.parent.mkdir()
    mark = {"best_rmse": np.asarray(123.0)}  # that only the file has
    np.savez(file, **found | mark)
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "second"))
    assert float(regression_targets.compute_pseudo_truths(wanted)["best_rmse"]) == 123.0
    # another problem does not get it, and neither does one whose numbers do not hold
    (other,) = regression.prerequisites(cell(**settings, box=6.0))
    assert float(regression_targets.compute_pseudo_truths(other)["best_rmse"]) != 123.0
    for name, wrong in (("rmse", 1.01 * found["rmse"]), ("theta", found["theta"] + 1e-2)):
        np.savez(file, **found | mark | {name: wrong})
        monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / name))
        again = regression_targets.compute_pseudo_truths(wanted)
        np.testing.assert_array_equal(again["theta"], found["theta"])
        assert float(again["best_rmse"]) == float(found["best_rmse"])


@pytest.mark.parametrize("expert", ["linear", "relu"])
def test_the_paper_s_own_problem_finds_its_shipped_pseudo_truths(expert):
    """Their file is named by the whole identity of the problem: whatever enters that must not touch this one."""
    study = load.read("sigmoid_vs_softmax").study
    arm = next(a for a in study.arms if a.settings["fitted_gate"] == "sigmoid" and a.settings["expert"] == expert)
    settings = regression.Settings(**study.settings | study.presets["paper"].settings | arm.settings, n=1000)
    wanted = regression_targets.prerequisite(settings.problem, study.seed)
    with np.load(regression_targets.file_of(wanted)) as shipped:
        theta, rmse = shipped["theta"][0], shipped["rmse"][0]
    true, truth, fitted, points = regression_targets.parts_of(wanted)
    x = points(12, "fresh")
    distance = fitted.predict(theta, x) - true.predict(truth, x)
    assert np.sqrt(np.mean(distance**2)) == pytest.approx(rmse, rel=0.05)

"""The regression experiment: what is paired, what does not depend on the batch, and what is scored against what."""

from functools import partial

import numpy as np
import pytest
from cells import cell_of, computed

from studies.sigmoid_attention.parts import regression, regression_targets

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


def test_exact_fit_reaches_the_fisher_line():
    """N = N*, one expert: the mean of L3 over 60 replicates lies on the asymptotic line.

    The loss of one replicate has a coefficient of variation near 0.35, so its mean has one of 0.045: a 20 % band is
    more than four standard errors, a false alarm below 1e-4 if the asymptotics hold at this n.
    """
    ds = run(range(60), n=4000, n_true=1, n_fitted=1, expert="linear")
    assert float(ds["L3"].mean()) == pytest.approx(float(ds["fisher_L3"]), rel=0.2)
    assert float(np.sqrt((ds["rmse"] ** 2).mean())) == pytest.approx(float(ds["fisher_rmse"]), rel=0.2)


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

"""An explicit truth, a law of x and a law of the noise; and that without them every draw is what it was."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cells import cell_of
from pydantic import ValidationError

from moestat.losses.fisher import fisher_line
from studies.sigmoid_attention.parts import regression
from studies.sigmoid_attention.parts.regression_targets import target_of

SEED = 7
SMALL = {"n": 100, "d": 1, "n_true": 2, "n_fitted": 3, "expert": "linear", "fitted_score": "linear"}
SMALL |= {"truth_score": "linear", "evaluation_log2": 10, "pseudo_points_log2": 10, "pseudo_polish_log2": 12}
FAR = [[0.5, 3.0, 1.0, 0.25], [-0.5, -2.0, -1.0, 2.0]]
ATOMS = [[0.5, 0.0, 1.0, 0.25], [-0.5, 0.0, -1.0, 0.5]]


@pytest.fixture(autouse=True)
def _own(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("MOESTAT_KERNEL", "numpy")  # compiling would take longer than the fits
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


cell = partial(cell_of, regression, seed=SEED, **SMALL)


def drawn(replicates=(0, 1), **settings):
    c = cell(**settings)
    batch = regression.Batch.of(c, regression.Settings(**c.settings), 0, replicates)
    return batch.settings, batch.target, batch.data()


def test_rows_and_a_function_are_the_same_truth():
    _, rows, (x, y) = drawn(truth=ATOMS)
    s, function, (same_x, same_y) = drawn(truth="own_laws:two_atoms")
    np.testing.assert_array_equal(rows.truth, ATOMS)
    np.testing.assert_array_equal(function.truth, ATOMS)
    np.testing.assert_array_equal(x, same_x)
    np.testing.assert_array_equal(y, same_y)
    assert s.own_code and not regression.Settings(**SMALL, truth=ATOMS).own_code
    ds = regression.run(cell(truth=ATOMS, n=500, n_fitted=2, max_iterations=50), [0])
    assert float(ds["rmse"][0]) < 0.1
    np.testing.assert_allclose(y[0], s.problem.truth.predict(np.array(ATOMS), x[0]), atol=0.5)


def test_the_law_of_x_is_that_of_the_data_and_of_every_population_quantity():
    s, target, (x, _) = drawn((0, 1, 2, 3), truth=FAR, law_of_x="own_laws:corner", n_fitted=2)
    assert x.min() >= 0 and x.mean() == pytest.approx(5 / 6, abs=0.03)  # standard error 0.007
    uniform = target_of(regression.Settings(**SMALL | {"n_fitted": 2, "truth": FAR}).problem, SEED)
    points = np.random.default_rng(0).beta(5.0, 1.0, size=(2**17, 1))
    line = fisher_line(s.problem.truth, target.truth, points, s.noise_variance)
    assert target.fisher_at_one["L3"] == pytest.approx(line.at_one["L3"], rel=0.1)
    assert target.fisher_at_one["L3"] > 2 * uniform.fisher_at_one["L3"]  # a narrow law says less
    assert s.problem.evaluation_points(10).min() >= 0


def test_a_pseudo_truth_is_one_of_the_law_of_x():
    wrong = {"truth": [[3.0, 4.0, 1.0, 0.5]], "n_true": 1, "n_fitted": 1, "fitted_gate": "softmax"}
    (own,) = regression.prerequisites(cell(**wrong, law_of_x="own_laws:corner"))
    (uniform,) = regression.prerequisites(cell(**wrong))
    assert own["data"]["law_of_x"] == "own_laws:corner" and own["own_code"] and "law_of_x" not in uniform["data"]
    target = target_of(regression.Settings(**SMALL | wrong, law_of_x="own_laws:corner").problem, SEED)
    assert target.is_pseudo
    # one atom of a softmax gate is its expert: the best one is the linear regression over the law of x
    x = np.random.default_rng(3).beta(5.0, 1.0, size=200_000)
    y = (x + 0.5) / (1 + np.exp(-3.0 - 4.0 * x))
    np.testing.assert_allclose(target.measures[0][0, 2:], np.polyfit(x, y, 1), atol=2e-3)
    assert target.certificate["fresh_rmse"] == pytest.approx(target.rmse[0], rel=0.2)


def test_the_law_of_the_noise_is_that_of_the_responses_and_arms_share_x():
    s, target, (x, y) = drawn(law_of_noise="own_laws:signs", noise_variance=0.04)
    residual = y - s.problem.truth.predict(target.truth, x)
    np.testing.assert_allclose(np.abs(residual), 0.2, atol=1e-12)
    assert 0.3 < np.mean(residual > 0) < 0.7
    np.testing.assert_array_equal(x, drawn()[2][0])
    assert "no bound" in target.fisher_meaning and "no regular estimator" in drawn()[1].fisher_meaning


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"truth": ATOMS[:1]}, "truth has 1 atoms; n_true is 2"),
        ({"truth": [[1.0, 2.0], [1.0, 2.0]]}, "rows of 4 finite numbers, .*: 1 for c, 1 for b, 2 for a and beta"),
        ({"truth": "two_atoms"}, "an import path"),
        ({"truth": "own_laws:corner"}, "cannot be evaluated as f\\(model\\)"),
        ({"truth": ATOMS, "truths": 3}, "truths is 3 beside an explicit truth"),
        ({"truth": ATOMS + ATOMS[:1], "n_true": 3, "regime": "sparse"}, "regime is 'sparse' beside an explicit truth"),
        ({"truth": ATOMS, "box": 0.5}, "size 1, outside of box = 0.5"),
        ({"law_of_x": "own_laws:nothing"}, "cannot be imported: AttributeError"),
        ({"law_of_x": "own_laws:one_number"}, r"must return finite numbers of shape \(64, 1\)"),
        ({"law_of_x": "own_laws:forgetful"}, "different numbers for one seed"),
        ({"law_of_noise": "own_laws:too_wide"}, "variance 4.01 over 2\\^20 draws; a law of the noise has mean 0"),
        ({"law_of_noise": "own_laws:of_x"}, "cannot be evaluated as f\\(rng, n\\)"),
    ],
)
def test_what_is_wrong_with_one_is_said_in_a_sentence(settings, says):
    with pytest.raises(ValidationError, match=says):
        cell(**settings)

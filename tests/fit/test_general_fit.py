"""Least squares of models made of functions, beside SciPy and beside the solver of the package's own gates."""

import cloudpickle
import numpy as np
import pytest
from any_gates import ATOMS, GATES, cosine, normalised, tanh
from scipy.optimize import least_squares as scipy_least_squares

import moestat
from moestat import fit
from moestat.errors import InputError
from moestat.fit.general import hessian
from moestat.fit.global_search import Budget
from moestat.fit.population import pseudo_truths
from moestat.models import sample
from moestat.status import Status

SMALL = Budget(near=2, random=8, inserted=0, rounds=1, replaced=3, heats=((4, 0.25),))


def model_of(name):
    return moestat.Model(GATES[name], tanh, d=2, gate_size=3, expert_size=3)


def truth_of(name):
    """Opposite atoms: identified well enough for SciPy's tolerances."""
    atoms = ATOMS.get(name, 3)
    angle = 2 * np.pi * np.arange(atoms) / atoms
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    expert = 1.5 * around[(np.arange(atoms) * 2 + 1) % atoms]
    return np.column_stack([2 * around, 0.2 * np.cos(angle), expert, 0.5 * np.sin(2 * angle)])


@pytest.mark.parametrize("name", GATES)
def test_the_minimum_is_that_of_scipy(name):
    model, truth, rng = model_of(name), truth_of(name), np.random.default_rng(1)
    x, y = sample(model, truth, 300, 0.01, rng)
    found = fit.least_squares(model, x, y, truth, box=20.0)

    def residuals(flat):
        t = flat.reshape(truth.shape)
        return np.sum(GATES[name](x, t[:, :3]) * tanh(x, t[:, 3:]), axis=1) - y

    def scipy(start):
        tight = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
        return scipy_least_squares(residuals, start.ravel(), bounds=(-20, 20), max_nfev=100, **tight)

    assert found.loss[0] == pytest.approx(0.5 * np.mean(residuals(found.theta[0].ravel()) ** 2), rel=1e-12)
    # neither leads lower from where the other has ended
    theirs, after = scipy(truth), scipy(found.theta[0])
    assert after.cost / len(y) == pytest.approx(found.loss[0], rel=1e-4 if model.piecewise else 1e-8)
    again = fit.least_squares(model, x, y, theirs.x.reshape(truth.shape), box=20.0)
    assert again.loss[0] <= theirs.cost / len(y) * (1 + 1e-9)
    if not model.piecewise:
        assert found.status[0] == Status.CONVERGED and found.gradient[0] < 1e-6 and found.min_eigenvalue[0] > -1e-8


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
def test_the_gates_of_the_package_have_the_same_minimum(gate):
    """From the same start, by the generic path and by the fast one."""
    fast = moestat.Model(gate, "gelu", d=2)
    named = moestat.Model(fast_gate(gate), "gelu", d=2, gate_size=3)
    rng = np.random.default_rng(2)
    truth = rng.standard_normal((2, 6))
    x, y = (np.stack(part) for part in zip(*(sample(fast, truth, 500, 0.01, rng) for _ in range(2)), strict=True))
    ours, theirs = (fit.least_squares(model, x, y, truth) for model in (named, fast))
    assert list(ours.status) == list(theirs.status) == [Status.CONVERGED] * 2
    np.testing.assert_allclose(ours.loss, theirs.loss, rtol=1e-8)
    np.testing.assert_allclose(ours.min_eigenvalue, theirs.min_eigenvalue, rtol=0.05)
    for a, b in zip(ours.theta, theirs.theta, strict=True):
        np.testing.assert_allclose(fast.align(a, truth), fast.align(b, truth), atol=1e-3)


def fast_gate(name):
    kernel = moestat.Model(name, tanh, d=2, expert_size=3).gate
    return lambda x, p: kernel(x, p)


def test_directions_that_change_nothing_are_left_out_of_the_certificate():
    """The lengths of three directions, and the common shift, of a cosine gate."""
    model, truth = model_of("cosine"), truth_of("cosine")
    x, y = sample(model, truth, 400, 0.01, np.random.default_rng(3))
    found = fit.least_squares(model, x, y, truth, box=20.0)
    _, exact, _ = hessian(model, found.theta[0], x, y)
    values = np.linalg.eigvalsh(exact)
    assert np.abs(values[:4]).max() < 1e-8 * values[-1] and found.min_eigenvalue[0] == pytest.approx(
        values[4], rel=1e-3
    )


def test_a_saddle_is_left():
    """Two equal atoms stay equal under the gradient; the Hessian leads away from there."""
    model, rng = (
        moestat.Model(lambda x, p: np.full((len(x), len(p)), 1 / len(p)), tanh, d=2, gate_size=1, expert_size=3),
        1,
    )
    truth = np.array([[0, 2.0, 1.0, 1.0], [0, -1.0, 2.0, -0.5]])
    x, y = sample(model, truth, 300, 1e-4, np.random.default_rng(rng))
    equal = np.repeat(truth.mean(axis=0)[None], 2, axis=0)
    found = fit.least_squares(model, x, y, equal, box=20.0)
    assert found.status[0] == Status.CONVERGED and found.loss[0] < 1e-4 and found.min_eigenvalue[0] > -1e-9


def test_the_box_holds_and_is_counted():
    model, truth = model_of("cosine"), truth_of("cosine")
    x, y = sample(model, truth, 300, 0.01, np.random.default_rng(4))
    found = fit.least_squares(model, x, y, truth, box=1.0)
    assert np.abs(found.theta).max() == 1.0 and found.box_hits[0] == np.sum(np.abs(found.theta) == 1.0) > 0


def test_a_search_finds_the_truth_again_and_repeats_itself():
    """Without noise, from the scale of the data alone; a pickled model, and another batch, give the same numbers."""
    model, truth = model_of("cosine"), truth_of("cosine")[:2]
    x, y = sample(model, truth, 200, 0.0, np.random.default_rng(5))
    found = fit.least_squares(model, x, y, atoms=2, search="global", rng=1, budget=SMALL)
    assert found.loss[0] < 1e-12 and found.status[0] == Status.CONVERGED
    copy = cloudpickle.loads(cloudpickle.dumps(model))
    again = fit.least_squares(copy, x[None], y[None], atoms=2, search="global", rng=1, budget=SMALL)
    np.testing.assert_array_equal(again.theta, found.theta)
    xs, ys = np.stack([x, x[::-1]]), np.stack([y, y[::-1]])
    start = np.random.default_rng(6).standard_normal((2, 3, 2, 6))
    both, one = fit.least_squares(model, xs, ys, start), fit.least_squares(model, xs[1], ys[1], start[1])
    np.testing.assert_array_equal(both.theta[1:], one.theta)
    np.testing.assert_array_equal(both.start_losses[1:], one.start_losses)


def test_the_package_s_gates_go_through_the_same_door():
    model = moestat.Model("sigmoid", "linear", d=1)
    x, y = sample(model, np.array([[0, 3.0, 1, 0], [0, -3.0, -1, 1]]), 300, 0.0, np.random.default_rng(7))
    found = fit.least_squares(model, x, y, atoms=2, search="global", budget=SMALL)
    assert found.loss[0] < 1e-6 and found.start_losses.shape[0] == 1 < found.start_losses.shape[1]


def test_a_target_outside_the_model_has_pseudo_truths():
    model = moestat.Model(lambda x, p: normalised(np.exp(x @ p[:, :1].T + p[:, 1])), "linear", d=1, gate_size=2)
    starts = np.array([[[2.0, 0, 0, 0], [-2.0, 0, 1, 0]]])

    def cubic(x):
        return x[:, 0] ** 3

    found = pseudo_truths(model, cubic, starts, points_log2=8, polish_log2=10)
    assert found.status[0] == Status.CONVERGED and found.rmse[0] < 0.05 * found.scale
    searched = pseudo_truths(
        model,
        cubic,
        starts,
        points_log2=8,
        polish_log2=10,
        stream=lambda p: np.random.default_rng(len(p)),
        budget=SMALL,
    )
    assert searched.rmse[0] <= found.rmse[0] * (1 + 1e-6) and searched.found >= 1


def test_the_certificate_of_a_gate_that_jumps_is_one_of_the_piece():
    """Gradient and curvature are those of the loss with each sample's experts held."""
    model, theta = model_of("top"), truth_of("top")
    x, y = sample(model, theta, 400, 0.01, np.random.default_rng(8))
    kept = GATES["top"](x, theta[:, :3]) > 0

    def held(x, p):
        return normalised(np.where(kept, np.exp(x @ p[:, :2].T + p[:, 2]), 0.0))

    def gradient(flat):
        def loss(t):
            t = t.reshape(theta.shape)
            return 0.5 * np.mean((np.sum(held(x, t[:, :3]) * tanh(x, t[:, 3:]), axis=1) - y) ** 2)

        return np.array([(loss(flat + u) - loss(flat - u)) / 2e-5 for u in 1e-5 * np.eye(len(flat))])

    _, exact, slope = hessian(model, theta, x, y)
    np.testing.assert_allclose(slope, gradient(theta.ravel()), atol=1e-9)
    curved = [(gradient(theta.ravel() + u) - gradient(theta.ravel() - u)) / 2e-3 for u in 1e-3 * np.eye(theta.size)]
    np.testing.assert_allclose(exact, curved, atol=1e-5)
    assert "piecewise" in repr(model)


DATA = {"x": np.random.default_rng(9).uniform(-1, 1, (20, 2)), "y": np.ones(20), "atoms": 3}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"atoms": None}, "neither starts nor atoms are given"),
        ({"atoms": 0}, "atoms is 0; allowed are whole numbers from 1"),
        ({"starts": np.zeros((2, 6))}, "atoms is 3, and starts has 2"),
        ({"search": "both"}, "search is 'both'; allowed are 'local' and 'global'"),
        ({"x": np.ones((20, 3))}, "x has shape (1, 20, 3); allowed is (B, n, d) with d = 2"),
        ({"y": np.ones(19)}, "y has shape (1, 19); allowed is (B, n) = (1, 20)"),
        (
            {"starts": np.zeros((3, 5)), "atoms": None},
            "starts has shape (1, 1, 3, 5); allowed is (B, S, N, P) with P = 6",
        ),
        ({"y": np.full(20, np.nan)}, "y holds a number that is not finite"),
        ({"model": tanh}, "model is <function tanh"),
        ({"x": 1e-3 * DATA["x"]}, "starts in the scale of the data have coordinates up to"),
    ],
)
def test_what_cannot_be_fitted_is_told(change, told):
    with pytest.raises(InputError) as caught:
        fit.least_squares(**{"model": model_of("cosine")} | DATA | change)
    assert str(caught.value).startswith(told)


@pytest.mark.filterwarnings("error")
def test_weights_that_are_not_finite_are_told_with_the_sample():
    model = moestat.Model(lambda x, p: cosine(np.where(x > 1, np.nan, x), p), tanh, d=2, gate_size=3, expert_size=3)
    x = DATA["x"].copy()
    x[7] = 2.0
    with pytest.raises(
        InputError, match=r"the gate's weights are not finite at any start, for one at x = \[2.0, 2.0\], s"
    ):
        fit.least_squares(model, x, DATA["y"], atoms=3)

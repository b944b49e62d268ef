import tracemalloc

import numpy as np
import pytest
from scipy import optimize

from moestat.fit import moments, newton
from moestat.fit.newton import least_squares
from moestat.models.experts import EXPERTS
from moestat.models.gates import GATES, SCORES
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, sample, split
from moestat.status import Status


def _data(model, n_true, n, batch, *, noise=0.01, seed=0, regime="dense"):
    truth = ground_truth(model, n_true, regime, np.random.default_rng(seed))
    draws = [sample(model, truth, n, noise, np.random.default_rng(1000 * seed + 1 + b)) for b in range(batch)]
    return truth, np.stack([x for x, _ in draws]), np.stack([y for _, y in draws])


def _starts(model, truth, n_fitted, batch, count=1, radius=0.05, seed=0):
    rng = np.random.default_rng(77 + seed)
    exact = split(model, truth, n_fitted)
    return exact + radius * rng.normal(size=(batch, count, n_fitted, model.atom_size))


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("expert", EXPERTS)
def test_the_minimum_is_the_one_that_scipy_finds_from_the_same_start(gate, expert):
    model = Model(gate, "full", expert, 2, 2 if expert == "polynomial" else 1)
    truth = 3 * ground_truth(model, 2, "dense", np.random.default_rng(3))
    x, y = sample(model, truth, 2000, 1e-4, np.random.default_rng(4))
    starts = _starts(model, truth, 2, 1, radius=0.02)
    tau = 0.1 if expert == "relu" else 0.0  # one fixed smoothing, so that both minimise the same smooth function
    fit = least_squares(model, x[None], y[None], starts, ladder=(tau,), box=50.0)
    assert fit.status[0] == Status.CONVERGED
    other = optimize.least_squares(
        lambda flat: model.predict(flat.reshape(truth.shape), x, tau=tau) - y,
        starts[0, 0].ravel(),
        jac=lambda flat: model.tangents(flat.reshape(truth.shape), x, tau=tau)[1].T,
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=2000,
    )
    end = other.x.reshape(truth.shape)
    assert fit.smoothed_loss[0] == pytest.approx(other.cost / 2000, rel=1e-8)
    np.testing.assert_allclose(model.predict(fit.theta[0], x, tau=tau), model.predict(end, x, tau=tau), atol=1e-5)
    np.testing.assert_allclose(fit.theta[0], model.align(end, fit.theta[0]), atol=1e-3)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("expert", ["relu", "linear"])
@pytest.mark.parametrize("gate", GATES)
def test_over_specified_fits_end_at_minima_in_the_box(gate, expert, score):
    model = Model(gate, score, expert, 2)
    truth, x, y = _data(model, 2, 300, 3, seed=1)
    box = 2.0
    fit = least_squares(model, x, y, _starts(model, truth, 3, 3), box=box)
    np.testing.assert_array_equal(fit.status, Status.CONVERGED)
    assert np.all(np.abs(fit.theta) <= box)
    tau = 0.001 if expert == "relu" else 0.0
    loss, gradient = model.gradient(fit.theta, x, y, tau=tau)
    np.testing.assert_allclose(loss, fit.smoothed_loss, rtol=1e-12)
    # the conditions of Karush, Kuhn and Tucker, with the model's own gradient
    at_top, at_bottom = fit.theta >= box, fit.theta <= -box
    held = (at_top & (gradient < 0)) | (at_bottom & (gradient > 0))
    free = np.max(np.abs(np.where(held, 0, gradient)), axis=(1, 2))
    np.testing.assert_allclose(free, fit.gradient, atol=1e-10)
    assert np.all(free < 1e-5)
    np.testing.assert_array_equal(fit.box_hits, (at_top | at_bottom).sum(axis=(1, 2)))
    # and no nearby point of the box is lower
    rng = np.random.default_rng(0)
    for distance in (1e-4, 1e-2):
        for _ in range(50):
            near = np.clip(fit.theta + distance * rng.normal(size=fit.theta.shape), -box, box)
            assert np.all(model.gradient(near, x, y, tau=tau)[0] >= loss - 2e-9 * loss)


@pytest.mark.parametrize(("gate", "expert"), [("sigmoid", "relu"), ("softmax", "linear")])
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_fits_do_not_depend_on_their_batch(gate, expert, precision, monkeypatch):
    model = Model(gate, "full", expert, 2)
    truth = 3 * ground_truth(model, 2, "dense", np.random.default_rng(3))
    monkeypatch.setattr(moments, "rows_per_chunk", lambda *_: 512)  # several chunks
    # one member has no noise and ends in double precision
    draws = [sample(model, truth, 1100, 1e-4 * (b != 1), np.random.default_rng(b)) for b in range(5)]
    x, y = np.stack([x for x, _ in draws]), np.stack([y for _, y in draws])
    starts = _starts(model, truth, 2, 5, count=2)
    options: dict = {"precision": precision, "max_iterations": 60, "box": 50.0}
    together = least_squares(model, x, y, starts, **options, batch_bytes=2**30)
    assert len(set(together.iterations)) > 1  # members do leave the batch at different times
    split_up = least_squares(model, x, y, starts, **options, batch_bytes=1)
    alone = least_squares(model, x[1:2], y[1:2], starts[1:2], **options)
    order = np.array([3, 0, 4])
    shuffled = least_squares(model, x[order], y[order], starts[order], **options)
    for name in set(newton.Fit.__dataclass_fields__) - {"flat"}:  # of functions only
        a, b, c = (getattr(fit, name) for fit in (together, split_up, shuffled))
        np.testing.assert_array_equal(a, b, err_msg=name)
        np.testing.assert_array_equal(a[order], c, err_msg=name)
        np.testing.assert_array_equal(a[1:2], getattr(alone, name), err_msg=name)


def test_starts_of_one_data_set_share_it():
    """Each is the fit that it is alone, and none takes memory for a copy of the samples."""
    model = Model("sigmoid", "full", "relu", 2)
    truth, x, y = _data(model, 2, 40_000, 1, seed=3)
    starts = _starts(model, truth, 3, 1, count=9)[0]
    peaks = []
    for count in (1, 3, 9):
        tracemalloc.start()
        every = newton.from_each(model, x[0], y[0], starts[:count], max_iterations=2, batch_bytes=2**23)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] - peaks[1] < 0.5 * (x.nbytes + y.nbytes)
    for k in range(9):
        alone = least_squares(model, x, y, starts[None, k : k + 1], max_iterations=2)
        for name in ("theta", "loss", "min_eigenvalue", "status"):
            np.testing.assert_array_equal(getattr(every, name)[k], getattr(alone, name)[0])


@pytest.mark.parametrize("room", [1, 2**30])
def test_any_number_of_starts_on_each_of_several_data_sets(room):
    model = Model("softmax", "full", "linear", 2)
    truth, x, y = _data(model, 2, 150, 4, seed=4)
    data = np.array([3, 0, 3, 1, 3, 0, 3])  # none on one of them
    starts = _starts(model, truth, 3, 1, count=7)[0]
    every = newton.from_each(model, x, y, starts, data=data, batch_bytes=room)
    assert len(set(every.iterations)) > 2
    for k, own in enumerate(data):
        alone = least_squares(model, x[own, None], y[own, None], starts[None, k : k + 1])
        for name in ("theta", "loss", "status", "iterations", "min_eigenvalue", "factorisations"):
            np.testing.assert_array_equal(getattr(every, name)[k], getattr(alone, name)[0])
    with pytest.raises(ValueError, match="one of the 4 data sets for each of the 7 starts"):
        newton.from_each(model, x, y, starts, data=data + 1)


def test_fits_that_run_out_of_steps_can_go_without_a_certificate():
    model = Model("softmax", "full", "relu", 2)
    truth, x, y = _data(model, 2, 300, 4, seed=2)
    starts = _starts(model, truth, 3, 4)
    limit = int(np.sort(least_squares(model, x, y, starts).iterations)[2]) - 5
    full, short = (least_squares(model, x, y, starts, max_iterations=limit, certify_limit=c) for c in (True, False))
    spent = full.iterations == limit
    assert 0 < spent.sum() < 4
    np.testing.assert_array_equal(short.status, full.status)
    for name in ("theta", "loss", "iterations", "box_hits"):
        np.testing.assert_array_equal(getattr(short, name), getattr(full, name))
    np.testing.assert_allclose(short.gradient, full.gradient, rtol=1e-6)
    for name in ("decrement", "min_eigenvalue"):
        np.testing.assert_array_equal(getattr(short, name)[~spent], getattr(full, name)[~spent])
        assert np.isnan(getattr(short, name)[spent]).all()
    assert np.all(full.factorisations > full.iterations)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize(("expert", "n_fitted"), [("linear", 2), ("linear", 3), ("gelu", 2)])
def test_noiseless_data_end_at_the_absolute_floor(gate, expert, n_fitted):
    model = Model(gate, "full", expert, 2)
    truth, x, y = _data(model, 2, 400, 1, noise=0.0, seed=5)
    fit = least_squares(model, x, y, _starts(model, truth, n_fitted, 1))
    assert fit.status[0] == Status.CONVERGED
    assert fit.loss[0] < 1e-13 * y.var()
    assert fit.iterations[0] < 200


def test_a_saddle_between_equal_atoms_is_left():
    # started with two equal atoms, every descent by gradients and curvature keeps them equal
    model = Model("sigmoid", "linear", "linear", 1)
    truth = np.array([[0.0, 4.0, 2.0, 1.0], [0.0, -4.0, 1.0, 1.0]])
    x, y = (v[None] for v in sample(model, truth, 500, 1e-4, np.random.default_rng(7)))
    single = least_squares(model, x, y, truth[None, None, :1])
    starts = split(model, single.theta[0], 2)[None, None]
    fit = least_squares(model, x, y, starts)
    assert fit.status[0] == Status.CONVERGED
    assert fit.loss[0] < 0.9 * single.loss[0]
    assert fit.min_eigenvalue[0] > -1e-12
    assert np.abs(fit.theta[0, 0] - fit.theta[0, 1]).max() > 0.1


def test_the_best_start_wins():
    model = Model("sigmoid", "full", "relu", 1)
    truth, x, y = _data(model, 3, 500, 2, seed=8)
    rng = np.random.default_rng(0)
    starts = np.concatenate([rng.normal(size=(2, 3, 3, model.atom_size)), _starts(model, truth, 3, 2)], axis=1)
    fit = least_squares(model, x, y, starts)
    np.testing.assert_array_equal(fit.start, np.argmin(fit.start_losses, axis=1))
    np.testing.assert_array_equal(fit.loss, np.min(fit.start_losses, axis=1))
    for k in range(4):
        alone = least_squares(model, x, y, starts[:, k : k + 1])
        np.testing.assert_array_equal(alone.loss, fit.start_losses[:, k])
        won = fit.start == k
        np.testing.assert_array_equal(alone.theta[won], fit.theta[won])
        np.testing.assert_array_equal(alone.status, fit.start_status[:, k])


def test_outcomes_stay_with_their_members():
    model = Model("sigmoid", "full", "linear", 1)
    truth, x, y = _data(model, 2, 200, 3, seed=10)
    starts = _starts(model, truth, 2, 3)
    good = least_squares(model, x, y, starts)
    y_bad = y.copy()
    y_bad[1, 5] = np.nan
    fit = least_squares(model, x, y_bad, starts)
    np.testing.assert_array_equal(fit.status, [Status.CONVERGED, Status.NOT_FINITE, Status.CONVERGED])
    np.testing.assert_array_equal(fit.theta[[0, 2]], good.theta[[0, 2]])
    assert "not finite" in fit.message()[1]
    short = least_squares(model, x, y, starts, max_iterations=1)
    np.testing.assert_array_equal(short.status, Status.LIMIT)
    np.testing.assert_array_equal(short.iterations, 1)
    assert np.all(short.decrement > 1e-9 * short.loss)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"box": 0.0}, "box"),
        ({"ladder": (0.01, 0.1)}, "ladder"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"x": np.zeros((1, 5, 3))}, "x has shape"),
        ({"starts": np.zeros((1, 2, 4))}, "starts has shape"),
    ],
)
def test_wrong_arguments_are_named(change, word):
    model = Model("sigmoid", "full", "linear", 1)
    arguments = {"x": np.zeros((1, 5, 1)), "y": np.zeros((1, 5)), "starts": np.zeros((1, 1, 2, model.atom_size))}
    with pytest.raises(ValueError, match=word):
        least_squares(model, **{**arguments, **change})

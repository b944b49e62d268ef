"""Least squares and descent on the device: the same minima, statuses and numbers as on the processor."""

import array_api_compat
import numpy as np
import pytest

from moestat.arrays import to_numpy
from moestat.fit import moments
from moestat.fit.global_search import Budget, global_search
from moestat.fit.gradient import sgd
from moestat.fit.newton import least_squares
from moestat.fit.search_starts import candidates, screen
from moestat.models import truths
from moestat.models.regression import Model
from moestat.status import Status

FITTED = [
    Model("softmax", "full", "relu", 2),
    Model("sigmoid", "full", "relu", 2),
    Model("softmax", "full", "gelu", 2),
    Model("sigmoid", "partial", "gelu", 2),
    Model("softmax", "linear", "linear", 2),
    Model("sigmoid", "full", "linear", 2),
    Model("sigmoid", "linear", "polynomial", 2, 2),
]


def case(model, replicates=3, n=400, atoms=2, starts=2, seed=0):
    """Return samples of one truth and starts beside it."""
    rng = np.random.default_rng(seed)
    truth = 2.0 * truths.ground_truth(model, atoms, "dense", rng)
    samples = [truths.sample(model, truth, n, 0.01, rng) for _ in range(replicates)]
    x, y = (np.stack(part) for part in zip(*samples, strict=True))
    start = truth + 0.05 * rng.standard_normal((replicates, starts, *truth.shape))
    return x, y, np.clip(start, -5.0, 5.0)


def name(model):
    return f"{model.gate}-{model.score}-{model.expert}"


@pytest.mark.parametrize("model", FITTED, ids=name)
def test_the_minimum_is_the_same(on, model):
    x, y, starts = case(model)
    expected = least_squares(model, x, y, starts)
    found = least_squares(model, *on(x, y, starts))
    assert type(found.loss) is type(on(y)), "the fit stays on the device"
    np.testing.assert_array_equal(to_numpy(found.status), expected.status)
    assert np.all(expected.status == Status.CONVERGED)
    np.testing.assert_allclose(to_numpy(found.loss), expected.loss, rtol=1e-7)
    np.testing.assert_allclose(to_numpy(found.start_losses), expected.start_losses, rtol=1e-6)
    np.testing.assert_array_equal(to_numpy(found.box_hits), expected.box_hits)
    fitted = model.predict(to_numpy(found.theta), x)
    np.testing.assert_allclose(fitted, model.predict(expected.theta, x), rtol=0, atol=1e-4)
    # the certificate is that of the point where the fit ended
    goal = 1e-9 * expected.smoothed_loss + 1e-15 * np.var(y, axis=-1)
    assert np.all(to_numpy(found.decrement) <= goal) and np.all(to_numpy(found.decrement) >= 0)
    np.testing.assert_allclose(to_numpy(found.min_eigenvalue), expected.min_eigenvalue, rtol=1e-2, atol=2e-7)
    assert found.message()[0].startswith(Status.CONVERGED.sentence)


@pytest.mark.parametrize("model", FITTED, ids=name)
def test_the_moments_over_several_chunks(on, model, monkeypatch):
    """More rows than one chunk holds, with and without kept monomials, in both precisions."""
    n = moments.CUDA_ROWS + 1000
    x, y, starts = case(model, replicates=2, n=n, atoms=3, starts=1)
    theta = starts[:, 0]
    reference = moments.Problem(model, 3, x, y, "double")
    expected = (*reference.hessian(theta, 0.01, 0.7), reference.loss(theta, 0.01))
    for precision, rtol in (("double", 1e-10), ("mixed", 1e-3)):
        numbers = []
        for most in (1 << 62, 0):
            monkeypatch.setattr(moments, "cache_bytes", lambda like, most=most: most)
            problem = moments.Problem(model, 3, *on(x, y), precision)
            assert problem.cached is (most > 0)
            if array_api_compat.is_cupy_array(on(y)):
                assert len(problem.chunks) == 2
            point = on(theta)
            numbers.append([to_numpy(v) for v in (*problem.hessian(point, 0.01, 0.7), problem.loss(point, 0.01))])
            some = problem.of(np.array([1])).hessian(point[1:, ...], 0.01, 0.7)
            np.testing.assert_allclose(to_numpy(some[0]), expected[0][1:], rtol=1e-10)
        for kept, made, true in zip(*numbers, expected, strict=True):
            np.testing.assert_array_equal(kept, made)
            np.testing.assert_allclose(kept, true, rtol=rtol, atol=rtol * np.abs(true).max())


def test_a_member_is_fitted_alike_in_any_batch(on):
    model = Model("softmax", "full", "relu", 2)
    x, y, starts = case(model)
    together = least_squares(model, *on(x, y, starts))
    alone = least_squares(model, *on(x[1:2], y[1:2], starts[1:2]))
    np.testing.assert_allclose(to_numpy(alone.loss)[0], to_numpy(together.loss)[1], rtol=1e-9)
    np.testing.assert_array_equal(to_numpy(alone.status)[0], to_numpy(together.status)[1])


@pytest.mark.parametrize("batch", [100, 1000])
def test_minibatch_descent(on, batch):
    """Steps of 800 rows over all members, and full batches, are computed on the device."""
    model = Model("softmax", "full", "relu", 3)
    x, y, starts = case(model, replicates=4, n=1000)
    orders = [np.stack([np.random.default_rng([r, k]).permutation(1000) for k in range(2)]) for r in range(4)]
    options = {"batch_size": batch, "order": orders, "epochs": 2}
    expected = sgd(model, x, y, starts, **options)
    np.testing.assert_allclose(to_numpy(sgd(model, *on(x, y, starts), **options)), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
def test_screening_promises_the_same(on, gate):
    model = Model(gate, "full", "relu", 2)
    x, y, starts = case(model, replicates=1, n=3000, starts=1)
    theta, law = starts[0, 0], np.full(model.atom_size, 0.7)
    drawn = [candidates(model, some, theta, 100, law, np.random.default_rng(7), box=5.0) for some in (x[0], on(x[0]))]
    np.testing.assert_allclose(drawn[1], drawn[0], rtol=0, atol=1e-4)  # bisected to 80 / 2^20
    atoms, gain = screen(model, x[0], y[0], theta, drawn[0], box=5.0)
    found = screen(model, *on(x[0], y[0]), theta, drawn[0], box=5.0)
    np.testing.assert_allclose(found[1], gain, rtol=1e-2, atol=1e-3 * gain.max())
    np.testing.assert_allclose(found[0], atoms, rtol=0, atol=2e-2)


def test_a_global_search_ends_at_the_same_minimum(on):
    model = Model("softmax", "linear", "linear", 1)
    rng = np.random.default_rng(8)
    truth = 2.0 * truths.ground_truth(model, 2, "dense", rng)
    x, y = truths.sample(model, truth, 300, 0.01, rng)
    options = {
        "local": truth[None] + 0.05 * rng.standard_normal((1, *truth.shape)),
        "known": truth[None],
        "stream": lambda purpose: np.random.default_rng([9, *purpose.encode()]),
        "budget": Budget(near=4, random=3, inserted=3, screened=32, rounds=1, replaced=2, heats=((8, 0.7),), agree=2),
    }
    expected, found = (global_search(model, *data, **options) for data in ((x, y), on(x, y)))
    np.testing.assert_allclose(found.fit.loss, expected.fit.loss, rtol=1e-6)
    assert type(found.fit.loss) is np.ndarray and found.fit.status[0] == expected.fit.status[0]
    assert found.agreed and expected.agreed

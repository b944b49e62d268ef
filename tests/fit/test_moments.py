import array_api_strict as strict
import numpy as np
import pytest

from moestat.arrays import to_numpy
from moestat.fit import kernel
from moestat.fit.moments import Problem, monomials, rows_per_chunk
from moestat.models.experts import EXPERTS
from moestat.models.gates import GATES, SCORES
from moestat.models.regression import Model

MODELS = [Model(g, s, e, 2, 3 if e == "polynomial" else 1) for g in GATES for s in SCORES for e in EXPERTS]
MODELS += [Model("own_functions:arctan_gate", s, "own_functions:swish", 2) for s in SCORES]
IDS = [f"{m.gate}-{m.score}-{m.expert}" for m in MODELS]


def _problem(model, batch, n, atoms, seed=0):
    rng = np.random.default_rng(seed)
    theta = 0.7 * rng.normal(size=(batch, atoms, model.atom_size))
    return theta, rng.uniform(-1, 1, (batch, n, model.d)), rng.normal(size=(batch, n))


def _tau(model):
    return 0.2 if model.expert == "relu" else 0.0


def test_monomials():
    x = np.random.default_rng(0).normal(size=(2, 3, 5))
    names = [""] + list("abc") + ["aa", "ab", "ac", "bb", "bc", "cc"]
    names += ["aaa", "aab", "aac", "abb", "abc", "acc", "bbb", "bbc", "bcc", "ccc"]
    values = dict(zip("abc", np.moveaxis(x, 1, 0), strict=True))
    expected = np.stack([np.prod([values[v] for v in name] + [np.ones((2, 5))], axis=0) for name in names], axis=1)
    np.testing.assert_allclose(monomials(x, 3), expected, rtol=1e-14)
    assert monomials(x, 4).shape == (2, 35, 5)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_gauss_newton_matrix_is_the_dense_one(model):
    theta, x, y = _problem(model, 2, rows_per_chunk(model, 3, np.zeros(0)) + 30, 3)
    loss, gradient, h = Problem(model, 3, x, y, "double").hessian(theta, _tau(model), 0.0)
    for k in range(2):
        j = model.tangents(theta[k], x[k], tau=_tau(model))[1].T
        r = model.predict(theta[k], x[k], tau=_tau(model)) - y[k]
        dense = j.T @ j / len(r)
        np.testing.assert_allclose(h[k], dense, atol=1e-12 * np.abs(dense).max())
        np.testing.assert_allclose(gradient[k], j.T @ r / len(r), atol=1e-12 * np.abs(gradient[k]).max())
        np.testing.assert_allclose(loss[k], 0.5 * np.mean(r**2), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_hessian_is_the_derivative_of_the_gradient(model):
    theta, x, y = _problem(model, 1, 60, 3)
    tau = _tau(model)
    _, _, h = Problem(model, 3, x, y, "double").hessian(theta, tau)
    step = 1e-5
    columns = []
    kinks = 0
    for k in range(theta.size):
        shift = np.zeros(theta.size)
        shift[k] = step
        shift = shift.reshape(theta.shape)
        up, down = model.gradient(theta + shift, x, y, tau=tau)[1], model.gradient(theta - shift, x, y, tau=tau)[1]
        columns.append((up - down).reshape(-1) / (2 * step))
    if model.expert == "relu":  # no sample may cross an end of the blend, or the difference sees another function
        pre = np.concatenate([x, np.ones((1, 60, 1))], axis=-1) @ np.swapaxes(theta[..., model.eta], -1, -2)
        kinks = np.sum(np.abs(np.abs(pre) - tau) < 3 * step)
    assert kinks == 0
    numerical = np.stack(columns, axis=-1)
    np.testing.assert_allclose(h[0], numerical, atol=2e-9 * np.abs(h).max() + 1e-9)
    np.testing.assert_allclose(h[0], h[0].T, atol=1e-13 * np.abs(h).max())


def _compiled(*arguments):
    if not kernel.vector_bits():
        pytest.skip(kernel.describe())
    from moestat.fit.compiled_problem import CompiledProblem

    return CompiledProblem(*arguments)


SHARED = [m for m in MODELS if m.score == "full"] + [Model("sigmoid", "full", "linear", 4)]


@pytest.mark.parametrize("model", SHARED, ids=lambda m: f"{m.gate}-{m.expert}-{m.d}")
@pytest.mark.parametrize(("kind", "xp"), [(Problem, np), (Problem, strict), (_compiled, np)])
def test_members_on_shared_data_are_those_on_data_of_their_own(kind, xp, model):
    """Three sets of parameters on each of two data sets, all of them, some, and on one of the data sets."""
    if xp is strict and ":" in model.gate:
        pytest.skip("the functions in own_functions are NumPy's")
    theta, x, y = _problem(model, 6, 900, 3)
    x, y = x[::3], y[::3]
    tau, curvature = (np.linspace(0.0, 0.3, 6)[:, None, None] if model.expert == "relu" else 0.0), np.ones((6, 1, 1))
    curvature[::2] = 0.0
    alone = [
        Problem(model, 3, x[k // 3][None], y[k // 3][None], "double").hessian(
            theta[k : k + 1], tau if np.ndim(tau) == 0 else tau[k : k + 1], curvature[k : k + 1]
        )
        for k in range(6)
    ]
    expected = [np.concatenate(parts) for parts in zip(*alone, strict=True)]
    exact = kind is Problem and xp is np  # whatever the batch

    def at(problem, rows, wanted=None, into=None):
        numbers = [v if np.ndim(v) == 0 else xp.asarray(v[rows]) for v in (tau, curvature)]
        point = xp.asarray(theta[rows])
        found = problem.hessian(point, *numbers, wanted, into)
        losses = to_numpy(problem.loss(point, numbers[0], wanted))
        which = slice(None) if wanted is None else wanted
        np.testing.assert_allclose(losses[which], to_numpy(found[0])[which], rtol=1e-13)
        return [to_numpy(part) for part in found]

    def same(found, true):
        for a, b in zip(found, true, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=0.0 if exact else 1e-13 * np.abs(b).max())

    problem = kind(model, 3, xp.asarray(x), xp.asarray(y), "double")
    every = np.arange(6)
    same(at(problem, every), expected)
    for some in ([0, 1, 2, 4, 5], [4], [1, 3]):
        wanted = np.isin(every, some)
        into = tuple(xp.full(part.shape, 7.0, dtype=xp.float64) for part in expected)
        found = at(problem, every, wanted, into)
        same([part[wanted] for part in found], [part[wanted] for part in expected])
        assert all(np.all(part[~wanted] == 7.0) for part in found)
    second = problem.of(np.array([1]))
    same(at(second, every[3:]), [part[3:] for part in expected])
    found = at(second, every[3:], np.array([False, True, True]))
    same([part[1:] for part in found], [part[4:] for part in expected])
    same(at(problem.of(np.array([1, 0])), every[[5, 1]]), [part[[5, 1]] for part in expected])
    same(at(problem.of(np.array([1, 0, 1])), every[[5, 1, 3]]), [part[[5, 1, 3]] for part in expected])

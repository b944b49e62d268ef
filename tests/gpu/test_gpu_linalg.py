"""Linear algebra on the device: failures stay with their members, and eigenvalues are those of LAPACK."""

import array_api_strict as strict
import numpy as np
import pytest

from moestat.arrays import to_numpy
from moestat.fit.linalg import (
    JACOBI,
    checked_eigen,
    cholesky_solve,
    damped_solve,
    definite_solve,
    scaled_solve,
    smallest_by_squaring,
    symmetric_eigen,
)
from moestat.models import truths
from moestat.models.regression import Model


def definite(batch, p, seed=0):
    a = np.random.default_rng(seed).normal(size=(batch, p, p + 3))
    return a @ np.swapaxes(a, -1, -2)


def same_solves(found, expected, rtol=1e-8):
    (x, ok), (true, true_ok) = (tuple(map(to_numpy, pair)) for pair in (found, expected))
    np.testing.assert_array_equal(ok, true_ok)
    np.testing.assert_allclose(x, true, rtol=rtol, atol=rtol * np.abs(true).max(initial=0.0))


def test_the_data_are_bit_identical(on):
    model = Model("softmax", "full", "gelu", 3)
    rng = np.random.default_rng(0)
    x, y = truths.sample(model, truths.ground_truth(model, 2, "dense", rng), 50, 0.01, rng)
    numbers = np.array([0.0, -0.0, 5e-324, 1e308, np.inf, np.nan, 1 / 3])
    for given in (x, y, numbers, x[::2, 1:], np.broadcast_to(y, (2, 50)), np.arange(5), y > 0):
        back = to_numpy(on(given))
        assert type(back) is np.ndarray and back.dtype == given.dtype
        assert np.ascontiguousarray(back).tobytes() == np.ascontiguousarray(given).tobytes()


@pytest.mark.parametrize("p", [1, 4, 40, 200])
def test_solves_report_each_member(on, p):
    h, g = definite(6, p), np.random.default_rng(1).normal(size=(6, p))
    h[1] -= 2.0 * np.linalg.eigvalsh(h[1])[-1] * np.eye(p)  # negative definite
    h[2, 0, 0] = np.nan
    h[3] = 0.0
    g[4, -1] = np.inf
    h[5] -= 1.5 * np.linalg.eigvalsh(h[5])[0] * np.eye(p)  # one negative eigenvalue
    x, ok = map(to_numpy, cholesky_solve(*on(h, g)))
    np.testing.assert_array_equal(ok, [True, False, False, False, False, False])
    np.testing.assert_array_equal(x[1:], 0)
    np.testing.assert_allclose(x[0], np.linalg.solve(h[0], g[0]), rtol=1e-7, atol=1e-9)


def test_ill_conditioned_members_are_solved_not_refused(on):
    rng = np.random.default_rng(2)
    q, _ = np.linalg.qr(rng.normal(size=(3, 30, 30)))
    h = (q * np.logspace(0, -11, 30)) @ np.swapaxes(q, -1, -2)
    h, g = 0.5 * (h + np.swapaxes(h, -1, -2)), rng.normal(size=(3, 30))
    x, ok = map(to_numpy, cholesky_solve(*on(h, g)))
    assert ok.all()
    residual = np.linalg.norm((h @ x[..., None])[..., 0] - g, axis=-1)
    assert np.all(residual <= 1e-12 * np.linalg.norm(h, axis=(-2, -1)) * np.linalg.norm(x, axis=-1))


def test_damped_and_scaled_solves_follow_the_processor(on):
    h = definite(5, 8)
    h[1] -= 60.0 * np.eye(8)
    h[2, 3, 3] = np.nan
    rng = np.random.default_rng(3)
    rhs, damping = rng.normal(size=(5, 8)), np.array([0.0, 1.0, 1.0, 1e3, 1e-8])
    free = rng.uniform(size=(5, 8)) < 0.7
    same_solves(damped_solve(*on(h, damping, free, rhs)), damped_solve(h, damping, free, rhs))
    added = rng.uniform(size=(5, 8))
    masked = np.where(free, rhs, 0.0)
    same_solves(scaled_solve(*on(h, added, masked, free)), scaled_solve(h, added, masked, free))


@pytest.mark.parametrize("p", [2, 40, 100])
def test_a_factorisation_finds_the_smallest_eigenvalue(on, p):
    h, g = definite(5, p), np.random.default_rng(1).normal(size=(5, p))
    h[1] -= 1.5 * np.linalg.eigvalsh(h[1])[0] * np.eye(p)  # one negative eigenvalue
    h[2, 0, p - 1] = h[2, p - 1, 0] = np.nan
    h[3] = np.diag(np.geomspace(1e-9, 1.0, p))
    h[4] = np.diag(np.r_[np.full(p - 1, 2e-7 * (1 + 1e-4)), 2e-7])[::-1, ::-1]  # a gap of 1e-4
    x, smallest, ok = map(to_numpy, definite_solve(*on(h, g)))
    np.testing.assert_array_equal(ok, [True, False, False, True, True])
    for k in (0, 3, 4):
        true = np.linalg.eigvalsh(h[k])[0]
        np.testing.assert_allclose(x[k], np.linalg.solve(h[k], g[k]), rtol=1e-6)
        np.testing.assert_allclose(smallest[k], true, rtol=2e-3)
        squared = float(to_numpy(smallest_by_squaring(on(h[k : k + 1])))[0])
        assert true * (1 - 1e-7) <= squared <= true * (1 + 2e-3)  # a quotient is never below


@pytest.mark.parametrize("p", [1, 3, 32, 33, 40, 100])
def test_eigenvalues_are_those_of_lapack(on, p):
    h = definite(5, p)
    h[1] -= np.trace(h[1]) / p * np.eye(p)  # indefinite
    h[2, 0, p // 2] = h[2, p // 2, 0] = np.nan
    h[3] = np.diag(np.repeat([2.0, -1.0], [p - p // 2, p // 2]))  # two eigenvalues, each many times
    h[4] = 0.0
    values, vectors = map(to_numpy, symmetric_eigen(on(h)))
    assert np.isnan(values[2]).all() and np.isnan(vectors[2]).all()
    for k in (0, 1, 3, 4):
        size = np.linalg.norm(h[k])
        np.testing.assert_allclose(values[k], np.linalg.eigvalsh(h[k]), rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(h[k] @ vectors[k], vectors[k] * values[k], rtol=0, atol=1e-10 * size)
        np.testing.assert_allclose(vectors[k].T @ vectors[k], np.eye(p), rtol=0, atol=1e-10)


@pytest.mark.parametrize("p", [5, JACOBI + 1])
def test_a_solver_that_fails_in_silence_is_found_out_and_replaced(p):
    """As a GPU's batched one may: garbage for one member of a stack, and the truth for a matrix alone."""
    h = definite(4, p)
    stacks = []

    def eigh(matrix):
        values, vectors = strict.linalg.eigh(matrix)
        if matrix.ndim == 3:
            stacks.append(matrix.shape)
            vectors[2, 0, 0] += 1e-6
        return values, vectors

    values, vectors, found = checked_eigen(strict.asarray(h), eigh)
    assert np.asarray(found).all() and len(stacks) == (p <= JACOBI)
    np.testing.assert_allclose(np.asarray(values), np.linalg.eigvalsh(h), rtol=1e-12)
    np.testing.assert_allclose(
        h @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[:, None, :], atol=1e-10
    )

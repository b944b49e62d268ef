import array_api_strict as strict
import numpy as np
import pytest

from moestat.fit.linalg import JACOBI, checked_eigen, cholesky_solve, symmetric_eigen


def _spd(batch, p, seed=0):
    a = np.random.default_rng(seed).normal(size=(batch, p, p + 3))
    return a @ np.swapaxes(a, -1, -2)


def test_solves_every_member():
    h = _spd(4, 6)
    g = np.random.default_rng(1).normal(size=(4, 6))
    x, ok = cholesky_solve(h, g)
    assert ok.all()
    np.testing.assert_allclose(x, np.linalg.solve(h, g[..., None])[..., 0], rtol=1e-9)


def test_failures_stay_with_their_members():
    h = _spd(5, 4)
    h[1] -= 100 * np.eye(4)
    h[2, 0, 0] = np.nan
    h[3] = 0.0
    g = np.ones((5, 4))
    g[4, 2] = np.inf
    x, ok = cholesky_solve(h, g)
    np.testing.assert_array_equal(ok, [True, False, False, False, False])
    np.testing.assert_array_equal(x[1:], 0)
    np.testing.assert_array_equal(x[0], cholesky_solve(h[:1], g[:1])[0][0])


def test_indefinite_members_are_refused_whatever_their_size():
    for p in (1, 2, 40, 200):
        h = _spd(1, p)
        smallest = np.linalg.eigvalsh(h)[0, 0]
        for shift, expected in ((0.5, True), (1.5, False)):
            _, ok = cholesky_solve(h - shift * smallest * np.eye(p), np.ones((1, p)))
            assert bool(ok[0]) is expected


def test_inputs_are_left_alone():
    h, g = _spd(2, 3), np.ones((2, 3))
    before = h.copy(), g.copy()
    cholesky_solve(h, g)
    np.testing.assert_array_equal(h, before[0])
    np.testing.assert_array_equal(g, before[1])


def test_eigen_of_a_non_finite_member_is_nan():
    h = _spd(3, 4)
    h[1, 2, 2] = np.inf
    values, vectors = symmetric_eigen(h)
    assert np.isnan(values[1]).all()
    for k in (0, 2):
        np.testing.assert_allclose(h[k] @ vectors[k], vectors[k] * values[k], atol=1e-12)


def test_array_api_strict_gives_the_same_numbers():
    h, g = _spd(3, 4), np.ones((3, 4))
    h[1] -= 100 * np.eye(4)
    for function, arguments in ((cholesky_solve, (h, g)), (symmetric_eigen, (h,))):
        other = function(*(strict.asarray(v) for v in arguments))
        for a, b in zip(function(*arguments), other, strict=True):
            np.testing.assert_array_equal(a, np.asarray(b))


@pytest.mark.parametrize("p", [5, JACOBI + 1])
def test_a_solver_that_fails_in_silence_is_found_out_and_replaced(p):
    """As a GPU's batched one may: garbage for one member of a stack, and the truth for a matrix alone."""
    h = _spd(4, p)
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


def test_members_that_no_solver_finds_are_named():
    def eigh(matrix):
        values, vectors = strict.linalg.eigh(matrix)
        return values, vectors * strict.asarray(1.001)

    *_, found = checked_eigen(strict.asarray(_spd(3, 4)), eigh)
    assert not np.asarray(found).any()

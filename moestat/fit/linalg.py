"""Batched linear algebra that reports success per member, on every back end.

NumPy's batched Cholesky raises for the whole stack when one member fails; CuPy returns garbage without a word.
Here neither happens.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import array_api_compat
import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from moestat.arrays import Array, namespace, to_numpy
from moestat.fit import cuda


def cholesky_solve(h: Array, g: Array) -> tuple[Array, Array]:
    """Solve h x = g by Cholesky factorisation, member by member, see :func:`damped_solve`."""
    xp = namespace(h, g)
    return damped_solve(h, xp.zeros(h.shape[:1], dtype=h.dtype), xp.ones(g.shape, dtype=xp.bool), g)


def damped_solve(
    h: Array,
    damping: Array,
    free: Array,
    rhs: Array,
    wanted: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> tuple[Array, Array]:
    """Solve (h + damping) x = rhs on the free coordinates, member by member; x = rhs on the others.

    The symmetric float64 matrices h are (B, p, p), ``damping`` (B,), ``free`` and ``rhs`` (B, p). Returns the
    solutions, zero where the factorisation failed, and whether each member was positive definite (in floating point)
    and its solution is finite, (B,). What it returns for members that are not ``wanted``, (B,) bool, has no meaning.
    With ``rows`` (B,) int the matrix of member k is ``h[rows[k]]``.
    """
    xp = namespace(h, rhs)
    if array_api_compat.is_cupy_array(h):
        p, size = h.shape[-1], rhs.shape[0]
        damped = xp.empty((size, p, p))
        parts = (xp.ascontiguousarray(part) for part in (h, damping, free))
        which = xp.asarray(np.arange(size) if rows is None else rows)
        cuda.launch(cuda.kernel("damp"), p * p, size, *parts, which, np.int64(p), damped)
        x, ok = _cuda(damped, rhs)
        ok = ok & xp.all(xp.isfinite(x), axis=-1)
        return xp.where(ok[:, None], x, xp.zeros_like(x)), ok
    matrices, shifts, kept, g = (to_numpy(part) for part in (h, damping, free, rhs))
    x, ok = np.zeros(g.shape), np.zeros(len(g), dtype=bool)
    for k in range(len(g)) if wanted is None else np.flatnonzero(wanted).tolist():
        # one copy, which LAPACK then factors in place: at 486 coordinates a copy takes a tenth of the factorisation
        matrix = np.array(matrices[k if rows is None else rows[k]], order="C")
        diagonal = matrix.reshape(-1)[:: len(matrix) + 1]
        diagonal += shifts[k]
        held = np.flatnonzero(~kept[k])
        if held.size:
            matrix[held, :] = 0.0
            matrix[:, held] = 0.0
            diagonal[held] = 1.0
        _, x[k], info = lapack.dposv(matrix.T, g[k], lower=1, overwrite_a=1)
        ok[k] = info == 0 and np.isfinite(x[k]).all()
        if not ok[k]:
            x[k] = 0.0
    return xp.asarray(x), xp.asarray(ok)


def scaled_solve(gram: Array, added: Array, rhs: Array, free: Array, ridge: float = 0.0) -> tuple[Array, Array]:
    """Solve (gram + diag(added)) s = rhs on the free coordinates, after scaling to a unit diagonal.

    The scaling changes nothing in exact arithmetic and brings the condition number near the best a diagonal scaling
    can (van der Sluis 1969), so that units do not matter to the Cholesky factorisation.
    """
    xp = namespace(gram, rhs)
    one, zero = xp.ones_like(rhs), xp.zeros_like(rhs)
    diagonal = xp.linalg.diagonal(gram) + added
    usable = free & (diagonal > 0)
    unit = xp.where(usable, 1.0 / xp.sqrt(xp.where(usable, diagonal, one)), zero)
    eye = xp.eye(rhs.shape[-1], dtype=rhs.dtype)
    # the diagonal is set, not computed: 1 + ridge where the coordinate takes part, 1 where it does not
    matrix = gram * unit[..., :, None] * unit[..., None, :] * (1.0 - eye) + eye * (1.0 + ridge)
    step, ok = cholesky_solve(matrix, rhs * unit)
    # a free coordinate with a negative curvature makes the matrix indefinite, which the scaling must not hide
    definite = xp.all(~free | (diagonal >= 0), axis=-1)
    return xp.where(ok[:, None], step * unit, zero), ok & definite


def _cuda(h: Array, g: Array) -> tuple[Array, Array]:
    """Solve on the GPU; cuSOLVER's per-member info is not handed out, so the residual decides."""
    import cupyx
    from cupyx import lapack as cuda_lapack

    xp = namespace(h)
    with cupyx.errstate(linalg="ignore"):
        x = cuda_lapack.posv(h, g)  # of a stack it factors a copy of its own
    residual = xp.linalg.vector_norm((h @ x[..., None])[..., 0] - g, axis=-1)
    size = xp.linalg.matrix_norm(h) * xp.linalg.vector_norm(x, axis=-1) + xp.linalg.vector_norm(g, axis=-1)
    return x, residual <= 1e-10 * size


def definite_solve(h: Array, g: Array) -> tuple[Array, Array, Array]:
    """Solve h x = g by Cholesky factorisation, and find the smallest eigenvalues without the others.

    Returns x (B, p), the smallest eigenvalues (B,), and which members are positive definite and have both (B,); the
    other members' numbers have no meaning. A processor iterates by Lanczos's method with the inverse, from a fixed
    vector, until machine precision; a GPU squares the inverse (:func:`smallest_by_squaring`).
    """
    xp = namespace(h, g)
    if array_api_compat.is_cupy_array(h):
        import cupyx

        x, ok = _cuda(h, g)
        ok = ok & xp.all(xp.isfinite(x), axis=-1)
        with cupyx.errstate(linalg="ignore"):
            smallest = smallest_by_squaring(xp.where(ok[:, None, None], h, xp.eye(h.shape[-1], dtype=h.dtype)))
        return x, smallest, ok & xp.isfinite(smallest)
    matrices, rhs = to_numpy(h), to_numpy(g)
    x, smallest, ok = np.zeros(rhs.shape), np.full(len(rhs), np.nan), np.zeros(len(rhs), dtype=bool)
    for k, matrix in enumerate(matrices):
        factor, info = lapack.dpotrf(matrix.T, lower=1)
        if info == 0:
            x[k] = lapack.dpotrs(factor, rhs[k], lower=1)[0]
            inverse = LinearOperator(
                matrix.shape, lambda v, c=factor: lapack.dpotrs(c, v, lower=1)[0], dtype=np.float64
            )
            with suppress(ArpackError):
                first = np.ones(len(matrix))
                smallest[k] = 1.0 / eigsh(inverse, 1, which="LA", v0=first, return_eigenvectors=False)[0]
            ok[k] = np.isfinite(x[k]).all() and np.isfinite(smallest[k])
    return xp.asarray(x), xp.asarray(smallest), xp.asarray(ok)


SQUARINGS = 12  #: A power of 4096 of the inverse: the quotient is then within 0.1 % however close the next ones are.


def smallest_by_squaring(h: Array) -> Array:
    """Return the smallest eigenvalues (B,) of positive definite matrices, by products of stacks of matrices alone."""
    xp = namespace(h)
    power = inverse_by_halves(h)
    for _ in range(SQUARINGS):
        power = power / xp.max(xp.abs(power), axis=(-2, -1), keepdims=True)
        power = power @ power
    first = xp.asarray(np.random.default_rng(0).standard_normal((h.shape[-1], 1)))
    vector = power @ first
    vector = vector / xp.max(xp.abs(vector), axis=-2, keepdims=True)
    return xp.sum(vector * (h @ vector), axis=(-2, -1)) / xp.sum(vector * vector, axis=(-2, -1))


LEAF = 32  #: Size up to which a GPU has a quick way to invert a stack of matrices.


def inverse_by_halves(h: Array) -> Array:
    """Return the inverses (B, p, p) of positive definite matrices, from those of blocks and of Schur complements.

    At p = 486 a GPU takes a fifth of the time that it takes for the factorisation of a stack with pivots.
    """
    xp, p = namespace(h), h.shape[-1]
    if p <= LEAF:
        return xp.linalg.inv(h)
    half = p // 2
    upper = h[:, :half, half:]
    first = inverse_by_halves(h[:, :half, :half])
    turned = first @ upper
    second = inverse_by_halves(h[:, half:, half:] - xp.matrix_transpose(upper) @ turned)
    corner = turned @ second
    top = xp.concat([first + corner @ xp.matrix_transpose(turned), -corner], axis=-1)
    return xp.concat([top, xp.concat([-xp.matrix_transpose(corner), second], axis=-1)], axis=-2)


def symmetric_eigen(h: Array) -> tuple[Array, Array]:
    """Return eigenvalues (B, p), ascending, and eigenvectors (B, p, p) of symmetric matrices.

    A member with a non-finite entry, or whose eigenvectors a GPU does not find, gets NaN instead of stopping its batch.
    """
    xp = namespace(h)
    finite = xp.all(xp.isfinite(h), axis=(-2, -1))
    usable = xp.where(finite[:, None, None], h, xp.zeros_like(h))
    if array_api_compat.is_cupy_array(h):
        values, vectors, found = checked_eigen(usable, xp.linalg.eigh)
        finite = finite & found
    else:
        values, vectors = xp.linalg.eigh(usable)
    nan = xp.asarray(float("nan"), dtype=h.dtype)
    return xp.where(finite[:, None], values, nan), xp.where(finite[:, None, None], vectors, nan)


JACOBI = 32  #: Largest size for which cuSOLVER's batched eigenvalue solver is made.


def checked_eigen(h: Array, eigh: Callable[[Array], tuple[Array, Array]]) -> tuple[Array, Array, Array]:
    """Return eigenvalues, eigenvectors, and whether they are those of each member, by a solver that may fail silently.

    CuPy solves a stack by cuSOLVER's batched Jacobi method, which stops after a number of sweeps and says nothing, and
    one matrix by divide and conquer. Large matrices are solved one by one, small ones as a stack; members whose
    residual ``max |h v - w v|`` is above 1e-10 of the matrix's norm are solved again, one by one.
    """
    xp = namespace(h)
    if h.shape[-1] <= JACOBI:
        values, vectors = eigh(h)
        found = _are_eigenpairs(h, values, vectors)
        again = [int(k) for k in to_numpy(xp.nonzero(~found)[0])]
        if not again:
            return values, vectors, found
        pairs = [(values[k, ...], vectors[k, ...]) for k in range(h.shape[0])]
    else:
        again, pairs = list(range(h.shape[0])), [(h, h)] * h.shape[0]  # to be replaced
    for k in again:
        pairs[k] = eigh(h[k, ...])
    values, vectors = (xp.stack([pair[part] for pair in pairs]) for part in range(2))
    return values, vectors, _are_eigenpairs(h, values, vectors)


def _are_eigenpairs(h: Array, values: Array, vectors: Array) -> Array:
    xp = namespace(h)
    residual = xp.max(xp.abs(h @ vectors - vectors * values[:, None, :]), axis=(-2, -1))
    identity = xp.eye(h.shape[-1], dtype=h.dtype)
    skew = xp.max(xp.abs(xp.matrix_transpose(vectors) @ vectors - identity), axis=(-2, -1))
    return (residual <= 1e-10 * xp.linalg.matrix_norm(h)) & (skew <= 1e-10)

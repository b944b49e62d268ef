"""Batched linear algebra that reports success per member, on every back end.

NumPy's batched Cholesky raises for the whole stack when one member fails; CuPy returns garbage without a word.
Here neither happens.
"""

from __future__ import annotations

import array_api_compat
import numpy as np
from scipy.linalg import lapack

from moestat.arrays import Array, namespace, to_numpy


def cholesky_solve(h: Array, g: Array) -> tuple[Array, Array]:
    """Solve h x = g by Cholesky factorisation, member by member of a batch.

    Parameters
    ----------
    h : array (B, p, p)
        Symmetric matrices, float64.
    g : array (B, p)
        Right-hand sides.

    Returns
    -------
    x : array (B, p)
        Solutions; zero where the factorisation failed.
    ok : bool array (B,)
        Whether the member was positive definite (in floating point) and its solution is finite.
    """
    xp = namespace(h, g)
    if array_api_compat.is_cupy_array(h):
        x, ok = _cuda(h, g)
    else:
        numpy_x, numpy_ok = _lapack(to_numpy(h), to_numpy(g))
        x, ok = xp.asarray(numpy_x), xp.asarray(numpy_ok)
    ok = ok & xp.all(xp.isfinite(x), axis=-1)
    return xp.where(ok[:, None], x, xp.zeros_like(x)), ok


def _lapack(h: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factor and solve by one LAPACK call per member: cheaper than NumPy's batched LU, and it reports failures."""
    x = np.zeros(g.shape)
    ok = np.zeros(len(g), dtype=bool)
    for k in range(len(g)):
        _, x[k], info = lapack.dposv(h[k].T, g[k], lower=1)  # h[k].T is h[k] in Fortran order
        ok[k] = info == 0
    return x, ok


def _cuda(h: Array, g: Array) -> tuple[Array, Array]:
    """Solve on the GPU; cuSOLVER's per-member info is not handed out, so the residual decides."""
    import cupyx
    from cupyx import lapack as cuda_lapack

    xp = namespace(h)
    with cupyx.errstate(linalg="ignore"):
        x = cuda_lapack.posv(h.copy(), g.copy())
    residual = xp.linalg.vector_norm((h @ x[..., None])[..., 0] - g, axis=-1)
    size = xp.linalg.matrix_norm(h) * xp.linalg.vector_norm(x, axis=-1) + xp.linalg.vector_norm(g, axis=-1)
    return x, residual <= 1e-10 * size


def symmetric_eigen(h: Array) -> tuple[Array, Array]:
    """Return eigenvalues (B, p), ascending, and eigenvectors (B, p, p) of symmetric matrices.

    A member with a non-finite entry gets NaN instead of stopping its batch.
    """
    xp = namespace(h)
    finite = xp.all(xp.isfinite(h), axis=(-2, -1))
    values, vectors = xp.linalg.eigh(xp.where(finite[:, None, None], h, xp.zeros_like(h)))
    nan = xp.asarray(float("nan"), dtype=h.dtype)
    return xp.where(finite[:, None], values, nan), xp.where(finite[:, None, None], vectors, nan)

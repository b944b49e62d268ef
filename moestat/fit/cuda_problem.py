"""Loss, gradient and Hessian of :class:`moestat.fit.moments.Problem` on a GPU, by two kernels and library products.

The algebra is the same. What is done sample by sample, from the scores to the weights of pairs, is one kernel instead
of a hundred array operations, and the Hessian is written to its place by another; the products between them take most
of the time. All is float64: the tensor cores of a large GPU multiply it as fast as they do float32.
"""

from __future__ import annotations

from typing import Any, Self

import array_api_compat
import numpy as np

from moestat.arrays import Array, namespace
from moestat.fit import cuda
from moestat.fit.moments import Precision, Problem
from moestat.models import experts
from moestat.models.regression import Model


class CudaProblem(Problem):
    """The least-squares problems of members on data sets, see :class:`Problem`; CuPy arrays only."""

    def __init__(self, model: Model, n_atoms: int, x: Array, y: Array) -> None:
        super().__init__(model, n_atoms, x, y, "double")
        xp, words = namespace(x), cuda.definitions(model, n_atoms)
        self.residuals, self.weights, self.assemble = (
            cuda.kernel(name, words) for name in ("residuals", "weights", "assemble")
        )
        self.width = xp.asarray(self.layout.sizes)
        self.place = xp.asarray(self.layout.index.astype(np.int32))

    def _chunk(self, x: Array, y: Array) -> tuple[Array, ...]:
        """Return (x transposed, score features, expert features, y, what the products need or nothing) of one chunk."""
        xt, q, e, y, *cached = super()._chunk(x, y)
        return xt, q, e, y, *(self._right(q, e, cached[0]) if cached else ())

    def _right(self, q: Array, e: Array, monomials: Array) -> tuple[Array, ...]:
        """Return the right factors of the products, samples first; a batched product wants them contiguous."""
        sizes = self.layout.sizes
        return tuple(_samples_first(part) for part in (q, e, *(monomials[:, :size, :] for size in sizes)))

    def in_double(self) -> Self:
        """Return the same problem, which is float64."""
        return self

    def loss(self, theta: Array, tau: experts.Smoothing, wanted: np.ndarray | None = None) -> Array:
        """Return the loss (M,) at theta (M, N, P); of members that are not ``wanted``, (M,) bool, any number."""
        xp, size = namespace(theta), theta.shape[0]
        members, data, some, taus = self._some(wanted, theta, tau)
        total: Any = 0.0
        for _, q, e, y, *_ in self.chunks:
            residual = xp.empty((len(members), y.shape[-1]))
            self._launch(self.residuals, some, q, e, y, data, taus, residual)
            total = total + 0.5 * xp.sum(residual * residual, axis=-1)
        return _written(xp.zeros(size), members, total / self.n)

    def hessian(
        self,
        theta: Array,
        tau: experts.Smoothing,
        curvature: Array | float = 1.0,
        wanted: np.ndarray | None = None,
        into: tuple[Array, ...] | None = None,
    ) -> tuple[Array, ...]:
        """Return loss (M,), gradient (M, p) and Hessian (M, p, p); arguments as of the plain problem."""
        xp, (size, atoms, width) = namespace(theta), theta.shape
        p, pairs = atoms * width, atoms * (atoms + 1) // 2
        loss, gradient, hessian = into or (xp.empty(size), xp.empty((size, p)), xp.empty((size, p, p)))
        members, data, some, taus, factors = self._some(wanted, theta, tau, curvature)
        sets, among = np.unique(data, return_inverse=True)
        sums: list[Any] = [0.0] * 6
        for xt, q, e, y, *right in self.chunks:
            shape = (len(members), y.shape[-1])
            residual = xp.empty(shape)
            left = [xp.empty((shape[0], k, shape[1])) for k in (atoms, atoms, pairs, atoms * atoms + atoms, pairs)]
            self._launch(self.weights, some, q, e, y, data, taus, residual, factors, *left)
            place = data if right else among
            if not right:
                xt, q, e = (part[xp.asarray(sets)] for part in (xt, q, e))
                right = list(self._right(q, e, self._monomials(xt)))
            new = [_products(a, b, place) for a, b in zip(left, right, strict=True)]
            sums = [a + b for a, b in zip(sums, [0.5 * xp.sum(residual * residual, axis=-1), *new], strict=True)]
        if wanted is not None and not wanted[members].all():  # all were computed
            kept = np.flatnonzero(wanted[members])
            members, sums = members[kept], [part[xp.asarray(kept)] for part in sums]
        _written(loss, members, sums[0] / self.n)
        _written(gradient, members, xp.reshape(xp.concat(sums[1:3], axis=-1), (len(members), p)) / self.n)
        at = (self.width, self.place, self.scale, np.float64(1.0 / self.n), np.int64(p * p), xp.asarray(members))
        cuda.launch(self.assemble, p * p, len(members), *sums[3:], *at, hessian)
        return loss, gradient, hessian

    def _some(self, wanted: np.ndarray | None, theta: Array, *numbers: Any) -> tuple[Any, ...]:
        """Return which members are computed, ordered by their data sets, these, theta, and numbers, one for each.

        Those are all where most are wanted and have data of their own, since to gather these costs more.
        """
        xp, size = namespace(theta), theta.shape[0]
        data = self.data(size)
        each = [xp.broadcast_to(xp.reshape(xp.asarray(v, dtype=xp.float64), (-1,)), (size,)) for v in numbers]
        rows = np.arange(size) if wanted is None else np.flatnonzero(wanted)
        if 2 * len(rows) > size and _apart(data):
            rows = np.arange(size)
        rows = rows[np.argsort(data[rows], kind="stable")]
        which = xp.asarray(rows)
        return rows, data[rows], theta[which], *(v[which] for v in each)

    def _launch(
        self, kernel: cuda.Kernel, theta: Array, q: Array, e: Array, y: Array, data: np.ndarray, *more: Array
    ) -> None:
        """Launch a kernel on the scores and pre-activations of members that are ordered by their data sets."""
        members, n = theta.shape[0], y.shape[-1]
        pairs = zip(self._split(theta), (q, e), strict=True)
        scores, inner = (_products(part, features, data) for part, features in pairs)
        tau, *rest = more
        start = (scores, inner, y, namespace(theta).asarray(data), np.int64(n), tau)
        cuda.launch(kernel, n, members, *start, *rest)


def _apart(data: np.ndarray) -> bool:
    """Return whether members have data of their own, most of them: then one product of a stack is made for all."""
    return 2 * len(np.unique(data)) > len(data)


def _products(left: Array, right: Array, data: np.ndarray) -> Array:
    """Multiply matrices (M, a, b) of members by those (D, b, c) of their data sets (M,), in whose order they stand.

    Members that share a data set share a product. Where most have their own, the matrices of these are gathered.
    """
    xp, (size, a, b), c = namespace(left), left.shape, right.shape[-1]
    if _apart(data):
        own = right if np.array_equal(data, np.arange(right.shape[0])) else right[xp.asarray(data)]
        return left @ own
    out = xp.empty((size, a, c))
    for k, first, count in zip(*np.unique(data, return_index=True, return_counts=True), strict=True):
        rows = slice(first, first + count)
        out[rows] = xp.reshape(xp.reshape(left[rows], (-1, b)) @ right[k], (-1, a, c))
    return out


def problem_on_device(model: Model, n_atoms: int, x: Array, y: Array, precision: Precision) -> Problem:
    """Return the problems of array code, or those of the kernels where the arrays are on a GPU."""
    if array_api_compat.is_cupy_array(x) and cuda.serves(model):
        return CudaProblem(model, n_atoms, x, y)
    return Problem(model, n_atoms, x, y, precision)


def _written(whole: Array, rows: np.ndarray, new: Array) -> Array:
    """Write new rows to their places, and return the whole."""
    whole[namespace(whole).asarray(rows)] = new
    return whole


def _samples_first(part: Array) -> Array:
    """Return (D, k, n) as contiguous (D, n, k)."""
    xp = namespace(part)
    return xp.ascontiguousarray(xp.matrix_transpose(part))

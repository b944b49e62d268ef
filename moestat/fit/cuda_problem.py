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
from moestat.fit.moments import Precision, Problem, product
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
        problem, members, some, taus = self._some(wanted, theta, tau)
        total: Any = 0.0
        for _, q, e, y, *_ in problem.chunks:
            residual = xp.empty((len(members), y.shape[-1]))
            self._launch(self.residuals, some, q, e, y, taus, residual)
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
        problem, members, some, taus, factors = self._some(wanted, theta, tau, curvature)
        sums: list[Any] = [0.0] * 6
        for xt, q, e, y, *right in problem.chunks:
            shape = (len(members), y.shape[-1])
            residual = xp.empty(shape)
            left = [xp.empty((shape[0], k, shape[1])) for k in (atoms, atoms, pairs, atoms * atoms + atoms, pairs)]
            self._launch(self.weights, some, q, e, y, taus, residual, factors, *left)
            right = right or list(self._right(q, e, self._monomials(xt)))
            new = [product(a, b) for a, b in zip(left, right, strict=True)]
            sums = [a + b for a, b in zip(sums, [0.5 * xp.sum(residual * residual, axis=-1), *new], strict=True)]
        rows = members if wanted is None else np.flatnonzero(wanted)
        if len(rows) < len(members):  # all were computed
            sums = [part[xp.asarray(rows)] for part in sums]
        _written(loss, rows, sums[0] / self.n)
        _written(gradient, rows, xp.reshape(xp.concat(sums[1:3], axis=-1), (len(rows), p)) / self.n)
        at = (self.width, self.place, self.scale, np.float64(1.0 / self.n), np.int64(p * p), xp.asarray(rows))
        cuda.launch(self.assemble, p * p, len(rows), *sums[3:], *at, hessian)
        return loss, gradient, hessian

    def _some(self, wanted: np.ndarray | None, theta: Array, *numbers: Any) -> tuple[Any, ...]:
        """Return the problem of those members that are computed, their rows, theta, and numbers, one for each.

        Those are all where most are wanted, since to gather their data costs more.
        """
        xp, size = namespace(theta), theta.shape[0]
        each = [xp.broadcast_to(xp.reshape(xp.asarray(v, dtype=xp.float64), (-1,)), (size,)) for v in numbers]
        rows = np.arange(size) if wanted is None else np.flatnonzero(wanted)
        if len(rows) == size or self.batch > 1 and 2 * len(rows) > size:
            return self, np.arange(size), theta, *map(xp.ascontiguousarray, each)
        which = xp.asarray(rows)
        return self.of(rows // (size // self.batch)), rows, theta[which], *(v[which] for v in each)

    def _launch(self, kernel: cuda.Kernel, theta: Array, q: Array, e: Array, y: Array, *more: Array) -> None:
        """Launch a kernel on the scores and pre-activations of members."""
        members, n = theta.shape[0], y.shape[-1]
        scores, inner = (product(part, features) for part, features in zip(self._split(theta), (q, e), strict=True))
        tau, *rest = more
        start = (scores, inner, y, np.int32(members // y.shape[0]), np.int64(n), tau)
        cuda.launch(kernel, n, members, *start, *rest)


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

"""Loss, gradient and Hessian of :class:`moestat.fit.moments.Problem` on a GPU, by two kernels and library products.

The algebra is the same. What is done sample by sample, from the scores to the weights of pairs, is one kernel instead
of a hundred array operations, and the Hessian is written to its place by another; the products between them take most
of the time. All is float64: the tensor cores of a large GPU multiply it as fast as they do float32.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    @property
    def _kept(self) -> int:
        """How many numbers of a sample the right factors of the products have."""
        return int(sum(self.layout.sizes)) + self.model.atom_size

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
        members, some, taus = self._some(wanted, theta, tau)
        total: Any = 0.0
        for _, q, e, y, *_ in self.chunks:
            residual = xp.empty((len(members.rows), y.shape[-1]))
            self._launch(self.residuals, some, q, e, y, members, taus, residual)
            total = total + 0.5 * xp.sum(residual * residual, axis=-1)
        return _written(xp.zeros(size), members.rows, total / self.n)

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
        members, some, taus, factors = self._some(wanted, theta, tau, curvature)
        rows = members.rows
        sums: list[Any] = [0.0] * 6
        for xt, q, e, y, *right in self.chunks:
            shape = (len(rows), y.shape[-1])
            residual = xp.empty(shape)
            left = [xp.empty((shape[0], k, shape[1])) for k in (atoms, atoms, pairs, atoms * atoms + atoms, pairs)]
            self._launch(self.weights, some, q, e, y, members, taus, residual, factors, *left)
            places = members.sets
            if not right:
                xt, q, e = (part[xp.asarray(members.sets)] for part in (xt, q, e))
                right, places = list(self._right(q, e, self._monomials(xt))), np.arange(len(members.sets))
            new = [_products(a, b, members, places) for a, b in zip(left, right, strict=True)]
            sums = [a + b for a, b in zip(sums, [0.5 * xp.sum(residual * residual, axis=-1), *new], strict=True)]
            del left, right  # the next chunk takes as much memory
        if wanted is not None and not wanted[rows].all():  # all were computed
            kept = np.flatnonzero(wanted[rows])
            rows, sums = rows[kept], [part[xp.asarray(kept)] for part in sums]
        _written(loss, rows, sums[0] / self.n)
        _written(gradient, rows, xp.reshape(xp.concat(sums[1:3], axis=-1), (len(rows), p)) / self.n)
        at = (self.width, self.place, self.scale, np.float64(1.0 / self.n), np.int64(p * p), xp.asarray(rows))
        cuda.launch(self.assemble, p * p, len(rows), *sums[3:], *at, hessian)
        return loss, gradient, hessian

    def _some(self, wanted: np.ndarray | None, theta: Array, *numbers: Any) -> tuple[Any, ...]:
        """Return the members that are computed, their theta, and numbers, one for each.

        Those are all where most are wanted and have data of their own, since to gather these costs more.
        """
        xp, size = namespace(theta), theta.shape[0]
        data = self.data(size)
        each = [xp.broadcast_to(xp.reshape(xp.asarray(v, dtype=xp.float64), (-1,)), (size,)) for v in numbers]
        members = _Members.of(np.arange(size), data)
        if wanted is not None and not (members.apart and 2 * np.sum(wanted) > size):
            members = _Members.of(np.flatnonzero(wanted), data)
        which = xp.asarray(members.rows)
        return members, theta[which], *(v[which] for v in each)

    def _launch(
        self, kernel: cuda.Kernel, theta: Array, q: Array, e: Array, y: Array, members: _Members, *more: Array
    ) -> None:
        """Launch a kernel on the scores and pre-activations of members."""
        xp, n, (tau, *rest) = namespace(theta), y.shape[-1], more
        pairs = zip(self._split(theta), (q, e), strict=True)
        scores, inner = (_products(part, features, members, members.sets) for part, features in pairs)
        start = (scores, inner, y, xp.asarray(np.repeat(members.sets, members.counts)), np.int64(n), tau)
        cuda.launch(kernel, n, len(members.rows), *start, *rest)


@dataclass(frozen=True)
class _Members:
    """Members that are computed, ordered by their data sets."""

    rows: np.ndarray  #: (M,) int, their places.
    sets: np.ndarray  #: (K,) int, the data sets that they have.
    counts: np.ndarray  #: (K,) int, how many have each.

    @classmethod
    def of(cls, rows: np.ndarray, data: np.ndarray) -> _Members:
        """Order members in some rows by their data sets, of which ``data`` has one for every row."""
        sets, counts = np.unique(data[rows], return_counts=True)
        return cls(rows[np.argsort(data[rows], kind="stable")], sets, counts)

    @property
    def apart(self) -> bool:
        """Whether most have data of their own: then one product of a stack is made for all."""
        return 2 * len(self.sets) > len(self.rows)


def _products(left: Array, right: Array, members: _Members, places: np.ndarray) -> Array:
    """Multiply matrices (M, a, b) of members by those (D, b, c) of their data sets, which stand at ``places`` (K,).

    Members that share a data set share a product. Where most have their own, the matrices of these are gathered.
    """
    xp, (size, a, b), c = namespace(left), left.shape, right.shape[-1]
    if members.apart:
        data = np.repeat(places, members.counts)
        return left @ (right if np.array_equal(data, np.arange(right.shape[0])) else right[xp.asarray(data)])
    out, first = xp.empty((size, a, c)), 0
    for k, count in zip(places, members.counts, strict=True):
        rows = slice(first, first := first + count)
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

r"""Loss, gradient and exact Hessian of the regression mixture by monomial moments.

With score :math:`s_i = q(x)'\gamma_i` and pre-activation :math:`h_i = e(x)'\eta_i`, every block of the Hessian of
the least-squares loss is a sum over samples of (a weight of the pair of atoms) x (a product of two features), and the
products of two features are monomials in x: of degree 4 for gate-gate, 3 for gate-expert, 2 for expert-expert. So
the p x p Hessian is three matrix products, (weights of pairs x samples) times (samples x monomials), and a gather. At
d = 8, N = 9 that is a sixth of the flops of J'J, and the residual's second-order term only changes the weights:
exact Newton costs the same as Gauss-Newton. No Jacobian is ever formed.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, Literal, Self

import array_api_compat
import numpy as np

from moestat.arrays import Array, free_bytes, namespace
from moestat.models import experts, gates
from moestat.models.blocks import row_blocks
from moestat.models.regression import Model

Precision = Literal["mixed", "double"]

CACHE_BYTES = 256 * 2**20
"""Monomials are kept between iterations if they need no more than this; the numbers are the same either way."""
CUDA_ROWS = 2**15
"""Samples per chunk on a GPU, where a chunk of the processor's size is over before the next one has been launched."""


def cache_bytes(like: Array) -> int:
    """Return the memory for monomials of a batch: on a GPU a quarter of what is free, on the CPU ``CACHE_BYTES``."""
    if array_api_compat.is_cupy_array(like):
        return free_bytes(like) // 4
    return CACHE_BYTES


def rows_per_chunk(model: Model, n_atoms: int, like: Array) -> int:
    """Return the number of samples per chunk.

    It depends on the model and on the kind of device alone, so that no result depends on the batch; on the CPU many for
    small models, where the overhead of a call counts, few for large ones, so that a chunk stays in cache.
    """
    if array_api_compat.is_cupy_array(like):
        return CUDA_ROWS
    width = n_atoms * n_atoms + layout(model, n_atoms).sizes[0]
    return next((rows for rows in (8192, 4096) if rows * width <= 2**20), 2048)


def monomials(xt: Array, degree: int) -> Array:
    """Return all monomials of degree 0..``degree``, by degree, then lexicographically.

    Takes ``xt`` (..., d, n). Returns (..., M, n), M = binomial(d + degree, degree).
    """
    xp = namespace(xt)
    d = xt.shape[-2]
    blocks = [xp.ones_like(xt[..., :1, :]), xt]
    starts = list(range(d))  # where the monomials whose smallest variable is >= a begin
    while len(blocks) <= degree:
        previous = blocks[-1]
        parts = [xt[..., a : a + 1, :] * previous[..., starts[a] :, :] for a in range(d)]
        blocks.append(xp.concat(parts, axis=-2))
        starts = [sum(part.shape[-2] for part in parts[:a]) for a in range(d)]
    return xp.concat(blocks[: degree + 1], axis=-2)


def monomial_index(d: int, degree: int) -> dict[tuple[int, ...], int]:
    """Return the position of every monomial, written as its sorted tuple of variables."""
    order = [t for k in range(degree + 1) for t in combinations_with_replacement(range(d), k)]
    return {t: position for position, t in enumerate(order)}


@dataclass(frozen=True)
class Layout:
    """Where the entries of the Hessian are found among the moments."""

    #: Degree of the monomials of gate-gate, gate-expert and expert-expert products.
    degrees: tuple[int, int, int]
    sizes: tuple[int, int, int]  #: Their numbers of monomials.
    index: np.ndarray  #: (p * p,) int, position of every entry in the concatenated moments.
    scale: np.ndarray  #: (p, p), factors of sqrt(2) of the isometric storage.
    root: np.ndarray  #: (P,), those of the coordinates of an atom, of which they are products.
    terms: tuple[list[tuple[int, ...]], ...]  #: The monomials of the score, and those of the expert.


@lru_cache(maxsize=16)
def layout(model: Model, n_atoms: int) -> Layout:
    """Return the layout for ``n_atoms`` atoms of a model."""
    d, n, size = model.d, n_atoms, model.atom_size
    pairs = list(combinations_with_replacement(range(d), 2))
    gate: list[tuple[int, ...]] = [()]
    if model.score != "partial":
        gate += [(a,) for a in range(d)]
    if model.score != "linear":
        gate += [(a, a) for a in range(d)] + [(a, b) for a, b in pairs if a < b]
    expert: list[tuple[int, ...]] = [(a,) for a in range(d)] + [()]
    degree = max(len(t) for t in gate)
    degrees = (2 * degree, degree + 1, 2)
    position = monomial_index(d, max(degrees))
    sizes = tuple(sum(len(t) <= k for t in position) for k in degrees)
    atom = gate + expert
    feature = np.array([[position[tuple(sorted(s + t))] for t in atom] for s in atom])
    is_gate = np.arange(size) < len(gate)
    # pairs of one kind are stored with i = j first, then i < j row by row; gate-expert pairs are stored as i N + j
    ij = np.zeros((n, n), dtype=np.int64)
    ij[np.diag_indices(n)] = np.arange(n)
    ij[np.triu_indices(n, 1)] = n + np.arange(n * (n - 1) // 2)
    ij = np.maximum(ij, ij.T)
    flat = np.arange(n * n).reshape(n, n)
    n_pairs = n * (n + 1) // 2
    offsets = np.cumsum([0, n_pairs * sizes[0], n * n * sizes[1]])
    atom_i, atom_j = np.arange(n)[:, None, None, None], np.arange(n)[None, None, :, None]
    f = feature[None, :, None, :]
    gate_k, gate_l = is_gate[None, :, None, None], is_gate[None, None, None, :]
    index = np.where(
        gate_k & gate_l,
        offsets[0] + ij[atom_i, atom_j] * sizes[0] + f,
        np.where(
            ~gate_k & ~gate_l,
            offsets[2] + ij[atom_i, atom_j] * sizes[2] + f,
            offsets[1] + np.where(gate_k, flat[atom_i, atom_j], flat[atom_j, atom_i]) * sizes[1] + f,
        ),
    )
    root = np.array([np.sqrt(2.0) if len(set(t)) == 2 else 1.0 for t in atom])
    scale = np.tile(root, n)
    scale = scale[:, None] * scale[None, :]
    return Layout(degrees, (sizes[0], sizes[1], sizes[2]), index.reshape(-1), scale, root, (gate, expert))


class Problem:
    """The least-squares problems 1/2 mean (f_theta(x) - y)^2 of D data sets, with N = ``n_atoms`` atoms.

    The samples x (D, n, d) and y (D, n) are kept once. Members theta (M, N, P) are S = M / K sets of parameters on each
    of the K data sets that ``sets`` names, those of the first one first: all D of them once, unless :meth:`of` says
    otherwise. S may differ from call to call. With "mixed" precision the products that make the Hessian run in float32;
    loss and gradient are float64 always.
    """

    def __init__(self, model: Model, n_atoms: int, x: Array, y: Array, precision: Precision = "mixed") -> None:
        xp = namespace(x, y)
        self.model, self.n_atoms, self.precision = model, n_atoms, precision
        self.dtype = xp.float32 if precision == "mixed" else xp.float64
        self.layout = layout(model, n_atoms)
        self.index = xp.asarray(self.layout.index)
        self.scale = xp.asarray(self.layout.scale)
        self.upper = tuple(xp.asarray(part) for part in np.triu_indices(n_atoms, 1))
        self._keep(x, y)

    def _keep(self, x: Array, y: Array) -> None:
        """Cut the samples into chunks."""
        self.sets, self.n = np.arange(x.shape[0]), x.shape[-2]
        parts = row_blocks(self.n, rows_per_chunk(self.model, self.n_atoms, x))
        itemsize = 4 if self.precision == "mixed" else 8
        self.cached = x.shape[0] * self.n * self._kept * itemsize <= cache_bytes(x)
        self.chunks = [self._chunk(x[:, rows, :], y[:, rows]) for rows in parts]

    @property
    def _kept(self) -> int:
        """How many numbers of a sample are kept in place of being computed in every step."""
        return int(self.layout.sizes[0])

    def _chunk(self, x: Array, y: Array) -> tuple[Array, ...]:
        """Return (x transposed, score features, expert features, y, monomials or nothing) of one chunk."""
        xp = namespace(x)
        xt = gates.samples_last(x)
        q, e = gates.score_features(x, self.model.score), experts.expert_features(x)
        y = xp.reshape(xp.reshape(y, (-1,)), y.shape)
        if not self.cached:
            return xt, q, e, y
        return xt, q, e, y, self._monomials(xt)

    def _monomials(self, xt: Array) -> Array:
        return monomials(namespace(xt).astype(xt, self.dtype), max(self.layout.degrees))

    def of(self, sets: np.ndarray) -> Self:
        """Return the same problem for members on data sets (K,), given by their positions; nothing is copied."""
        new = copy(self)
        new.sets = sets
        return new

    def data(self, size: int) -> np.ndarray:
        """Return the data set of each of so many members."""
        return np.repeat(self.sets, size // len(self.sets))

    def in_double(self) -> Self:
        """Return the same problem with every product in float64."""
        if self.precision == "double":
            return self
        new = copy(self)
        new.precision, new.cached = "double", False
        new.dtype = namespace(self.index).float64
        new.chunks = [chunk[:4] for chunk in self.chunks]
        return new

    def loss(self, theta: Array, tau: experts.Smoothing, wanted: np.ndarray | None = None) -> Array:
        """Return the loss (M,) at theta (M, N, P); for members that are not ``wanted``, (M,) bool, any number."""
        (loss,) = self._for(wanted, None, self._loss, theta, tau)
        return loss

    def hessian(
        self,
        theta: Array,
        tau: experts.Smoothing,
        curvature: Array | float = 1.0,
        wanted: np.ndarray | None = None,
        into: tuple[Array, ...] | None = None,
    ) -> tuple[Array, ...]:
        """Return loss (M,), gradient (M, p) and Hessian (M, p, p) at theta (M, N, P); p = N P, atoms in turn.

        ``tau``, a number or (M, 1, 1), smooths the ReLU; ``curvature``, the same, is the factor of the residual's
        second-order term: 1 for the exact Hessian, 0 for Gauss-Newton's J'J. Members that are not ``wanted``, (M,)
        bool, keep what they have in ``into``, which is the result's to write to.
        """
        return self._for(wanted, into, self._hessian, theta, tau, curvature)

    def _for(
        self, wanted: np.ndarray | None, into: tuple[Array, ...] | None, compute: Any, theta: Array, *numbers: Any
    ) -> tuple[Array, ...]:
        """Compute the members that are wanted: all where these are most, which costs less than to gather their data."""
        size = theta.shape[0]
        data = self.data(size)
        if wanted is None or wanted.all():
            return compute(self._chunks(data), theta, *numbers)  # type: ignore[no-any-return]
        xp, rows = namespace(theta), np.flatnonzero(wanted)
        if self.chunks[0][0].shape[0] > 1 and 2 * len(rows) > size:
            new = compute(self._chunks(data), theta, *numbers)
            mask = xp.asarray(wanted)
            if into is None:
                return new  # type: ignore[no-any-return]
            return tuple(xp.where(_over(mask, a), a, b) for a, b in zip(new, into, strict=True))
        some = xp.asarray(rows)
        few = [v if isinstance(v, float | int) else xp.take(v, some, axis=0) for v in (theta, *numbers)]
        new = compute(self._chunks(data[rows]), *few)
        place = np.full(size, len(rows))
        place[rows] = np.arange(len(rows))
        if into is None:
            return tuple(xp.take(a, xp.asarray(np.minimum(place, len(rows) - 1)), axis=0) for a in new)
        place[~wanted] += np.flatnonzero(~wanted)
        return tuple(xp.take(xp.concat(pair), xp.asarray(place), axis=0) for pair in zip(new, into, strict=True))

    def _chunks(self, data: np.ndarray) -> list[tuple[Array, ...]]:
        """Return the chunks with the data sets of members: each one once where all have as many members, in order."""
        distinct, counts = np.unique(data, return_counts=True)
        shared = counts.min() == counts.max() and np.array_equal(data, np.repeat(distinct, counts))
        named = distinct if shared else data
        if np.array_equal(named, np.arange(self.chunks[0][0].shape[0])):
            return self.chunks
        sets = namespace(self.index).asarray(named)
        return [tuple(_taken(part, sets) for part in chunk) for chunk in self.chunks]

    def _loss(self, chunks: list[tuple[Array, ...]], theta: Array, tau: experts.Smoothing) -> tuple[Array, ...]:
        xp = namespace(theta)
        gate, eta = self._split(theta)
        total = None
        for _, q, e, y, *_ in chunks:
            (g,), (phi,) = self._atoms(gate, eta, q, e, tau, 0)
            r = _residual(xp.sum(g * phi, axis=-2), y)
            half = 0.5 * xp.sum(r * r, axis=-1)
            total = half if total is None else total + half
        return (total / self.n,)

    def _hessian(
        self, chunks: list[tuple[Array, ...]], theta: Array, tau: experts.Smoothing, curvature: Array | float
    ) -> tuple[Array, ...]:
        xp = namespace(theta)
        gate, eta = self._split(theta)
        total = gradient = moments = None
        for xt, q, e, y, *cached in chunks:
            (g, *turns), (phi, *slopes) = self._atoms(gate, eta, q, e, tau, 2)
            f = xp.sum(g * phi, axis=-2)
            r = _residual(f, y)
            u = gates.output_slopes(self.model.gate, g, phi, f, *turns)
            v = g * slopes[0]
            r = r[..., None, :]
            half = 0.5 * xp.sum(r * r, axis=(-2, -1))
            ur, vr = u * r, v * r
            piece = xp.concat([product(a, xp.matrix_transpose(b)) for a, b in ((ur, q), (vr, e))], axis=-1)
            m = cached[0] if cached else self._monomials(xt)
            block = self._moments(turns, slopes, curvature, m, g, phi, u, v, ur, vr, r)
            total = half if total is None else total + half
            gradient = piece if gradient is None else gradient + piece
            moments = block if moments is None else moments + block
        gradient = xp.reshape(gradient, (theta.shape[0], -1)) / self.n
        p = gradient.shape[-1]
        entries = xp.reshape(xp.take(moments / self.n, self.index, axis=1), (-1, p, p))
        return total / self.n, gradient, entries * self.scale

    def _split(self, theta: Array) -> tuple[Array, Array]:
        """Return contiguous gate and expert coordinates; the matrix products are faster on them."""
        xp = namespace(theta)
        size = self.model.gate_size
        return xp.concat([theta[..., :size]], axis=-1), xp.concat([theta[..., size:]], axis=-1)

    def _atoms(self, gate: Array, eta: Array, q: Array, e: Array, tau: Any, order: int) -> tuple[Any, ...]:
        """Return the gate and the activation with ``order`` derivatives, each (M, N, rows); see gate_derivatives."""
        model = self.model
        phi = experts.activation(model.expert, product(eta, e), tau=tau, power=model.power, order=order)
        return gates.gate_derivatives(model.gate, product(gate, q), order), phi

    def _moments(self, turns: list[Array], slopes: list[Array], curvature: Any, m: Array, *parts: Array) -> Array:
        r"""Return the moments of one chunk, concatenated: gate-gate, gate-expert, expert-expert.

        With u = df/ds, v = df/dh, residual r and k = ``curvature``, the weights of the pair (i, j) are

        * softmax: u_i u_j - k r (u_i g_j + g_i u_j) + [i=j] k r u_i;   (u_i - k r g_i) v_j + [i=j] k r v_i
        * others:  u_i u_j + [i=j] k r g_i'' phi_i;                     u_i v_j + [i=j] k r g_i' phi_i'
        * all:     v_i v_j + [i=j] k r g_i phi_i''.
        """
        g, phi, u, v, ur, vr, r = parts
        xp, n = namespace(g), self.n_atoms
        kr = curvature * r
        softmax = self.model.gate == "softmax"
        second = None
        if softmax:
            gg_extra, ge_extra = curvature * ur, curvature * vr
            left = u - kr * g
            second = xp.astype(-curvature * ur, self.dtype)
        elif turns:
            gg_extra, ge_extra = turns[1] * phi * kr, turns[0] * slopes[0] * kr
            left = u
        else:
            gg_extra, ge_extra = (1.0 - 2.0 * g) * (curvature * ur), (1.0 - g) * (curvature * vr)
            left = u
        ee_extra = kr * g * slopes[1]
        u, v, g, left, gg_extra, ge_extra, ee_extra = (
            xp.astype(part, self.dtype) for part in (u, v, g, left, gg_extra, ge_extra, ee_extra)
        )
        size, rows = u.shape[0], u.shape[-1]
        gg_same, ee_same = u * u + gg_extra, v * v + ee_extra
        gg, ee = self._pairs(u, left), self._pairs(v, v)
        if softmax:
            gg_same = gg_same + 2.0 * (g * second)
            gg = gg + self._pairs(g, second)
        ge = xp.reshape(left[:, :, None, :] * v[:, None, :, :], (size, n * n, rows))
        counts = self.layout.sizes
        mt = [xp.matrix_transpose(m[:, :count, :]) for count in counts]
        cross = xp.astype(product(xp.concat([ge, ge_extra], axis=1), mt[1]), xp.float64)
        diagonal = xp.eye(n, dtype=xp.float64)[None, :, :, None] * cross[:, n * n :, None, :]
        cross = xp.reshape(cross[:, : n * n, :], (size, n, n, counts[1])) + diagonal
        products = [
            product(xp.concat([gg_same, gg], axis=1), mt[0]),
            cross,
            product(xp.concat([ee_same, ee], axis=1), mt[2]),
        ]
        return xp.concat([xp.astype(xp.reshape(part, (size, -1)), xp.float64) for part in products], axis=1)

    def _pairs(self, left: Array, right: Array) -> Array:
        """Return the products (M, N (N - 1) / 2, rows) of the pairs i < j."""
        xp = namespace(left)
        return xp.take(left, self.upper[0], axis=1) * xp.take(right, self.upper[1], axis=1)


def _taken(part: Array, sets: Array) -> Array:
    """Take data sets out of a part of a chunk; the sums of BLAS depend on its layout, which stays as it was."""
    if isinstance(part, np.ndarray) and part.ndim == 3 and not part.flags.c_contiguous:
        return np.matrix_transpose(np.take(np.matrix_transpose(part), sets, axis=0))
    return namespace(part).take(part, sets, axis=0)


def _over(members: Array, like: Array) -> Array:
    """Return an array (M,) with as many axes as another."""
    return namespace(members).reshape(members, (-1, *(1,) * (like.ndim - 1)))


def _residual(f: Array, y: Array) -> Array:
    """Subtract the responses (D, rows) of the data sets from values (M, rows) of their members."""
    xp = namespace(f)
    return xp.reshape(xp.reshape(f, (y.shape[0], -1, f.shape[-1])) - y[:, None, :], f.shape)


def product(left: Array, right: Array) -> Array:
    """Multiply matrices (M, a, b) of members by those (D, b, c) of their data sets.

    On a GPU and the like the members of a data set share one product. On a processor each has its own: BLAS adds up in
    an order that goes by the shape, and a member's numbers must not depend on how many others there are.
    """
    if left.shape[0] == right.shape[0]:
        return left @ right
    xp, (size, a, b) = namespace(left), left.shape
    sets, c = right.shape[0], right.shape[-1]
    if isinstance(left, np.ndarray):
        return np.reshape(np.reshape(left, (sets, -1, a, b)) @ right[:, None], (size, a, c))
    return xp.reshape(xp.reshape(left, (sets, -1, b)) @ right, (size, a, c))

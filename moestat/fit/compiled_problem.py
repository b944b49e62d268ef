"""Loss, gradient and Hessian of :class:`moestat.fit.moments.Problem`, by code compiled for this processor.

The algebra is the same; three things make it faster. Elementwise work runs in one pass over few arrays that stay in the
cache, but for the exponential, where NumPy's own is best. The products run in :mod:`moestat.fit.vector_code`. And the
monomials of degree 3 and 4, nine tenths of all, are made where they are used and never stored, so that nothing but the
samples is kept: memory is flat, and no sample size meets a cliff.

Members are computed one by one, in chunks of a fixed number of samples: a result depends on its member alone, bit for
bit. It agrees with the plain code to rounding, not bit for bit; so do machines with vectors of different width.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from copy import copy
from functools import lru_cache
from typing import Any, Self

import numpy as np

from moestat.arrays import Array
from moestat.fit import compiled, vector_code
from moestat.fit import compiled_forward as forward
from moestat.fit.moments import Precision, Problem, layout, monomial_index
from moestat.fit.panels import ROWS, places, room_for_sums, whole, zeros
from moestat.models import experts, gates
from moestat.models.regression import Model

_KINDS = {"softmax": forward.SOFTMAX, "sigmoid": forward.SIGMOID}
_GATE = (forward.G, forward.TURN, forward.TWIST)
_EXPERT = (forward.PHI, forward.SLOPE, forward.BEND)


class _Plan:
    """Where everything stands, and room to work in: what depends on model, number of atoms and precision alone."""

    def __init__(self, model: Model, n_atoms: int, precision: Precision) -> None:
        self.itemsize = itemsize = 4 if precision == "mixed" else 8
        self.layout = lay = layout(model, n_atoms)
        n, d = n_atoms, model.d
        position = monomial_index(d, max(lay.degrees))
        names = list(position)
        # every monomial is a product of two of degree at most 2
        self.left = np.array([position[t[: len(t) // 2]] for t in names])
        self.right = np.array([position[t[len(t) // 2 :]] for t in names])
        self.kind = _KINDS.get(model.gate, forward.OWN_GATE)
        # the monomials of score and expert, in the order of the coordinates, and the factors of the former
        self.gate_terms, self.eta_terms = (np.array([position[t] for t in terms]) for terms in lay.terms)
        self.gate_root = lay.root[: model.gate_size]
        score_count = sum(len(t) <= lay.degrees[0] // 2 for t in names)
        self.counts = np.array([score_count, d + 1])
        self.score_sums, self.score_offsets = room_for_sums([(n, score_count), (n, d + 1)], 8)
        self.gate_places = places(n, score_count, 8)[:, self.gate_terms]
        self.eta_places = places(n, d + 1, 8)[:, self.eta_terms] + self.score_offsets[1]
        pairs = n * (n + 1) // 2
        shapes = list(zip((pairs, n * n, pairs), lay.sizes, strict=True))
        self.moment_counts = np.array(lay.sizes)
        self.sums, self.offsets = room_for_sums(shapes, itemsize)
        flat = np.concatenate([(places(*s, itemsize) + o).ravel() for s, o in zip(shapes, self.offsets, strict=True)])
        p = n * model.atom_size
        self.place = flat[lay.index].reshape(p, p).astype(np.uint32)  # unsigned: no check for negative indices
        self.root = np.tile(lay.root, n)
        stored = sum(len(t) <= 2 for t in names)
        self.stored = stored if stored < len(names) else whole(stored, compiled.BREADTH)
        self.xs, self.single_xs = zeros(d, 8), zeros(d, itemsize)
        self.score_features = zeros(whole(score_count, compiled.BREADTH), 8)
        self.features = zeros(whole(stored, compiled.BREADTH), itemsize)
        self.score_features[0], self.features[0] = 1.0, 1.0
        self.spare = zeros(compiled.BREADTH, itemsize)
        self.room, self.lines = zeros(n, 8, outer=(7,)), zeros(5, 8)
        self.room[forward.SLOPE] = 1.0  # as it stays for linear experts
        self.products = zeros(whole(n, compiled.HEIGHT), 8, outer=(2,))
        self.parts = zeros(n, itemsize, outer=(8,))
        self.weights = zeros(whole(max(pairs, n * n), compiled.HEIGHT), itemsize)
        self.multiple = max(vector_code.UNROLL * forward.WIDTH // 4, vector_code.STRIP * forward.WIDTH // 8)


@lru_cache(maxsize=8)
def _plan(model: Model, n_atoms: int, precision: Precision, thread: int) -> _Plan:
    return _Plan(model, n_atoms, precision)


class CompiledProblem(Problem):
    """The least-squares problems of members on data sets, see :class:`Problem`; NumPy arrays only."""

    def __init__(self, model: Model, n_atoms: int, x: Array, y: Array, precision: Precision = "mixed") -> None:
        self.model, self.n_atoms, self.precision = model, n_atoms, precision
        self._keep(x, y)

    def _keep(self, x: Array, y: Array) -> None:
        self.sets, self.n = np.arange(x.shape[0]), x.shape[-2]
        self.samples = [(np.array(a.T, order="C"), np.array(b)) for a, b in zip(x, y, strict=True)]

    def in_double(self) -> Self:
        """Return the same problem with every product in float64."""
        new = copy(self)
        new.precision = "double"
        return new

    @property
    def plan(self) -> _Plan:
        """The room to work in, shared by all problems of one kind in a thread."""
        return _plan(self.model, self.n_atoms, self.precision, threading.get_ident())

    def loss(self, theta: Array, tau: experts.Smoothing, wanted: np.ndarray | None = None) -> Array:
        """Return the loss (M,) at theta (M, N, P), of those that are not ``wanted`` not a number."""
        size, loss = len(theta), np.full(len(theta), np.nan)
        taus, data = _each(tau, size), self.data(size)
        for k in _members(wanted, size):
            loss[k] = self._sum(data[k], theta[k], taus[k], 0.0, 0) / self.n
        return loss

    def hessian(
        self,
        theta: Array,
        tau: experts.Smoothing,
        curvature: Array | float = 1.0,
        wanted: np.ndarray | None = None,
        into: tuple[Array, ...] | None = None,
    ) -> tuple[Array, ...]:
        """Return loss (M,), gradient (M, p) and Hessian (M, p, p); arguments as of the plain problem."""
        plan, n = self.plan, self.n
        size, atoms, width = theta.shape
        p, data = atoms * width, self.data(size)
        taus, factors = _each(tau, size), _each(curvature, size)
        loss, gradient, hessian = into or (np.empty(size), np.empty((size, p)), np.empty((size, p, p)))
        for k in _members(wanted, size):
            plan.sums[:] = 0.0
            loss[k] = self._sum(data[k], theta[k], taus[k], factors[k], 2) / n
            self._write(gradient[k].reshape(atoms, width))
            compiled.assemble(plan.sums / n, plan.place, plan.root, hessian[k])
        return loss, gradient, hessian

    def spread(self, theta: Array, tau: float, variance: float) -> Array:
        """Return the mean over the samples of (variance + r^2) grad f grad f', (M, p, p), at theta (M, N, P)."""
        plan, (size, atoms, width) = self.plan, theta.shape
        matrices, data = np.empty((size, atoms * width, atoms * width)), self.data(size)
        for k in range(size):
            plan.sums[:] = 0.0
            self._sum(data[k], theta[k], tau, 0.0, 2, variance)
            compiled.assemble(plan.sums / self.n, plan.place, plan.root, matrices[k])
        return matrices

    def gradient(self, theta: Array) -> tuple[Array, Array]:
        """Return loss (M,) and gradient (M, N, P) at theta (M, N, P), without a smoothed kink."""
        loss, gradient, data = np.empty(len(theta)), np.empty(theta.shape), self.data(len(theta))
        for k, own in enumerate(gradient):
            loss[k] = self._sum(data[k], theta[k], 0.0, 0.0, 1) / self.n
            self._write(own)
        return loss, gradient

    def _write(self, gradient: np.ndarray) -> None:
        """Write the gradient (N, P) that the plan's sums make."""
        plan, q = self.plan, self.model.gate_size
        gradient[:, :q] = plan.score_sums[plan.gate_places] * plan.gate_root / self.n
        gradient[:, q:] = plan.score_sums[plan.eta_places] / self.n

    def _sum(self, data: int, theta: np.ndarray, tau: float, k: float, order: int, variance: float = -1.0) -> float:
        """Return half the sum of squares of a member on a data set.

        From order 1 on the plan's sums hold its gradient, and with order 2 its moments are added to them, weighted as
        in :meth:`spread` if there is a variance.
        """
        plan, model = self.plan, self.model
        plan.score_sums[:] = 0.0
        x, y = self.samples[data]
        q = model.gate_size
        gate = np.zeros((self.n_atoms, plan.counts[0]))
        gate[:, plan.gate_terms] = theta[:, :q] * plan.gate_root
        eta = np.empty((self.n_atoms, model.d + 1))
        eta[:, plan.eta_terms] = theta[:, q:]
        terms, room, lines, half = (plan.left, plan.right), plan.room, plan.lines, 0.0
        for first in range(0, self.n, ROWS):
            rows = min(ROWS, self.n - first)
            padded = whole(rows, plan.multiple)
            forward.scores(x, first, rows, padded, plan.kind, gate, eta, *terms, plan.xs, plan.score_features, room)
            g, h = room[forward.G, :, :padded], room[forward.H, :, :padded]
            if plan.kind == forward.OWN_GATE:
                for plane, value in zip(_GATE, gates.gate_derivatives(model.gate, g, order), strict=False):
                    room[plane, :, :padded] = value
            else:
                np.exp(g, out=g)
                forward.gate_values(room, lines, plan.kind, padded)
            if model.expert == "relu":
                forward.relu(room, tau, padded)
            elif model.expert == "linear":
                room[forward.PHI, :, :padded] = h
            else:
                values = experts.activation(model.expert, h, tau=tau, power=model.power, order=order)
                for plane, value in zip(_EXPERT, values, strict=False):
                    room[plane, :, :padded] = value
            half += float(forward.residuals(room, lines, y, first, rows, padded))
            if order > 0:
                scores = (plan.score_features, plan.counts, *terms, plan.score_sums, plan.score_offsets)
                start = (rows, padded, room, lines, plan.products)
                if order == 1:
                    compiled.add_gradient(plan.kind, *start, *scores)
                    continue
                parts = (plan.single_xs, plan.parts, plan.weights)
                moments = (plan.features, plan.stored, plan.moment_counts, plan.spare, plan.sums, plan.offsets)
                compiled.add_derivatives(plan.kind, k, variance, *start, *scores, *parts, *moments)
        return half


def _each(value: Any, size: int) -> list[float]:
    """Return a number per member of one number or an array (M, 1, 1)."""
    return [float(v) for v in np.broadcast_to(np.reshape(value, (-1,)), (size,))]


def _members(wanted: np.ndarray | None, size: int) -> Iterable[int]:
    return range(size) if wanted is None else np.flatnonzero(wanted).tolist()

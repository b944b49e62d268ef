"""Algorithm 1 where all but the noise patches are multiples of unit vectors: the compiled steps of one mixture.

In a basis whose first vectors are the v_k and c_k, three patches of a sample have one entry each, so that only the
P - 3 noise patches take products of length d. Every expert has eight neurons, which are the lanes of a vector.
:class:`studies.expert_count.parts.curve_training.Plain` is the reference, and computes where this cannot be compiled.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from moestat.fit.kernel import compiled
from studies.expert_count.parts.compiled_training import move
from studies.expert_count.parts.vector_rows import GROUP, LANES, add_outer, project

UNIFORM = 2.0**-32  # of an unsigned 32-bit number


@compiled
def route(
    products: Any, rows: Any, amplitude: Any, entry: Any, place: Any, theta: Any, drawn: Any, scores: Any, expert: Any
) -> None:
    """Write the expert of each sample, and the scores of all (n, M) less that of the chosen one.

    ``products`` (R, M): of noise patches with the router, ``rows`` (n, k) those of a sample; ``amplitude``, ``entry``,
    ``place`` (n, s): of the patches with one entry; ``theta`` (P, d, M); ``drawn`` (n, M): noise, uint32.
    """
    experts = theta.shape[2]
    for i in range(len(expert)):
        own, noise = scores[i], drawn[i]
        first = products[rows[i, 0]]
        for m in range(experts):
            own[m] = first[m]
        for r in range(1, rows.shape[1]):
            more = products[rows[i, r]]
            for m in range(experts):
                own[m] += more[m]
        for s in range(amplitude.shape[1]):
            by, line = amplitude[i, s], theta[place[i, s], entry[i, s]]
            for m in range(experts):
                own[m] += by * line[m]
        chosen, best = 0, own[0] + noise[0] * UNIFORM
        for m in range(1, experts):
            value = own[m] + noise[m] * UNIFORM
            if value > best:
                best, chosen = value, m
        expert[i] = chosen
        best = own[chosen]
        for m in range(experts):
            own[m] -= best


@compiled
def sort_rows(sample: Any, patch: Any, expert: Any, own: int, ends: Any, starts: Any, at: Any, size: int) -> None:
    """Sort the noise patches by the weights that see them: bin b is ``ends[b]`` to ``ends[b + 1]`` of the order.

    ``starts``: where the sorted rows begin among all numbers; ``at``: where each row is in the order.
    """
    ends[:] = 0
    for r in range(len(sample)):
        ends[expert[sample[r]] * own + (patch[r] if own > 1 else 0)] += 1
    total = 0
    for b in range(len(ends)):
        ends[b], total = total, total + ends[b]
    for r in range(len(sample)):
        b = expert[sample[r]] * own + (patch[r] if own > 1 else 0)
        at[r] = ends[b]
        starts[ends[b]] = r * size
        ends[b] += 1
    for b in range(len(ends) - 1, 0, -1):
        ends[b] = ends[b - 1]
    ends[0] = 0


@compiled
def active(x: float, bounded: bool) -> float:
    """Return the activation, tanh if it is bounded and the cube if not."""
    return math.tanh(x) if bounded else x * x * x


@compiled
def output_of(reach: Any, first: int, bounded: bool) -> float:
    """Return the sum over a patch's eight neurons of their activation; in pairs, as an addition waits for another."""
    f0 = active(reach[first], bounded) + active(reach[first + 1], bounded)
    f1 = active(reach[first + 2], bounded) + active(reach[first + 3], bounded)
    f2 = active(reach[first + 4], bounded) + active(reach[first + 5], bounded)
    f3 = active(reach[first + 6], bounded) + active(reach[first + 7], bounded)
    return (f0 + f1) + (f2 + f3)


@compiled
def to_slope(reach: Any, first: int, factor: float, bounded: bool) -> None:
    """Put ``factor`` times the derivative of the activation in the place of the pre-activations of a patch."""
    for k in range(first, first + LANES):
        if bounded:
            t = math.tanh(reach[k])
            reach[k] = factor * (1 - t * t)
        else:
            reach[k] = 3 * factor * (reach[k] * reach[k])


@compiled
def add_gradients(
    noise: Any,
    y: Any,
    rows: Any,
    amplitude: Any,
    entry: Any,
    place: Any,
    expert: Any,
    pi: Any,
    weights: Any,
    gradient: Any,
    shape: Any,
    order: Any,
    work: Any,
    single: Any,
    margin: Any,
    gate: Any,
    decay: Any,
    least: Any,
    bounded: bool,
) -> None:
    """Add the direction of the weights' gradient of each expert, and write the gradient in the scores.

    ``pi`` (n, M): on entry exponentials of what :func:`route` left, on exit the gradient; ``weights``, ``gradient``
    (M, own, d, 8) flat; ``shape`` (own, d); ``order``: ends, starts and places of :func:`sort_rows`; the rest
    is overwritten. A direction is the gradient times exp(z), z > 0 the least margin of the expert's samples, so that
    no margin is too large for it.
    """
    own, size = shape
    ends, starts, at = order
    n, experts = pi.shape
    block, parts = size * LANES, amplitude.shape[1]
    for b in range(len(ends) - 1):
        last = ends[b + 1] - (ends[b + 1] - ends[b]) % GROUP
        for r in range(ends[b], last, GROUP):
            project(noise, starts, r, 0, weights, b * block, size, work, r * LANES, GROUP)
        for r in range(last, ends[b + 1]):
            project(noise, starts, r, 0, weights, b * block, size, work, r * LANES, 1)
    for m in range(experts):
        least[m] = math.inf
    for i in range(n):
        m, f = expert[i], 0.0
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        whole = experts - experts % 4
        for k in range(0, whole, 4):
            t0 += pi[i, k]
            t1 += pi[i, k + 1]
            t2 += pi[i, k + 2]
            t3 += pi[i, k + 3]
        for k in range(whole, experts):
            t0 += pi[i, k]
        for r in range(rows.shape[1]):
            f += output_of(work, at[rows[i, r]] * LANES, bounded)
        for s in range(parts):
            b = m * own + (place[i, s] if own > 1 else 0)
            here, there = (i * parts + s) * LANES, b * block + entry[i, s] * LANES
            for k in range(LANES):
                single[here + k] = amplitude[i, s] * weights[there + k]
            f += output_of(single, here, bounded)
        gate[i] = 1 / ((t0 + t1) + (t2 + t3))
        margin[i] = y[i] * gate[i] * f
        least[m] = min(least[m], margin[i])
        e = math.exp(-abs(margin[i]))
        decay[i] = e
        pull = -(e if margin[i] > 0 else 1.0) / (1 + e) * margin[i] / n
        by = -pull * gate[i]
        for k in range(experts):
            pi[i, k] *= by
        pi[i, m] += pull
    for i in range(n):
        m, z = expert[i], margin[i]
        e = 1.0 if z <= 0 else decay[i] if least[m] <= 0 else math.exp(least[m] - z)
        factor = -e / (1 + decay[i]) * y[i] * gate[i] / n
        for r in range(rows.shape[1]):
            to_slope(work, at[rows[i, r]] * LANES, factor, bounded)
        for s in range(parts):
            b = m * own + (place[i, s] if own > 1 else 0)
            here, there = (i * parts + s) * LANES, b * block + entry[i, s] * LANES
            to_slope(single, here, factor, bounded)
            for k in range(LANES):
                gradient[there + k] += amplitude[i, s] * single[here + k]
    for b in range(len(ends) - 1):
        last = ends[b + 1] - (ends[b + 1] - ends[b]) % GROUP
        for r in range(ends[b], last, GROUP):
            add_outer(noise, starts, r, 0, work, r * LANES, size, gradient, b * block, GROUP)
        for r in range(last, ends[b + 1]):
            add_outer(noise, starts, r, 0, work, r * LANES, size, gradient, b * block, 1)


@compiled
def add_router(by_score: Any, sample: Any, amplitude: Any, entry: Any, place: Any, gradient: Any, of_rows: Any) -> None:
    """Add the patches with one entry to the router's gradient (P, d, M); lay ``by_score`` out by noise patches."""
    experts = by_score.shape[1]
    for r in range(len(sample)):
        line = by_score[sample[r]]
        for m in range(experts):
            of_rows[r, m] = line[m]
    for i in range(len(by_score)):
        line = by_score[i]
        for s in range(amplitude.shape[1]):
            by, into = amplitude[i, s], gradient[place[i, s], entry[i, s]]
            for m in range(experts):
                into[m] += by * line[m]


class Sparse:
    """The parameters of one mixture; the arguments are those of :class:`.curve_training.Plain`, with J = 8."""

    def __init__(self, sample: Any, weights: np.ndarray, theta: np.ndarray, bounded: bool) -> None:
        experts, own, neurons, size = weights.shape
        if neurons != LANES:
            raise ValueError(f"an expert has {neurons} neurons; compiled are {LANES}")
        self._dims, self._bounded, self._sample = (experts, own, size), bounded, sample
        n, patches, _ = sample.x.shape
        place, entry, amplitude = sample.place, sample.entry, sample.amplitude
        free = np.ones((n, patches), dtype=bool)
        np.put_along_axis(free, place, False, axis=1)
        patch, owner = np.nonzero(free.T)  # sorted by patch
        self._rows = np.argsort(owner, kind="stable").reshape(n, patches - 3)
        self._noise = np.ascontiguousarray(sample.x[owner, patch])
        self._patch, self._owner = patch.astype(np.int64), owner.astype(np.int64)
        self._single = place.astype(np.int64), entry.astype(np.int64), amplitude
        self._weights = np.ascontiguousarray(weights.transpose(0, 1, 3, 2)).reshape(experts, -1)
        self._gradient = np.zeros_like(self._weights)
        self.theta = theta.copy()
        self._apart = len(theta) > 1
        if self._apart:
            bounds = np.searchsorted(patch, np.arange(patches + 1))
            parts = [slice(a, b) for a, b in itertools.pairwise(bounds)]
            self._blocks = [(p, self._noise[part], part) for p, part in enumerate(parts)]
            self._seen, self._left = self._rows, amplitude
        else:  # one Theta for the sum of the patches, which is no sparser than the noise
            self._blocks = [(0, sample.x.sum(axis=1), slice(0, n))]
            self._seen, self._left = np.arange(n)[:, None], amplitude[:, :0]
        self._products = np.empty((self._blocks[-1][2].stop, experts))
        self._scores, self._expert = np.empty((n, experts)), np.zeros(n, dtype=np.int64)
        rows = len(self._noise)
        self._order = np.zeros(experts * own + 1, dtype=np.int64), *np.zeros((2, rows), dtype=np.int64)
        self._work, self._reach = np.empty(rows * LANES), np.empty(n * 3 * LANES)
        self._room = *np.empty((3, n)), np.empty(experts)

    @property
    def weights(self) -> np.ndarray:
        """The weights, (M, P or 1, J, d); a copy."""
        experts, own, size = self._dims
        return np.ascontiguousarray(self._weights.reshape(experts, own, size, LANES).transpose(0, 1, 3, 2))

    def step(self, drawn: np.ndarray, expert_rate: float, router_rate: float) -> None:
        """Take one step, for routing noise (n, M), whole numbers below 2^32."""
        experts, own, size = self._dims
        place, entry, amplitude = self._single
        for p, noise, part in self._blocks:
            np.matmul(noise, self.theta[p], out=self._products[part])
        seen = self._products, self._seen, self._left, entry, place
        route(*seen, self.theta, drawn, self._scores, self._expert)
        sort_rows(self._owner, self._patch, self._expert, own, *self._order, size)
        np.exp(self._scores, out=self._scores)
        weights, gradient = self._weights.reshape(-1), self._gradient.reshape(-1)
        add_gradients(
            *(self._noise.reshape(-1), self._sample.y, self._rows, amplitude, entry, place, self._expert),
            *(self._scores, weights, gradient, (own, size), self._order, self._work, self._reach, *self._room),
            self._bounded,
        )
        move(self._weights, self._gradient, np.einsum("ms,ms->m", self._gradient, self._gradient), expert_rate)
        slope = np.zeros_like(self.theta)
        if self._apart:
            add_router(self._scores, self._owner, amplitude, entry, place, slope, self._products)
        else:
            self._products[:] = self._scores
        for p, noise, part in self._blocks:
            slope[p] += noise.T @ self._products[part]
        self.theta -= router_rate * slope

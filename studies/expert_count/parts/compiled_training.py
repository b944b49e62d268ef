"""Algorithm 1 on the CPU, compiled: one member's parameters, moved step by step.

The plain code, :func:`studies.expert_count.parts.cubic_experts.gradient`, is its reference and its fallback; the two
agree to rounding. A routing that is decided by the last digit can then go the other way, as on another machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from moestat.fit.compiled import BREADTH, HEIGHT, add_products
from moestat.fit.compiled_forward import WIDTH, combine
from moestat.fit.compiled_routing import add_up, logistic_slope, send, to_gradient
from moestat.fit.kernel import compiled
from moestat.fit.panels import ROWS, places, room_for_sums, whole, zeros
from moestat.fit.vector_code import STRIP
from studies.expert_count.parts import cubic_experts
from studies.expert_count.parts.top_one import LOST, SMALL
from studies.expert_count.parts.vector_rows import GROUP, LANES, add_outer, project


@compiled
def route(theta: Any, features: Any, noise: Any, padded: int, scores: Any, expert: Any, best: Any) -> None:
    """Write where the samples of a chunk are sent, ``expert`` (room,), and their ``scores`` (M, room) less the largest.

    ``theta`` (M, F); ``features`` (F, room), zeros beyond the samples; ``noise`` (rows, M); ``padded``: the number of
    samples, rounded up to whole strips; ``best`` (room,) is overwritten.
    """
    combine(theta, features, scores, padded)
    send(scores, noise.T, padded, expert, best)


@compiled
def sort_rows(expert: Any, first: int, count: int, step: int, each: int, ends: Any, starts: Any, place: Any) -> None:
    """Sort the rows of a chunk, ``count`` samples from ``first`` on, by expert; a sample has ``each`` rows.

    ``step``: numbers of a sample. Overwritten are ``ends`` (M + 1,), as the rows of expert m are ``ends[m]`` to
    ``ends[m + 1]``; ``starts`` (room * each,), where the sorted rows begin; ``place`` (room,), a sample's first.
    """
    for m in range(len(ends)):
        ends[m] = 0
    for t in range(count):
        ends[expert[t]] += each
    total = 0
    for m in range(len(ends)):
        ends[m], total = total, total + ends[m]
    for t in range(count):
        m = expert[t]
        place[t] = ends[m]
        for r in range(each):
            starts[ends[m] + r] = (first + t) * step + r * (step // each)
        ends[m] += each
    for m in range(len(ends) - 1, 0, -1):
        ends[m] = ends[m - 1]
    ends[0] = 0


@compiled
def add_gradients(
    x: Any,
    y: Any,
    first: int,
    count: int,
    padded: int,
    expert: Any,
    pi: Any,
    weights: Any,
    by_weight: Any,
    shape: Any,
    rows: Any,
    work: Any,
    room: Any,
    features: Any,
    sums: Any,
) -> None:
    """Add what a chunk of samples has in the gradients of eq. (4): to ``by_weight``, and to the sums of the router's.

    ``x`` (n, P, d) flat; ``first``, ``count``, ``padded``, ``expert``: as in :func:`route` and :func:`sort_rows`, whose
    arrays are ``rows``; ``pi`` (M, room): on entry exponentials of the scores, on exit the gradient in the scores;
    ``weights``, ``by_weight`` (M, own, J / 8, d, 8) flat, J a whole number of eights; ``shape`` (n, M, P, own, J / 8,
    d, F), where ``own`` is P or 1; ``sums``: see :func:`moestat.fit.compiled.add_products`; ``work`` (own * J / 8,
    room * P / own * 8) and ``room`` (2, room) are overwritten.
    """
    n, experts, patches, own, eights, size, read = shape
    ends, starts, place = rows
    each, block = patches // own, size * LANES
    sort_rows(expert, first, count, patches * size, each, ends, starts, place)
    for m in range(experts):
        last = ends[m + 1] - (ends[m + 1] - ends[m]) % GROUP
        for part in range(own * eights):
            at, shift, out = (m * own * eights + part) * block, part // eights * size, work[part]
            for r in range(ends[m], last, GROUP):
                project(x, starts, r, shift, weights, at, size, out, r * LANES, GROUP)
            for r in range(last, ends[m + 1]):
                project(x, starts, r, shift, weights, at, size, out, r * LANES, 1)
    total, factor = room[0], room[1]
    add_up(pi, experts, padded, total)
    for t in range(padded):
        factor[t] = 0.0
    for t in range(count):
        begin, end = place[t] * LANES, (place[t] + each) * LANES
        f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0  # four sums: each addition waits for the one before
        for part in range(own * eights):
            reach = work[part]
            for k in range(begin, end, 4):
                f0 += reach[k] * reach[k] * reach[k]
                f1 += reach[k + 1] * reach[k + 1] * reach[k + 1]
                f2 += reach[k + 2] * reach[k + 2] * reach[k + 2]
                f3 += reach[k + 3] * reach[k + 3] * reach[k + 3]
        f = (f0 + f1) + (f2 + f3)
        sign = y[first + t]
        chosen = pi[expert[t], t] / total[t]
        margin = sign * chosen * f
        slope = logistic_slope(margin) * sign * chosen / n
        pull = slope * f
        factor[t] = -pull / total[t]
        total[t] = pull
        for part in range(own * eights):
            reach = work[part]
            for k in range(begin, end):
                reach[k] = 3 * slope * (reach[k] * reach[k])
    for m in range(experts):
        last = ends[m + 1] - (ends[m + 1] - ends[m]) % GROUP
        for part in range(own * eights):
            at, shift, by = (m * own * eights + part) * block, part // eights * size, work[part]
            for r in range(ends[m], last, GROUP):
                add_outer(x, starts, r, shift, by, r * LANES, size, by_weight, at, GROUP)
            for r in range(last, ends[m + 1]):
                add_outer(x, starts, r, shift, by, r * LANES, size, by_weight, at, 1)
    to_gradient(pi, experts, count, padded, expert, factor, total)
    # all features are stored, so that the three tables of how to make others are not looked at
    add_products(pi, experts, features, len(features), read, ends, ends, features, sums, 0, padded)


@compiled
def move(weights: Any, by_weight: Any, squares: Any, rate: float) -> None:
    """Take a step of length ``rate`` against the gradient of each expert that has one; the gradient is 0 afterwards.

    ``weights``, ``by_weight`` (M, s); ``squares`` (M,): sums of the squares of the gradient.
    """
    for m in range(len(squares)):
        if squares[m] > 0:
            by, own, gradient = rate / math.sqrt(squares[m]), weights[m], by_weight[m]
            for k in range(len(own)):
                own[k] -= by * gradient[k]
                gradient[k] = 0.0


_STRIP = STRIP * WIDTH // 8  # samples of a strip, of which a chunk has a whole number


class CompiledTraining:
    """The parameters of one mixture, and what it is trained on.

    ``x`` (n, P, d): patches; ``features`` (n, F): what the router sees; ``y`` (n,): labels, -1.0 or 1.0; ``weights``
    (M, P or 1, J, d): initial weights; ``theta`` (F, M): initial parameters of the router.
    """

    def __init__(
        self, x: np.ndarray, features: np.ndarray, y: np.ndarray, weights: np.ndarray, theta: np.ndarray
    ) -> None:
        experts, own, neurons, size = weights.shape
        self._neurons, eights = neurons, -(-neurons // LANES)
        self._lanes = experts, own, eights, size, LANES
        self._weights = self._lanes_of(weights)
        self._gradient = np.zeros_like(self._weights)
        self._theta = np.ascontiguousarray(theta.T)
        self._samples = x, features, y
        self._x, self._y = np.ascontiguousarray(x).ravel(), y
        n, read = features.shape
        self._features = zeros(whole(read, BREADTH), 8, outer=(-(-n // ROWS),))
        for chunk, first in enumerate(range(0, n, ROWS)):
            part = features[first : first + ROWS]
            self._features[chunk, :read, : len(part)] = part.T
        self._shape = (n, experts, x.shape[1], own, eights, size, read)
        self._scores, self._room = zeros(whole(experts, HEIGHT), 8), zeros(2, 8)
        room, each = self._room.shape[1], x.shape[1] // own
        self._work = np.empty((own * eights, room * each * LANES))
        self._expert, self._sent = np.zeros(room, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._rows = tuple(np.zeros(length, dtype=np.int64) for length in (experts + 1, room * each, room))
        self._sums, _ = room_for_sums([(experts, read)], 8)
        self._places = places(experts, read, 8)

    @property
    def weights(self) -> np.ndarray:
        """The weights, (M, P or 1, J, d); a copy."""
        experts, own, eights, size, _ = self._lanes
        apart = self._weights.reshape(self._lanes).transpose(0, 1, 2, 4, 3)
        return np.ascontiguousarray(apart.reshape(experts, own, eights * LANES, size)[:, :, : self._neurons])

    @property
    def theta(self) -> np.ndarray:
        """The parameters of the router, (F, M); a copy."""
        return np.array(self._theta.T, order="C")

    def step(self, noise: np.ndarray, expert_rate: float, router_rate: float) -> None:
        """Take one step, for routing noise (n, M)."""
        experts, weights, gradient = len(self._theta), self._weights.reshape(-1), self._gradient.reshape(-1)
        self._sums[:] = 0.0
        for chunk, features in enumerate(self._features):
            first = chunk * ROWS
            drawn = noise[first : first + ROWS]
            padded = whole(len(drawn), _STRIP)
            route(self._theta, features, drawn, padded, self._scores, self._expert, self._room[0])
            self._sent[first : first + len(drawn)] = self._expert[: len(drawn)]
            exponentials = self._scores[:experts, :padded]
            np.exp(exponentials, out=exponentials)
            add_gradients(
                *(self._x, self._y, first, len(drawn), padded, self._expert, self._scores, weights, gradient),
                *(self._shape, self._rows, self._work, self._room, features, self._sums),
            )
        move(self._weights, self._gradient, self._squares(), expert_rate)
        if router_rate != 0:
            self._theta -= router_rate * self._sums[self._places]

    def _squares(self) -> np.ndarray:
        """Return the sums of the squares of the gradients, (M,), of which one whose squares would be lost is scaled."""
        squares = np.einsum("ms,ms->m", self._gradient, self._gradient)
        small = np.flatnonzero(squares < SMALL**2)
        lost = [m for m in small if np.max(np.abs(self._gradient[m])) < LOST]
        rows = np.flatnonzero(np.isin(self._sent, lost))
        if rows.size:
            self._gradient[lost] = self._lanes_of(self._directions(rows))[lost]
        for m in small:
            largest = np.max(np.abs(self._gradient[m]))
            if largest > 0:
                self._gradient[m] /= largest
                squares[m] = self._gradient[m] @ self._gradient[m]
        return squares

    def _directions(self, rows: np.ndarray) -> np.ndarray:
        """Return the directions of the experts of some samples, (M, P or 1, J, d)."""
        x, features, y = (array[rows][None] for array in self._samples)
        sent = self._sent[rows][None]
        return cubic_experts.weight_direction(self.weights[None], x, y, features @ self._theta.T, sent)[0]

    def _lanes_of(self, weights: np.ndarray) -> np.ndarray:
        """Lay weights (M, P or 1, J, d) out for the compiled code: neurons in eights, filled up with zeros, last."""
        experts, own, eights, size, _ = self._lanes
        padded = np.zeros((experts, own, eights * LANES, size))
        padded[:, :, : weights.shape[2]] = weights
        apart = padded.reshape(experts, own, eights, LANES, size).transpose(0, 1, 2, 4, 3)
        return np.ascontiguousarray(apart).reshape(experts, -1)

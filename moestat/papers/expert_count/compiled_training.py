"""Algorithm 1 on the CPU, compiled: one member's parameters, moved step by step.

The plain code (``SortedExperts``) is its reference and its fallback; the two agree
to rounding. A routing that is decided by the last digit can then go the other way, as on another machine.
"""

from __future__ import annotations

import numpy as np

from moestat.fit.compiled import BREADTH, HEIGHT
from moestat.fit.compiled_forward import WIDTH
from moestat.fit.panels import ROWS, places, room_for_sums, whole, zeros
from moestat.fit.vector_code import STRIP
from moestat.papers.expert_count import compiled_step, cubic_experts
from moestat.papers.expert_count.top_one import LOST, SMALL
from moestat.papers.expert_count.vector_rows import LANES

_STRIP = STRIP * WIDTH // 8
"""Samples of a strip, of which a chunk has a whole number."""


class CompiledTraining:
    """The parameters of one mixture, and what it is trained on.

    Parameters
    ----------
    x : (n, P, d) array
        Patches.
    features : (n, F) array
        What the router sees.
    y : (n,) array
        Labels, -1.0 or 1.0.
    weights : (M, P or 1, J, d) array
        Initial weights.
    theta : (F, M) array
        Initial parameters of the router.
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
            compiled_step.route(self._theta, features, drawn, padded, self._scores, self._expert, self._room[0])
            self._sent[first : first + len(drawn)] = self._expert[: len(drawn)]
            exponentials = self._scores[:experts, :padded]
            np.exp(exponentials, out=exponentials)
            compiled_step.add_gradients(
                *(self._x, self._y, first, len(drawn), padded, self._expert, self._scores, weights, gradient),
                *(self._shape, self._rows, self._work, self._room, features, self._sums),
            )
        compiled_step.move(self._weights, self._gradient, self._squares(), expert_rate)
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

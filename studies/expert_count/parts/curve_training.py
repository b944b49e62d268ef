"""Algorithm 1 for one mixture on a sample whose signals are unit vectors: plain steps, and the choice of the code.

The law of the data and of the start is the same in every orthonormal basis, and Algorithm 1 commutes with a change of
it. So v_k and c_k can be the first 2 K unit vectors, and three of the P patches have one entry each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from moestat.fit import kernel
from moestat.models import patches
from moestat.models.logistic import softmax


@dataclass(frozen=True)
class Sample:
    """Patches (n, P, d), labels and clusters (n,); and of the three with one entry (n, 3) patch, entry and value."""

    x: np.ndarray
    y: np.ndarray
    cluster: np.ndarray
    place: np.ndarray
    entry: np.ndarray
    amplitude: np.ndarray


def draw(scalars: Any, vectors: Any, n: int, count: int, clusters: int, dimension: int) -> Sample:
    """Draw n samples of Definition 1 with P = ``count``, by two generators: see :func:`moestat.models.patches.draw`."""
    unit = np.eye(dimension)
    signals = patches.Dictionary(labels=unit[:clusters], centres=unit[clusters : 2 * clusters])
    drawn = patches.draw(scalars, vectors, signals, n, count)
    entry = np.stack([drawn.cluster, clusters + drawn.cluster, drawn.other], axis=1)
    amplitude = drawn.x[np.arange(n)[:, None], drawn.position, entry]
    return Sample(drawn.x, drawn.y, drawn.cluster, drawn.position, entry, amplitude)


def features(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return what the router (P or 1, d, M) sees of patches (n, P, d): all of them, or their sum, (n, P d or d)."""
    return x.reshape(len(x), -1) if len(theta) > 1 else x.sum(axis=1)


def scores(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the router's scores (n, M)."""
    return features(x, theta) @ theta.reshape(-1, theta.shape[-1])


def reach(weights: np.ndarray, x: np.ndarray, expert: np.ndarray) -> np.ndarray:
    """Return the pre-activations (n, P, J) of each sample's own expert."""
    out = np.empty((*x.shape[:2], weights.shape[2]))
    for m in np.unique(expert):
        own = np.broadcast_to(weights[m], (x.shape[1], *weights.shape[2:]))
        out[expert == m] = np.einsum("npd,pjd->npj", x[expert == m], own, optimize=True)
    return out


def outputs(weights: np.ndarray, x: np.ndarray, expert: np.ndarray, bounded: bool) -> np.ndarray:
    """Return the output (n,) of each sample's own expert: sums of cubes, or of tanh."""
    s = reach(weights, x, expert)
    return np.sum(np.tanh(s) if bounded else s**3, axis=(1, 2))


class Training(Protocol):
    """One mixture in training: ``weights`` (M, P or 1, J, d), ``theta`` (P or 1, d, M)."""

    @property
    def weights(self) -> np.ndarray:
        """The weights of the experts; a copy."""

    theta: np.ndarray

    def step(self, drawn: np.ndarray, expert_rate: float, router_rate: float) -> None:
        """Take one step, for routing noise (n, M), whole numbers below 2^32."""


class Plain:
    """Steps as the equations (4) to (6) have them, of neurons that are cubes or, ``bounded``, tanh."""

    def __init__(self, sample: Sample, weights: np.ndarray, theta: np.ndarray, bounded: bool) -> None:
        self._sample, self.weights, self.theta, self._bounded = sample, weights.copy(), theta.copy(), bounded

    def step(self, drawn: np.ndarray, expert_rate: float, router_rate: float) -> None:
        """Take one step, for routing noise (n, M), whole numbers below 2^32."""
        x, y, weights = self._sample.x, self._sample.y, self.weights
        h = scores(x, self.theta)
        expert = np.argmax(h + drawn * 2.0**-32, axis=1)
        pi, rows = softmax(h), np.arange(len(x))
        s = reach(weights, x, expert)
        f = np.sum(np.tanh(s) if self._bounded else s**3, axis=(1, 2))
        margin = y * pi[rows, expert] * f
        e = np.exp(-np.abs(margin))
        pull = -np.where(margin > 0, e, 1.0) / (1 + e) * margin / len(x)
        by_score = -pull[:, None] * pi
        by_score[rows, expert] += pull
        slope = features(x, self.theta).T @ by_score
        for m in np.unique(expert):
            sent = expert == m
            z = margin[sent]
            # times exp of the least margin: the direction is the same, and there however large the margins are
            loss = -np.exp(np.minimum(max(z.min(), 0.0) - z, 0.0)) / (1 + np.exp(-np.abs(z)))
            loss = np.where(z > 0, loss, -1 / (1 + np.exp(-np.abs(z)))) * y[sent] * pi[sent, m]
            bend = 1 - np.tanh(s[sent]) ** 2 if self._bounded else 3 * s[sent] ** 2
            gradient = np.einsum("n,npj,npd->pjd", loss, bend, x[sent], optimize=True)
            gradient = gradient.sum(axis=0, keepdims=True) if weights.shape[1] == 1 else gradient
            if norm := np.linalg.norm(gradient):
                weights[m] -= expert_rate * gradient / norm
        self.theta -= router_rate * slope.reshape(self.theta.shape)


def start(sample: Sample, weights: np.ndarray, theta: np.ndarray, *, bounded: bool) -> Training:
    """Return the training that is compiled, where that can be, and the plain one elsewhere."""
    if not kernel.vector_bits():
        return Plain(sample, weights, theta, bounded)
    from studies.expert_count.parts.compiled_sparse import Sparse  # needs numba

    return Sparse(sample, weights, theta, bounded)

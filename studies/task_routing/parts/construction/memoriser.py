"""The two lemmas of the construction: a ReLU layer that memorises, and logits from a plane.

Lemma A.4 (Zhang et al. 2017): one hidden ReLU layer of width K fits any K points with distinct inputs. Lemma 5.1: in
the plane spanned by the cosines and the sines of n equally spaced angles every token has a vector whose largest
coordinate is its own. Another such plane is that of a parabola, where one number says a token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular


@dataclass(frozen=True)
class Memoriser:
    """One hidden ReLU layer that fits K points: ``x -> relu(direction'x - knots) @ slopes``."""

    direction: np.ndarray  # (p,) input weights shared by the neurons
    knots: np.ndarray  # (K,) increasing
    slopes: np.ndarray  # (K, q) output weights

    @property
    def width(self) -> int:
        """Number of neurons."""
        return int(self.knots.shape[0])

    def project(self, x: np.ndarray) -> np.ndarray:
        """Return the projection ``x @ direction`` of inputs (..., p)."""
        # a sum over the last axis, not a matrix product: the rounding of a row must not depend on the other rows
        return np.sum(x * self.direction, axis=-1)

    def hidden(self, projection: np.ndarray, gate: np.ndarray | float = 0.0) -> np.ndarray:
        """Return the activations (..., K) for a projection (...,); ``gate`` is added to every pre-activation."""
        return np.maximum(np.asarray(projection + gate)[..., None] - self.knots, 0.0)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs (..., q) for inputs (..., p)."""
        return self.hidden(self.project(x)) @ self.slopes

    def error(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the largest error at inputs (K, p) with outputs (K, q), relative to the largest output."""
        return float(np.abs(self(x) - y).max() / max(np.abs(y).max(), np.finfo(float).tiny))


def memorise(x: np.ndarray, y: np.ndarray, rng: np.random.Generator, *, directions: int = 20) -> Memoriser:
    """Fit K distinct inputs (K, p) and outputs (K, q) exactly with K ReLU neurons (Lemma A.4).

    ``rng`` draws the directions (a single one for p = 1); the one whose projections lie furthest apart is taken.
    Projections are scaled to an interval of length 1. Below the smallest one by half of the smallest gap, all neurons
    are silent and the output is exactly 0.
    """
    count, size = x.shape
    candidates = np.ones((1, 1)) if size == 1 else rng.standard_normal((directions, size))
    projections = np.sort(candidates @ x.T, axis=1)
    span = projections[:, -1] - projections[:, 0]
    gaps = np.diff(projections, axis=1).min(axis=1, initial=np.inf) if count > 1 else np.ones(candidates.shape[0])
    span = np.where(span > 0, span, 1.0)
    best = int(np.argmax(gaps / span))
    if not gaps[best] > 1e-12 * span[best]:
        raise ValueError("two of the inputs to memorise are equal; Lemma A.4 needs distinct inputs")
    direction = candidates[best] / span[best]
    projection = np.sum(x * direction, axis=-1)
    order = np.argsort(projection)
    t = projection[order]
    gap = np.diff(t)
    first = t[0] - 0.5 * (gap.min() if count > 1 else 1.0)
    knots = np.concatenate(([first], t[:-1] + 0.5 * gap))
    # forward substitution of the lower triangular system relu(t_i - b_j) w_j = y_i
    slopes = solve_triangular(np.maximum(t[:, None] - knots[None, :], 0.0), y[order], lower=True)
    return Memoriser(direction, knots, slopes)


def plane(n: int) -> np.ndarray:
    """Return the (n, 2) coordinates (cos, sin) of the n tokens of Lemma 5.1; logits of y are ``plane(n) @ y``."""
    angle = 2.0 * np.pi * np.arange(n) / n
    return np.stack((np.cos(angle), np.sin(angle)), axis=-1)


def wrong_peaks(n: int) -> int:
    """Count the tokens whose own coordinate is not the only largest one of their vector in :func:`plane`."""
    points = plane(n)
    wrong = 0
    for token, point in enumerate(points):
        logits = points @ point
        wrong += int(np.argmax(logits) != token or np.sum(logits == logits[token]) != 1)
    return wrong


def scale(n: int, epsilon: float) -> float:
    """Return a factor of the logits of :func:`plane` that leaves all but ``epsilon`` of the softmax on the largest.

    The margin is 1 - cos(2 pi / n), so that (n - 1) exp(-scale * margin) < epsilon suffices.
    """
    # 1 - cos(a) = 2 sin(a / 2)^2, without cancellation
    return float(1.01 * np.log((n - 1) / epsilon) / (2.0 * np.sin(np.pi / n) ** 2))


def parabola(n: int) -> np.ndarray:
    """Return the (n, 2) coefficients (2 t, -t^2) of the n tokens, of level t = 1/n, 2/n, ..., 1.

    The logits of a number y are ``parabola(n) @ (y, 1)``, which is y^2 - (y - t)^2: largest for the nearest level.
    """
    level = np.arange(1, n + 1) / n
    return np.stack((2.0 * level, -level * level), axis=-1)


def parabola_scale(n: int, epsilon: float) -> float:
    """Return a factor as :func:`scale` does; the margin is 1 / n^2, the constant leaves room for rounding of y."""
    return float(1.05 * np.log((n - 1) / epsilon) * n**2)

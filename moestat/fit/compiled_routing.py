"""What compiled trainings of top-1 mixtures share: samples sent by noisy scores, and the softmax around a gradient.

Scores have samples last, one row per expert. Importing this imports numba.
"""

from __future__ import annotations

import math
from typing import Any

from moestat.fit.kernel import compiled


@compiled
def logistic_slope(margin: float) -> float:
    """Return the derivative of log(1 + exp(-z)), -1 / (1 + exp(z)), without overflow."""
    e = math.exp(-abs(margin))
    return -(e if margin > 0 else 1.0) / (1 + e)


@compiled
def send(scores: Any, noise: Any, padded: int, expert: Any, best: Any) -> None:
    """Write where samples are sent, and take from their scores the largest one.

    ``scores`` are (M or more, n or more), ``noise`` (M, n). ``expert`` becomes the argmax of their sum; the largest
    score is taken from all ``padded`` samples with what lies beyond them; ``best`` is overwritten.
    """
    experts, count = noise.shape
    own, drawn = scores[0], noise[0]
    for t in range(count):
        best[t] = own[t] + drawn[t]
        expert[t] = 0
    for m in range(1, experts):
        own, drawn = scores[m], noise[m]
        for t in range(count):
            value = own[t] + drawn[t]
            if value > best[t]:
                best[t], expert[t] = value, m
    own = scores[0]
    for t in range(padded):
        best[t] = own[t]
    for m in range(1, experts):
        own = scores[m]
        for t in range(padded):
            best[t] = max(best[t], own[t])
    for m in range(experts):
        own = scores[m]
        for t in range(padded):
            own[t] -= best[t]


@compiled
def add_up(pi: Any, experts: int, padded: int, total: Any) -> None:
    """Write the sums over experts of exponentials of scores (M or more, n or more)."""
    for t in range(padded):
        total[t] = 0.0
    for m in range(experts):
        row = pi[m]
        for t in range(padded):
            total[t] += row[t]


@compiled
def to_gradient(pi: Any, experts: int, count: int, padded: int, expert: Any, factor: Any, pull: Any) -> None:
    """Make of exponentials of scores the gradient in them, ``pull (1(sent) - pi)``; ``factor`` is -pull / total."""
    for m in range(experts):
        row = pi[m]
        for t in range(padded):
            row[t] *= factor[t]
    for t in range(count):
        pi[expert[t], t] += pull[t]

"""A step with frozen attention, compiled: routing, outputs and gradients of a mixture in two passes over the samples.

An expert is linear in its weights while the attention is frozen, so a step is a few small products; written with arrays
it is thirty calls that take longer than their work. The plain code of :class:`~studies.mixture_of_transformers.parts.
model.Mixture` is the reference and the fallback; the two agree to rounding. Importing this imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moestat.fit.compiled_routing import add_up, logistic_slope, send, to_gradient
from moestat.fit.kernel import compiled
from studies.mixture_of_transformers.parts.model import Mixture


@compiled
def gradients(
    features: Any, expert: Any, y: Any, weights: Any, least: float, by_weight: Any, pi: Any, total: Any, factor: Any
) -> None:
    """Write the gradient of eq. (7) in the weights, and make that of eq. (5) in the scores.

    ``features`` (M or 1, n, d): what the experts read of the samples. ``expert`` (n,). ``y`` (n,). ``weights``,
    ``by_weight`` (M, d): the second one is overwritten. ``least``: samples with a smaller slope are left out of the
    gradient in the weights. ``pi`` (M, n): on entry exponentials of the scores, on exit the gradient in the scores. (M,
    0): there is no router to train. ``total``, ``factor`` (n,): overwritten.
    """
    kinds, n, size = features.shape
    routed = pi.shape[1] > 0
    if routed:
        add_up(pi, len(pi), n, total)
    by_weight[:] = 0.0
    whole = size - size % 4
    for i in range(n):
        m = expert[i]
        z, w, out = features[m if kinds > 1 else 0, i], weights[m], by_weight[m]
        f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0  # four sums: each addition waits for the one before
        for k in range(0, whole, 4):
            f0 += z[k] * w[k]
            f1 += z[k + 1] * w[k + 1]
            f2 += z[k + 2] * w[k + 2]
            f3 += z[k + 3] * w[k + 3]
        for k in range(whole, size):
            f0 += z[k] * w[k]
        margin = y[i] * ((f0 + f1) + (f2 + f3))
        slope = logistic_slope(margin) * y[i] / n
        if abs(slope) > least:
            for k in range(size):
                out[k] += slope * z[k]
        if routed:
            margin *= pi[m, i] / total[i]
            pull = logistic_slope(margin) * margin / n
            factor[i] = -pull / total[i]
            total[i] = pull
    if routed:
        to_gradient(pi, len(pi), n, n, expert, factor, total)


class CompiledSteps:
    """The gradients of a mixture on NumPy arrays while its attention is frozen.

    ``model``: its parameters are read at every step; ``y`` (B, n): labels, -1.0 or 1.0; ``least``: samples with a
    smaller slope are left out of the gradient in the weights.
    """

    def __init__(self, model: Mixture, y: np.ndarray, least: float) -> None:
        batch, n = y.shape
        self._model, self._y, self._least = model, y, least
        self._sums = np.ascontiguousarray(model.sums)
        self._across = np.ascontiguousarray(np.swapaxes(self._sums, 1, 2))
        self._scores = np.empty((model.weights.shape[1], n))
        self._room = np.empty((2, n))

    def gradients(self, noise: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Route the samples by noise (B, M, n), and return the gradients in W and in Theta, (B, M, d) each.

        Without noise the samples stay where they are, and no router is trained.
        """
        model, features = self._model, self._model.features
        if features is None:
            raise ValueError("the attention moves; freeze() comes first")
        by_weight = np.empty(model.weights.shape)
        by_theta = None if noise is None else np.empty(model.theta.shape)
        expert = model.expert if noise is None else np.empty_like(model.expert)
        for b in range(len(by_weight)):
            scores = self._scores
            if noise is None:
                scores = scores[:, :0]
            else:
                np.matmul(model.theta[b], self._across[b], out=scores)
                send(scores, noise[b], scores.shape[1], expert[b], self._room[0])
                np.exp(scores, out=scores)
            gradients(
                *(features[b], expert[b], self._y[b], model.weights[b], self._least, by_weight[b], scores), *self._room
            )
            if by_theta is not None:
                np.matmul(scores, self._sums[b], out=by_theta[b])
        if noise is not None:
            model.send(expert)
        return by_weight, by_theta

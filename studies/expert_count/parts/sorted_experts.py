"""The gradient of a top-1 mixture of cubic experts on NumPy arrays: samples sorted by expert, one product per expert.

``cubic_experts`` cuts the samples into tiles, so that a GPU computes many mixtures in one product.
On the CPU that is many small products, and with many experts most rows of the tiles are empty. Here a mixture is
computed on its own, so that its numbers cannot depend on what is computed beside it. The two agree to rounding.
"""

from __future__ import annotations

import numpy as np

from moestat.models.logistic import logistic_loss, logistic_slope
from studies.expert_count.parts.cubic_experts import Gradient


class SortedExperts:
    """What does not change while one mixture is trained.

    ``x`` (n, P, d): patches; ``features`` (n, F): see
    :func:`studies.expert_count.parts.cubic_experts.router_features`; ``y`` (n,): labels, -1.0 or 1.0; ``own``: P for
    MLP experts, which have weights of their own for each patch, 1 for CNN experts.
    """

    def __init__(self, x: np.ndarray, features: np.ndarray, y: np.ndarray, own: int) -> None:
        n, patches, size = x.shape
        self.features, self.y, self.own = features, y, own
        # rows of one patch of one sample (MLP), or of one sample with all its patches (CNN)
        self._x = np.ascontiguousarray(x.transpose(1, 0, 2)) if own > 1 else x.reshape(1, n, patches * size)
        self._sorted = np.empty_like(self._x)
        self._size = size

    def gradient(self, weights: np.ndarray, scores: np.ndarray, expert: np.ndarray) -> Gradient:
        """Return the loss () of eq. (4) and its gradients, for a given routing.

        ``weights`` (M, P or 1, J, d); ``scores`` (n, M): the router's scores without noise; ``expert`` (n,): the expert
        that each sample is sent to.
        """
        n, experts = scores.shape
        neurons = weights.shape[2]
        order = np.argsort(expert, kind="stable")
        ends = np.searchsorted(expert[order], np.arange(experts + 1))
        np.take(self._x, order, axis=1, out=self._sorted, mode="clip")
        rows = self._sorted.reshape(self.own, -1, self._size)
        each = rows.shape[1] // n
        parts = [(m, slice(each * ends[m], each * ends[m + 1])) for m in np.flatnonzero(np.diff(ends))]

        s = np.empty((self.own, rows.shape[1], neurons))
        across = np.ascontiguousarray(weights.transpose(0, 1, 3, 2))
        for m, part in parts:
            np.matmul(rows[:, part], across[m], out=s[:, part])
        squared = s * s
        cubes = np.einsum("prj,prj->r", squared, s)
        f = np.empty(n)
        f[order] = cubes.reshape(n, each).sum(axis=1)

        pi = np.exp(scores - scores.max(axis=1, keepdims=True))
        pi /= pi.sum(axis=1, keepdims=True)
        sample = np.arange(n)
        chosen = pi[sample, expert]
        margin = self.y * chosen * f
        slope = logistic_slope(margin) * self.y * chosen / n

        squared *= np.repeat(3.0 * slope[order], each)[None, :, None]
        by_weight = np.zeros(weights.shape)
        for m, part in parts:
            np.matmul(squared[:, part].transpose(0, 2, 1), rows[:, part], out=by_weight[m])
        pull = slope * f
        pi *= -pull[:, None]
        pi[sample, expert] += pull
        return Gradient(
            loss=np.mean(logistic_loss(margin)), weights=by_weight, theta=np.ascontiguousarray((pi.T @ self.features).T)
        )

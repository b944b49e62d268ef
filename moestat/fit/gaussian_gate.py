r"""Likelihood, EM and exact Hessian of Gaussian-gated Gaussian mixtures of experts, for many starts on one data set.

The likelihood is that of (x, y) together, in which EM has closed forms: that of a mixture of Gaussians w = (y, x) with
precisions :math:`RR'`, R lower triangular, whose first column is the expert, :math:`(1, -a) / \sqrt v`. A fit is a
vector of free coordinates: log weights of experts 1..N-1 against that of the last one, then, expert by expert, the
columns of R, each followed by its entry of R' times the mean. In these an expert's log-density is concave. With its
derivative s_k, its Hessian H_k and responsibilities r_k, the Hessian of the mixture is

.. math:: \sum_k r_k (H_k + s_k s_k') - \big(\sum_k r_k s_k\big) \big(\sum_k r_k s_k\big)'.

Source: Xu, Jordan, Hinton, "An alternative model for mixtures of experts" (NIPS 1994); Deleforge, Forbes, Horaud,
"High-dimensional regression with Gaussian mixtures and partially-latent response variables" (2015).
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

from moestat.arrays import Array
from moestat.fit.second_order import Gram
from moestat.models.blocks import member_blocks, row_blocks, summed
from moestat.models.gates import pack_symmetric
from moestat.models.gaussian import LOG_2PI
from moestat.models.gaussian_gate import GaussianGate

NARROW, WIDE = 1e-2, 1e4  #: Bounds of the standard deviation of an input, given those after it, inside an expert.
_FAR = 1e4  # largest coordinate of R off its diagonal, and of R' times the mean, per unit of the largest diagonal
_ROWS = 2048
_RIDGE = 1e-8  # of the moments in EM: an expert that has lost its samples stays finite


class GaussianGateLikelihood:
    """The problem of :mod:`moestat.fit.second_order` on standardised inputs (n, d) and responses (n,)."""

    def __init__(self, x: np.ndarray, y: np.ndarray, experts: int, box: float, variances: tuple[float, float]) -> None:
        n, d = x.shape
        self.x, self.y, self.experts, self.variances, self.model = x, y, experts, variances, GaussianGate(d)
        self.w = np.concatenate([y[None], x.T])
        self.columns = [np.concatenate([self.w[j:], -np.ones((1, n))]) for j in range(d + 1)]
        self.steep = np.array([[variances[1] ** -0.5, variances[0] ** -0.5], *[[1 / WIDE, 1 / NARROW]] * d])
        own = [np.outer([-_FAR, _FAR], [high] * len(q)) for q, (_, high) in zip(self.columns, self.steep, strict=True)]
        for ends, diagonal in zip(own, self.steep, strict=True):
            ends[:, 0] = diagonal
        gate = np.outer([-box, box], np.ones(experts - 1))
        self.lower, self.upper = np.concatenate([gate, np.tile(np.concatenate(own, axis=1), experts)], axis=1)
        # p <= prod R_jj / sqrt(2 pi), so that the loss is never negative; without this it is minus the mean log-density
        self.shift = float(np.sum(np.log(self.steep[:, 1]) - 0.5 * LOG_2PI))

    def _parts(self, free: np.ndarray, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log weights (M, N, 1), log joint densities (M, N, R) and their derivatives (M, N, B, R)."""
        last, parts, at = self.experts - 1, [], 0
        weight = np.concatenate([free[:, :last], np.zeros((len(free), 1))], axis=1)[..., None]
        joint = log_weight = weight - logsumexp(weight, axis=1, keepdims=True)
        own = free[:, last:].reshape(len(free), self.experts, -1)
        for column in self.columns:
            q, top = column[:, rows], own[..., at, None]
            e = own[..., at : at + len(q)] @ q
            parts.append(-e[:, :, None] * q)
            parts[-1][:, :, 0] += 1 / top
            joint = joint + np.log(top) - 0.5 * (e * e + LOG_2PI)
            at += len(q)
        return log_weight, joint, np.concatenate(parts, axis=2)

    def problem(self, free: Array, members: Array) -> Gram:
        """Return the loss, minus the mean log-density and shifted, with gradient and Hessian, of M points (M, p)."""
        blocks = member_blocks(len(free), free.shape[1] * min(len(self.y), _ROWS), free)
        parts = [summed(self._sums(free[b], rows) for rows in row_blocks(len(self.y), _ROWS)) for b in blocks]
        value, gradient, hessian = (-np.concatenate(part) / len(self.y) for part in zip(*parts, strict=True))
        return Gram(value + self.shift, gradient, hessian)

    def _sums(self, free: np.ndarray, rows: slice) -> tuple[np.ndarray, ...]:
        log_weight, joint, score = self._parts(free, rows)
        members, experts, size, count = score.shape
        last, pick = experts - 1, np.arange(experts - 1)
        density = logsumexp(joint, axis=1)
        r = np.exp(joint - density[:, None])
        weighted, mass, pi = r[:, :, None] * score, r.sum(axis=-1), np.exp(log_weight[:, :last, 0])
        t = np.concatenate([r[:, :last], weighted.reshape(members, -1, count)], axis=1)
        gradient, hessian = t.sum(axis=-1), -t @ np.swapaxes(t, 1, 2)
        gradient[:, :last] -= count * pi
        hessian[:, :last, :last] += count * pi[:, :, None] * pi[:, None]
        hessian[:, pick, pick] += mass[:, :last] - count * pi
        own, at = weighted @ np.swapaxes(score, 2, 3), 0
        for column in self.columns:
            q, here = column[:, rows], slice(at, at + len(column))
            squares = r @ (q[:, None] * q).reshape(-1, count).T
            own[..., here, here] -= squares.reshape(members, experts, len(q), len(q))
            own[..., at, at] -= mass / free[:, last:].reshape(members, experts, -1)[..., at] ** 2
            at += len(q)
        for k in range(experts):
            here = slice(last + k * size, last + (k + 1) * size)
            hessian[:, here, here] += own[:, k]
            if k < last:
                hessian[:, k, here] += weighted[:, k].sum(axis=-1)
                hessian[:, here, k] += weighted[:, k].sum(axis=-1)
        return density.sum(axis=-1), gradient, hessian

    def scores(self, free: np.ndarray) -> np.ndarray:
        """Return the derivative of each sample's log-density (n, p) at one point (p,)."""
        out = []
        for rows in row_blocks(len(self.y), _ROWS):
            log_weight, joint, score = self._parts(free[None], rows)
            r = softmax(joint, axis=1)
            gate, own = (r - np.exp(log_weight))[0, :-1], (r[:, :, None] * score)[0]
            out.append(np.concatenate([gate, own.reshape(-1, own.shape[-1])]).T)
        return np.concatenate(out)

    def begin(self, mean: np.ndarray, variance: np.ndarray, steps: int) -> np.ndarray:
        """Return where EM is after so many steps (S, p) from planes (S, N, d + 1), intercepts first."""
        out = []
        for block in member_blocks(len(mean), len(self.lower) * len(self.y), self.y):
            off = self.y - mean[block, :, 1:] @ self.w[1:] - mean[block, :, :1]
            free = self._maximised(softmax(-0.5 * off * off / variance[block, None, None], axis=1))
            for _ in range(steps):
                free = self._maximised(softmax(self._parts(free, slice(None))[1], axis=1))
            out.append(free)
        return np.concatenate(out)

    def _maximised(self, r: np.ndarray) -> np.ndarray:
        """Return the M step of responsibilities (S, N, n)."""
        features = np.concatenate([-self.columns[0][-1:], self.w])
        moments = r @ (features[:, None] * features).reshape(-1, features.shape[1]).T + 1e-300
        moments = moments.reshape(*r.shape[:2], len(features), len(features))
        mass = moments[..., 0, 0]
        centre = moments[..., 0, 1:] / mass[..., None]
        spread = moments[..., 1:, 1:] / mass[..., None, None] - centre[..., :, None] * centre[..., None, :]
        root = np.linalg.cholesky(np.linalg.inv(spread + _RIDGE * np.eye(len(self.w))))
        diagonal = np.linalg.diagonal(root)
        root *= (np.clip(diagonal, *self.steep.T) / diagonal)[..., None, :]
        along = np.sum(root * centre[..., :, None], axis=-2)
        own = [part for j in range(len(self.w)) for part in (root[..., j:, j], along[..., j : j + 1])]
        gate = np.log(mass[:, :-1]) - np.log(mass[:, -1:])
        free = np.concatenate([gate, np.concatenate(own, axis=-1).reshape(len(r), -1)], axis=1)
        return np.asarray(np.clip(free, self.lower, self.upper))

    def atoms(self, free: np.ndarray) -> np.ndarray:
        """Return the atoms (N, P) of one point, see :class:`moestat.models.gaussian_gate.GaussianGate`."""
        size, own, at = len(self.w), free[self.experts - 1 :].reshape(self.experts, -1), 0
        root, along = np.zeros((self.experts, size, size)), np.zeros((self.experts, size))
        for j in range(size):
            root[:, j:, j], along[:, j] = own[:, at : at + size - j], own[:, at + size - j]
            at += size - j + 1
        steep, turned = root[:, :1, 0], np.swapaxes(root[:, 1:, 1:], 1, 2)
        centre = np.linalg.solve(turned, along[:, 1:, None])[..., 0]
        spread = pack_symmetric(np.linalg.inv(root[:, 1:, 1:] @ turned))
        weight = softmax(np.append(free[: self.experts - 1], 0.0))[:, None]
        return np.concatenate(
            [weight, centre, spread, -root[:, 1:, 0] / steep, along[:, :1] / steep, steep**-2], axis=1
        )

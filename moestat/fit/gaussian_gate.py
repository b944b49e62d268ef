r"""Likelihood, EM and exact Hessian of Gaussian-gated Gaussian mixtures of experts, for many starts on one data set.

The likelihood is that of (x, y) together, in which EM has closed forms and maxima are those of a Gaussian mixture in
d + 1 dimensions. A fit is a vector of free coordinates: log weights of experts 1..N-1 against that of the last one,
then, expert by expert, the columns of R with :math:`\Gamma^{-1} = RR'` (lower triangular), each followed by its entry
of :math:`R'c`, then :math:`(\beta, a)` and log v. An expert's log-density is concave in R and R'c, and with s_k its
derivative, r_k its responsibility and H_k its Hessian, the Hessian of the mixture is

.. math:: \sum_k r_k (H_k + s_k s_k') - \big(\sum_k r_k s_k\big) \big(\sum_k r_k s_k\big)'.

Source: Xu, Jordan, Hinton, "An alternative model for mixtures of experts" (NIPS 1994); Deleforge, Forbes, Horaud,
"High-dimensional regression with Gaussian mixtures and partially-latent response variables" (2015).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp, softmax

from moestat.arrays import Array
from moestat.fit.second_order import Gram
from moestat.models.blocks import member_blocks, row_blocks, summed
from moestat.models.gates import pack_symmetric
from moestat.models.gaussian import LOG_2PI
from moestat.models.gaussian_gate import GaussianGate

NARROW = 1e-2  #: Least standard deviation of an input, given those after it, inside an expert.
_FAR = 1e4  # largest coordinate of R'c, and of R off its diagonal
_ROWS = 2048
_RIDGE = 1e-8  # of the moments in EM: an expert that has lost its samples stays finite


class GaussianGateLikelihood:
    """The problem of :mod:`moestat.fit.second_order` on standardised inputs (n, d) and responses (n,)."""

    def __init__(self, x: np.ndarray, y: np.ndarray, experts: int, box: float, variances: tuple[float, float]) -> None:
        n, d = x.shape
        self.x, self.y, self.experts, self.variances, self.model = x, y, experts, variances, GaussianGate(d)
        one = np.ones((1, n))
        self.columns = [np.concatenate([x[:, j:].T, -one]) for j in range(d)]
        self.z = np.concatenate([one, x.T])
        blocks = [np.array([[1.0 / _FAR, *[-_FAR] * (d - j)], [1.0 / NARROW, *[_FAR] * (d - j)]]) for j in range(d)]
        both = np.concatenate([*blocks, np.outer([-box, box], np.ones(d + 1)), np.log(variances)[:, None]], axis=1)
        gate = np.outer([-box, box], np.ones(experts - 1))
        self.lower, self.upper = np.concatenate([gate, np.tile(both, experts)], axis=1)
        # p <= prod R_jj / sqrt(2 pi) / sqrt(2 pi v), so that the loss is never negative
        self.shift = d * (-math.log(NARROW) - 0.5 * LOG_2PI) - 0.5 * (math.log(variances[0]) + LOG_2PI)

    def _parts(
        self, free: np.ndarray, rows: slice
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
        """Return log joint densities (M, N, R), their derivatives (M, N, B, R), pulls, and log weights, R, v."""
        last = self.experts - 1
        weight = np.concatenate([free[:, :last], np.zeros((len(free), 1))], axis=1)
        log_weight = weight - logsumexp(weight, axis=1, keepdims=True)
        own = free[:, last:].reshape(len(free), self.experts, -1)
        joint, parts, diagonal, at = log_weight[..., None], [], [], 0
        for column in self.columns:
            q = column[:, rows]
            e = own[..., at : at + len(q)] @ q
            top = own[..., at]
            part = -e[:, :, None] * q
            part[:, :, 0] += 1 / top[..., None]
            joint = joint + np.log(top)[..., None] - 0.5 * (e * e + LOG_2PI)
            parts.append(part)
            diagonal.append(top)
            at += len(q)
        z, log_v = self.z[:, rows], own[..., -1:]
        off = self.y[rows] - own[..., at:-1] @ z
        pull = off * np.exp(-log_v)
        joint = joint - 0.5 * (off * pull + log_v + LOG_2PI)
        score = np.concatenate([*parts, pull[:, :, None] * z, 0.5 * (off * pull - 1)[:, :, None]], axis=2)
        return joint, score, pull, (log_weight, np.stack(diagonal, axis=-1), log_v[..., 0])

    def problem(self, free: Array, members: Array) -> Gram:
        """Return the loss, minus the mean log-density and shifted, with gradient and Hessian, of M points (M, p)."""
        blocks = member_blocks(len(free), free.shape[1] * min(len(self.y), _ROWS), free)
        parts = [summed(self._sums(free[b], rows) for rows in row_blocks(len(self.y), _ROWS)) for b in blocks]
        value, gradient, hessian = (-np.concatenate(part) / len(self.y) for part in zip(*parts, strict=True))
        return Gram(value + self.shift, gradient, hessian)

    def _sums(self, free: np.ndarray, rows: slice) -> tuple[np.ndarray, ...]:
        joint, score, pull, (log_weight, diagonal, log_v) = self._parts(free, rows)
        members, experts, size, count = score.shape
        last = experts - 1
        density = logsumexp(joint, axis=1)
        r = np.exp(joint - density[:, None])
        weighted = r[:, :, None] * score
        t = np.concatenate([r[:, :last], weighted.reshape(members, -1, count)], axis=1)
        gradient, mass, pi = t.sum(axis=-1), r.sum(axis=-1), np.exp(log_weight[:, :last])
        gradient[:, :last] -= count * pi
        hessian = -t @ np.swapaxes(t, 1, 2)
        pick = np.arange(last)
        hessian[:, :last, :last] += count * pi[:, :, None] * pi[:, None]
        hessian[:, pick, pick] += mass[:, :last] - count * pi
        own = weighted @ np.swapaxes(score, 2, 3) + self._concave(r, pull, diagonal, log_v, rows)
        for k in range(experts):
            here = slice(last + k * size, last + (k + 1) * size)
            hessian[:, here, here] += own[:, k]
            if k < last:
                cross = weighted[:, k].sum(axis=-1)
                hessian[:, k, here] += cross
                hessian[:, here, k] += cross
        return density.sum(axis=-1), gradient, hessian

    def _concave(
        self, r: np.ndarray, pull: np.ndarray, diagonal: np.ndarray, log_v: np.ndarray, rows: slice
    ) -> np.ndarray:
        """Return the sums of the experts' own Hessians (M, N, B, B), weighted by the responsibilities."""
        size, at = sum(map(len, self.columns)) + len(self.z) + 1, 0
        out = np.zeros((*r.shape[:2], size, size))

        def moments(q: np.ndarray) -> np.ndarray:
            return np.asarray(r @ (q[:, None] * q).reshape(-1, q.shape[1]).T).reshape(*r.shape[:2], len(q), len(q))

        for j, column in enumerate(self.columns):
            here = slice(at, at + len(column))
            out[..., here, here] = -moments(column[:, rows])
            out[..., at, at] -= r.sum(axis=-1) / diagonal[..., j] ** 2
            at += len(column)
        z = self.z[:, rows]
        out[..., at:-1, at:-1] = -moments(z) * np.exp(-log_v)[..., None, None]
        out[..., at:-1, -1] = out[..., -1, at:-1] = -(r * pull) @ z.T
        out[..., -1, -1] = -0.5 * np.sum(r * pull * pull, axis=-1) * np.exp(log_v)
        return out

    def scores(self, free: np.ndarray) -> np.ndarray:
        """Return the derivative of each sample's log-density (n, p) at one point (p,)."""
        out = []
        for rows in row_blocks(len(self.y), _ROWS):
            joint, score, _, (log_weight, *_) = self._parts(free[None], rows)
            r = softmax(joint, axis=1)
            gate = (r - np.exp(log_weight)[..., None])[0, :-1]
            out.append(np.concatenate([gate, (r[:, :, None] * score)[0].reshape(-1, r.shape[-1])]).T)
        return np.concatenate(out)

    def begin(self, mean: np.ndarray, variance: np.ndarray, steps: int) -> np.ndarray:
        """Return where EM is after so many steps (S, p) from planes (S, N, d + 1), intercepts first."""
        off = self.y - mean @ self.z
        free = self._maximised(softmax(-0.5 * off * off / variance[:, None, None], axis=1))
        for _ in range(steps):
            free = self._maximised(softmax(self._parts(free, slice(None))[0], axis=1))
        return free

    def _maximised(self, r: np.ndarray) -> np.ndarray:
        """Return the M step of responsibilities (S, N, n)."""
        d, features = self.model.d, np.concatenate([self.z, self.y[None]])
        moments = r @ (features[:, None] * features).reshape(-1, features.shape[1]).T + 1e-300
        moments = moments.reshape(*r.shape[:2], d + 2, d + 2)
        mass = moments[..., 0, 0]
        moments = moments / mass[..., None, None]
        centre = moments[..., 0, 1:-1]
        spread = moments[..., 1:-1, 1:-1] - centre[..., :, None] * centre[..., None, :] + NARROW**2 * np.eye(d)
        root = np.linalg.cholesky(np.linalg.inv(spread))
        whole, pull = moments[..., :-1, :-1] + _RIDGE * np.eye(d + 1), moments[..., :-1, -1]
        mean = np.linalg.solve(whole, pull[..., None])[..., 0]
        v = np.clip(moments[..., -1, -1] - np.sum(mean * pull, axis=-1), *self.variances)
        along = np.sum(root * centre[..., :, None], axis=-2)
        columns = [part for j in range(d) for part in (root[..., j:, j], along[..., j : j + 1])]
        own = np.concatenate([*columns, mean, np.log(v)[..., None]], axis=-1)
        gate = np.log(mass[:, :-1]) - np.log(mass[:, -1:])
        free = np.concatenate([gate, own.reshape(len(r), -1)], axis=1)
        return np.asarray(np.clip(free, self.lower, self.upper))

    def atoms(self, free: np.ndarray) -> np.ndarray:
        """Return the atoms (N, P) of one point, see :class:`moestat.models.gaussian_gate.GaussianGate`."""
        d, last = self.model.d, self.experts - 1
        own = free[last:].reshape(self.experts, -1)
        root, along, at = np.zeros((self.experts, d, d)), np.zeros((self.experts, d)), 0
        for j in range(d):
            root[:, j:, j], along[:, j] = own[:, at : at + d - j], own[:, at + d - j]
            at += d - j + 1
        centre = np.linalg.solve(np.swapaxes(root, 1, 2), along[..., None])[..., 0]
        spread = pack_symmetric(np.linalg.inv(root @ np.swapaxes(root, 1, 2)))
        weight = softmax(np.append(free[:last], 0.0))[:, None]
        return np.concatenate(
            [weight, centre, spread, own[:, at + 1 : -1], own[:, at : at + 1], np.exp(own[:, -1:])], 1
        )

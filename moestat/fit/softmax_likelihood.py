r"""Likelihood, gradient and exact Hessian of softmax-gated Gaussian mixtures of experts, for many fits at once.

A fit is a vector of free coordinates: the gates (c, b) of atoms 1..N-1 against that of atom N, the means
:math:`(\beta, a)` of all atoms, and the logarithms of their variances. With responsibilities r, gate values
:math:`\pi`, :math:`z = (1, x)`, :math:`e_j = (y - \mu_j) / v_j` and :math:`q_j = ((y - \mu_j)^2 / v_j - 1) / 2`, the
derivative of one sample's log-density is ``[(r_j - pi_j) z, r_j e_j z, r_j q_j]`` and its Hessian

.. math:: \mathrm{diag}_j(B_j) + P P' - T T', \qquad T = [r_j z,\; r_j e_j z,\; r_j q_j], \quad P = [\pi_j z,\; 0,\; 0]

    B_j = \begin{pmatrix} (r_j - \pi_j) zz' & r_j e_j zz' & r_j q_j z \\ & 2 r_j q_j / v_j\, zz' &
    r_j e_j (q_j - 1) z \\ & & r_j (q_j^2 - q_j - \tfrac12) \end{pmatrix}

so that everything is a few matrix products per chunk of samples, and nothing of the size of a Jacobian outlives it.

Coordinates are ordered by feature: for each z_a the N - 1 gates and the N means, then the log variances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from moestat.arrays import Array, namespace
from moestat.fit.likelihood import Space
from moestat.fit.second_order import Gram
from moestat.models.blocks import member_blocks, row_blocks, summed
from moestat.models.gates import score_features
from moestat.models.gaussian import LOG_2PI
from moestat.models.softmax_gaussian import SoftmaxGaussian

ROWS = 4096  #: Samples per chunk. Fixed, so that no result depends on how many fits are computed together.


@dataclass(frozen=True)
class Data:
    """Samples of B replicates in the layout of the kernels, cut into chunks."""

    z: tuple[Array, ...]  #: tuple of arrays (B, D, R), features (1, x), D = d + 1.
    y: tuple[Array, ...]  #: tuple of arrays (B, R)
    n: int  #: Number of samples of a replicate.

    def chunks(self, replicate: Array) -> Iterator[tuple[Array, Array]]:
        """Hand out the features (M, D, R) and responses (M, R) of the given replicates (M,), chunk by chunk."""
        xp = namespace(replicate)
        for z, y in zip(self.z, self.y, strict=True):
            yield xp.take(z, replicate, axis=0), xp.take(y, replicate, axis=0)

    def cast(self, values: Array) -> Array:
        """Return ``values`` in the precision of the data."""
        return namespace(values).astype(values, self.y[0].dtype, copy=False)

    @property
    def features(self) -> int:
        """Number D of features."""
        return int(self.z[0].shape[1])

    def blocks(self, members: int, rows: int) -> Iterator[slice]:
        """Cut a batch of fits so that temporaries of ``rows`` numbers per sample stay in the cache."""
        return member_blocks(members, rows * min(self.n, ROWS), self.y[0])


def prepare(x: Array, y: Array, *, thin: int = 1, single: bool = False) -> Data:
    """Return the kernels' layout of inputs (B, n, d) and responses (B, n).

    With ``thin`` only every so many-th sample is kept, which keeps the law of x, on an even grid too. With ``single``
    all but sums is computed in float32: for the way to a point that is then solved in float64.
    """
    xp = namespace(x, y)
    if thin > 1:
        rows = xp.arange(0, x.shape[1], thin)
        x, y = xp.take(x, rows, axis=1), xp.take(y, rows, axis=1)
    cut = list(row_blocks(x.shape[1], ROWS))
    dtype = xp.float32 if single else xp.float64
    # copies, so that every chunk is contiguous whatever the strides of the input
    y_parts = tuple(xp.astype(y[:, rows], dtype, copy=True) for rows in cut)
    z_parts = tuple(xp.astype(score_features(x[:, rows, :], "linear"), dtype) for rows in cut)
    return Data(z_parts, y_parts, x.shape[1])


def pack(theta: Array) -> Array:
    """Return the free coordinates (..., p) of atoms (..., N, P), p = (2 N - 1) D + N."""
    xp = namespace(theta)
    model = SoftmaxGaussian((theta.shape[-1] - 3) // 2)
    batch, atoms = theta.shape[:-2], theta.shape[-2]
    gate = theta[..., :-1, model.gate] - theta[..., -1:, model.gate]
    mean = xp.concat([theta[..., model.beta], theta[..., model.a]], axis=-1)
    linear = xp.matrix_transpose(xp.concat([gate, mean], axis=-2))
    variance = xp.reshape(theta[..., model.variance], (*batch, atoms))
    return xp.concat([xp.reshape(linear, (*batch, -1)), xp.log(variance)], axis=-1)


def unpack(free: Array, atoms: int) -> Array:
    """Return the atoms (..., N, P) of free coordinates (..., p); the gate of the last atom is zero."""
    xp = namespace(free)
    gate, mean, log_variance = split(free, atoms)
    return xp.concat([gate, mean[..., 1:], mean[..., :1], xp.exp(log_variance)[..., None]], axis=-1)


def split(free: Array, atoms: int) -> tuple[Array, Array, Array]:
    """Return gates (..., N, D) with the last one zero, means (..., N, D) and log variances (..., N)."""
    xp = namespace(free)
    batch = free.shape[:-1]
    size = (free.shape[-1] - atoms) // (2 * atoms - 1)
    linear = xp.reshape(free[..., : size * (2 * atoms - 1)], (*batch, size, 2 * atoms - 1))
    linear = xp.matrix_transpose(linear)
    gate = xp.concat([linear[..., : atoms - 1, :], xp.zeros((*batch, 1, size), dtype=free.dtype)], axis=-2)
    return gate, linear[..., atoms - 1 :, :], free[..., size * (2 * atoms - 1) :]


def join(gate: Array, mean: Array, log_variance: Array) -> Array:
    """Return the free coordinates of gates (..., N - 1, D), means (..., N, D) and log variances: undoes split."""
    xp = namespace(mean)
    linear = xp.matrix_transpose(xp.concat([gate, mean], axis=-2))
    return xp.concat([xp.reshape(linear, (*mean.shape[:-2], -1)), log_variance], axis=-1)


def space_of(free: Array, atoms: int, box: float, variances: tuple[float, float]) -> Space:
    """Return the parameter space of free coordinates (..., p): a box for gates and means, bounds for the variances."""
    xp = namespace(free)
    linear = xp.full(free.shape[-1] - atoms, float(box), dtype=free.dtype)
    low, high = (xp.full(atoms, math.log(v), dtype=free.dtype) for v in variances)
    return Space(xp.concat([-linear, low]), xp.concat([linear, high]), variances)


class Posterior(NamedTuple):
    """What one chunk of samples knows of M fits: log-density (M, R), the rest (M, N, R).

    ``pull`` is (y - mu) / v and ``half`` is (y - mu)^2 / (2 v).
    """

    log_density: Array
    gate: Array
    responsibility: Array
    residual: Array
    pull: Array
    half: Array


def posterior(gate: Array, mean: Array, log_variance: Array, z: Array, y: Array) -> Posterior:
    """Return gate values, responsibilities and residuals of M fits at R samples, z (M, D, R) and y (M, R)."""
    xp = namespace(z)
    scores = xp.matmul(gate, z)
    residual = y[:, None, :] - xp.matmul(mean, z)
    pull = residual * xp.exp(-log_variance)[..., None]
    half = residual * (0.5 * pull)
    joint = scores - half - (0.5 * (log_variance + LOG_2PI))[..., None]
    pi, top_gate, total_gate = _softmax(xp, scores)
    r, top, total = _softmax(xp, joint)
    return Posterior(top - top_gate + xp.log(total / total_gate), pi, r, residual, pull, half)


def _softmax(xp: Any, values: Array) -> tuple[Array, Array, Array]:
    """Return the softmax over atoms, the largest value, and the sum of the exponentials relative to it."""
    top = xp.max(values, axis=1)
    e = xp.exp(values - top[:, None, :])
    total = xp.sum(e, axis=1)
    return e * (1.0 / total)[:, None, :], top, total


def log_likelihood(data: Data, free: Array, owner: Array, atoms: int) -> Array:
    """Return the mean log-density (M,) of M fits; ``owner`` (M,) says whose data each fit sees."""
    xp = namespace(free)
    out = []
    for block in data.blocks(free.shape[0], 4 * atoms):
        parts = split(data.cast(free[block, :]), atoms)
        total = xp.zeros(parts[0].shape[0], dtype=free.dtype)
        for z, y in data.chunks(owner[block]):
            total = total + xp.sum(posterior(*parts, z, y).log_density, axis=-1, dtype=free.dtype)
        out.append(total / data.n)
    return xp.concat(out) if out else xp.zeros(0, dtype=free.dtype)


def negative_log_likelihood(data: Data, owner: Array, atoms: int, smallest_variance: float) -> Any:
    """Return the problem of :mod:`moestat.fit.second_order` that maximises the likelihood.

    The loss is ``-mean log p - log(2 pi v) / 2`` with v the smallest variance allowed, which is never negative.
    """
    # log p <= -log(2 pi v) / 2 where no variance is below v
    bound = 0.5 * (math.log(smallest_variance) + LOG_2PI)

    def problem(free: Array, members: Array) -> Gram:
        xp = namespace(free)
        replicate = xp.take(owner, members)
        blocks = data.blocks(free.shape[0], 10 * atoms)
        parts = [_all_sums(data, free[block, :], replicate[block], atoms) for block in blocks]
        sums = tuple(-xp.concat(part) / data.n for part in zip(*parts, strict=True))
        gradient, hessian = _assemble(xp, sums[1:], xp.exp(-split(free, atoms)[2]), data.features)
        return Gram(sums[0] - bound, gradient, hessian)

    return problem


def _all_sums(data: Data, free: Array, replicate: Array, atoms: int) -> tuple[Array, ...]:
    """Return :func:`_sums` over all chunks for a block of fits, in float64."""
    xp = namespace(free)
    gate, mean, log_variance = split(data.cast(free), atoms)
    parts = (_sums(xp, posterior(gate, mean, log_variance, z, y), z) for z, y in data.chunks(replicate))
    return summed(tuple(xp.astype(a, free.dtype, copy=False) for a in part) for part in parts)


def _sums(xp: Any, at: Posterior, z: Array) -> tuple[Array, ...]:
    """Return the sums over one chunk: log p, the products T T' and P P', and the moments that B needs."""
    members, atoms, rows = at.gate.shape
    size, last = z.shape[1], atoms - 1
    r = at.responsibility
    q = at.half - 0.5
    re = r * at.pull
    rq = r * q
    linear = xp.concat([r[:, :last, :], re], axis=1)
    t = xp.concat([linear, *(linear * z[:, a : a + 1, :] for a in range(1, size)), rq], axis=1)
    pi = at.gate[:, :last, :]
    p = xp.concat([pi, *(pi * z[:, a : a + 1, :] for a in range(1, size))], axis=1)
    outer = xp.concat([z, *(z[:, a : a + 1, :] * z[:, a:, :] for a in range(1, size))], axis=1)
    outer = xp.matrix_transpose(outer)
    return (
        xp.sum(at.log_density, axis=-1, dtype=xp.float64),
        xp.matmul(t, xp.matrix_transpose(t)),
        xp.matmul(p, xp.matrix_transpose(p)),
        xp.matmul(linear, outer),
        xp.matmul(pi, outer),
        xp.matmul(rq, outer),
        xp.matmul(re * q, xp.matrix_transpose(z)),
        xp.sum(rq * q, axis=-1, dtype=xp.float64),
        xp.sum(r, axis=-1, dtype=xp.float64),
    )


def _assemble(xp: Any, sums: tuple[Array, ...], precision: Array, size: int) -> tuple[Array, Array]:
    """Put gradient (M, p) and Hessian (M, p, p) together from the sums."""
    tt, pp, linear, pi, rq, req, rqq, r = sums
    members, atoms = r.shape
    last, width = atoms - 1, 2 * atoms - 1
    # position of z_a z_b among the features [z, z_a z_b (1 <= a <= b)]
    place = {(0, b): b for b in range(size)}
    for a in range(1, size):
        for b in range(a, size):
            place[a, b] = len(place)
    square = xp.asarray([place[min(a, b), max(a, b)] for a in range(size) for b in range(size)])

    def outer(sums: Array) -> Array:
        """(M, k, features) -> (M, k, D, D)"""
        return xp.reshape(xp.take(sums, square, axis=-1), (members, sums.shape[1], size, size))

    gate = linear[:, :last, :] - pi  # sums of (r - pi) z z'
    re = linear[:, last:, :]
    gradient = xp.matrix_transpose(xp.concat([gate[..., :size], re[..., :size]], axis=1))
    gradient = xp.concat([xp.reshape(gradient, (members, size * width)), rq[..., 0]], axis=-1)

    # blocks (M, D, 2N-1, D, 2N-1) of the linear coordinates, from what each atom contributes
    eye = xp.eye(atoms, dtype=r.dtype)
    to_gate = xp.concat([eye[:, :last], xp.zeros((atoms, atoms), dtype=r.dtype)], axis=1)
    to_mean = xp.concat([xp.zeros((atoms, last), dtype=r.dtype), eye], axis=1)

    def spread(blocks: Array, left: Array, right: Array) -> Array:
        return xp.sum(
            blocks[:, :, :, None, :, None] * left[:, None, :, None, None] * right[:, None, None, None, :], axis=1
        )

    cross = spread(outer(re), to_gate, to_mean)
    cross = cross + xp.permute_dims(cross, (0, 3, 4, 1, 2))
    own = spread(outer(gate), to_gate[:last, :], to_gate[:last, :])
    own = own + spread(outer(rq) * (2.0 * precision)[..., None, None], to_mean, to_mean) + cross
    # gate blocks with zeros for the means
    pp = xp.reshape(pp, (members, size, last, size, last))
    pp = xp.concat([pp, xp.zeros((members, size, last, size, atoms), dtype=pp.dtype)], axis=4)
    own = own + xp.concat([pp, xp.zeros((members, size, atoms, size, width), dtype=pp.dtype)], axis=2)
    own = xp.reshape(own, (members, size * width, size * width))

    # linear coordinates against log variances (M, D, 2N-1, N)
    mixed = rq[..., :size][..., None, None] * to_gate[:, None, :, None] * eye[:, None, None, :]
    mixed = mixed + (req - re[..., :size])[..., None, None] * to_mean[:, None, :, None] * eye[:, None, None, :]
    mixed = xp.reshape(xp.sum(mixed, axis=1), (members, size * width, atoms))
    variances = (rqq - rq[..., 0] - 0.5 * r)[..., None] * eye
    hessian = xp.concat(
        [xp.concat([own, mixed], axis=-1), xp.concat([xp.matrix_transpose(mixed), variances], axis=-1)], axis=-2
    )
    return gradient, hessian - tt

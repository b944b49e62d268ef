r"""The regression mixture of experts :math:`f_G(x) = \sum_i g_i(x)\, \phi(a_i'x + \beta_i)`.

An atom is a row of P = Q + E numbers: gate coordinates first (see :mod:`moestat.models.gates`), then the expert's
``[a_1..a_d, beta]``. Source: "sigmoid-attention", Section 2 and Appendix E.1, equation (84).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy  # its submodules are imported when they are used

from moestat import own
from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.models import experts, gates
from moestat.models.blocks import row_blocks
from moestat.models.experts import Smoothing
from moestat.models.gates import Score


@dataclass(frozen=True)
class Model:
    """A family of regression functions; an instance holds no parameters.

    An atom has its coordinates in this order: c, the intercept of the score; b (d of them; none for the partially
    quadratic score); A, isometrically stored as A_11, ..., A_dd, sqrt2 A_12, sqrt2 A_13, ..., so that d(d + 1)/2
    numbers have its Frobenius norm (none for the linear score); a (d) and beta, of the expert phi(a'x + beta). The
    properties ``c``, ``b``, ``a_matrix`` and ``eta`` are their places; :func:`moestat.models.gates.pack_symmetric`
    stores a matrix A.

    Parameters
    ----------
    gate : {"sigmoid", "softmax"} or import path
        ``"module:function"`` names a gate of the user's own, see :mod:`moestat.own`.
    score : {"full", "partial", "linear"}
        Fully quadratic, partially quadratic (no b) or linear (no A) score.
    expert : {"relu", "gelu", "linear", "polynomial"} or import path
        A polynomial has the degree ``power``.
    """

    gate: str
    score: Score
    expert: str
    d: int
    power: int = 1

    def __post_init__(self) -> None:
        for what, value, allowed in (
            ("gate", self.gate, gates.GATES),
            ("score", self.score, gates.SCORES),
            ("expert", self.expert, experts.EXPERTS),
        ):
            if what != "score" and own.is_path(value):
                own.load(value)
            elif value not in allowed:
                path = "" if what == "score" else " and an import path 'module:function'"
                raise ValueError(f"{what} is {value!r}; allowed are {', '.join(allowed)}{path}")
        if self.d < 1:
            raise ValueError(f"d is {self.d}; it must be at least 1")
        if self.power < 1 or (self.power > 1 and self.expert != "polynomial"):
            raise ValueError(f"power is {self.power}; it must be at least 1, and 1 unless expert is 'polynomial'")

    @property
    def mirror(self) -> str:
        """Which signs of an atom leave functions of the user's own as they are, for no loss knows of them; else ""."""
        gate, expert = (own.parity(own.load(f)) if own.is_path(f) else 0 for f in (self.gate, self.expert))
        if gate == 1:
            return f"the gate {self.gate!r} is even: (A, b, c) and (-A, -b, -c) are the same, and count as different"
        if expert == 1:
            return f"the expert {self.expert!r} is even: (a, beta) and (-a, -beta) are the same, and count as different"
        odd = expert == -1 or self.expert == "linear" or (self.expert == "polynomial" and self.power % 2 == 1)
        if gate == -1 and odd:
            pair = f"{self.gate!r} and {self.expert!r} are odd"
            return f"{pair}: an atom and its negative are the same, and count as different"
        return ""

    @property
    def gate_size(self) -> int:
        """Number Q of gate coordinates of an atom."""
        return gates.score_size(self.score, self.d)

    @property
    def expert_size(self) -> int:
        """Number E = d + 1 of expert coordinates of an atom."""
        return self.d + 1

    @property
    def atom_size(self) -> int:
        """Number P = Q + E of coordinates of an atom."""
        return self.gate_size + self.expert_size

    @property
    def c(self) -> slice:
        """Position of the gate's intercept in an atom."""
        return slice(0, 1)

    @property
    def b(self) -> slice:
        """Positions of the score's linear part in an atom; empty for the partially quadratic score."""
        return slice(1, 1) if self.score == "partial" else slice(1, 1 + self.d)

    @property
    def a_matrix(self) -> slice:
        """Positions of the isometrically stored A in an atom; empty for the linear score."""
        return slice(self.b.stop, self.gate_size)

    @property
    def eta(self) -> slice:
        """Positions of the expert's coordinates [a, beta] in an atom."""
        return slice(self.gate_size, self.atom_size)

    @takes_float64("theta", "x")
    def predict(self, theta: Array, x: Array, *, tau: Smoothing = 0.0) -> Array:
        """Return the regression function (..., n) at the samples (..., n, d); their batches broadcast.

        ``tau`` smooths the ReLU, see :func:`moestat.models.experts.activation`.
        """
        gates.check_shapes(theta, x, self.atom_size, self.d)
        xp = namespace(theta, x)
        return xp.concat(
            [self._forward(theta, x[..., rows, :], tau, 0)[0] for rows in row_blocks(x.shape[-2])], axis=-1
        )

    @takes_float64("theta")
    def weights(self, theta: Array) -> Array:
        """Return the weights w_i (..., N) of the mixing measure: exp(c_i) for the softmax, g(c_i) for other gates g."""
        c = theta[..., 0]
        if self.gate == "softmax":
            return namespace(c).exp(c)
        return gates.gate_values(self.gate, c)

    @takes_float64("theta", "x", "y")
    def gradient(self, theta: Array, x: Array, y: Array, *, tau: Smoothing = 0.0) -> tuple[Array, Array]:
        """Return half the mean squared residual (...) and its gradient (..., N, P), without ever holding a Jacobian."""
        gates.check_shapes(theta, x, self.atom_size, self.d)
        xp = namespace(theta, x, y)
        n = x.shape[-2]
        loss = grad = None
        for rows in row_blocks(n):
            f, (g, *turns), (phi, slope), q, e = self._forward(theta, x[..., rows, :], tau, 1)
            r = f - y[..., rows]
            u = gates.output_slopes(self.gate, g, phi, f, *turns) * r[..., None, :]
            v = g * slope * r[..., None, :]
            piece = xp.concat([u @ xp.matrix_transpose(q), v @ xp.matrix_transpose(e)], axis=-1)
            half = 0.5 * xp.sum(r * r, axis=-1)
            loss = half if loss is None else loss + half
            grad = piece if grad is None else grad + piece
        return loss / n, grad / n

    @takes_float64("theta", "x")
    def tangents(self, theta: Array, x: Array, *, tau: Smoothing = 0.0) -> tuple[Array, Array, Array, Array]:
        """Return f (n,) of atoms (N, P), its derivatives (N P, n), atoms in turn, and score and expert features."""
        gates.check_shapes(theta, x, self.atom_size, self.d)
        f, (g, *turns), (phi, slope), q, e = self._forward(theta, x, tau, 1)
        u, v = gates.output_slopes(self.gate, g, phi, f, *turns), g * slope
        parts = [part for i in range(theta.shape[0]) for part in (u[i, None, :] * q, v[i, None, :] * e)]
        return f, namespace(x).concat(parts, axis=0), q, e

    @takes_float64("theta", "reference", finite=True)
    def align(self, theta: Array, reference: Array) -> Array:
        """Remove the softmax gauge: shift the gate coordinates of (..., N, P) towards a reference (N*, P).

        The softmax gate does not change when one vector is added to the gate coordinates of every atom. The shift is
        the one for which the sum of squared distances between matched atoms is least, the matching being optimal too
        (alternated from every pairing of a fitted with a reference atom). Other gates have no gauge: ``theta`` comes
        back unchanged.
        """
        if self.gate != "softmax":
            return theta
        xp = namespace(theta)
        aligned, target = to_numpy(theta).reshape((-1, *theta.shape[-2:])).copy(), to_numpy(reference)
        for member in aligned:
            member[:, : self.gate_size] += _gauge(member.tobytes(), target.tobytes(), self.atom_size, self.gate_size)
        return xp.reshape(xp.asarray(aligned, dtype=theta.dtype), theta.shape)

    def _forward(self, theta: Array, x: Array, tau: Smoothing, order: int) -> tuple[Any, ...]:
        """Return f, gates and phi with their derivatives up to ``order``, score features and expert features."""
        xp = namespace(theta, x)
        q = gates.score_features(x, self.score)
        e = experts.expert_features(x)
        g = gates.gate_derivatives(self.gate, theta[..., : self.gate_size] @ q, order)
        h = theta[..., self.gate_size :] @ e
        phi = experts.activation(self.expert, h, tau=tau, power=self.power, order=order)
        return xp.sum(g[0] * phi[0], axis=-2), g, phi, q, e


@lru_cache(maxsize=1024)
def _gauge(atoms: bytes, target: bytes, size: int, q: int) -> np.ndarray:
    """Return the least-squares common shift (q,) of the gate coordinates over optimally matched atoms.

    Every pairing of a fitted with a reference atom starts an alternation of matching and averaging. The arguments are
    the bytes of the atoms (N, ``size``) and (N*, ``size``): each loss of a fit asks for the same shift again.
    """
    fitted, reference = (np.frombuffer(part).reshape(-1, size) for part in (atoms, target))
    pairs = reference[None, :, :q] - fitted[:, None, :q]
    distance = np.sum((reference[None, :, q:] - fitted[:, None, q:]) ** 2, axis=-1)
    shift = pairs.reshape(-1, q).copy()
    reached = np.full(len(shift), np.inf)
    running, distinct = np.arange(len(shift)), shift
    which = running  # of the distinct shifts, by those still running
    while running.size:
        costs = distance + np.sum((pairs - distinct[:, None, None, :]) ** 2, axis=-1)
        matched = [scipy.optimize.linear_sum_assignment(cost) for cost in costs]
        total = np.array([cost[match].sum() for cost, match in zip(costs, matched, strict=True)])[which]
        better = total < reached[running] - 1e-12 * np.maximum(total, 1.0)
        running, which = running[better], which[better]
        # most shifts soon lead to one of a few matchings, from which they go on as one
        first = {(i.tobytes(), j.tobytes()): k for k, (i, j) in reversed(list(enumerate(matched)))}
        same = np.array([first[i.tobytes(), j.tobytes()] for i, j in matched])
        kept, which = np.unique(same[which], return_inverse=True)
        distinct = np.array([pairs[matched[k]].mean(axis=0) for k in kept])
        reached[running] = total[better]
        shift[running] = distinct[which] if running.size else shift[running]
    best: np.ndarray = shift[np.argmin(reached)]
    best.flags.writeable = False
    return best

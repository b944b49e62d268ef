r"""The Gaussian mixture of experts with competition gating.

.. math::
    p_G(y | x) = \sum_{i=1}^k \mathrm{softmax}(\mathrm{TopK}(|g(x, W_i)|, K))_i \; N(y \mid g(x, W_i),\; v_i)

Each expert competes with the size of its own mean: the K largest :math:`|g|` win and share the gate. An atom is the
row ``[W_1..W_q, v]``; the paper's :math:`\sigma` is called a variance there, and is one here.

Training needs a smooth version: :meth:`Competition.logits` replaces the hard choice by
:math:`|g_i| + \log \mathrm{sigmoid}((|g_i| - t) / T)`, with t half-way between the K-th and the (K+1)-th largest, which
tends to the hard choice as T tends to 0.

Source: "CompeteSMoE", equation (6), and section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64
from moestat.models.gates import samples_last
from moestat.models.gaussian import Components, check_arguments, log_sum_exp, posterior

Expert = Literal["linear", "affine", "tanh"]
EXPERTS: tuple[Expert, ...] = get_args(Expert)


@dataclass(frozen=True)
class Competition:
    """The family; an instance holds no parameters.

    Parameters
    ----------
    expert : {"linear", "affine", "tanh"}
        g = w'x, w'x + b, or tanh(w'x + b), with W = w or [w, b].
    active : int
        K, the number of experts that win.
    """

    d: int
    expert: Expert
    active: int

    def __post_init__(self) -> None:
        if self.expert not in EXPERTS:
            raise ValueError(f"expert is {self.expert!r}; allowed are {', '.join(EXPERTS)}")
        for name, value in (("d", self.d), ("active", self.active)):
            if value != int(value) or value < 1:
                raise ValueError(f"{name} is {value}; it must be a whole number, at least 1")

    @property
    def weight_size(self) -> int:
        """Number q of weights of an expert."""
        return self.d + (self.expert != "linear")

    @property
    def atom_size(self) -> int:
        """Number P = q + 1 of coordinates of an atom."""
        return self.weight_size + 1

    @property
    def w(self) -> slice:
        """Positions of the weights."""
        return slice(0, self.weight_size)

    @property
    def variance(self) -> slice:
        """Position of the variance."""
        return slice(self.weight_size, self.weight_size + 1)

    def features(self, x: Array) -> Array:
        """Return x, or [x, 1], with samples last: (..., n, d) -> (..., q, n)."""
        xp = namespace(x)
        rows = samples_last(x)
        return rows if self.expert == "linear" else xp.concat([rows, xp.ones_like(rows[..., :1, :])], axis=-2)

    def outputs(self, w: Array, features: Array) -> tuple[Array, Array | None]:
        """Return g (..., k, n), and its derivative in W'features when that is not 1."""
        g = w @ features
        if self.expert != "tanh":
            return g, None
        g = namespace(g).tanh(g)
        return g, 1.0 - g * g

    def rank(self, size: Array) -> Array:
        """Return each expert's place in the competition, (..., k, n), 0 for the largest; ties to the lowest index."""
        xp = namespace(size)
        k = size.shape[-2]
        place = []
        for i in range(k):
            mine = size[..., i, :]
            ahead = xp.zeros(mine.shape, dtype=xp.int8)
            for j in range(k):
                if j != i:
                    before = size[..., j, :] >= mine if j < i else size[..., j, :] > mine
                    ahead = ahead + xp.astype(before, xp.int8)
            place.append(ahead)
        return xp.stack(place, axis=-2)

    @takes_float64("theta", "x")
    def winners(self, theta: Array, x: Array) -> Array:
        """Return which experts are active, a bool array (..., k, n)."""
        size = namespace(theta, x).abs(self.components(theta, x).mean)
        return self.rank(size) < self.active

    def logits(self, g: Array, temperature: float | Array) -> tuple[Array, Array | None]:
        """Return the gate's logits (..., k, n) at temperature T (0: the hard choice), and how they depend on |g|.

        The second array is sigmoid(-u) / T with u = (|g| - t) / T: the logits' derivative in |g_i| is 1 + its i-th
        entry, that in t is minus it. It is None for the hard choice and where all experts are active.
        """
        xp = namespace(g)
        size = xp.abs(g)
        if self.active >= g.shape[-2]:
            return size, None
        rank = self.rank(size)
        if isinstance(temperature, float | int) and temperature == 0:
            return xp.where(rank < self.active, size, xp.full_like(size, -math.inf)), None
        middle = xp.where(self._middle(rank), size, xp.zeros_like(size))
        u = (size - 0.5 * xp.sum(middle, axis=-2, keepdims=True)) / temperature
        # log sigmoid(u) without overflow, and sigmoid(-u) from the same exponential
        tail = xp.exp(-xp.abs(u))
        one = xp.ones_like(u)
        logits = size + xp.where(u < 0, u, xp.zeros_like(u)) - xp.log1p(tail)
        return logits, xp.where(u < 0, one, tail) / (one + tail) / temperature

    def between(self, g: Array) -> Array:
        """Return 1/2 for the experts at places K and K+1 (whose mean size is t), 0 for the others, (..., k, n)."""
        xp = namespace(g)
        return 0.5 * xp.astype(self._middle(self.rank(xp.abs(g))), g.dtype)

    def _middle(self, rank: Array) -> Array:
        return (rank == self.active - 1) | (rank == self.active)

    @takes_float64("theta", "x")
    def components(self, theta: Array, x: Array) -> Components:
        """Return gate values, means and variances, see :class:`moestat.models.gaussian.Components`.

        Takes ``theta`` (..., k, P), ``x`` (..., n, d).
        """
        return self._components(theta, self.outputs(theta[..., self.w], self.features(x))[0])

    def _components(self, theta: Array, g: Array) -> Components:
        if self.active > theta.shape[-2]:
            raise ValueError(f"active is {self.active}, but theta holds only {theta.shape[-2]} experts")
        logits, _ = self.logits(g, 0.0)
        return Components(logits - log_sum_exp(logits)[..., None, :], g, theta[..., self.variance])

    @takes_float64("theta", "x", "y")
    def score(self, theta: Array, x: Array, y: Array) -> Array:
        r"""Return the derivative of log p(y | x) in every coordinate, sample by sample, between the jumps.

        With the responsibilities :math:`r_i = \pi_i N_i / p` and the signs :math:`s_i` of g: weights
        :math:`[s_i (r_i - \pi_i) + r_i (y - g_i) / v_i]\, \partial g_i / \partial W_i`, variance
        :math:`r_i ((y - g_i)^2 / v_i - 1) / (2 v_i)`; 0 for an expert that is not active.

        Takes ``theta`` (..., k, P), ``x`` (..., n, d), ``y`` (..., n). Returns (..., k, P, n).
        """
        check_arguments(self, theta, x, y)
        xp = namespace(theta, x, y)
        features = self.features(x)
        g, slope = self.outputs(theta[..., self.w], features)
        at = self._components(theta, g)
        r, pull, variance = posterior(at, y)
        through = xp.sign(g) * (r - xp.exp(at.log_weight)) + r * pull
        if slope is not None:
            through = through * slope
        weights = through[..., None, :] * features[..., None, :, :]
        return xp.concat([weights, variance[..., None, :]], axis=-2)

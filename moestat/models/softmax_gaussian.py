r"""The softmax-gated Gaussian mixture of experts with linear mean, and a linear or quadratic score.

.. math::
    p_G(y | x) = \sum_{i=1}^N \frac{e^{b_i'x + c_i}}{\sum_j e^{b_j'x + c_j}}\; N(y \mid a_i'x + \beta_i,\; v_i)

An atom is the row ``[c, b_1..b_d, a_1..a_d, beta, v]`` of P = 2 d + 3 numbers: the gate first, the variance last. The
density does not change when one vector is added to the gate coordinates (c, b) of every atom. With a quadratic score b
holds the other coefficients of :func:`moestat.models.gates.score_features`, those of the squares after those of x.

Source: Nguyen, Nguyen, Ho, "Demystifying softmax gating function in Gaussian mixture of experts" (arXiv 2305.03288),
equation (1); there :math:`\beta_0 = c`, :math:`\beta_1 = b`, :math:`b = \beta`, :math:`\sigma = v`.
"""

from __future__ import annotations

from dataclasses import dataclass

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64
from moestat.models.experts import expert_features
from moestat.models.gates import SCORES, Score, score_features, score_size
from moestat.models.gaussian import Components, check_arguments, log_sum_exp, posterior


@dataclass(frozen=True)
class SoftmaxGaussian:
    """The family for inputs of dimension d; an instance holds no parameters."""

    d: int = 1
    scores: Score = "linear"  #: Of the gate; experts are linear all the same.

    def __post_init__(self) -> None:
        if self.d < 1:
            raise ValueError(f"d is {self.d}; it must be at least 1")
        if self.scores not in SCORES:
            raise ValueError(f"scores is {self.scores!r}; allowed are {', '.join(SCORES)}")

    @property
    def atom_size(self) -> int:
        """Number P of coordinates of an atom, 2 d + 3 with a linear score."""
        return score_size(self.scores, self.d) + self.d + 2

    @property
    def c(self) -> slice:
        """Position of the gate's intercept."""
        return slice(0, 1)

    @property
    def b(self) -> slice:
        """Positions of the gate's slope."""
        return slice(1, self.gate.stop)

    @property
    def gate(self) -> slice:
        """Positions of the gate, intercept and slope."""
        return slice(0, score_size(self.scores, self.d))

    @property
    def a(self) -> slice:
        """Positions of the mean's slope."""
        return slice(self.gate.stop, self.gate.stop + self.d)

    @property
    def beta(self) -> slice:
        """Position of the mean's intercept."""
        return slice(self.a.stop, self.a.stop + 1)

    @property
    def eta(self) -> slice:
        """Positions of the mean, slope and intercept."""
        return slice(self.a.start, self.a.stop + 1)

    @property
    def variance(self) -> slice:
        """Position of the variance."""
        return slice(self.a.stop + 1, self.a.stop + 2)

    @takes_float64("theta", "x")
    def components(self, theta: Array, x: Array) -> Components:
        """Return gate values, means and variances, see :class:`moestat.models.gaussian.Components`.

        Takes ``theta`` (..., N, P), ``x`` (..., n, d).
        """
        scores = theta[..., self.gate] @ score_features(x, self.scores)
        mean = theta[..., self.eta] @ expert_features(x)
        return Components(scores - log_sum_exp(scores)[..., None, :], mean, theta[..., self.variance])

    @takes_float64("theta", "x", "y")
    def score(self, theta: Array, x: Array, y: Array) -> Array:
        r"""Return the derivative of log p(y | x) in every coordinate, sample by sample, (..., N, P, n).

        With the responsibilities :math:`r_i = \pi_i N_i / p` and :math:`z = (1, x)`: gate :math:`(r_i - \pi_i) z`,
        mean :math:`r_i (y - \mu_i) / v_i \cdot z`, variance :math:`r_i ((y - \mu_i)^2 / v_i - 1) / (2 v_i)`.

        Takes ``theta`` (..., N, P), ``x`` (..., n, d), ``y`` (..., n).
        """
        check_arguments(self, theta, x, y)
        xp = namespace(theta, x, y)
        at = self.components(theta, x)
        r, pull, variance = posterior(at, y)
        gate = (r - xp.exp(at.log_weight))[..., None, :] * score_features(x, self.scores)[..., None, :, :]
        mean = (r * pull)[..., None, :] * expert_features(x)[..., None, :, :]
        return xp.concat([gate, mean, variance[..., None, :]], axis=-2)

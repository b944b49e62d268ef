r"""The Gaussian-gated Gaussian mixture of experts: normalised Gaussian densities of the input are the gate.

.. math::
    p_G(x, y) = \sum_{i=1}^N \pi_i\, N(x \mid c_i, \Gamma_i)\; N(y \mid a_i'x + \beta_i,\; v_i), \qquad
    p_G(y | x) = \sum_i \frac{\pi_i N(x | c_i, \Gamma_i)}{\sum_j \pi_j N(x | c_j, \Gamma_j)}\; N(y \mid \cdot)

An atom is the row ``[pi, c_1..c_d, Gamma, a_1..a_d, beta, v]``, Gamma as :func:`moestat.models.gates.pack_symmetric`
stores it (its d variances, then sqrt(2) times its covariances), so that norms of stored numbers are Frobenius norms.
The logarithm of each density is quadratic in x: given x, this is a softmax gate with quadratic scores.

Source: Nguyen, Nguyen, Nguyen, Ho, "Towards convergence rates for parameter estimation in Gaussian-gated mixture of
experts" (arXiv 2305.07572), equation (1); there :math:`b = \beta`, :math:`\nu = v`.
"""

from __future__ import annotations

from dataclasses import dataclass

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64
from moestat.models.experts import expert_features
from moestat.models.gates import samples_last, unpack_symmetric
from moestat.models.gaussian import LOG_2PI, Components, log_sum_exp


@dataclass(frozen=True)
class GaussianGate:
    """The family for inputs of dimension d; an instance holds no parameters."""

    d: int = 1

    def __post_init__(self) -> None:
        if self.d < 1:
            raise ValueError(f"d is {self.d}; it must be at least 1")

    @property
    def atom_size(self) -> int:
        """Number P of coordinates of an atom."""
        return 2 * self.d + 3 + self.d * (self.d + 1) // 2

    @property
    def weight(self) -> slice:
        """Position of the weight pi."""
        return slice(0, 1)

    @property
    def centre(self) -> slice:
        """Positions of the centre c."""
        return slice(1, 1 + self.d)

    @property
    def spread(self) -> slice:
        """Positions of the stored covariance Gamma."""
        return slice(1 + self.d, self.a.start)

    @property
    def a(self) -> slice:
        """Positions of the mean's slope."""
        return slice(self.atom_size - self.d - 2, self.atom_size - 2)

    @property
    def beta(self) -> slice:
        """Position of the mean's intercept."""
        return slice(self.atom_size - 2, self.atom_size - 1)

    @property
    def eta(self) -> slice:
        """Positions of the mean, slope and intercept."""
        return slice(self.a.start, self.atom_size - 1)

    @property
    def variance(self) -> slice:
        """Position of the variance."""
        return slice(self.atom_size - 1, self.atom_size)

    @takes_float64("theta", "x")
    def log_inputs(self, theta: Array, x: Array) -> Array:
        """Return log pi_i + log N(x | c_i, Gamma_i), (..., N, n), of ``theta`` (..., N, P), ``x`` (..., n, d)."""
        xp = namespace(theta, x)
        root = xp.linalg.cholesky(unpack_symmetric(theta[..., self.spread], self.d))
        off = samples_last(x)[..., None, :, :] - theta[..., self.centre, None]
        square = xp.sum(xp.linalg.solve(root, off) ** 2, axis=-2)
        scale = xp.log(theta[..., 0]) - xp.sum(xp.log(xp.linalg.diagonal(root)), axis=-1) - 0.5 * self.d * LOG_2PI
        return scale[..., None] - 0.5 * square

    @takes_float64("theta", "x")
    def components(self, theta: Array, x: Array) -> Components:
        """Return the conditional mixture, as :meth:`moestat.models.softmax_gaussian.SoftmaxGaussian.components`."""
        scores = self.log_inputs(theta, x)
        mean = theta[..., self.eta] @ expert_features(x)
        return Components(scores - log_sum_exp(scores)[..., None, :], mean, theta[..., self.variance])

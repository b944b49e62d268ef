r"""The Fisher line: the error of least squares when everything goes well.

With N = N* atoms, started at the truth and with many samples, the least-squares estimator is asymptotically normal,
:math:`\sqrt{n} (\hat\theta - \theta^*) \to N(0, v I^+)`, with the information matrix
:math:`I = E[\nabla f \nabla f']` and the noise variance v. Every expected loss is then a number times
:math:`n^{-1/2}`. No regular estimator that does not know more than the number of atoms does better in large samples,
so a measured loss far below the line was told the answer by its start, and one far above is pre-asymptotic,
over-specified or badly optimised. The line is that of the *true* model: a fit of another model has another target, for
which see :mod:`moestat.losses.sandwich`.

Where I is singular (the gauge of the softmax, exchanges between gates and experts in the sparse regime) the
pseudo-inverse takes its place: the line is then that of the identified directions, with no error in the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from moestat.doors import takes_float64
from moestat.fit import general, kernel
from moestat.fit.newton import problem_of
from moestat.models.blocks import row_blocks
from moestat.models.general import FunctionModel
from moestat.models.regression import Model

TOLERANCE = 1e-11  #: Eigenvalues of the information below this multiple of the largest one count as zero.
CHUNK = 2**13  #: Points per moment product: bounds the memory; the information does not depend on anything else.


@dataclass(frozen=True)
class FisherLine:
    """Expected losses at n = 1 and the state of the information matrix."""

    #: Expected losses for n = 1; divide by sqrt(n). ``"L3"``: E sum of ||dA|| + ||db|| + |dc| + ||deta|| over atoms;
    #: ``"L1"`` and ``"matched_sum"`` are equal to it when every cell holds one atom; ``"rmse"``: root of the expected
    #: squared error of the function, sqrt(v rank); ``"A"``, ``"b"``, ``"c"``, ``"eta"``: the parts of L3 (those that
    #: the score has).
    at_one: dict[str, float]
    #: rank, nullity: Of the information matrix.
    rank: int
    nullity: int
    #: Smallest kept over largest dropped eigenvalue: infinite for a regular matrix, large when the rank is certain.
    gap: float
    smallest: float  #: Smallest kept eigenvalue over the largest one.

    def at(self, n: float) -> dict[str, float]:
        """Return the expected losses at sample size n."""
        return {name: float(value / np.sqrt(n)) for name, value in self.at_one.items()}


@takes_float64("theta", "x_points")
def information(model: Model, theta: np.ndarray, x_points: np.ndarray) -> np.ndarray:
    """Return the mean of grad f grad f' over points (m, d), (N P, N P), atoms in turn.

    The points stand for the distribution of X; use at least 2**16 quasi-random ones.
    """
    m = x_points.shape[0]
    if isinstance(model, FunctionModel):
        square: np.ndarray = general.hessian(model, theta, x_points, np.zeros(m), exact=False)[0]
        return square
    total = np.zeros((theta.size, theta.size))
    compiled = kernel.serves(x_points)  # it keeps no monomials
    for rows in row_blocks(m, m if compiled else CHUNK):
        part = x_points[None, rows]
        problem = problem_of(model, theta.shape[0], part, np.zeros(part.shape[:2]), "double")
        total += problem.hessian(theta[None], 0.0, 0.0)[2][0] * part.shape[1]
    mean: np.ndarray = 0.5 * (total + total.T) / m
    return mean


@takes_float64("theta", "x_points", finite=True)
def fisher_line(model: Model, theta: np.ndarray, x_points: np.ndarray, noise_variance: float) -> FisherLine:
    """Return the expected losses of asymptotically normal least squares with the true number of atoms.

    ``theta`` (N*, P) is the truth, ``x_points`` (m, d) as in :func:`information`, and the noise variance positive.
    """
    if x_points.shape[0] < theta.size:
        raise ValueError(f"{x_points.shape[0]} points cannot show the information of {theta.size} coordinates")
    values, vectors = np.linalg.eigh(information(model, theta, x_points))
    kept = values > TOLERANCE * values[-1]
    rank = int(np.sum(kept))
    inverse = vectors[:, kept] / values[kept]
    covariance = noise_variance * (inverse @ vectors[:, kept].T)
    return line_of(model, covariance, values, kept, rmse=float(np.sqrt(noise_variance * rank)))


def line_of(model: Model, covariance: np.ndarray, values: np.ndarray, kept: np.ndarray, **more: float) -> FisherLine:
    """Return the line of centred Gaussian errors (N P,), and what the eigenvalues that were kept say of it.

    Its blocks are E sum_i ||block of atom i||, for those of "A", "b", "c", "eta" that exist.
    """
    size = model.atom_size
    n_atoms, rank = len(covariance) // size, int(np.sum(kept))
    blocks: dict[str, Any] = (
        dict(model.blocks)
        if isinstance(model, FunctionModel)
        else {"A": model.a_matrix, "b": model.b, "c": model.c, "eta": model.eta}
    )
    expected: dict[str, float] = {}
    for name, part in blocks.items():
        index = np.arange(size)[part]
        if index.size:
            own = [covariance[np.ix_(i * size + index, i * size + index)] for i in range(n_atoms)]
            expected[name] = float(np.sum(expected_norm(np.linalg.eigvalsh(np.stack(own)))))
    l3 = sum(expected.values())
    smallest, dropped = np.min(values[kept], initial=np.inf), np.max(np.abs(values[~kept]), initial=0.0)
    return FisherLine(
        at_one={"L1": l3, "L3": l3, "matched_sum": l3, **more, **expected},
        rank=rank,
        nullity=len(covariance) - rank,
        gap=float(np.abs(smallest) / dropped) if dropped > 0 else np.inf,
        smallest=float(smallest / values[-1]) if rank else 0.0,
    )


def expected_norm(eigenvalues: np.ndarray) -> np.ndarray:
    r"""Return E ||Z|| of centred Gaussian vectors, given the eigenvalues (..., k) of their covariances, (...).

    .. math::
        E\sqrt{Q} = \frac{1}{2\sqrt{\pi}} \int_0^\infty \Big(1 - \prod_k (1 + 2 \lambda_k t)^{-1/2}\Big) t^{-3/2} dt,

    by the trapezoidal rule in log t, which converges exponentially here: the relative error is below 1e-9.
    """
    eigenvalues = np.maximum(eigenvalues, 0.0)
    trace = np.sum(eigenvalues, axis=-1)
    scale = np.where(trace > 0, trace, 1.0)
    z, step = np.linspace(-50.0, 50.0, 1001, retstep=True)
    logs = np.sum(np.log1p(2.0 * (eigenvalues / scale[..., None])[..., None] * np.exp(z)), axis=-2)
    integrand = -np.expm1(-0.5 * logs) * np.exp(-0.5 * z)
    norms: np.ndarray = np.where(
        trace > 0, np.sqrt(scale) * step * np.sum(integrand, axis=-1) / (2.0 * np.sqrt(np.pi)), trace
    )
    return norms

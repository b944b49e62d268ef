r"""The Fisher line of a model that does not contain the truth: the sandwich covariance at its own target.

Least squares over a model without the truth estimates a population minimiser (pseudo-truth) :math:`\bar\theta`. At an
isolated one it is asymptotically normal with

.. math::
    \sqrt{n} (\hat\theta - \bar\theta) \to N(0, H^{-1} S H^{-1}), \qquad
    H = E[\nabla f \nabla f' + (f - f_*) \nabla^2 f], \qquad S = E[(v + (f - f_*)^2) \nabla f \nabla f'],

over the coordinates that the box does not hold (White, Maximum likelihood estimation of misspecified models,
Econometrica 50, 1982). Unlike the Fisher line of a true model this is no bound: other estimators of the same target may
do better. It says what a local fit beside that target has at each n, once n is large.
"""

from __future__ import annotations

import numpy as np

from moestat.doors import takes_float64
from moestat.fit import general, kernel
from moestat.fit.moments import Problem
from moestat.fit.second_order import free_coordinates
from moestat.losses.fisher import CHUNK, TOLERANCE, FisherLine, line_of
from moestat.models.blocks import row_blocks
from moestat.models.general import FunctionModel
from moestat.models.regression import Model

SMOOTHING = 0.001  #: Half width of the blend that replaces the ReLU's kink in H, as in the last rung of the fit.


@takes_float64("theta", "x_points", "target", finite=True)
def sandwich_line(
    model: Model, theta: np.ndarray, x_points: np.ndarray, target: np.ndarray, noise_variance: float, *, box: float
) -> FisherLine:
    """Return the expected losses, at n = 1, of least squares beside one population minimiser ``theta`` (N, P).

    The points (m, d) stand for the law of X, best those on which ``theta`` is the minimiser; ``target`` (m,) is the
    truth there. Coordinates on the ``box``, with the gradient pushing outwards, do not move. In the line ``"rmse"`` is
    left out: the distance to the truth does not vanish; ``"rmse_pseudo"`` is the root of the expected squared distance
    between the fitted function and that of ``theta``. Rank and nullity are those of H.
    """
    m = x_points.shape[0]
    if m < theta.size:
        raise ValueError(f"{m} points cannot show the curvature in {theta.size} coordinates")
    smooth = SMOOTHING if model.expert == "relu" else 0.0
    of = _compiled if kernel.serves(x_points, target) and not isinstance(model, FunctionModel) else _plain
    gradient, curvature, spread, tangents = of(model, theta, x_points, target, smooth, noise_variance)
    free = free_coordinates(theta.reshape(1, -1), gradient[None], -box, box)[0]
    free &= np.abs(theta.ravel()) < box * (1 - 1e-12)
    h, s, j = (a[np.ix_(free, free)] for a in (0.5 * (curvature + curvature.T), spread, tangents))
    if isinstance(model, FunctionModel):  # second differences are not exact enough to show that H is singular
        sizes, directions = np.linalg.eigh(j)
        inside = directions[:, sizes > TOLERANCE * sizes[-1]]
        h = inside @ (inside.T @ h @ inside) @ inside.T
    values, vectors = np.linalg.eigh(h)
    kept = np.abs(values) > TOLERANCE * np.abs(values).max()
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    covariance = np.zeros((theta.size, theta.size))
    covariance[np.ix_(free, free)] = inverse @ s @ inverse
    spread_of_f = np.trace(covariance[np.ix_(free, free)] @ j)
    return line_of(model, covariance, values, kept, rmse_pseudo=float(np.sqrt(spread_of_f)))


def _compiled(
    model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray, smooth: float, variance: float
) -> tuple[np.ndarray, ...]:
    """Return the gradient of half the mean square at ``theta``, and H, S and E[grad f grad f']."""
    from moestat.fit.compiled_problem import CompiledProblem  # needs numba

    problem, member = CompiledProblem(model, len(theta), x[None], y[None], "double"), theta[None]
    _, gradient, curvature = problem.hessian(member, smooth)
    tangents = problem.hessian(member, smooth, 0.0)[2]
    return gradient[0], curvature[0], problem.spread(member, smooth, variance)[0], tangents[0]


def _plain(
    model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray, smooth: float, variance: float
) -> tuple[np.ndarray, ...]:
    """Do as :func:`_compiled`, for every model and processor."""
    curvature, spread, tangents = (np.zeros((theta.size, theta.size)) for _ in range(3))
    gradient = np.zeros(theta.size)
    for rows in row_blocks(len(x), CHUNK):
        part, own = x[rows], y[rows]
        if isinstance(model, FunctionModel):
            _, hessian, slope = general.hessian(model, theta, part, own)
        else:
            problem = Problem(model, len(theta), part[None], own[None], "double")
            slope, hessian = (out[0] for out in problem.hessian(theta[None], smooth, 1.0)[1:])
        gradient += slope * len(part)
        curvature += hessian * len(part)
        f, jacobian, *_ = model.tangents(theta, part, tau=smooth)
        tangents += jacobian @ jacobian.T
        spread += (jacobian * (variance + (f - own) ** 2)) @ jacobian.T
    return tuple(total / len(x) for total in (gradient, curvature, spread, tangents))

r"""A batch of independent smooth minimisations, solved by a trust-region Newton method with the exact Hessian.

Likelihoods of mixtures are not convex: on the way to a maximum the Hessian is often indefinite. Each step solves

.. math:: \min_s\; g's + \tfrac12 s'Hs \quad \text{subject to} \quad \|D s\| \le \Delta

exactly, by an eigendecomposition of the scaled Hessian, so that negative curvature is used and not damped away. As in
:mod:`moestat.fit.levenberg_marquardt` every member has its own region, acceptance and end, finished members leave the
batch, and coordinates that the box holds back take no part.

Source: Moré and Sorensen, "Computing a trust region step" (SIAM J. Sci. Stat. Comput., 1983); Nocedal and Wright,
"Numerical Optimization", algorithm 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit import active_set, box
from moestat.fit.gram import Gram, Problem
from moestat.fit.linalg import symmetric_eigen
from moestat.status import Status

_RUNNING = -1
_SECULAR_STEPS = 12  # the radius is met to a few per cent after two or three
_SMALLEST_RADIUS = 1e-14


@dataclass(frozen=True)
class TrustRegionResult:
    r"""Where each member ended, and how near to a minimum that is.

    Attributes
    ----------
    theta : array (B, p)
    loss : array (B,)
    gradient : array (B,)
        Largest absolute coordinate of the projected gradient (0 where the box holds a coordinate back).
    decrement : array (B,)
        :math:`\frac12 g'H^{-1}g` on the free coordinates; infinite where H is not positive semi-definite.
    iterations : array (B,) int
        Steps tried.
    box_hits : array (B,) int
        Coordinates that lie on the box.
    status : array (B,) int
        A :class:`moestat.status.Status`: CONVERGED; LIMIT; STALLED, when no step lowers the loss; or NOT_FINITE.
    """

    theta: Array
    loss: Array
    gradient: Array
    decrement: Array
    iterations: Array
    box_hits: Array
    status: Array

    def message(self) -> list[str]:
        """Return one full sentence per member."""
        return [Status(int(code)).sentence for code in to_numpy(self.status)]


@dataclass(frozen=True)
class _Batch(active_set.Rows):
    """The members that are still active: one row each in every array."""

    members: Array
    theta: Array
    lower: Array
    upper: Array
    at: Gram
    radius: Array
    iterations: Array


@dataclass(frozen=True)
class _Model(active_set.Rows):
    """The scaled quadratic model on the free coordinates, in the eigenbasis of its Hessian, and what it promises."""

    scale: Array
    values: Array
    vectors: Array
    gradient: Array
    projected: Array
    decrement: Array


@dataclass(frozen=True)
class _Certified(active_set.Rows):
    batch: _Batch
    model: _Model
    status: Array


@takes_float64("start", "lower", "upper")
def trust_region(
    problem: Problem,
    start: Array,
    *,
    lower: Array | float,
    upper: Array | float,
    radius: float = 0.5,
    tolerance: float = 1e-13,
    rounding: float = 1e-15,
    max_iterations: int = 300,
) -> TrustRegionResult:
    r"""Minimise B independent functions.

    Parameters
    ----------
    problem : callable
        See :data:`moestat.fit.gram.Problem`; ``gram`` is the exact Hessian and may be indefinite.
    start : array (B, p) of float64
        Moved into the box if it lies outside.
    lower, upper : float or array broadcastable to (B, p)
        The box.
    radius : float, default 0.5
        First :math:`\Delta`, for steps scaled by :math:`D = |\mathrm{diag} H|^{1/2}`: a step of length
        :math:`\Delta` changes the loss by the order of :math:`\Delta^2 / 2`.
    tolerance : float, default 1e-13
        A member has converged when its decrement is at most this, on the scale of the loss.
    rounding : float, default 1e-15
        Relative error of the loss: changes below it cannot be judged.
    max_iterations : int, default 300

    Returns
    -------
    TrustRegionResult

    Raises
    ------
    ValueError
        If ``start`` is not (B, p), an option is not positive, or the box is empty.
    """
    if start.ndim != 2:
        raise ValueError(f"start has {start.ndim} dimensions; it must be (members, parameters)")
    for name, value in (("radius", radius), ("tolerance", tolerance), ("max_iterations", max_iterations)):
        if not value > 0:
            raise ValueError(f"{name} is {value}; it must be positive")
    xp = namespace(start)
    members = xp.arange(start.shape[0], dtype=xp.int64)
    low, high = (xp.broadcast_to(xp.asarray(b, dtype=start.dtype), start.shape) for b in (lower, upper))
    if bool(xp.any(low > high)):
        raise ValueError("the box is empty: a lower bound exceeds its upper bound")
    theta = xp.minimum(xp.maximum(start, low), high)
    at = problem(theta, members)
    batch = _Batch(members, theta, low, high, at, xp.full_like(at.loss, radius), xp.zeros_like(members))
    return active_set.run(
        batch,
        lambda batch: _certify(batch, tolerance, max_iterations),
        _result,
        lambda certified: _step(problem, certified.batch, certified.model, rounding),
    )


def _certify(batch: _Batch, tolerance: float, max_iterations: int) -> tuple[_Certified, Array]:
    """Return the members with their models, and which of them have finished."""
    model = _model(batch)
    status = _status(batch, model, tolerance, max_iterations)
    return _Certified(batch, model, status), status != _RUNNING


def _model(batch: _Batch) -> _Model:
    """Scale the model, take out the coordinates that the box holds, and diagonalise."""
    xp = namespace(batch.theta)
    at = batch.at
    held = ~box.free_coordinates(batch.theta, at.gradient, batch.lower, batch.upper)
    diagonal = xp.abs(xp.linalg.diagonal(at.gram))
    usable = diagonal > 0
    scale = xp.where(usable, 1.0 / xp.sqrt(xp.where(usable, diagonal, xp.ones_like(diagonal))), xp.ones_like(diagonal))
    free = xp.where(held, xp.zeros_like(scale), scale)
    eye = xp.eye(batch.theta.shape[-1], dtype=batch.theta.dtype)
    hessian = at.gram * free[:, :, None] * free[:, None, :] + eye * xp.astype(held, scale.dtype)[:, None, :]
    values, vectors = symmetric_eigen(hessian)
    projected = xp.where(held, xp.zeros_like(at.gradient), at.gradient)
    gradient = xp.matmul(xp.matrix_transpose(vectors), (free * at.gradient)[..., None])[..., 0]
    # an eigenvalue below this is a zero that rounding has moved
    tiny = 1e-12 * xp.max(xp.abs(values), axis=-1)[:, None]
    definite = xp.all(values >= -tiny, axis=-1)
    decrement = 0.5 * xp.sum(gradient * gradient / xp.maximum(values, tiny + 1e-300), axis=-1)
    decrement = xp.where(definite, decrement, xp.full_like(decrement, xp.inf))
    return _Model(free, values, vectors, gradient, projected, decrement)


def _status(batch: _Batch, model: _Model, tolerance: float, max_iterations: int) -> Array:
    xp = namespace(model.decrement)
    code = xp.full(model.decrement.shape, _RUNNING, dtype=xp.int64)

    def mark(code: Array, where: Array, status: Status) -> Array:
        return xp.where(where, xp.full_like(code, int(status)), code)

    code = mark(code, batch.iterations >= max_iterations, Status.LIMIT)
    code = mark(code, batch.radius < _SMALLEST_RADIUS, Status.STALLED)
    # a saddle has no decrement; where it is flat to rounding in every direction, nothing is left to gain
    flat = 0.5 * xp.sum(model.gradient**2, axis=-1) <= 1e-2 * tolerance
    curved = xp.min(model.values, axis=-1) < -1e-6
    code = mark(code, (batch.radius < _SMALLEST_RADIUS) & flat & ~curved, Status.CONVERGED)
    code = mark(code, model.decrement <= tolerance, Status.CONVERGED)
    return mark(code, ~batch.at.finite(), Status.NOT_FINITE)


def _shift(model: _Model, radius: Array) -> Array:
    """Return mu >= 0 with H + mu positive definite and a step no longer than the radius (and as long, if mu > 0)."""
    xp = namespace(radius)
    lowest = model.values[:, 0]
    span = xp.max(xp.abs(model.values), axis=-1)
    # H + mu stays positive definite by a margin that rounding cannot eat
    low = xp.maximum(-lowest, xp.zeros_like(lowest)) + 1e-10 * span + 1e-300
    length = xp.sqrt(xp.sum(model.gradient**2, axis=-1))
    high = low + length / radius
    mu = low

    def norm(mu: Array) -> tuple[Array, Array]:
        divided = model.gradient / (model.values + mu[:, None])
        size = xp.sqrt(xp.sum(divided * divided, axis=-1))
        return size, xp.sum(divided * divided / (model.values + mu[:, None]), axis=-1)

    size, slope = norm(mu)
    newton = (lowest > 1e-10 * span) & (size <= radius)
    for _ in range(_SECULAR_STEPS):
        inside = size <= radius
        low, high = xp.where(inside, low, mu), xp.where(inside, mu, high)
        step = size * size / xp.where(slope > 0, slope, xp.ones_like(slope)) * (size / radius - 1.0)
        guess = mu + step
        mu = xp.where((guess > low) & (guess < high), guess, 0.5 * (low + high))
        size, slope = norm(mu)
    # the upper end is always inside the region
    mu = xp.where(size <= 1.1 * radius, mu, high)
    return xp.where(newton, xp.zeros_like(mu), mu)


def _step(problem: Problem, batch: _Batch, model: _Model, rounding: float) -> _Batch:
    """Try one step of every member, keep it where it lowers the loss, and update the region."""
    xp = namespace(batch.theta)
    at = batch.at
    mu = _shift(model, batch.radius)
    scaled = -xp.matmul(model.vectors, (model.gradient / (model.values + mu[:, None]))[..., None])[..., 0]
    theta = xp.minimum(xp.maximum(batch.theta + model.scale * scaled, batch.lower), batch.upper)
    moved = theta - batch.theta
    curved = xp.matmul(at.gram, moved[..., None])[..., 0]
    predicted = -xp.sum(moved * (at.gradient + 0.5 * curved), axis=-1)
    trial = problem(theta, batch.members)
    usable = trial.finite() & (predicted > 0)
    zero, one = xp.zeros_like(predicted), xp.ones_like(predicted)
    noise = rounding * xp.abs(at.loss)
    gain = xp.where(usable, at.loss - trial.loss + noise, zero) / xp.where(usable, predicted + noise, one)
    accept = usable & (gain > 1e-4)
    length = xp.sqrt(xp.sum(scaled * scaled, axis=-1))
    # a step too small for its effect to be seen is taken if it does no harm, but the region shrinks towards the end
    poor = (gain < 0.25) | (predicted <= noise)
    radius = xp.where(poor, 0.25 * xp.minimum(length, batch.radius), batch.radius)
    radius = xp.where(~poor & (gain > 0.7) & (length > 0.8 * batch.radius), 2.5 * batch.radius, radius)
    return replace(
        batch,
        theta=xp.where(accept[:, None], theta, batch.theta),
        at=trial.where(accept, at),
        radius=radius,
        iterations=batch.iterations + 1,
    )


def _result(certified: _Certified, rows: Array) -> TrustRegionResult:
    """Return the results of the members in the given rows."""
    xp = namespace(rows)
    batch, model = certified.batch, certified.model
    theta, lower, upper = (xp.take(part, rows, axis=0) for part in (batch.theta, batch.lower, batch.upper))
    return TrustRegionResult(
        theta=theta,
        loss=xp.take(batch.at.loss, rows),
        gradient=xp.max(xp.abs(xp.take(model.projected, rows, axis=0)), axis=-1),
        decrement=xp.take(model.decrement, rows),
        iterations=xp.take(batch.iterations, rows),
        box_hits=box.hits(theta, lower, upper),
        status=xp.take(certified.status, rows),
    )

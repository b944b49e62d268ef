r"""A batch of independent least-squares problems, solved by Levenberg-Marquardt.

Each member minimises its own :math:`L(\theta) = \frac12 \sum_k r_k(\theta)^2`, within a box if one is given, by steps
that solve :math:`(J'J + \mu D)\, s = -J'r` on the coordinates that are not held at the box. Damping, acceptance and
stopping are per member, and a member that has finished leaves the batch, so that the rest is not slowed down and no
member's numbers depend on the others'.

Sources: Nielsen, "Damping parameter in Marquardt's method" (IMM, 1999), for the update of mu; Moré, "The
Levenberg-Marquardt algorithm: implementation and theory" (1978), for the scaling D; Bertsekas, "Projected Newton
methods for optimization problems with simple constraints" (1982), for the box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit import active_set, box
from moestat.fit.gram import Gram, Problem
from moestat.fit.linalg import scaled_solve
from moestat.status import Status

_RUNNING = -1
_SMALLEST_GAIN = 1e-4  # least share of the predicted decrease that a step must achieve (Armijo)
_LARGEST_DAMPING = 1e200
_FLAT = 1e-8  # relative gradient below which a stall is a minimum to working precision
_RIDGE = 1e-14  # relative to a unit diagonal: makes a singular J'J solvable, far below any digit of the decrement


@dataclass(frozen=True)
class LMResult:
    r"""Where each member of the batch ended, and how near to a stationary point that is.

    Attributes
    ----------
    theta : array (B, p)
    loss : array (B,)
    gradient : array (B,)
        Largest absolute coordinate of the projected gradient (0 where the box holds a coordinate back).
    decrement : array (B,)
        :math:`\frac12 g'(J'J)^{-1}g` on the free coordinates: by how much the undamped step is predicted to lower
        the loss. Infinite where the curvature is not positive definite.
    damping : array (B,)
        Last value of mu.
    iterations : array (B,) int
        Steps tried; the problem was evaluated once more than that.
    box_hits : array (B,) int
        Coordinates that lie on the box.
    status : array (B,) int
        A :class:`moestat.status.Status`.
    """

    theta: Array
    loss: Array
    gradient: Array
    decrement: Array
    damping: Array
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
    scale: Array
    damping: Array
    growth: Array
    floor: Array
    iterations: Array
    stalled: Array


@dataclass(frozen=True)
class _Certified(active_set.Rows):
    """The same with what is said about them: coordinates that are free to move, and how near a minimum they are."""

    batch: _Batch
    free: Array
    projected: Array
    decrement: Array
    status: Array


@takes_float64("start", "lower", "upper")
def levenberg_marquardt(
    problem: Problem,
    start: Array,
    *,
    lower: Array | float | None = None,
    upper: Array | float | None = None,
    scaling: Literal["identity", "diagonal"] = "identity",
    damping: float = 1e-3,
    tolerance: float = 1e-10,
    floor: float = 1e-20,
    max_iterations: int = 400,
) -> LMResult:
    r"""Minimise B independent sums of squares.

    Parameters
    ----------
    problem : callable
        See :data:`moestat.fit.gram.Problem`; :func:`~moestat.fit.gram.from_residuals` and
        :func:`~moestat.fit.gram.from_chunks` make one of residuals and Jacobian.
    start : array (B, p) of float64
        Moved into the box if it lies outside.
    lower, upper : float or array broadcastable to (B, p), optional
        The box.
    scaling : {"identity", "diagonal"}, default "identity"
        D: the identity, which leaves directions without curvature alone; or the largest diagonal of J'J so far
        (Moré), which makes the result independent of the coordinates' units.
    damping : float, default 1e-3
        First mu, relative to the largest diagonal of J'J at the start (to D for "diagonal").
    tolerance : float, default 1e-10
        A member has converged when its decrement is at most ``tolerance * loss``.
    floor : float, default 1e-20
        ... or at most ``floor`` times its loss at the start, for problems whose minimum is zero.
    max_iterations : int, default 400
        Steps tried per member.

    Returns
    -------
    LMResult

    Raises
    ------
    ValueError
        If ``start`` is not (B, p), an option is unknown or not positive, or the box is empty.

    Notes
    -----
    The statuses are CONVERGED; LIMIT; STALLED, when no step of a size that rounding can resolve lowers the loss; and
    NOT_FINITE, when the start has no finite loss, gradient and curvature. A step to a point where they are not
    finite is refused like one that raises the loss. A stall counts as converged where every
    :math:`|g_i| \le 10^{-8} \sqrt{2 L (J'J)_{ii}}`, that is where the residuals are orthogonal to each column of the
    Jacobian to 1e-8: at minima with a singular Jacobian the decrement overstates what can still be gained.
    """
    if start.ndim != 2:
        raise ValueError(f"start has {start.ndim} dimensions; it must be (members, parameters)")
    if scaling not in ("identity", "diagonal"):
        raise ValueError(f"scaling is {scaling!r}; allowed are identity, diagonal")
    for name, value in (("damping", damping), ("tolerance", tolerance), ("max_iterations", max_iterations)):
        if not value > 0:
            raise ValueError(f"{name} is {value}; it must be positive")
    return active_set.run(
        _begin(problem, start, lower, upper, scaling, damping, floor),
        lambda batch: _certify(batch, tolerance, max_iterations),
        _result,
        lambda certified: _step(problem, certified.batch, certified.free, scaling),
    )


def _begin(
    problem: Problem,
    start: Array,
    lower: Array | float | None,
    upper: Array | float | None,
    scaling: str,
    damping: float,
    floor: float,
) -> _Batch:
    xp = namespace(start)
    size = start.shape[0]
    members = xp.arange(size, dtype=xp.int64)
    low = _bound(xp, lower, start, -xp.inf)
    high = _bound(xp, upper, start, xp.inf)
    if bool(xp.any(low > high)):
        raise ValueError("the box is empty: a lower bound exceeds its upper bound")
    # take() lays the rows out in one way whatever the input's strides, on which sums would otherwise depend
    theta = xp.take(xp.minimum(xp.maximum(start, low), high), members, axis=0)
    at = problem(theta, members)
    diagonal = xp.linalg.diagonal(at.gram)
    first = damping * xp.ones_like(at.loss)
    if scaling == "identity":
        largest = xp.max(diagonal, axis=-1)
        scale = xp.ones_like(theta)
        first = first * xp.where(largest > 0, largest, xp.ones_like(largest))
    else:
        scale = xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))
    return _Batch(
        members=members,
        theta=theta,
        lower=low,
        upper=high,
        at=at,
        scale=scale,
        damping=first,
        growth=2.0 * xp.ones_like(at.loss),
        floor=floor * at.loss,
        iterations=xp.zeros(size, dtype=xp.int64),
        stalled=xp.zeros(size, dtype=xp.bool),
    )


def _bound(xp: Any, bound: Array | float | None, start: Array, default: float) -> Array:
    value = default if bound is None else bound
    if isinstance(value, (int, float)):
        return xp.full(start.shape, float(value), dtype=start.dtype)
    return xp.broadcast_to(xp.asarray(value, dtype=start.dtype), start.shape)


def _certify(batch: _Batch, tolerance: float, max_iterations: int) -> tuple[_Certified, Array]:
    """Return the members with their certificates, and which of them have finished."""
    xp = namespace(batch.theta)
    at = batch.at
    free = box.free_coordinates(batch.theta, at.gradient, batch.lower, batch.upper)
    projected = xp.where(free, at.gradient, xp.zeros_like(at.gradient))
    finite = at.finite()
    gram = xp.where(finite[:, None, None], at.gram, xp.full_like(at.gram, -1.0))
    step, ok = scaled_solve(gram, xp.zeros_like(projected), projected, free, _RIDGE)
    decrement = 0.5 * xp.sum(step * projected, axis=-1)
    decrement = xp.where(ok & (decrement >= 0), decrement, xp.full_like(decrement, xp.inf))
    status = _status(batch, finite, projected, decrement, tolerance, max_iterations)
    return _Certified(batch, free, projected, decrement, status), status != _RUNNING


def _status(
    batch: _Batch, finite: Array, projected: Array, decrement: Array, tolerance: float, max_iterations: int
) -> Array:
    xp = namespace(decrement)
    code = xp.full(decrement.shape, _RUNNING, dtype=xp.int64)

    def mark(code: Array, where: Array, status: Status) -> Array:
        return xp.where(where, xp.full_like(code, int(status)), code)

    code = mark(code, batch.iterations >= max_iterations, Status.LIMIT)
    # at a minimum where J'J is singular the decrement says nothing; a zero gradient to rounding still does
    diagonal = xp.linalg.diagonal(batch.at.gram)
    curvature = xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))
    flat = xp.max(xp.abs(projected) / xp.sqrt(curvature), axis=-1) <= _FLAT * xp.sqrt(2.0 * xp.abs(batch.at.loss))
    code = mark(code, batch.stalled, Status.STALLED)
    code = mark(code, batch.stalled & flat, Status.CONVERGED)
    code = mark(code, (decrement <= tolerance * batch.at.loss) | (decrement <= batch.floor), Status.CONVERGED)
    code = mark(code, xp.all(projected == 0, axis=-1), Status.CONVERGED)
    return mark(code, ~finite, Status.NOT_FINITE)


def _step(problem: Problem, batch: _Batch, free: Array, scaling: str) -> _Batch:
    """Try one step of every member; keep it where it lowers the loss enough, and update the damping."""
    xp = namespace(free)
    at = batch.at
    zero, one = xp.zeros_like(at.loss), xp.ones_like(at.loss)
    rhs = xp.where(free, -at.gradient, xp.zeros_like(at.gradient))
    step, ok = scaled_solve(at.gram, batch.damping[:, None] * batch.scale, rhs, free)
    theta = xp.minimum(xp.maximum(batch.theta + step, batch.lower), batch.upper)
    # the step that was really made, after the box and after rounding
    moved = theta - batch.theta
    curved = xp.matmul(at.gram, moved[..., None])[..., 0]
    predicted = -xp.sum(moved * (at.gradient + 0.5 * curved), axis=-1)
    trial = problem(theta, batch.members)
    usable = ok & trial.finite() & (predicted > 0)
    gain = xp.where(usable, at.loss - trial.loss, zero) / xp.where(usable, predicted, one)
    accept = usable & (gain > _SMALLEST_GAIN)

    shrink = xp.maximum(one / 3.0, 1.0 - (2.0 * xp.where(accept, gain, zero) - 1.0) ** 3)
    kept = trial.where(accept, at)
    scale = batch.scale if scaling == "identity" else xp.maximum(batch.scale, xp.linalg.diagonal(kept.gram))
    size = xp.max(xp.abs(moved), axis=-1)
    negligible = size <= 1e-15 * xp.max(xp.abs(batch.theta), axis=-1)
    return replace(
        batch,
        theta=xp.where(accept[:, None], theta, batch.theta),
        at=kept,
        scale=scale,
        damping=batch.damping * xp.where(accept, shrink, batch.growth),
        growth=xp.where(accept, 2.0 * one, 2.0 * batch.growth),
        iterations=batch.iterations + 1,
        # a factorisation that failed says nothing about the loss: more damping, unless no damping can help
        stalled=~accept & ((ok & negligible) | (batch.damping > _LARGEST_DAMPING)),
    )


def _result(certified: _Certified, rows: Array) -> LMResult:
    """Return the results of the members in the given rows."""
    xp = namespace(rows)
    batch = certified.batch
    theta, lower, upper = (xp.take(part, rows, axis=0) for part in (batch.theta, batch.lower, batch.upper))
    return LMResult(
        theta=theta,
        loss=xp.take(batch.at.loss, rows),
        gradient=xp.max(xp.abs(xp.take(certified.projected, rows, axis=0)), axis=-1),
        decrement=xp.take(certified.decrement, rows),
        damping=xp.take(batch.damping, rows),
        iterations=xp.take(batch.iterations, rows),
        box_hits=box.hits(theta, lower, upper),
        status=xp.take(certified.status, rows),
    )

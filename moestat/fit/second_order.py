"""Second-order minimisation in a box, many problems at once: the loop, and how a step is judged.

At its point every problem has a loss, a gradient and a curvature (:class:`Gram`). A :class:`Method` says how near that
point is to a minimum and proposes a step, which is cut off at the box and made where the loss falls by a share of what
the quadratic model promised. :mod:`moestat.fit.levenberg_marquardt` damps the steps, :mod:`moestat.fit.trust_region`
bounds their length. Acceptance and end are per member, and a member that has finished leaves the batch.
:mod:`moestat.fit.descent`, which changes its problem on the way, judges and damps its steps by the same functions.

Source of the box: Bertsekas, "Projected Newton methods for optimization problems with simple constraints" (1982).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from moestat.arrays import Array, clamp, namespace
from moestat.fit import active_set
from moestat.fit.active_set import State
from moestat.status import Status

SMALLEST_GAIN = 1e-4  #: Least share of the predicted decrease that a step must achieve (Armijo).
_RUNNING = -1


class Gram(NamedTuple):
    """What a method needs to know of M problems at one point each."""

    loss: Array  #: (M,)
    gradient: Array  #: (M, p), gradient of ``loss``.
    #: (M, p, p), curvature of ``loss``: J'J, or any symmetric approximation of the Hessian (it may be indefinite).
    gram: Array

    def finite(self) -> Array:
        """Return which problems (M,) have a finite loss, gradient and curvature."""
        xp = namespace(self.loss)
        gradient = xp.all(xp.isfinite(self.gradient), axis=-1)
        return xp.isfinite(self.loss) & gradient & xp.all(xp.isfinite(self.gram), axis=(-2, -1))

    def where(self, chosen: Array, other: Gram) -> Gram:
        """Return these numbers for the ``chosen`` (M,) problems, and those of ``other`` for the rest."""
        xp = namespace(self.loss)
        return Gram(
            xp.where(chosen, self.loss, other.loss),
            xp.where(chosen[:, None], self.gradient, other.gradient),
            xp.where(chosen[:, None, None], self.gram, other.gram),
        )


Problem = Callable[[Array, Array], Gram]
"""``problem(theta (M, p), members (M,) int) -> Gram``: the M problems named by ``members``, at ``theta``.

Member k's numbers must depend on ``theta`` of k alone: reduce over samples in chunks of a fixed size, never over
members. The loss is non-negative (a half, mean or weighted sum of squares), and gradient and curvature are its own.
"""


@dataclass(frozen=True)
class Ends:
    """Where each member of the batch ended, and how near to a stationary point that is."""

    theta: Array  #: (B, p)
    loss: Array  #: (B,)
    #: (B,), largest absolute coordinate of the projected gradient (0 where the box holds a coordinate back).
    gradient: Array
    #: (B,), half g'H^-1 g with the curvature H on the free coordinates: by how much a full step is predicted to lower
    #: the loss. Infinite where H is not positive definite (for a trust region: semi-definite).
    decrement: Array
    iterations: Array  #: (B,) int, steps tried; the problem was evaluated once more than that.
    box_hits: Array  #: (B,) int, coordinates that lie on the box.
    #: (B,) int, a :class:`moestat.status.Status`: CONVERGED; LIMIT; STALLED, when no step that the method would still
    #: try lowers the loss; or NOT_FINITE, when the start has no finite loss, gradient and curvature.
    status: Array


@dataclass(frozen=True)
class Batch(active_set.Rows):
    """The members that are still active: one row each in every array; ``own`` belongs to the method."""

    members: Array
    theta: Array
    lower: Array
    upper: Array
    at: Gram
    iterations: Array
    own: State


class Verdict(NamedTuple):
    """What a method says of points: their decrements (M,), which have ended in which way, and what its step needs."""

    decrement: Array
    stalled: Array
    converged: Array
    model: State


class Tried(NamedTuple):
    """How a step (M, p) went that was made as far as the box allows: see :func:`judge`; ``kept`` is what it led to."""

    moved: Array
    predicted: Array
    noise: Array
    gain: Array
    accept: Array
    kept: Gram


class Method(Protocol):
    """What keeps steps short, and when a member has finished."""

    @property
    def tolerance(self) -> float:
        """Of the decrement, as the method means it."""

    @property
    def rounding(self) -> float:
        """Relative error of the loss: changes below it cannot be judged."""

    def begin(self, at: Gram) -> State:
        """Return the method's own numbers at the start."""

    def examine(self, batch: Batch, free: Array, projected: Array) -> Verdict:
        """Judge the points; ``projected`` is the gradient on the ``free`` coordinates and 0 on the others (M, p)."""

    def step(self, batch: Batch, model: State) -> tuple[Array, State]:
        """Return steps (M, p), 0 where there is none, and what the update must know of them."""

    def update(self, batch: Batch, note: State, tried: Tried) -> State:
        """Return the method's own numbers after a step."""


@dataclass(frozen=True)
class _Examined(active_set.Rows):
    batch: Batch
    projected: Array
    decrement: Array
    status: Array
    model: State


def minimise(
    method: Method, problem: Problem, start: Array, lower: Array | float, upper: Array | float, max_iterations: int
) -> Ends:
    """Minimise from B starts (B, p), which are moved into the box (broadcastable to them) if they lie outside."""
    for name, value in (("tolerance", method.tolerance), ("max_iterations", max_iterations)):
        if not value > 0:
            raise ValueError(f"{name} is {value}; it must be positive")
    if start.ndim != 2:
        raise ValueError(f"start has {start.ndim} dimensions; it must be (members, parameters)")
    xp = namespace(start)
    members = xp.arange(start.shape[0], dtype=xp.int64)
    low, high = (xp.broadcast_to(xp.asarray(bound, dtype=start.dtype), start.shape) for bound in (lower, upper))
    if bool(xp.any(low > high)):
        raise ValueError("the box is empty: a lower bound exceeds its upper bound")
    # take() lays the rows out in one way whatever the input's strides, on which sums would otherwise depend
    theta = xp.take(xp.minimum(xp.maximum(start, low), high), members, axis=0)
    at = problem(theta, members)
    return active_set.run(
        Batch(members, theta, low, high, at, xp.zeros_like(members), method.begin(at)),
        lambda batch: _examine(method, batch, max_iterations),
        _ends,
        lambda examined: _step(method, problem, examined),
    )


def _examine(method: Method, batch: Batch, max_iterations: int) -> tuple[_Examined, Array]:
    """Return the members with what is said of them, and which of them have finished."""
    xp, at = namespace(batch.theta), batch.at
    free = free_coordinates(batch.theta, at.gradient, batch.lower, batch.upper)
    projected = xp.where(free, at.gradient, xp.zeros_like(at.gradient))
    verdict = method.examine(batch, free, projected)
    status = active_set.coded(
        batch.iterations,
        _RUNNING,
        (batch.iterations >= max_iterations, Status.LIMIT),
        (verdict.stalled, Status.STALLED),
        (verdict.converged, Status.CONVERGED),
        (~at.finite(), Status.NOT_FINITE),
    )
    return _Examined(batch, projected, verdict.decrement, status, verdict.model), status != _RUNNING


def _step(method: Method, problem: Problem, examined: _Examined) -> Batch:
    """Try one step of every member, and keep it where it lowers the loss enough."""
    batch, xp = examined.batch, namespace(examined.status)
    at = batch.at
    step, note = method.step(batch, examined.model)
    theta = xp.minimum(xp.maximum(batch.theta + step, batch.lower), batch.upper)
    # the step that was really made, after the box and after rounding
    moved = theta - batch.theta
    trial = problem(theta, batch.members)
    noise = method.rounding * xp.abs(at.loss)
    predicted = promise(at.gradient, at.gram, moved)
    gain, accept = judge(predicted, at.loss - trial.loss, trial.finite(), noise)
    kept = trial.where(accept, at)
    return replace(
        batch,
        theta=xp.where(accept[:, None], theta, batch.theta),
        at=kept,
        iterations=batch.iterations + 1,
        own=method.update(batch, note, Tried(moved, predicted, noise, gain, accept, kept)),
    )


def _ends(examined: _Examined, rows: Array) -> Ends:
    """Return the results of the members in the given rows."""
    some = examined.take(rows)
    batch, xp = some.batch, namespace(rows)
    return Ends(
        theta=batch.theta,
        loss=batch.at.loss,
        gradient=xp.max(xp.abs(some.projected), axis=-1),
        decrement=some.decrement,
        iterations=batch.iterations,
        box_hits=hits(batch.theta, batch.lower, batch.upper),
        status=some.status,
    )


def promise(gradient: Array, curvature: Array, moved: Array) -> Array:
    """Return by how much the quadratic model says that steps (M, p) lower the loss, (M,)."""
    xp = namespace(moved)
    curved = xp.matmul(curvature, moved[..., None])[..., 0]
    return -xp.sum(moved * (gradient + 0.5 * curved), axis=-1)


def judge(predicted: Array, lowered: Array, usable: Array, noise: Array | float = 0.0) -> tuple[Array, Array]:
    """Compare by how much steps have ``lowered`` the loss with what was promised, all (M,).

    Returns (M,): the share of the promise that was kept, 0 for a step that is not ``usable``; and whether that is
    enough. Changes that are as small as ``noise`` are made by rounding.
    """
    xp = namespace(predicted)
    usable = usable & (predicted > 0)
    zero, one = xp.zeros_like(predicted), xp.ones_like(predicted)
    gain = xp.where(usable, lowered + noise, zero) / xp.where(usable, predicted + noise, one)
    return gain, usable & (gain > SMALLEST_GAIN)


def nielsen(
    damping: Array, growth: Array, gain: Array, accept: Array, reject: Array, least: float = 0.0
) -> tuple[Array, Array]:
    """Return damping and its growth (M,): less after a good step, more and more in a row of refused ones."""
    xp = namespace(damping)
    shrunk = damping * clamp(1.0 - (2.0 * xp.where(accept, gain, xp.zeros_like(gain)) - 1.0) ** 3, 1.0 / 3.0, None)
    lower = xp.where(accept, clamp(shrunk, least, None), damping)
    growing = xp.where(accept, 2.0 * xp.ones_like(growth), growth)
    return xp.where(reject, damping * growth, lower), xp.where(reject, 2.0 * growth, growing)


def free_coordinates(theta: Array, gradient: Array, lower: Array | float, upper: Array | float) -> Array:
    """Return which coordinates (B, p) are inside the box, or on it with a gradient that lets them move inwards."""
    return ~(((theta <= lower) & (gradient > 0)) | ((theta >= upper) & (gradient < 0)))


def hits(theta: Array, lower: Array | float, upper: Array | float) -> Array:
    """Return the number (B,) of coordinates that lie on the box."""
    xp = namespace(theta)
    return xp.sum(xp.astype((theta <= lower) | (theta >= upper), xp.int64), axis=-1)

r"""A batch of independent least-squares problems, solved by Levenberg-Marquardt.

Each member minimises its own :math:`L(\theta) = \frac12 \sum_k r_k(\theta)^2` by steps that solve
:math:`(J'J + \mu D)\, s = -J'r`. D is the largest diagonal of J'J so far, which makes the result independent of the
coordinates' units.

Sources: Nielsen, "Damping parameter in Marquardt's method" (IMM, 1999), for the update of mu; Moré, "The
Levenberg-Marquardt algorithm: implementation and theory" (1978), for the scaling D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from moestat.arrays import Array, namespace
from moestat.fit.active_set import State
from moestat.fit.linalg import scaled_solve
from moestat.fit.second_order import Batch, Ends, Gram, Problem, Tried, Verdict, minimise, nielsen

PATIENCE = 5  #: So many small steps in a row are creeping.
_LARGEST_DAMPING = 1e200
_FLOOR = 1e-20  # of the decrement, relative to the loss at the start: for problems whose minimum is zero
_FLAT = 1e-8  # relative gradient below which a stall is a minimum to working precision
_RIDGE = 1e-14  # relative to a unit diagonal: makes a singular J'J solvable, far below any digit of the decrement


def levenberg_marquardt(
    problem: Problem,
    start: Array,
    *,
    lower: Array | float = -math.inf,
    upper: Array | float = math.inf,
    damping: float = 1e-3,
    tolerance: float = 1e-10,
    max_iterations: int = 400,
    creep: float = 0.0,
) -> Ends:
    r"""Minimise B independent sums of squares from ``start`` (B, p), in a box, with the first mu ``damping``.

    A member has converged when its decrement is at most ``tolerance * loss``, or 1e-20 times its loss at the start. It
    has STALLED when no step of a size that rounding can resolve lowers the loss. A step to a point where loss,
    gradient and curvature are not finite is refused like one that raises the loss. A stall counts as converged where
    every :math:`|g_i| \le 10^{-8} \sqrt{2 L (J'J)_{ii}}`, that is where the residuals are orthogonal to each column of
    the Jacobian to 1e-8: at minima with a singular Jacobian the decrement overstates what can still be gained. There
    steps creep: a member also has STALLED once ``PATIENCE`` accepted steps in a row have each lowered its loss by less
    than ``creep`` times the loss.
    """
    if not damping > 0:
        raise ValueError(f"damping is {damping}; it must be positive")
    return minimise(_Damped(damping, tolerance, creep), problem, start, lower, upper, max_iterations)


@dataclass(frozen=True)
class _Damped:
    damping: float
    tolerance: float
    creep: float
    rounding: float = 0.0

    def begin(self, at: Gram) -> State:
        xp = namespace(at.loss)
        one = xp.ones_like(at.loss)
        return {
            "scale": _positive(xp.linalg.diagonal(at.gram)),
            "damping": self.damping * one,
            "growth": 2.0 * one,
            "floor": _FLOOR * at.loss,
            "stalled": xp.zeros(one.shape, dtype=xp.bool),
            "crept": xp.zeros_like(one),
        }

    def examine(self, batch: Batch, free: Array, projected: Array) -> Verdict:
        xp, at, own = namespace(free), batch.at, batch.own
        gram = xp.where(at.finite()[:, None, None], at.gram, xp.full_like(at.gram, -1.0))
        step, ok = scaled_solve(gram, xp.zeros_like(projected), projected, free, _RIDGE)
        decrement = 0.5 * xp.sum(step * projected, axis=-1)
        decrement = xp.where(ok & (decrement >= 0), decrement, xp.full_like(decrement, xp.inf))
        # at a minimum where J'J is singular the decrement says nothing; a zero gradient to rounding still does
        curvature = _positive(xp.linalg.diagonal(at.gram))
        flat = xp.max(xp.abs(projected) / xp.sqrt(curvature), axis=-1) <= _FLAT * xp.sqrt(2.0 * xp.abs(at.loss))
        small = (decrement <= self.tolerance * at.loss) | (decrement <= own["floor"])
        converged = (own["stalled"] & flat) | small | xp.all(projected == 0, axis=-1)
        return Verdict(decrement, own["stalled"], converged, {"free": free, "projected": projected})

    def step(self, batch: Batch, model: State) -> tuple[Array, State]:
        xp, own = namespace(batch.theta), batch.own
        added = own["damping"][:, None] * own["scale"]
        step, ok = scaled_solve(batch.at.gram, added, -model["projected"], model["free"])
        return xp.where(ok[:, None], step, xp.zeros_like(step)), {"ok": ok}

    def update(self, batch: Batch, note: State, tried: Tried) -> State:
        xp, own = namespace(batch.theta), batch.own
        damping, growth = nielsen(own["damping"], own["growth"], tried.gain, tried.accept, ~tried.accept)
        negligible = xp.max(xp.abs(tried.moved), axis=-1) <= 1e-15 * xp.max(xp.abs(batch.theta), axis=-1)
        # a factorisation that failed says nothing about the loss: more damping, unless no damping can help
        stalled = ~tried.accept & ((note["ok"] & negligible) | (own["damping"] > _LARGEST_DAMPING))
        little = batch.at.loss - tried.kept.loss < self.creep * batch.at.loss
        crept = xp.where(tried.accept, xp.where(little, own["crept"] + 1.0, xp.zeros_like(damping)), own["crept"])
        stalled = stalled | (crept >= PATIENCE)
        scale = xp.maximum(own["scale"], xp.linalg.diagonal(tried.kept.gram))
        return {**own, "scale": scale, "damping": damping, "growth": growth, "stalled": stalled, "crept": crept}


def _positive(diagonal: Array) -> Array:
    """Return the diagonal (B, p) with 1 in place of what is not positive."""
    xp = namespace(diagonal)
    return xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))

"""The damped Newton step inside a box, member by member of a batch."""

from __future__ import annotations

from moestat.arrays import Array, namespace
from moestat.fit.box import free_coordinates
from moestat.fit.linalg import damped_solve
from moestat.fit.members import State, put, spread

MOST_DAMPING = 1e12
PASSES = 4
"""How often a step is re-solved with the coordinates that left the box pinned to it, before it is cut off."""


def damped_step(state: State, box: float) -> tuple[Array, State]:
    """Return the damped step inside the box, and the state with the decrement and the damping that it took.

    Coordinates at the box whose gradient pushes outwards are held. Where the step of the others leaves the box they
    are pinned to it and the rest is solved again.
    """
    xp = namespace(state["theta"])
    theta, gradient, hessian = xp.reshape(state["theta"], state["gradient"].shape), state["gradient"], state["hessian"]
    free = free_coordinates(theta, gradient, -box, box)
    pinned = xp.zeros_like(gradient)
    step, damping = _damped(hessian, xp.where(free, -gradient, pinned), free, state["damping"])
    decrement = -0.5 * xp.sum(gradient * step, axis=-1)
    for _ in range(PASSES):
        out = free & (xp.abs(theta + step) > box)
        again = xp.any(out, axis=-1)
        which = xp.nonzero(again)[0]
        if which.shape[0] == 0:
            break
        pinned = xp.where(out, xp.sign(theta + step) * box - theta, pinned)
        free = free & ~out
        h, g, p, f, d = _members((hessian, gradient, pinned, free, damping), which)
        rhs = xp.where(f, -(g + (h @ p[..., None])[..., 0]), p)
        solved, damped = _damped(h, rhs, f, d)
        step, damping = put(step, solved, again), put(damping, damped, again)
    changed = damping > state["damping"]
    growth = xp.where(changed, 2.0 * xp.ones_like(damping), state["growth"])
    return step, {**state, "damping": damping, "growth": growth, "decrement": decrement}


def _damped(hessian: Array, rhs: Array, free: Array, damping: Array) -> tuple[Array, Array]:
    """Solve (H + damping) step = rhs on the free coordinates, raising the damping until H is positive definite.

    The others get step = rhs. Damping is identity: it leaves flat directions (the softmax gauge) where they are.
    """
    xp = namespace(hessian)
    todo = damping <= MOST_DAMPING
    # all at first, whoever they are: to ask which ones costs a GPU more than to solve for those that are given up
    step, ok = damped_solve(hessian, damping, free, rhs)
    solution = xp.where(todo[:, None], step, xp.zeros_like(rhs))
    damping = xp.where(todo & ~ok, 4.0 * damping, damping)
    todo = todo & ~ok & (damping <= MOST_DAMPING)
    while True:
        which = xp.nonzero(todo)[0]
        if which.shape[0] == 0:
            return solution, damping
        h, f, d, b = _members((hessian, free, damping, rhs), which)
        step, ok = damped_solve(h, d, f, b)
        solution = put(solution, step, todo)
        damping = put(damping, xp.where(ok, d, 4.0 * d), todo)
        todo = spread(~ok, todo) & (damping <= MOST_DAMPING)


def _members(parts: tuple[Array, ...], which: Array) -> tuple[Array, ...]:
    """Return arrays of some members; the arrays themselves when these are all, which saves copies of Hessians."""
    if which.shape[0] == parts[0].shape[0]:
        return parts
    xp = namespace(which)
    return tuple(xp.take(part, which, axis=0) for part in parts)

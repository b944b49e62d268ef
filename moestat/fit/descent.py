r"""The descent behind :func:`moestat.fit.newton.least_squares`: damped Newton steps inside a box, in batches.

Every member of the batch has its own damping, its own rung of the smoothing ladder and its own decision to accept a
step or to stop; nothing is shared but the array operations, and a finished member leaves the batch. So the result
of a member is the same, to the last bit, in whatever batch it is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from moestat.arrays import Array, namespace
from moestat.fit import active_set
from moestat.fit.active_set import State, put, spread, take
from moestat.fit.certificate import certify
from moestat.fit.linalg import damped_solve
from moestat.fit.moments import Problem
from moestat.fit.second_order import free_coordinates, judge, nielsen
from moestat.status import Status

FIRST_DAMPING = 1e-3
FLOOR = 1e-15
"""Newton decrements below this share of the variance of y count as zero: without noise the loss has no other end."""
LEAST_DAMPING = 1e-14
MOST_DAMPING = 1e12
PASSES = 4  #: How often a step is re-solved with the coordinates that left the box pinned to it, before it is cut off.
SWITCH = 3e-3  #: Gauss-Newton becomes exact Newton once an accepted step lowers the loss by less than this share.
COARSE = 1e-7
"""Below this share of the variance of y the residuals are so small that float32 products would only slow the end."""
REFUSALS = 12  #: How often the certificate may refuse to let a member stop before the member counts as stalled.
CERTIFIED = ("gradient", "decrement", "min_eigenvalue", "box_hits")


@dataclass(frozen=True)
class _Batch(active_set.Rows):
    """The members that are still active."""

    members: Array
    problem: Problem
    state: State


@dataclass(frozen=True)
class Settings:
    """What :func:`descend` needs to know, see :func:`moestat.fit.newton.least_squares`."""

    box: float
    ladder: tuple[float, ...]
    max_iterations: int
    tolerance: float

    def __post_init__(self) -> None:
        rungs = self.ladder
        if not rungs or min(rungs) < 0 or any(a <= b for a, b in zip(rungs, rungs[1:], strict=False)):
            raise ValueError(f"ladder is {list(rungs)}; it must be a decreasing list of numbers >= 0, at least one")
        for name, least, below in (("box", 0, math.inf), ("max_iterations", 0, math.inf), ("tolerance", 0, 1)):
            if not least < getattr(self, name) < below:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be between {least} and {below}")


def descend(problem: Problem, start: Array, settings: Settings, variance: Array) -> State:
    """Minimise the loss of M members from their starts (M, N, P).

    ``variance`` (M,) is that of y, the scale below which a decrement or a loss counts as nothing. Returns theta,
    smoothed_loss (at the last rung), status, iterations and the certificate's entries.
    """
    xp = namespace(start)
    members = xp.arange(start.shape[0])
    return active_set.run(
        _Batch(members, problem, _begin(problem, start, settings, variance)),
        lambda batch: _examine(batch, settings),
        _result,
        lambda batch: _advance(batch, settings),
    )


def _examine(batch: _Batch, settings: Settings) -> tuple[_Batch, Array]:
    """Return which members have finished, and all with their next steps.

    Their state says, too, which steps promise little (``small``), and which members were ``refused`` to leave.
    """
    step, state = _damped_step(batch.state, settings.box)
    xp = namespace(step)
    last = state["stage"] == len(settings.ladder) - 1
    # A rung is left when it has converged, not before. On the last one the quadratic model holds over steps of the
    # kink's width only, so whatever is left of the way along a flat valley is walked there in hundreds of steps.
    ease = xp.where(last, state["strictness"], xp.ones_like(state["strictness"]))
    small = state["decrement"] <= ease * _goal(state, settings)
    stuck = (state["damping"] > MOST_DAMPING) | ~xp.isfinite(state["loss"])
    spent = state["iterations"] >= settings.max_iterations
    leave = (small & state["newton"] & last) | stuck | spent
    done = xp.zeros_like(leave)
    leaving = xp.nonzero(leave)[0]
    if leaving.shape[0] > 0:
        some, allowed = _try_to_leave(_restrict(batch.problem, leaving), take(state, leaving), settings)
        state = {name: put(value, some[name], leave) for name, value in state.items()}
        done = spread(allowed, leave)
    return replace(batch, state={**state, "step": step, "small": small, "refused": leave}), done


def _damped_step(state: State, box: float) -> tuple[Array, State]:
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


def _result(batch: _Batch, rows: Array) -> State:
    names = {name: f"certified_{name}" for name in CERTIFIED} | {"smoothed_loss": "loss"}
    names |= {name: name for name in ("theta", "status", "iterations")}
    return {name: take(batch.state[own], rows) for name, own in names.items()}


def _begin(problem: Problem, start: Array, settings: Settings, variance: Array) -> State:
    xp = namespace(start)
    m = start.shape[0]
    ones = xp.ones((m,), dtype=start.dtype)
    certified = {name: xp.int64 if name == "box_hits" else start.dtype for name in CERTIFIED}
    state: State = {
        "theta": xp.clip(start, -settings.box, settings.box),
        "damping": FIRST_DAMPING * ones,
        "growth": 2.0 * ones,
        "stage": xp.zeros((m,), dtype=xp.int64),
        "newton": xp.zeros((m,), dtype=xp.bool),
        "fine": xp.zeros((m,), dtype=xp.bool),
        "strictness": ones,
        "refusals": xp.zeros((m,), dtype=xp.int64),
        "iterations": xp.zeros((m,), dtype=xp.int64),
        "variance": variance,
        "status": xp.zeros((m,), dtype=xp.int64),
        **{f"certified_{name}": xp.zeros((m,), dtype=dtype) for name, dtype in certified.items()},
    }
    return {**state, **_evaluate(problem, state, settings)}


def _goal(state: State, settings: Settings) -> Array:
    """Return the Newton decrement (B,) at which a member has converged."""
    return settings.tolerance * state["loss"] + FLOOR * state["variance"]


def _smoothing(state: State, settings: Settings) -> Array:
    ladder = namespace(state["theta"]).asarray(settings.ladder, dtype=state["theta"].dtype)
    return take(ladder, state["stage"])[:, None, None]


def _evaluate(problem: Problem, state: State, settings: Settings) -> State:
    xp = namespace(state["theta"])
    curvature = xp.astype(state["newton"], state["theta"].dtype)[:, None, None]
    needed = {"theta": state["theta"], "tau": _smoothing(state, settings), "curvature": curvature}
    which = xp.nonzero(state["fine"])[0]
    if which.shape[0] == 0:
        values = problem.hessian(**needed)
    elif which.shape[0] == problem.batch:
        values = problem.in_double().hessian(**needed)
    else:
        coarse = problem.hessian(**needed)
        fine = problem.take(which).in_double().hessian(**take(needed, which))
        values = tuple(put(a, b, state["fine"]) for a, b in zip(coarse, fine, strict=True))
    return dict(zip(("loss", "gradient", "hessian"), values, strict=True))


def _advance(batch: _Batch, settings: Settings) -> _Batch:
    """Move every member on: to its next rung, to the curvature of Newton's method, or by a step."""
    state = batch.state
    # a member that has just been refused, or that changes rung or curvature, makes no step this time
    settled = state["small"] & ~state["refused"]
    climb = settled & state["newton"]
    xp = namespace(climb)
    stage = state["stage"] + xp.astype(climb, state["stage"].dtype)
    state = {**state, "stage": stage, "newton": state["newton"] | settled}
    state = _try_steps(batch.problem, state, state["step"], ~(settled | state["refused"]), settings)
    return replace(batch, state=state)


def _try_steps(problem: Problem, state: State, step: Array, move: Array, settings: Settings) -> State:
    """Try the steps of the members in ``move``, update the damping (Nielsen), and evaluate what has changed."""
    xp = namespace(step)
    theta = xp.reshape(state["theta"], step.shape)
    trial = xp.clip(theta + step, -settings.box, settings.box)
    taken = trial - theta
    loss = problem.loss(xp.reshape(trial, state["theta"].shape), _smoothing(state, settings))
    lowered = state["loss"] - loss
    _, gain, accept = judge(state["gradient"], state["hessian"], taken, lowered, move)
    reject = move & ~accept
    damping, growth = nielsen(state["damping"], state["growth"], gain, accept, reject, LEAST_DAMPING)
    new = {
        **state,
        "theta": xp.reshape(xp.where(accept[:, None], trial, theta), state["theta"].shape),
        "damping": damping,
        "growth": growth,
        "newton": state["newton"] | (accept & (lowered < SWITCH * state["loss"])),
        "fine": state["fine"] | (accept & (loss < COARSE * state["variance"])),
        "iterations": state["iterations"] + xp.astype(move, state["iterations"].dtype),
    }
    changed = xp.nonzero(~reject)[0]
    if changed.shape[0] == 0:
        return new
    needed = {name: new[name] for name in ("theta", "stage", "newton", "fine")}
    evaluated = _evaluate(_restrict(problem, changed), take(needed, changed), settings)
    return {**new, **{name: put(new[name], value, ~reject) for name, value in evaluated.items()}}


def _try_to_leave(problem: Problem, state: State, settings: Settings) -> tuple[State, Array]:
    """Certify members that want to leave; return their state, with a status, and whether they may.

    A member whose certificate says that it is not at a minimum goes on: from a lower point along a direction of
    negative curvature if there is one, with a stricter stopping rule otherwise.
    """
    xp = namespace(state["theta"])
    tau = _smoothing(state, settings)
    goal = _goal(state, settings)
    seal = certify(problem, state["theta"], tau, settings.box, goal)
    tried = state["refusals"] >= REFUSALS
    spent = state["iterations"] >= settings.max_iterations
    finite = xp.isfinite(state["loss"]) & xp.isfinite(seal["decrement"])
    last = state["stage"] == len(settings.ladder) - 1
    minimum = (seal["decrement"] <= goal) & ~seal["escaped"] & last & finite
    marks = (spent, Status.LIMIT), (~finite, Status.NOT_FINITE), (minimum, Status.CONVERGED)
    done = minimum | spent | tried | ~finite | (state["damping"] > MOST_DAMPING) & ~seal["escaped"]
    moved = seal["escaped"] & ~done
    # the scale of the curvature there; a larger damping would take a short step for the end of the descent
    restart = xp.clip(2.0 * xp.abs(seal["min_eigenvalue"]), LEAST_DAMPING, FIRST_DAMPING)
    new = {
        **state,
        "theta": xp.where(moved[:, None, None], seal["lower"], state["theta"]),
        "damping": xp.where(done, state["damping"], xp.where(moved, restart, 0.1 * state["damping"])),
        "strictness": xp.where(done | moved, state["strictness"], 0.1 * state["strictness"]),
        "refusals": state["refusals"] + xp.astype(~moved, state["refusals"].dtype),
        "iterations": state["iterations"] + xp.astype(moved, state["iterations"].dtype),
        "fine": xp.ones_like(moved),
        "status": active_set.coded(state["status"], Status.STALLED, *marks),
    }
    return {**new, **{f"certified_{name}": seal[name] for name in CERTIFIED}}, done


def _restrict(problem: Problem, members: Array) -> Problem:
    """Return the problem of some members; the problem itself when these are all, which saves a copy."""
    return problem if members.shape[0] == problem.batch else problem.take(members)

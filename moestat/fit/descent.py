r"""The descent behind :func:`moestat.fit.newton.least_squares`: damped Newton steps inside a box, in batches.

Every member of the batch has its own damping, its own rung of the smoothing ladder and its own decision to accept a
step or to stop; nothing is shared but the array operations, and a member that has finished makes room for the next
start that waits, of whatever data set. So the result of a member is the same, to the last bit, in whatever batch it is
computed.

What a member decides by are a few numbers, which are kept on the processor in NumPy arrays; points, gradients, Hessians
and steps stay on the device. It is waited for where numbers are read from it: four times a round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import array_api_compat
import numpy as np

from moestat.arrays import Array, clamp, namespace, to_numpy
from moestat.fit.active_set import chosen, put
from moestat.fit.certificate import certify
from moestat.fit.linalg import damped_solve
from moestat.fit.moments import Problem
from moestat.fit.second_order import free_coordinates, hits, judge, nielsen, promise
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
PATIENCE = 8
"""On a GPU members that want to leave wait until they are one in so many, for a certificate of a few takes as long as
one of many."""
AT_ONCE = 128
"""So many matrices a GPU factors in little more than the time of one: where damping is too small, several are tried."""
REFUSALS = 12  #: How often the certificate may refuse to let a member stop before the member counts as stalled.
CERTIFIED = ("gradient", "decrement", "min_eigenvalue", "box_hits")
IDLE = -1  #: The number of the member in a row that has none.


_ROW = np.dtype(
    [
        *((name, int) for name in ("member", "data", "steps", "last")),
        *((name, float) for name in ("damping", "growth", "strictness", "loss", "decrement")),
        *((name, int) for name in ("stage", "refusals", "iterations", "factorisations", "status")),
        *((name, bool) for name in ("certified", "newton", "fine", "small", "refused", "waits", "fresh")),
        *((f"certified_{name}", int if name == "box_hits" else float) for name in CERTIFIED),
    ]
)
"""What is kept of a member: what it came with (:class:`Starts`); whether its last step promised little (``small``),
whether it asked to leave and was ``refused`` or ``waits`` for a certificate, and whether it has just come and has no
derivatives yet (``fresh``)."""


@dataclass(frozen=True)
class Starts:
    """Starts of members, one in each row, and how far they go."""

    theta: Array  #: (K, N, P)
    member: np.ndarray  #: (K,) int, their numbers, by which their ends are told; 0 or more.
    data: np.ndarray  #: (K,) int, their data sets.
    steps: np.ndarray | int  #: (K,), steps at most.
    last: np.ndarray | int = -1  #: (K,), the last rung that they go to; -1 for that of the ladder.
    certified: np.ndarray | bool = True  #: (K,), whether they are certified if they run out of steps, too.


class Feed(Protocol):
    """Where starts come from, and ends go to."""

    def take(self, most: int) -> Starts | None:
        """Hand over at most so many starts, or nothing if none waits; after the next ends others may."""

    def give(self, member: np.ndarray, ends: dict[str, Any]) -> None:
        """Take the ends of members: a row for each in every array, of theta on the device, of others in NumPy."""


@dataclass(frozen=True)
class Settings:
    """What :func:`descend` needs to know, see :func:`moestat.fit.newton.least_squares`."""

    box: float
    ladder: tuple[float, ...]
    tolerance: float

    def __post_init__(self) -> None:
        rungs = self.ladder
        if not rungs or min(rungs) < 0 or any(a <= b for a, b in zip(rungs, rungs[1:], strict=False)):
            raise ValueError(f"ladder is {list(rungs)}; it must be a decreasing list of numbers >= 0, at least one")
        for name, below in (("box", math.inf), ("tolerance", 1)):
            if not 0 < getattr(self, name) < below:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be between 0 and {below}")


def descend(problem: Problem, variance: Array, feed: Feed, settings: Settings, most: int) -> None:
    """Minimise the loss from all starts that a feed hands over, at most ``most`` of them at a time.

    ``variance`` (D,) is that of y in each data set, the scale below which a decrement or a loss counts as nothing. Ends
    have theta, loss, smoothed_loss (at the last rung), status, iterations, factorisations and the certificate's
    entries.
    """
    batch = _Batch(problem, variance, settings)
    while batch.fill(feed, most):
        batch.advance()
        done = batch.examine()
        if done.any():
            feed.give(batch.of["member"][done], batch.ends(done))
            batch.of["member"][done] = IDLE


class _Batch:
    """The rows of a batch: points and derivatives on the device, a record (:data:`_ROW`) of each on the processor."""

    def __init__(self, problem: Problem, variance: Array, settings: Settings) -> None:
        xp, (atoms, width) = namespace(variance), (problem.n_atoms, problem.model.atom_size)
        p = atoms * width
        self.whole, self.each, self.settings = problem, to_numpy(variance), settings
        self.theta, self.gradient, self.step = xp.zeros((1, atoms, width)), xp.zeros((1, p)), xp.zeros((1, p))
        self.hessian = xp.zeros((1, p, p))
        self.patience, self.at_once = (PATIENCE, AT_ONCE) if array_api_compat.is_cupy_array(variance) else (10**9, 0)
        self.of = np.zeros(1, dtype=_ROW)
        self.of["member"] = IDLE

    @property
    def active(self) -> np.ndarray:
        """Which rows have a member."""
        active: np.ndarray = self.of["member"] != IDLE
        return active

    def fill(self, feed: Feed, most: int) -> bool:
        """Put starts that wait into idle rows, or new ones; take rows away if most are idle. Are any busy?"""
        busy = np.flatnonzero(self.active)
        starts = feed.take(most - len(busy)) if most > len(busy) else None
        total = len(busy) + (0 if starts is None else len(starts.member))
        fits = 2 * total > len(self.of) >= total
        if not fits:
            self._lay_out(busy, total)
        if starts is not None:
            self._begin(np.flatnonzero(~self.active)[: len(starts.member)], starts)
        if not fits or starts is not None:
            self.problem, self.variance = self.whole.of(self.of["data"]), self.each[self.of["data"]]
        return total > 0

    def _lay_out(self, kept: np.ndarray, size: int) -> None:
        """Keep some of the rows, and add idle ones up to a size."""
        xp, places = namespace(self.theta), np.concatenate([kept, np.zeros(size - len(kept), dtype=np.int64)])
        parts, rows = (self.theta, self.gradient, self.hessian, self.step), xp.asarray(places)
        self.theta, self.gradient, self.hessian, self.step = (xp.take(part, rows, axis=0) for part in parts)
        self.of = self.of[places]
        self.of["member"][len(kept) :] = IDLE

    def _begin(self, rows: np.ndarray, starts: Starts) -> None:
        """Put starts into rows."""
        box = self.settings.box
        fresh = np.zeros(len(self.of), dtype=bool)
        fresh[rows] = True
        self.theta = put(self.theta, clamp(starts.theta, -box, box), fresh)
        first = np.zeros(len(rows), dtype=_ROW)
        first["damping"], first["growth"], first["strictness"], first["fresh"] = FIRST_DAMPING, 2.0, 1.0, True
        for name in ("member", "data", "steps", "certified"):
            first[name] = getattr(starts, name)
        first["last"] = np.asarray(starts.last) % len(self.settings.ladder)
        self.of[rows] = first

    def advance(self) -> None:
        """Move every member on: to its next rung, to the curvature of Newton's method, or by a step."""
        of = self.of
        # a member that has just been refused, or that changes rung or curvature, makes no step this time
        moving = self.active & ~of["waits"]
        settled = moving & of["small"] & ~of["refused"]
        of["stage"] += settled & of["newton"]
        of["newton"] |= settled
        rejected = self._try_steps(moving & ~(settled | of["refused"] | of["fresh"]))
        self._evaluate(moving & ~rejected)
        of["fresh"] = False

    def _try_steps(self, move: np.ndarray) -> np.ndarray:
        """Try the steps of some members, update their damping (Nielsen), and return which steps were rejected."""
        if not move.any():
            return move
        of, box, xp = self.of, self.settings.box, namespace(self.theta)
        theta = xp.reshape(self.theta, self.step.shape)
        trial = clamp(theta + self.step, -box, box)
        promised = promise(self.gradient, self.hessian, trial - theta)
        loss = self.problem.loss(xp.reshape(trial, self.theta.shape), self._smoothing(), move)
        promised, loss = _read(promised, loss)
        lowered = of["loss"] - loss
        gain, accept = judge(promised, lowered, move)
        rejected: np.ndarray = move & ~accept
        of["damping"], of["growth"] = nielsen(of["damping"], of["growth"], gain, accept, rejected, LEAST_DAMPING)
        self.theta = xp.reshape(xp.where(xp.asarray(accept)[:, None], trial, theta), self.theta.shape)
        of["newton"] |= accept & (lowered < SWITCH * of["loss"])
        of["fine"] |= accept & (loss < COARSE * self.variance)
        of["iterations"] += move
        return rejected

    def _evaluate(self, wanted: np.ndarray) -> None:
        """Compute loss, gradient and Hessian of some members."""
        of, xp = self.of, namespace(self.theta)
        tau, curvature = self._smoothing(), xp.asarray(of["newton"].astype(float))[:, None, None]
        double = self.problem.in_double()
        split = [(self.problem, wanted & ~of["fine"]), (double, wanted & of["fine"])]
        for problem, which in [(double, wanted)] if double is self.problem else split:
            if which.any():
                into = (xp.zeros(which.shape, dtype=xp.float64), self.gradient, self.hessian)
                loss, self.gradient, self.hessian = problem.hessian(self.theta, tau, curvature, which, into)
                of["loss"][which] = to_numpy(loss)[which]

    def _smoothing(self) -> Array:
        """Return the half width (M, 1, 1) of every member's rung."""
        return namespace(self.theta).asarray(np.asarray(self.settings.ladder)[self.of["stage"]])[:, None, None]

    def _goal(self) -> np.ndarray:
        """Return the Newton decrements at which members have converged."""
        goal: np.ndarray = self.settings.tolerance * self.of["loss"] + FLOOR * self.variance
        return goal

    def examine(self) -> np.ndarray:
        """Find the next steps, and return which members have finished."""
        of = self.of
        self._find_steps()
        last = of["stage"] == of["last"]
        # A rung is left when it has converged, not before. On the last one the quadratic model holds over steps of the
        # kink's width only, so whatever is left of the way along a flat valley is walked there in hundreds of steps.
        of["small"] = of["decrement"] <= np.where(last, of["strictness"], 1.0) * self._goal()
        stuck = (of["damping"] > MOST_DAMPING) | ~np.isfinite(of["loss"])
        spent = of["iterations"] >= of["steps"]
        leave = self.active & ((of["small"] & of["newton"] & last) | stuck | spent)
        done: np.ndarray = leave & spent & ~of["certified"]
        self._give_up(done)
        leave &= ~done
        wait = np.sum(leave) * self.patience < np.sum(self.active & ~done)
        of["waits"], of["refused"] = leave & wait, leave & ~wait
        done |= self._try_to_leave(of["refused"])
        return done

    def _find_steps(self) -> None:
        """Find damped steps inside the box, their decrements and the damping that they take.

        Coordinates at the box whose gradient pushes outwards are held. Where the step of the others leaves the box they
        are pinned to it and the rest is solved again.
        """
        of, box, xp = self.of, self.settings.box, namespace(self.theta)
        gradient, theta = self.gradient, xp.reshape(self.theta, self.gradient.shape)
        free = free_coordinates(theta, gradient, -box, box)
        pinned, before = xp.zeros_like(gradient), of["damping"].copy()
        moving = self.active & ~of["waits"]
        step = self._damped(xp.where(free, -gradient, pinned), free, moving)
        out = free & (xp.abs(theta + step) > box)
        of["decrement"], again = _read(-0.5 * xp.sum(gradient * step, axis=-1), xp.any(out, axis=-1))
        for solved in range(PASSES):
            if solved:
                out = free & (xp.abs(theta + step) > box)
                (again,) = _read(xp.any(out, axis=-1))
            again = moving & (again != 0)
            if not again.any():
                break
            pinned = xp.where(out, xp.sign(theta + step) * box - theta, pinned)
            free = free & ~out
            pushed = xp.where(free, -(gradient + xp.matmul(self.hessian, pinned[..., None])[..., 0]), pinned)
            g, f = chosen((pushed, free), again)
            step = put(step, self._damped(g, f, again), again)
        self.step = step
        of["growth"][of["damping"] > before] = 2.0

    def _damped(self, rhs: Array, free: Array, members: np.ndarray) -> Array:
        """Solve (H + damping) step = rhs on the free coordinates, raising the damping until H is positive definite.

        The others get step = rhs. ``rhs`` and ``free`` have a row for each of the ``members``, or for all. Damping is
        identity: it leaves flat directions (the softmax gauge) where they are.
        """
        of, xp = self.of, namespace(rhs)
        rows = np.arange(len(members)) if len(members) == rhs.shape[0] else np.flatnonzero(members)
        damping = of["damping"][rows]
        todo = members[rows] & (damping <= MOST_DAMPING)
        # all at first, whoever they are: to gather those who need it costs a GPU more than to solve for the others
        step, ok = damped_solve(self.hessian, xp.asarray(damping), free, rhs, todo, rows)
        of["factorisations"][rows] += todo
        failed = todo & ~to_numpy(ok)
        step = xp.where(xp.asarray(todo & ~failed)[:, None], step, xp.zeros_like(step))
        while True:
            damping = np.where(failed, 4.0 * damping, damping)
            todo = failed & (damping <= MOST_DAMPING)
            if not todo.any():
                of["damping"][rows] = damping
                return step
            place = np.flatnonzero(todo)
            tries = max(1, min(8, self.at_once // len(place)))
            several = damping[place, None] * 4.0 ** np.arange(tries)
            wanted, which = several <= MOST_DAMPING, np.repeat(place, tries)
            f, g = (xp.take(part, xp.asarray(which), axis=0) for part in (free, rhs))
            shifts = xp.asarray(several.reshape(-1))
            solved, ok = damped_solve(self.hessian, shifts, f, g, wanted.reshape(-1), rows[which])
            success = wanted & to_numpy(ok).reshape(wanted.shape)
            last = np.where(success.any(axis=1), np.argmax(success, axis=1), np.sum(wanted, axis=1) - 1)
            taken = np.arange(len(place)) * tries + last
            step = put(step, xp.take(solved, xp.asarray(taken), axis=0), todo)
            damping[place] = several.reshape(-1)[taken]
            of["factorisations"][rows[place]] += last + 1
            failed = todo.copy()
            failed[place] = ~success.any(axis=1)

    def _give_up(self, done: np.ndarray) -> None:
        """Let members go without a certificate."""
        if done.any():
            xp, box = namespace(self.theta), self.settings.box
            theta, gradient = chosen((xp.reshape(self.theta, self.gradient.shape), self.gradient), done)
            free = free_coordinates(theta, gradient, -box, box)
            some = self.of[done]
            some["certified_gradient"] = to_numpy(
                xp.max(xp.abs(xp.where(free, gradient, xp.zeros_like(gradient))), axis=-1)
            )
            some["certified_decrement"] = some["certified_min_eigenvalue"] = np.nan
            some["certified_box_hits"] = to_numpy(hits(theta, -box, box))
            some["status"] = np.where(np.isfinite(some["loss"]), Status.LIMIT, Status.NOT_FINITE)
            self.of[done] = some

    def _try_to_leave(self, leave: np.ndarray) -> np.ndarray:
        """Certify members that want to leave, and return which of them may.

        A member whose certificate says that it is not at a minimum goes on: from a lower point along a direction of
        negative curvature if there is one, with a stricter stopping rule otherwise.
        """
        if not leave.any():
            return leave
        xp, settings = namespace(self.theta), self.settings
        theta, tau = chosen((self.theta, self._smoothing()), leave)
        some, goal = self.of[leave], self._goal()[leave]
        seal = certify(self.whole.of(some["data"]), theta, tau, settings.box, xp.asarray(goal))
        escaped = to_numpy(seal["escaped"])
        for name in CERTIFIED:
            some[f"certified_{name}"] = to_numpy(seal[name])
        finite = np.isfinite(some["loss"]) & np.isfinite(some["certified_decrement"])
        last = some["stage"] == some["last"]
        minimum = (some["certified_decrement"] <= goal) & ~escaped & last & finite
        spent = some["iterations"] >= some["steps"]
        done = minimum | spent | (some["refusals"] >= REFUSALS) | ~finite
        done |= (some["damping"] > MOST_DAMPING) & ~escaped
        moved = escaped & ~done
        some["status"] = np.select(
            [minimum, ~finite, spent], [Status.CONVERGED, Status.NOT_FINITE, Status.LIMIT], Status.STALLED
        )
        # the scale of the curvature there; a larger damping would take a short step for the end of the descent
        restart = np.clip(2.0 * np.abs(some["certified_min_eigenvalue"]), LEAST_DAMPING, FIRST_DAMPING)
        damping = np.where(moved, restart, 0.1 * some["damping"])
        some["damping"] = np.where(done, some["damping"], damping)
        some["strictness"] *= np.where(done | moved, 1.0, 0.1)
        some["refusals"] += ~moved
        some["iterations"] += moved
        some["fine"] = True
        self.of[leave] = some
        if moved.any():
            lower = xp.where(xp.asarray(moved)[:, None, None], seal["lower"], theta)
            self.theta = put(self.theta, lower, leave)
        allowed = np.zeros_like(leave)
        allowed[leave] = done
        return allowed

    def ends(self, done: np.ndarray) -> dict[str, Any]:
        """Return the results of some members: theta on the device, NumPy arrays of numbers."""
        (theta,) = chosen((self.theta,), done)
        some = self.of[done]
        names = {name: f"certified_{name}" for name in CERTIFIED} | {"smoothed_loss": "loss"}
        names |= {name: name for name in ("status", "iterations", "factorisations")}
        loss = some["loss"]
        if self.settings.ladder[-1] != 0:
            loss = to_numpy(self.whole.of(some["data"]).loss(theta, 0.0))
        return {"theta": theta, "loss": loss, **{name: some[own] for name, own in names.items()}}


def _read(*arrays: Array) -> list[np.ndarray]:
    """Return NumPy arrays of a few arrays (M,), as numbers, for which a device is waited for once."""
    xp = namespace(*arrays)
    numbers: np.ndarray = to_numpy(xp.stack([xp.astype(part, xp.float64) for part in arrays]))
    return list(numbers)

r"""Least squares for mixtures of functions: many starts at once, a certificate at the end, in a box.

Levenberg-Marquardt steps lead to a minimum; where they creep, as along the valleys of superfluous atoms, or end at a
saddle, steps of a trust region with the exact Hessian follow. Sums over samples are made in chunks that stay in the
cache, so that a Jacobian never exists as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from moestat.fit.certificate import ESCAPES, FLAT
from moestat.fit.levenberg_marquardt import levenberg_marquardt
from moestat.fit.linalg import symmetric_eigen
from moestat.fit.newton import Fit
from moestat.fit.second_order import Ends, Gram, free_coordinates, hits
from moestat.fit.trust_region import trust_region
from moestat.models.general import FunctionModel
from moestat.models.regression import Model
from moestat.status import Status

RIDGE = 1e-10  #: Added to the diagonal of J'J, relative to the largest entry: far above rounding, far below curvature.
DEPENDENT = 1e-7  #: Singular values of J with unit columns below this share of the largest are zero.
CREEP = 1e-6  #: Steps that gain less than this share of the loss are left to the exact Hessian.
POLISH = 40  #: Steps with the exact Hessian after Levenberg-Marquardt has ended, as often as ``ROUNDS``.
FEW = 10  #: The same where weights jump, since most steps then end at a jump.
ROUNDS = 3  #: How often a fit goes on after its certificate has found that it has not ended.


@dataclass(frozen=True)
class Problem:
    """Fits as members: m is one of data set ``of[m]`` of x (B, n, d), y (B, n); theta is (M, N P), atoms in turn."""

    model: FunctionModel
    atoms: int
    x: np.ndarray
    y: np.ndarray
    of: np.ndarray
    coarse: bool = False  #: Whether one-sided differences do, see :meth:`FunctionModel.slopes`.

    def __call__(self, theta: np.ndarray, members: np.ndarray) -> Gram:
        """Return half the mean squared residuals, gradients and J'J / n."""
        parts = [self.one(point, int(m), gram=True) for point, m in zip(theta, members, strict=True)]
        loss, gradient, gram = (np.array(part) for part in zip(*parts, strict=True))
        # a column that is nothing but the rounding of differences must not count as a column
        diagonal = np.einsum("mii->mi", gram)
        diagonal += RIDGE * diagonal.max(axis=1, keepdims=True)
        return Gram(loss, gradient, gram)

    def one(self, theta: np.ndarray, member: int, *, gram: bool) -> tuple[float, np.ndarray, np.ndarray]:
        """Return loss, gradient (p,), and J'J / n (p, p) if it is asked for, of one member."""
        data, n, p = self.of[member], self.x.shape[1], len(theta)
        atoms, size = theta.reshape(self.atoms, -1), self.model.atom_size
        total, slope, square = 0.0, np.zeros(p), np.zeros((p, p))
        rows = self.model.rows
        for first in range(0, n, rows):
            f, columns = self.model.slopes(atoms, self.x[data, first : first + rows], coarse=self.coarse)
            r = f - self.y[data, first : first + rows]
            flat = columns.reshape(len(r), p)
            total += r @ r
            slope += r @ flat
            if gram:
                square += flat.T @ flat
        order = np.arange(p).reshape(size, self.atoms).T.reshape(-1)  # to atoms in turn
        return 0.5 * total / n, slope[order] / n, square[np.ix_(order, order)] / n

    def loss(self, theta: np.ndarray, members: np.ndarray) -> np.ndarray:
        """Return half the mean squared residuals (M,)."""
        out = np.empty(len(theta))
        for k, (point, m) in enumerate(zip(theta, members, strict=True)):
            r = self.model.predict(point.reshape(self.atoms, -1), self.x[self.of[m]]) - self.y[self.of[m]]
            out[k] = 0.5 * np.mean(r * r)
        return out

    def hessian(self, theta: np.ndarray, members: np.ndarray) -> tuple[Gram, np.ndarray]:
        """Return losses, gradients and exact Hessians, and J'J / n (M, p, p) beside them."""
        at = self(theta, members)
        exact = at.gram.copy()
        for hessian, point, m in zip(exact, theta, members, strict=True):
            data, atoms = self.of[m], point.reshape(self.atoms, -1)
            for first in range(0, self.x.shape[1], self.model.rows):
                x = self.x[data, first : first + self.model.rows]
                r = self.model.predict(atoms, x) - self.y[data, first : first + self.model.rows]
                hessian += self.model.curvature(atoms, x, r) / self.x.shape[1]
        return at._replace(gram=exact), at.gram

    @cached_property
    def invariances(self) -> int:
        """How many directions leave f as it is at random parameters: the least of three draws."""
        rng = np.random.default_rng(0)
        x, found = self.x[0, :1024], []
        for _ in range(3):
            atoms = rng.standard_normal((self.atoms, self.model.atom_size))
            columns = self.model.tangents(atoms, x)[1].T
            if np.isfinite(columns).all():
                found.append(len(_still(columns)))
        return min(found, default=0)

    def still(self, gram: np.ndarray) -> np.ndarray:
        """Return the projectors (M, p, p) onto directions that leave f as it is, from J'J / n (M, p, p)."""
        values, vectors = symmetric_eigen(gram)
        zero = (values < 2.0 * RIDGE * values[:, -1:]) & (np.arange(gram.shape[-1]) < self.invariances)
        kept = np.where(zero[:, None, :], vectors, 0.0)
        projector: np.ndarray = np.matmul(kept, np.swapaxes(kept, 1, 2))
        return projector


def hessian(
    model: FunctionModel, theta: np.ndarray, x: np.ndarray, y: np.ndarray, *, exact: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return J'J / n, the Hessian (N P, N P) and the gradient of half the mean squared residuals of atoms (N, P).

    Without ``exact`` J'J / n stands in the place of the Hessian.
    """
    problem = Problem(model, len(theta), x[None], y[None], np.zeros(1, dtype=int))
    point, member = theta.reshape(1, -1), np.zeros(1, dtype=int)
    _, gradient, gram = problem.one(point[0], 0, gram=True)
    return gram, problem.hessian(point, member)[0].gram[0] if exact else gram, gradient


def unidentified(model: FunctionModel | Model, atoms: np.ndarray, x: np.ndarray) -> int:
    """Return in how many directions of atoms (N, P) f does not change at points x, and their standard form does.

    More than 0 means that, to first order, other atoms make the same function, and no invariance of the model says so.
    """
    still = 1e-4 * _still(model.tangents(atoms, x)[1].T).reshape(-1, *atoms.shape)
    moved = (model.align(atoms + still, atoms) - model.align(atoms - still, atoms)) / 2e-4
    return int(np.linalg.matrix_rank(moved.reshape(len(still), -1), tol=1e-3)) if len(still) else 0


def _still(columns: np.ndarray) -> np.ndarray:
    """Return orthonormal directions (k, p) of parameters in which none of the columns (n, p) of J sees a change."""
    length = np.linalg.norm(columns, axis=0)
    length = np.where(length > DEPENDENT * length.max(), length, np.inf)  # the rounding of differences is no column
    _, values, rows = np.linalg.svd(columns / length, full_matrices=True)
    rows = rows[int(np.sum(values > DEPENDENT * values[0])) :]
    # a column of nothing is a direction by itself
    return np.linalg.qr((rows / np.where(np.isfinite(length), length, 1.0)).T)[0].T


def certify(problem: Problem, theta: np.ndarray, members: np.ndarray, box: float, goal: np.ndarray) -> dict[str, Any]:
    """Examine points (M, p) by the eigenvalues of the exact Hessian on the free coordinates.

    The fields are those of :func:`moestat.fit.certificate.certify`; gains in the loss below ``goal`` (M,) do not
    matter. Directions that leave f as it is, as many as ``problem.invariances``, are left out of the
    eigenvalues: of those with the smallest J'J. Where weights jump (``model.piecewise``), all is said of the piece of
    the loss on which the point lies: every sample keeps the experts that it has there.
    """
    at, grams = problem.hessian(theta, members)
    free = free_coordinates(theta, at.gradient, -box, box)
    g = np.where(free, at.gradient, 0.0)
    both = free[:, :, None] & free[:, None, :]
    hessian = np.where(both, at.gram, 0.0)
    large = 1.0 + np.linalg.norm(hessian, axis=(1, 2))
    eye = np.eye(free.shape[1]) * large[:, None, None]
    still = problem.still(np.where(both, grams, eye))
    hessian += large[:, None, None] * still + np.where(free[:, None], 0.0, eye)
    values, vectors = symmetric_eigen(hessian)
    inside = values < 0.5 * large[:, None]
    top = np.max(np.where(inside, np.abs(values), 0.0), axis=-1)
    size = np.maximum(np.abs(values), FLAT * np.where(top > 0, top, 1.0)[:, None])
    along = np.matmul(np.swapaxes(vectors, 1, 2), g[..., None])[..., 0]
    # rounding of the differences makes eigenvalues of this size
    negative = values[:, 0] < -np.maximum(2.0 * goal, 1e-6 * top)
    lower, best = theta.copy(), at.loss - goal
    for k in np.flatnonzero(negative):
        for distance in ESCAPES:
            points = np.clip(theta[k] + np.array([[distance], [-distance]]) * vectors[k, :, 0], -box, box)
            losses = problem.loss(points, members[[k, k]])
            j = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
            if losses[j] < best[k]:
                best[k], lower[k] = losses[j], points[j]
    # where an atom stands on the box that its standard form takes off it, as along a length, nothing holds it
    form = problem.model.standard(theta.reshape(len(theta), problem.atoms, -1)).reshape(theta.shape)
    return {
        "loss": at.loss,
        "gradient": np.max(np.abs(g), axis=-1),
        "decrement": 0.5 * np.sum(along**2 / size, axis=-1),
        "min_eigenvalue": values[:, 0],
        "flat": np.rint(np.trace(still, axis1=1, axis2=2)),
        "box_hits": hits(np.where(np.abs(form) < box, 0.0, theta), -box, box),
        "escaped": best < at.loss - goal,
        "lower": lower,
    }


def descend(
    problem: Problem, start: np.ndarray, members: np.ndarray, box: float, max_iterations: int, tolerance: float
) -> Ends:
    """Go down from starts (M, p) of the given members by Levenberg-Marquardt, without a certificate."""
    inner = replace(problem, of=problem.of[members], coarse=True)
    with np.errstate(all="ignore"):
        return levenberg_marquardt(
            inner,
            start,
            lower=-box,
            upper=box,
            tolerance=tolerance,
            max_iterations=max_iterations,
            creep=CREEP,
        )


def finish(
    problem: Problem, ends: Ends, members: np.ndarray, box: float, max_iterations: int, tolerance: float
) -> dict[str, np.ndarray]:
    """Certify ends of descents, and go on from those that have not ended; fields of a :class:`Fit`, a row for each."""
    theta, loss, status, iterations = (np.array(part) for part in (ends.theta, ends.loss, ends.status, ends.iterations))
    floor = 1e-15 * np.var(problem.y, axis=1)[problem.of[members]]
    record: dict[str, np.ndarray] = {}
    going = np.flatnonzero(status != Status.NOT_FINITE)
    with np.errstate(all="ignore"):
        for round_ in range(ROUNDS + 1):
            if going.size == 0:
                break
            goal = np.maximum(tolerance * loss[going], floor[going])
            found = certify(problem, theta[going], members[going], box, goal)
            for name in ("gradient", "decrement", "min_eigenvalue", "flat", "box_hits", "escaped"):
                record.setdefault(name, np.full(len(theta), np.nan))[going] = found[name]
            done = (found["decrement"] <= goal) & ~found["escaped"]
            status[going[done]] = Status.CONVERGED
            going, begin = going[~done], found["lower"][~done]
            left = max_iterations - iterations[going]
            going, begin = going[left > 0], begin[left > 0]
            if round_ == ROUNDS or going.size == 0:
                break
            steps = min(FEW if problem.model.piecewise else POLISH, int(left.max()))
            polished = _polish(problem, begin, members[going], box, steps, tolerance)
            at = problem.loss(begin, members[going])
            better = polished.loss <= at
            point, reached = np.where(better[:, None], polished.theta, begin), np.where(better, polished.loss, at)
            iterations[going] += polished.iterations
            ran_out = (polished.status == Status.LIMIT) & ~np.bool(problem.model.piecewise)
            status[going] = np.where(ran_out, Status.LIMIT, Status.STALLED)
            # others are held by a kink or a jump, and keep the certificate that they have
            fell = loss[going] - reached > 0.1 * np.maximum(tolerance * loss[going], floor[going])
            going = going[fell]
            theta[going], loss[going] = point[fell], reached[fell]
    ended = record.pop("decrement", np.full(len(theta), np.nan)), record.pop("escaped", np.zeros(len(theta)))
    # what converged by the descent's measure, J'J, and not by the Hessian's has only stopped
    goal = np.maximum(tolerance * loss, floor)
    stopped = (status == Status.CONVERGED) & ~((ended[0] <= goal) & (ended[1] == 0))
    status[stopped] = Status.STALLED
    record["box_hits"] = np.nan_to_num(record.get("box_hits", np.zeros(len(theta)))).astype(np.int64)
    return {"theta": theta, "loss": loss, "status": status, "iterations": iterations, "decrement": ended[0]} | record


def _polish(problem: Problem, start: np.ndarray, members: np.ndarray, box: float, steps: int, tolerance: float) -> Ends:
    """Go on with the exact Hessian, each member in units of its loss at the start."""
    unit = problem.loss(start, members)
    unit = np.where(unit > 0, unit, 1.0)

    def scaled(theta: np.ndarray, rows: np.ndarray) -> Gram:
        at, gram = problem.hessian(theta, members[rows])
        by, still = unit[rows], problem.still(gram)
        hessian = at.gram + np.linalg.norm(at.gram, axis=(1, 2))[:, None, None] * still
        gradient = at.gradient - np.matmul(still, at.gradient[..., None])[..., 0]
        return Gram(at.loss / by, gradient / by[:, None], hessian / by[:, None, None])

    ends = trust_region(scaled, start, lower=-box, upper=box, tolerance=0.5 * tolerance, max_iterations=steps)
    return replace(ends, loss=ends.loss * unit)


def least_squares(
    model: FunctionModel,
    x: np.ndarray,
    y: np.ndarray,
    starts: np.ndarray,
    *,
    box: float = 5.0,
    max_iterations: int = 400,
    tolerance: float = 1e-9,
) -> Fit:
    """Fit a mixture of functions from every start, and certify the best end of each data set.

    Arguments x (B, n, d), y (B, n), starts (B, S, N, P) and the result are those of
    :func:`moestat.fit.newton.least_squares`. The status of starts that did not win is that of their descent.
    """
    batch, s, atoms, size = starts.shape
    problem = Problem(model, atoms, x, y, np.repeat(np.arange(batch), s))
    flat = np.ascontiguousarray(starts.reshape(batch * s, atoms * size))
    ends = descend(problem, flat, np.arange(batch * s), box, max_iterations, tolerance)
    losses = np.where(np.isfinite(ends.loss), ends.loss, np.inf).reshape(batch, s)
    start = losses.argmin(axis=1)
    best = np.arange(batch) * s + start
    chosen = Ends(*(value[best] for value in vars(ends).values()))
    return fit_of(problem, chosen, best, box, max_iterations, tolerance, start, losses, ends.status.reshape(batch, s))


def from_each(model: FunctionModel, x: np.ndarray, y: np.ndarray, starts: np.ndarray, **settings: Any) -> Fit:
    """Fit one data set x (n, d), y (n,) from each start (S, N, P): one row of the fit for each."""
    settings.pop("ladder", None)  # of smoothed ReLUs
    xs, ys = (np.broadcast_to(part, (len(starts), *part.shape)) for part in (x, y))
    return least_squares(model, xs, ys, starts[:, None], **settings)


def fit_of(
    problem: Problem,
    ends: Ends,
    members: np.ndarray,
    box: float,
    max_iterations: int,
    tolerance: float,
    start: np.ndarray,
    start_losses: np.ndarray,
    start_status: np.ndarray,
) -> Fit:
    """Finish descents, one of each data set, and return them as a fit."""
    found = finish(problem, ends, members, box, max_iterations, tolerance)
    theta = found.pop("theta").reshape(len(members), problem.atoms, -1)
    more = {"start": start, "start_losses": start_losses, "start_status": start_status}
    return Fit(theta=theta, smoothed_loss=found["loss"], **found, **more)

"""Points that compete for the maximum of a likelihood, the space that they move in, and which of them go on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.fit.second_order import Ends, Problem
from moestat.fit.trust_region import trust_region
from moestat.models.gaussian import LOG_2PI

SAME = 0.2  #: Log-likelihood units within which two points of a replicate count as one.


@dataclass(frozen=True)
class Space:
    """The parameter space: the box (p,) of the free coordinates, and the bounds of the variances."""

    lower: Array
    upper: Array
    variances: tuple[float, float]

    def clip(self, free: Array) -> Array:
        """Move points into the box."""
        xp = namespace(free)
        return xp.minimum(xp.maximum(free, self.lower), self.upper)

    def log_likelihood(self, loss: np.ndarray, n: int) -> np.ndarray:
        """Return the log-likelihoods of n samples; the loss is minus their mean, shifted to be at least 0."""
        total: np.ndarray = -n * (loss + 0.5 * (math.log(self.variances[0]) + LOG_2PI))
        return total


def distinct(owner: np.ndarray, loss: np.ndarray, n: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose the best distinct points of each replicate, ``most`` of them at most and at least one.

    ``owner`` and ``loss`` (M,) are the replicate of each point and minus its mean log-likelihood over n samples.
    Returns the rows of the chosen points, replicate by replicate, the best first; and for each point the chosen one
    that it counts as (M,): a chosen point itself, -1 for one that fell behind.
    """
    twin = np.full(len(owner), -1)
    rows: list[int] = []
    for b in np.unique(owner):
        mine = np.nonzero(owner == b)[0]
        chosen: list[int] = []
        for row in mine[np.argsort(loss[mine], kind="stable")]:
            finite = np.isfinite(loss[row])
            near = [other for other in chosen if finite and n * (loss[row] - loss[other]) <= SAME]
            if near:
                twin[row] = near[0]
            elif not chosen or (finite and len(chosen) < most):
                chosen.append(int(row))
                twin[row] = row
        rows.extend(chosen)
    return np.array(rows), twin


@dataclass(frozen=True)
class Pool:
    """Points that compete: where they are, whose they are, which start they come from, and how they did."""

    free: Array  #: (M, p)
    owner: np.ndarray  #: (M,) int, the replicate of each point.
    start: np.ndarray  #: (M,) int
    iterations: np.ndarray  #: (M,) int
    loss: np.ndarray  #: (M,), minus the mean log-likelihood; infinite where it is not known or not finite.

    @classmethod
    def of(cls, free: Array, replicates: int, iterations: int = 0) -> Pool:
        """Return the points (M, p) that as many starts of each replicate have led to."""
        count = free.shape[0] // replicates
        owner, start = np.repeat(np.arange(replicates), count), np.tile(np.arange(count), replicates)
        return cls(free, owner, start, np.full(len(owner), iterations), np.full(len(owner), np.inf))

    def thrown(self, free: Array) -> Pool:
        """Return new points (M, W, p) that descend from these (M, p)."""
        count = free.shape[1]
        owner, start, steps = (np.repeat(part, count) for part in (self.owner, self.start, self.iterations))
        flat = namespace(free).reshape(free, (-1, free.shape[-1]))
        return Pool(flat, owner, start, steps, np.full(len(owner), np.inf))

    def moved(self, free: Array, iterations: Array, loss: Array) -> Pool:
        """Return the points after so many more steps."""
        after = to_numpy(loss)
        steps = self.iterations + to_numpy(iterations)
        return replace(self, free=free, iterations=steps, loss=np.where(np.isfinite(after), after, np.inf))

    def climbed(
        self, problem: Problem, space: Space, tolerance: float, max_iterations: int, rounding: float = 1e-15
    ) -> tuple[Pool, Ends]:
        """Return where the trust-region method leads from every point, see :mod:`moestat.fit.trust_region`."""
        how = {"tolerance": tolerance, "rounding": rounding, "max_iterations": max_iterations}
        end = trust_region(problem, self.free, lower=space.lower, upper=space.upper, **how)
        return self.moved(end.theta, end.iterations, end.loss), end

    def take(self, rows: np.ndarray) -> Pool:
        """Return the points in the given rows."""
        xp = namespace(self.free)
        free = xp.take(self.free, xp.asarray(rows), axis=0)
        return Pool(free, self.owner[rows], self.start[rows], self.iterations[rows], self.loss[rows])

    def join(self, other: Pool) -> Pool:
        """Return these points and, after them, the others."""
        xp = namespace(self.free)
        names = ("owner", "start", "iterations", "loss")
        columns = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in names)
        return Pool(xp.concat([self.free, other.free]), *columns)

    def best(self) -> np.ndarray:
        """Return the row of the best point of each replicate."""
        mine = (np.nonzero(self.owner == b)[0] for b in np.unique(self.owner))
        return np.array([rows[np.argmin(self.loss[rows])] for rows in mine])

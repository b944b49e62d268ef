"""The result of a maximum-likelihood fit, and what such a fit must satisfy.

A maximum-likelihood estimate has at least the likelihood of the truth. A fit whose *gain* over the truth,
``n (ll - ll_truth)``, is negative is therefore a failed optimisation, and is reported as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.fit.second_order import Ends, Problem
from moestat.fit.trust_region import trust_region
from moestat.models.gaussian import LOG_2PI, GaussianMixture, check_atoms, check_data, log_likelihood
from moestat.status import Status

_LEAST_CURVATURE = 1e-10  # smallest eigenvalue of the scaled information that can be inverted
_LEAST_INFORMATION = 1e-6  # of a coordinate of standardised data, to have a standard error (of at most 1000)

SAME = 0.2  #: Log-likelihood units within which two points of a replicate count as one.


@dataclass(frozen=True)
class LikelihoodFit:
    """Maximum-likelihood fits of B replicates, the best of S starts each."""

    theta: Array  #: (B, N, P)
    log_likelihood: Array  #: (B,), sum of log p(y | x) over the samples.
    gain: Array  #: (B,), log-likelihood minus that of the truth; NaN when no truth was given.
    #: (B,), largest absolute coordinate of the gradient of the mean log-likelihood (0 where the box holds it back).
    gradient: Array
    #: (B,), what the quadratic model says is still to be gained, in units of the log-likelihood; infinite where the
    #: curvature has the wrong sign.
    decrement: Array
    iterations: Array  #: (B,) int, steps of the winner, all stages together.
    box_hits: Array  #: (B,) int, coordinates of the winner on the edge of the parameter space.
    start: Array  #: (B,) int, which start won.
    #: (B, S), what each start reached; NaN for a start that had fallen behind and was not continued. A start that had
    #: come to the same point as another was not continued either: with competition gates it has the other's number,
    #: with softmax gates NaN.
    start_log_likelihood: Array
    status: Array  #: (B,) int, a :class:`moestat.status.Status`.
    #: (B,) int, how many of the points that were thrown out from the best one came back to it, or to one as good.
    hops_back: Array | None = None
    #: (B,) int, how many rounds of a search ended at the best point; with fewer than two it was not found again.
    rounds_there: Array | None = None

    @classmethod
    def of(
        cls,
        model: GaussianMixture,
        truth: Array | None,
        x: Array,
        y: Array,
        reached: Array,
        status: Array,
        **found: Any,
    ) -> LikelihoodFit:
        """Return the result with its gain over the truth, if one is given; what is worse than it has failed."""
        xp = namespace(x, y)
        gain = xp.full_like(reached, xp.nan)
        if truth is not None:
            gain = reached - log_likelihood(model, xp.broadcast_to(truth, (x.shape[0], *truth.shape)), x, y)
        failed = (gain < 0) & (status != int(Status.NOT_FINITE))
        status = xp.where(failed, xp.full_like(status, int(Status.WORSE_THAN_TRUTH)), status)
        return cls(log_likelihood=reached, gain=gain, status=status, **found)

    def message(self) -> list[str]:
        """Return one full sentence per replicate."""
        return [Status(int(code)).sentence for code in to_numpy(self.status)]


def check_problem(
    model: GaussianMixture, x: Array, y: Array, starts: Array, truth: Array | None, variances: tuple[float, float]
) -> tuple[int, int, int, int]:
    """Refuse what cannot be fitted; return B, n, S and N."""
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}; it must be (replicates, samples, {model.d})")
    check_data(x, y, model.d)
    if starts.ndim != 4 or starts.shape[0] != x.shape[0] or starts.shape[1] < 1:
        wanted = f"({x.shape[0]}, starts, atoms, {model.atom_size})"
        raise ValueError(f"starts has shape {tuple(starts.shape)}; it must be {wanted}, the same replicates as x")
    check_atoms(starts, model.atom_size, name="starts")
    if not 0 < variances[0] < variances[1]:
        raise ValueError(f"variances is {variances}; it must be (lower, upper) with 0 < lower < upper")
    replicates, n, _ = x.shape
    size = starts.shape[2] * model.atom_size
    if n < size:
        raise ValueError(f"{n} samples cannot determine {size} parameters; use at least {size}")
    if truth is not None:
        check_atoms(truth, model.atom_size, name="truth", one=True)
        same = np.all(to_numpy(starts)[..., :, None, :] == to_numpy(truth), axis=-1)
        if bool(np.any(np.all(np.any(same, axis=-1), axis=-1))):
            raise ValueError("a start is exactly the truth, where a likelihood that jumps holds it: move it away")
    return replicates, n, starts.shape[1], starts.shape[2]


def check_settings(least: float, **settings: float) -> None:
    """Refuse settings below a number."""
    for name, value in settings.items():
        if not value >= least:
            raise ValueError(f"{name} is {value}; it must be at least {least:g}")


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
        how: dict[str, Any] = {"tolerance": tolerance, "rounding": rounding, "max_iterations": max_iterations}
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


def standard_errors(
    like: Any, best: np.ndarray, n: int, report: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return standard errors by the observed information and by the sandwich, and which parameters are on a bound.

    ``like`` has the bounds, the problem and the scores of the free coordinates ``best`` (p,), of n samples of
    standardised data. ``report`` makes of them the parameters, an array of any shape, which is that of the results.
    NaN where a coordinate on a bound, or one that the data say nothing of, has a part in a parameter, and everywhere
    when the information is singular. The sandwich holds where the density is not of the family, too.
    """
    inside, variable = (best > like.lower) & (best < like.upper), like.lower < like.upper
    steps = 1e-6 * np.maximum(1.0, np.abs(best))
    slopes = np.stack([report(best + h) - report(best - h) for h in np.diag(steps)], axis=-1) / (2 * steps)
    held = np.any(slopes[..., variable & ~inside] != 0, axis=-1)
    information = n * like.problem(best[None], np.zeros(1, dtype=np.int64)).gram[0]
    known = inside & (np.diag(information) > _LEAST_INFORMATION)
    scale = np.sqrt(np.diag(information)[known])
    values, vectors = np.linalg.eigh(information[np.ix_(known, known)] / np.outer(scale, scale))
    if not known.any() or values[0] < _LEAST_CURVATURE:
        return np.full(held.shape, np.nan), np.full(held.shape, np.nan), held
    root = vectors / np.sqrt(values) / scale[:, None]  # root root' is the inverse
    observed = slopes[..., known] @ root
    sandwich = observed @ (like.scores(best)[:, known] @ root).T
    lost = np.any(slopes[..., variable & ~known] != 0, axis=-1)
    errors = (np.where(lost, np.nan, np.linalg.norm(part, axis=-1)) for part in (observed, sandwich))
    return *errors, held

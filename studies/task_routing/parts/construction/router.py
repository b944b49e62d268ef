"""Linear routers of the construction: the one-hot map of the proof, and one whose argmax is right where one exists.

``vectors`` (M, c) are what the router sees of the M patterns. The scores of a pattern are right where every condition
that its prefixes make is met (:mod:`studies.task_routing.parts.construction.conditions`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array

from studies.task_routing.parts.construction.conditions import Conditions

LARGEST = 1e5
"""Bound on the router's weights for a margin of 1: float64 keeps ten digits of the differences that decide."""


def one_hot(vectors: np.ndarray, tasks: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the least-squares map (c, K) to the indicators (M, K) of the tasks, and its largest error.

    The error is 0 (to rounding) exactly when the indicators lie in the span of the vectors' coordinates, as they do
    when the vectors are linearly independent.
    """
    target = tasks.astype(float)
    weights = np.linalg.lstsq(vectors, target, rcond=None)[0]
    return weights, float(np.abs(vectors @ weights - target).max())


@dataclass(frozen=True)
class ArgmaxRouter:
    """A linear router, and whether it meets every condition."""

    weights: np.ndarray  # (c, K); meets every condition when ``separable``, else most
    separable: bool


def argmax(vectors: np.ndarray, count: int, conditions: Conditions) -> ArgmaxRouter:
    """Return a router of ``count`` tasks whose argmax meets the conditions, or the best one known.

    The linear program (g_k - g_j)'v >= 1 for the pattern v of every condition, each task k that has to win and each
    rival j is feasible exactly when some linear router lets all those tasks win. First all tasks of a condition have
    to win, which is more than is asked; where that fails, the conditions of a single task alone (if these have no
    solution, no router exists for these vectors), then with the best task of every other condition. When nothing
    helps, the router is a multinomial logistic regression.
    """
    if not conditions.pattern.size:
        return ArgmaxRouter(np.zeros((vectors.shape[1], count)), True)
    weights = _feasible(vectors, conditions)
    if weights is None and not conditions.single.all():
        weights = _feasible(vectors, conditions.take(np.flatnonzero(conditions.single)))
        if weights is not None and not conditions.met(vectors @ weights).all():
            here = np.where(conditions.tasks, (vectors @ weights)[conditions.pattern], -np.inf)
            best = np.arange(count) == here.argmax(axis=1)[:, None]
            weights = _feasible(vectors, conditions.take(np.arange(len(best)), best))
    if weights is None:
        weights = _logistic(vectors, conditions)
    return ArgmaxRouter(weights, bool(conditions.met(vectors @ weights).all()))


def _feasible(vectors: np.ndarray, conditions: Conditions) -> np.ndarray | None:
    """Return weights (c, K) of size ``LARGEST`` at most by which every task of a condition beats every rival by 1."""
    size, count = vectors.shape[1], conditions.tasks.shape[1]
    row, mine, other = np.nonzero(conditions.tasks[:, :, None] & conditions.rivals[:, None, :])
    if not row.size:
        return np.zeros((size, count))
    triples = np.unique(np.stack((conditions.pattern[row], mine, other), axis=1), axis=0)
    values = vectors[triples[:, 0]]
    constraint, coordinate = np.nonzero(values)
    entries = values[constraint, coordinate]
    columns = [triples[constraint, side] * size + coordinate for side in (1, 2)]
    matrix = csr_array(
        (np.concatenate((-entries, entries)), (np.tile(constraint, 2), np.concatenate(columns))),
        shape=(len(triples), size * count),
    )
    # interior points: as fast where there is no solution as where there is one, which the simplex method is not
    fit = linprog(
        np.zeros(size * count), A_ub=matrix, b_ub=-np.ones(len(triples)), bounds=(-LARGEST, LARGEST), method="highs-ipm"
    )
    return fit.x.reshape(count, size).T if fit.status == 0 else None


def _logistic(vectors: np.ndarray, conditions: Conditions, *, iterations: int = 300) -> np.ndarray:
    """Fit a multinomial logistic regression with a row per (condition, task that has to win).

    Tasks that do not compete, and the others that may win, are left out of that row's softmax.
    """
    row, task = np.nonzero(conditions.tasks)
    size, count = vectors.shape[1], conditions.tasks.shape[1]
    rows = np.arange(row.shape[0])
    masked = ~conditions.rivals[row]
    masked[rows, task] = False
    x = vectors[conditions.pattern[row]]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        scores = np.where(masked, -np.inf, x @ flat.reshape(size, count))
        scores -= scores.max(axis=1, keepdims=True)
        weight = np.exp(scores)
        total = weight.sum(axis=1)
        value = float(np.sum(np.log(total) - scores[rows, task]))
        residual = weight / total[:, None]
        residual[rows, task] -= 1.0
        return value, (x.T @ residual).ravel()

    start = np.zeros(size * count)
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations, "maxcor": 20})
    return fit.x.reshape(size, count)

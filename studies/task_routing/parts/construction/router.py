"""Linear routers of the construction: the one-hot map of the proof, and one whose argmax is right where one exists.

The router adds a score of the pattern of a prefix and a large weight times the membership of its subject, so that only
tasks with the subject in their tables compete. A prefix then asks that some task that generates it beats every
competitor that its pattern excludes. ``vectors`` (M, c) are what the router sees of the M patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array

from studies.task_routing.parts.construction.content import competitors
from studies.task_routing.parts.knowledge import Prefixes

LARGEST = 1e5
"""Bound on the router's weights for a margin of 1: float64 keeps ten digits of the differences that decide."""


@dataclass(frozen=True)
class Conditions:
    """What the prefixes of a dataset ask of the scores, one distinct condition per row."""

    pattern: np.ndarray  # (Q,) index of the pattern
    tasks: np.ndarray  # (Q, K) whether the task generates the prefix
    rivals: np.ndarray  # (Q, K) whether the task competes but has no such pattern; at least one does

    @property
    def single(self) -> np.ndarray:
        """(Q,) whether one task alone generates the prefix; the theorems speak of no other."""
        return self.tasks.sum(axis=1) == 1

    def take(self, rows: np.ndarray, tasks: np.ndarray | None = None) -> Conditions:
        """Return some conditions, optionally with other ``tasks`` (Q, K) that have to win."""
        tasks = self.tasks if tasks is None else tasks
        return Conditions(self.pattern[rows], tasks[rows], self.rivals[rows])

    def met(self, scores: np.ndarray) -> np.ndarray:
        """Return (Q,) whether scores (M, K) of the patterns meet each condition."""
        here = scores[self.pattern]
        best = np.where(self.tasks, here, -np.inf).max(axis=1)
        return best > np.where(self.rivals, here, -np.inf).max(axis=1)


def conditions(prefixes: Prefixes, member: np.ndarray, words: int) -> Conditions:
    """Collect the conditions of all prefixes that have rivals; the parameters are those of :func:`competitors`."""
    rivals = competitors(prefixes, member, words) & ~prefixes.pattern_tasks[prefixes.pattern]
    rows = rivals.any(axis=1)
    columns = prefixes.pattern[rows, None], prefixes.compatible[rows], rivals[rows]
    distinct = np.unique(np.concatenate(columns, axis=1), axis=0)
    count = prefixes.compatible.shape[1]
    return Conditions(distinct[:, 0], distinct[:, 1 : 1 + count] == 1, distinct[:, 1 + count :] == 1)


def one_hot(vectors: np.ndarray, tasks: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the least-squares map (c, K) to the indicators (M, K) of the tasks, and its largest error.

    The error is 0 (to rounding) exactly when the indicators lie in the span of the vectors' coordinates.
    """
    target = tasks.astype(float)
    weights = np.linalg.lstsq(vectors, target, rcond=None)[0]
    return weights, float(np.abs(vectors @ weights - target).max())


def argmax(vectors: np.ndarray, count: int, asked: Conditions) -> tuple[np.ndarray, bool]:
    """Return a router (c, K) of ``count`` tasks whose argmax meets the conditions, or the best one known; and whether.

    The linear programme (g_k - g_j)'v >= 1 for the pattern v of every condition, each task k that has to win and each
    rival j is feasible exactly when some linear router lets all those tasks win. First all tasks of a condition have
    to win, which is more than is asked; where that fails, the conditions of a single task alone (if these have no
    solution, no router exists for these vectors), then with the best task of every other condition. When nothing
    helps, the router is a multinomial logistic regression.
    """
    if not asked.pattern.size:
        return np.zeros((vectors.shape[1], count)), True
    weights = _feasible(vectors, asked)
    if weights is None and not asked.single.all():
        weights = _feasible(vectors, asked.take(np.flatnonzero(asked.single)))
        if weights is not None and not asked.met(vectors @ weights).all():
            here = np.where(asked.tasks, (vectors @ weights)[asked.pattern], -np.inf)
            best = np.arange(count) == here.argmax(axis=1)[:, None]
            weights = _feasible(vectors, asked.take(np.arange(len(best)), best))
    if weights is None:
        weights = _logistic(vectors, asked)
    return weights, bool(asked.met(vectors @ weights).all())


def member_weight(scores: np.ndarray) -> float:
    """Return a weight of the membership above any difference of two scores of a pattern."""
    return 1.0 + float(np.max(scores.max(axis=1) - scores.min(axis=1)))


def _feasible(vectors: np.ndarray, asked: Conditions) -> np.ndarray | None:
    """Return weights (c, K) of size ``LARGEST`` at most by which every task of a condition beats every rival by 1."""
    size, count = vectors.shape[1], asked.tasks.shape[1]
    row, mine, other = np.nonzero(asked.tasks[:, :, None] & asked.rivals[:, None, :])
    if not row.size:
        return np.zeros((size, count))
    triples = np.unique(np.stack((asked.pattern[row], mine, other), axis=1), axis=0)
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


def _logistic(vectors: np.ndarray, asked: Conditions, *, iterations: int = 300) -> np.ndarray:
    """Fit a multinomial logistic regression with a row per (condition, task that has to win).

    Tasks that do not compete, and the others that may win, are left out of that row's softmax.
    """
    row, task = np.nonzero(asked.tasks)
    size, count = vectors.shape[1], asked.tasks.shape[1]
    rows = np.arange(row.shape[0])
    masked = ~asked.rivals[row]
    masked[rows, task] = False
    x = vectors[asked.pattern[row]]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        scores = np.where(masked, -np.inf, x @ flat.reshape(size, count))
        scores -= scores.max(axis=1, keepdims=True)
        weight = np.exp(scores)
        total = weight.sum(axis=1)
        value = float(np.sum(np.log(total) - scores[rows, task]))
        residual = weight / total[:, None]
        residual[rows, task] -= 1.0
        return value, (x.T @ residual).ravel()

    options = {"maxiter": iterations, "maxcor": 20}
    return minimize(loss, np.zeros(size * count), jac=True, method="L-BFGS-B", options=options).x.reshape(size, count)

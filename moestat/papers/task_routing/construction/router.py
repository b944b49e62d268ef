"""Linear routers of the construction: the one-hot map of the proof, and one whose argmax is right where one exists.

``vectors`` (M, c) are the template vectors of the M patterns and ``tasks`` (M, K) says which tasks generate them. A
score is right where the largest one belongs to a task that generates the pattern; which of several such tasks is
meant, the subject decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array


def correct(scores: np.ndarray, tasks: np.ndarray) -> bool:
    """Return whether every task of a pattern scores higher than every task that does not generate it."""
    inside = np.where(tasks, scores, np.inf).min(axis=1)
    outside = np.where(tasks, -np.inf, scores).max(axis=1)
    return bool(np.all(inside > outside))


def one_hot(vectors: np.ndarray, tasks: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the least-squares map (c, K) to the indicators of the tasks, and its largest error.

    The error is 0 (to rounding) exactly when the indicators lie in the span of the vectors' coordinates, as they do
    when the vectors are linearly independent.
    """
    target = tasks.astype(float)
    weights = np.linalg.lstsq(vectors, target, rcond=None)[0]
    return weights, float(np.abs(vectors @ weights - target).max())


@dataclass(frozen=True)
class ArgmaxRouter:
    """A linear router, and whether any linear router has the right argmax on every pattern."""

    weights: np.ndarray
    """(c, K); right on every pattern when ``separable``, else right on most."""
    separable: bool


def argmax(vectors: np.ndarray, tasks: np.ndarray) -> ArgmaxRouter:
    """Return a router whose argmax is right on every pattern, or the proof that there is none.

    The linear program (g_k - g_j)'v >= 1 for every pattern v, task k that generates it and task j that does not is
    feasible exactly when such a router exists. When it is not, the router is a multinomial logistic regression.
    """
    size, count = vectors.shape[1], tasks.shape[1]
    row, mine, other = np.nonzero(tasks[:, :, None] & ~tasks[:, None, :])
    if row.size == 0:
        return ArgmaxRouter(np.zeros((size, count)), True)
    constraint = np.repeat(np.arange(row.size), size)
    columns = [(task[:, None] * size + np.arange(size)).ravel() for task in (mine, other)]
    values = vectors[row].ravel()
    matrix = csr_array(
        (np.concatenate((-values, values)), (np.tile(constraint, 2), np.concatenate(columns))),
        shape=(row.size, size * count),
    )
    fit = linprog(np.zeros(size * count), A_ub=matrix, b_ub=-np.ones(row.size), bounds=(None, None), method="highs")
    weights = fit.x.reshape(count, size).T if fit.status == 0 else _logistic(vectors, tasks)
    return ArgmaxRouter(weights, correct(vectors @ weights, tasks))


def _logistic(vectors: np.ndarray, tasks: np.ndarray, *, iterations: int = 300) -> np.ndarray:
    """Fit a multinomial logistic regression with a row per (pattern, task that generates it).

    The other tasks that generate the pattern are left out of that row's softmax.
    """
    row, task = np.nonzero(tasks)
    size, count = vectors.shape[1], tasks.shape[1]
    rows = np.arange(row.shape[0])
    masked = tasks[row].copy()
    masked[rows, task] = False
    x = vectors[row]

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

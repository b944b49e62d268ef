"""Points that compete for the maximum of a likelihood, and which of them go on: the best distinct ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64

SAME = 0.2
"""Log-likelihood units within which two points of a replicate count as one."""


@takes_float64("loss")
def distinct(owner: np.ndarray, loss: np.ndarray, n: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose the best distinct points of each replicate, ``most`` of them at most and at least one.

    Parameters
    ----------
    owner : int array (M,)
        The replicate of each point.
    loss : array (M,)
        Minus the mean log-likelihood.
    n : int
        Number of samples that the mean is over.
    most : int

    Returns
    -------
    rows : int array
        The chosen points, replicate by replicate, the best first.
    twin : int array (M,)
        For each point the chosen one that it counts as: a chosen point itself, -1 for one that fell behind.
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
    """Points that compete: where they are, whose they are, which start they come from, and how they did.

    Attributes
    ----------
    free : array (M, p)
    owner : int array (M,)
        The replicate of each point.
    start : int array (M,)
    iterations : int array (M,)
    loss : array (M,)
        Minus the mean log-likelihood; infinite where it is not known or not finite.
    """

    free: Array
    owner: np.ndarray
    start: np.ndarray
    iterations: np.ndarray
    loss: np.ndarray

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
        rows = [row[np.argmin(self.loss[row])] for row in self._rows()]
        return np.array(rows)

    def least(self) -> np.ndarray:
        """Return the loss of the best point of each replicate."""
        least: np.ndarray = self.loss[self.best()]
        return least

    def _rows(self) -> list[np.ndarray]:
        return [np.nonzero(self.owner == b)[0] for b in np.unique(self.owner)]

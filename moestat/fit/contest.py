"""Which of the points that compete for the maximum go on: the best distinct ones of each replicate."""

from __future__ import annotations

import numpy as np

SAME = 0.2
"""Log-likelihood units within which two points of a replicate count as one."""


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
            known = [other for other in chosen if finite and n * (loss[row] - loss[other]) <= SAME]
            if known:
                twin[row] = known[0]
            elif not chosen or (finite and len(chosen) < most):
                chosen.append(int(row))
                twin[row] = row
        rows.extend(chosen)
    return np.array(rows), twin

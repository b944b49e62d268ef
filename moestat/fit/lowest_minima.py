"""Which end points of a search over populations are listed: the lowest ones that are different minima."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from moestat.doors import takes_float64
from moestat.models.regression import Model

EXACT = 1e-6
"""Root mean squares below this share of the target's standard deviation are zero: the model contains the target."""


@takes_float64("theta", "rmse")
def lowest_minima(
    model: Model,
    theta: np.ndarray,
    rmse: np.ndarray,
    share: float,
    scale: float,
    where: str,
    labels: np.ndarray | None = None,
) -> tuple[list[int], list[str]]:
    """Return the positions of different minima close to the best, best first, and why the others are not among them.

    Parameters
    ----------
    model : Model
    theta : array (S, N, P)
        Where the fits ended.
    rmse : array (S,)
    share : float
        Excess over the best, relative to it, up to which a minimum is listed.
    scale : float
        Standard deviation of the target.
    where : str
        Which points the root mean squares are over, for the reasons.
    labels : int array (S,), optional
        Numbers of the starts, for the reasons; 0, 1, ... if not given.

    Raises
    ------
    ValueError
        If no root mean square is finite.
    """
    labels = np.arange(len(rmse)) if labels is None else labels
    order = [int(k) for k in np.argsort(rmse, kind="stable")]
    if not np.isfinite(rmse[order[0]]):
        raise ValueError("no start of the population search led to a finite loss; are target and starts finite?")
    best = rmse[order[0]]
    limit = max((1.0 + share) * best, EXACT * scale)
    listed: list[int] = []
    dropped = []
    for k in order:
        if not rmse[k] <= limit:
            above = f"{rmse[k] / best:.4g} times the best" if np.isfinite(rmse[k]) else "not finite"
            dropped.append(f"start {labels[k]}: root mean square {rmse[k]:.6g} {where}, {above}")
            continue
        twin = next((j for j in listed if same_minimum(model, theta[k], theta[j])), None)
        if twin is None:
            listed.append(k)
        else:
            dropped.append(f"start {labels[k]}: the same minimum as start {labels[twin]} {where}")
    return listed, dropped


@takes_float64("theta", "other", finite=True)
def same_minimum(model: Model, theta: np.ndarray, other: np.ndarray, *, tolerance: float = 1e-2) -> bool:
    """Return whether two sets of atoms agree up to a permutation and the softmax gauge.

    Parameters
    ----------
    theta, other : array (N, P)
    tolerance : float, default 1e-2
        Largest distance of the sets (root of the sum of squares over matched atoms), relative to the norm of ``other``.
    """
    aligned = model.align(theta, other)
    square = np.sum((aligned[:, None] - other[None]) ** 2, axis=-1)
    matched = square[linear_sum_assignment(square)].sum()
    return bool(np.sqrt(matched) <= tolerance * np.linalg.norm(other))

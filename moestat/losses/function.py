"""Errors of the fitted regression function."""

from __future__ import annotations

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64
from moestat.models.blocks import row_blocks
from moestat.models.regression import Model

ROWS = 4096  #: Points per chunk: fixed, so that no result depends on the batch.


@takes_float64("fitted", "f_truth", "x_points")
def rmse(model: Model, fitted: Array, f_truth: Array, x_points: Array) -> Array:
    """Return the root mean squared error (...) of fitted functions (..., N, P), from the values (m,) of the true one.

    From the values (K, m) of K functions it is (K, ...).

    Use at least 2**16 fixed quasi-random points (m, d): one ReLU atom at the edge of the parameter box makes spikes
    that fewer points miss or exaggerate.
    """
    m = x_points.shape[0]
    if f_truth.ndim not in (1, 2) or f_truth.shape[-1] != m:
        allowed = f"({m},) or (K, {m}), one value per point"
        raise ValueError(f"f_truth has shape {tuple(f_truth.shape)}; it must be {allowed}")
    xp = namespace(fitted, x_points)
    lead, batch = f_truth.shape[:-1], fitted.shape[:-2]
    values = xp.reshape(f_truth, (*lead, *(1,) * len(batch), m))
    total = xp.zeros((*lead, *batch), dtype=fitted.dtype)
    for rows in row_blocks(m, ROWS):
        residual = model.predict(fitted, x_points[rows, :]) - values[..., rows]
        total = total + xp.sum(residual * residual, axis=-1)
    return xp.sqrt(total / m)

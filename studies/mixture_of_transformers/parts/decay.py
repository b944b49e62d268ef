r"""Geometric or power law: how a loss falls along the iterations of an optimiser.

The geometric law :math:`\log L = a - r t` and the power law :math:`\log L = a + s \log t` have two parameters and a
variance each, so their AICs compare residual sums of squares. Losses along one run are not independent, so a difference
of AICs has no calibrated level: it says which curve is closer, per run, and replicates say how sure that is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Decay:
    """Two laws fitted to losses (..., S) at iterations t (S,); all fields have the leading shape.

    ``slope``: exponent s of the power law; ``rate``: rate r of the geometric law, per iteration; ``r2_power``,
    ``r2_geometric``: shares of the variance of log L that the laws explain; ``aic_gain``: AIC of the geometric law
    minus AIC of the power law: positive favours the power law; ``last_slope``: exponent over the last decade of t.
    """

    slope: np.ndarray
    rate: np.ndarray
    r2_power: np.ndarray
    r2_geometric: np.ndarray
    aic_gain: np.ndarray
    last_slope: np.ndarray


def decay(iterations: np.ndarray, loss: np.ndarray) -> Decay:
    """Fit both laws to the whole series, and the exponent to its last decade.

    ``iterations`` (S,): t > 0, at least 4 of them, ascending; ``loss`` (..., S): a series with a value that is not
    positive or not finite gives NaN.
    """
    t = iterations
    if t.ndim != 1 or t.size < 4 or t[0] <= 0 or np.any(np.diff(t) <= 0):
        raise ValueError("iterations must be at least 4 positive numbers in ascending order")
    good = np.isfinite(loss) & (loss > 0)
    y = np.where(np.all(good, axis=-1, keepdims=True), np.log(np.where(good, loss, 1.0)), np.nan)
    slope, rss_power = _line(np.log(t), y)
    rate, rss_geometric = _line(t, y)
    total = np.sum((y - y.mean(axis=-1, keepdims=True)) ** 2, axis=-1)
    last = t >= t[-1] / 10 * (1 - 1e-9)
    last = last if np.sum(last) >= 3 else np.arange(t.size) >= t.size - 3
    with np.errstate(divide="ignore", invalid="ignore"):
        return Decay(
            slope=slope,
            rate=-rate,
            r2_power=1 - rss_power / total,
            r2_geometric=1 - rss_geometric / total,
            aic_gain=t.size * np.log(rss_geometric / rss_power),
            last_slope=_line(np.log(t[last]), y[..., last])[0],
        )


def first_passage(iterations: np.ndarray, loss: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the iteration at which a loss first reaches each level, (..., E); NaN where it does not.

    Between records the log loss is taken to be linear in log t; a loss that starts below a level gives the first
    iteration of the series.

    ``iterations`` (S,): t > 0, ascending; ``loss`` (..., S); ``levels`` (E,).
    """
    below = loss[..., :, None] <= levels  # (..., S, E)
    first = np.argmax(below, axis=-2)
    before = np.maximum(first - 1, 0)
    x = np.log(iterations)
    y = np.log(np.maximum(loss, np.finfo(np.float64).tiny))
    y1 = np.take_along_axis(y, first, axis=-1)
    y0 = np.take_along_axis(y, before, axis=-1)
    share = np.where(y0 > y1, (y0 - np.log(levels)) / np.where(y0 > y1, y0 - y1, 1.0), 1.0)
    at = np.exp(x[before] + np.clip(share, 0, 1) * (x[first] - x[before]))
    return np.where(np.any(below, axis=-2), at, np.nan)


def _line(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and residual sum of squares of a line through y (..., S) over x (S,)."""
    u = x - x.mean()
    centred = y - y.mean(axis=-1, keepdims=True)
    slope = np.sum(centred * u, axis=-1) / np.sum(u * u)  # a matrix product would depend on the leading shape
    residual = centred - slope[..., None] * u
    return slope, np.sum(residual**2, axis=-1)

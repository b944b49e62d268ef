"""What is read off the recorded losses: the law of their fall in stage III, and how long stages I and II take.

The geometric law ``log L = a - r t`` and the power law ``log L = a + s log t`` have two parameters and a variance each,
so their AICs compare residual sums of squares. Losses along one run are not independent, so a difference of AICs has no
calibrated level: it says which curve is closer, per run, and replicates say how sure that is.
"""

from __future__ import annotations

import numpy as np

LEVELS = 10.0 ** -np.arange(1.0, 6.25, 0.5)  # levels eps of the training loss whose iterations are counted
FEW = 10  # iterations below which a passage is left out of the laws of T(eps): the loss starts too close to the level
DIMS = {"tuning_train_loss": ("tuning",), "tuning_test_loss": ("tuning",), "iterations_to": ("eps",)}
"""Dimensions after the replicates' of what :func:`tuning` returns; the rest has none."""

Arrays = dict[str, np.ndarray]


def decay(iterations: np.ndarray, loss: np.ndarray) -> Arrays:
    """Fit both laws to losses (..., S) at ascending iterations t (S,): a series with a hole gives NaN.

    Returns ``slope``: exponent s of the power law; ``aic_gain``: AIC of the geometric law minus AIC of the power law:
    positive favours the power law; ``last_slope``: exponent over the last decade of t.
    """
    t = iterations
    if t.ndim != 1 or t.size < 4 or t[0] <= 0 or np.any(np.diff(t) <= 0):
        raise ValueError("iterations must be at least 4 positive numbers in ascending order")
    good = np.isfinite(loss) & (loss > 0)
    y = np.where(np.all(good, axis=-1, keepdims=True), np.log(np.where(good, loss, 1.0)), np.nan)
    slope, rss_power = _line(np.log(t), y)
    _, rss_geometric = _line(t, y)
    last = t >= t[-1] / 10 * (1 - 1e-9)
    last = last if np.sum(last) >= 3 else np.arange(t.size) >= t.size - 3
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "slope": slope,
            "aic_gain": t.size * np.log(rss_geometric / rss_power),
            "last_slope": _line(np.log(t[last]), y[..., last])[0],
        }


def first_passage(iterations: np.ndarray, loss: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the iteration (S,) at which a loss (..., S) first reaches each level, (..., E); NaN where it does not.

    Between records the log loss is taken to be linear in log t; a loss that starts below a level gives the first
    iteration of the series.
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


def tuning(epochs: np.ndarray, begin: int, train_loss: np.ndarray, test_loss: np.ndarray) -> tuple[Arrays, Arrays]:
    """Fit laws to the losses (B, E) of stage III, after ``begin`` = T2, and return ``values, coords``.

    ``tuning_train_loss`` and ``tuning_test_loss`` over ``tuning``, the steps since T2; for the training loss the values
    of :func:`decay`, fitted to the last two decades, for the other the last slope. For the training loss
    ``iterations_to`` over ``eps``, its exponent ``time_exponent`` (T = eps^-b, eps <= 0.01) and ``time_aic_gain``
    (positive: T(eps) is closer to a power of 1/eps than to a multiple of log(1/eps)). Nothing without stage III.
    """
    inside = epochs > begin
    if not inside.any():
        return {}, {}
    t = (epochs - begin)[inside]
    window = t >= t[-1] / 100
    train_loss, test_loss = train_loss[:, inside], test_loss[:, inside]
    values = {"tuning_train_loss": train_loss, "tuning_test_loss": test_loss, **decay(t[window], train_loss[:, window])}
    values["test_last_slope"] = decay(t[window], test_loss[:, window])["last_slope"]
    passage = first_passage(t, train_loss, LEVELS)
    laws = np.array([_laws_of_time(row) for row in passage])
    values |= {"iterations_to": passage, "time_exponent": laws[:, 0], "time_aic_gain": laws[:, 1]}
    return values, {"tuning": t, "eps": LEVELS}


def _laws_of_time(passage: np.ndarray) -> tuple[float, float]:
    """Return b of T = C eps^-b, and AIC(T = a + b log(1/eps)) - AIC(T = C eps^-b), both for T itself."""
    used = np.isfinite(passage) & (passage >= FEW) & (LEVELS <= 0.0101)
    if used.sum() < 4:
        return np.nan, np.nan
    x, t = -np.log(LEVELS[used]), passage[used]
    exponent, _ = np.polyfit(x, np.log(t), 1)
    # both laws are judged by the errors of log T, so that they see the same likelihood
    linear = np.polyval(np.polyfit(x, t, 1, w=1 / t), x)
    power = np.polyval(np.polyfit(x, np.log(t), 1), x)
    rss_linear = np.sum((np.log(np.maximum(linear, 1e-12)) - np.log(t)) ** 2)
    rss_power = np.sum((power - np.log(t)) ** 2)
    return float(exponent), float(len(t) * np.log(rss_linear / rss_power))


def stage_lengths(epochs: np.ndarray, ends: tuple[int, int, int], out: Arrays, gap: float, attention: float) -> Arrays:
    """Return whether stage I gets to a specialisation gap, and when stage II gets to p(v_n, v_n), NaN where not."""
    first, second = epochs <= ends[0], (epochs >= ends[0]) & (epochs <= ends[1])
    done = out["self_attention"][:, second] >= attention
    reached = np.any(done, axis=1)
    return {
        "steps_to_gap_reached": np.any(out["gap"][:, first] >= gap, axis=1),
        "steps_to_attention": np.where(reached, (epochs[second] - ends[0])[np.argmax(done, axis=1)], np.nan),
        "steps_to_attention_reached": reached,
    }

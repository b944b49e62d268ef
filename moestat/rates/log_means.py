"""The slope of the log mean loss: least squares with equal and with Monte Carlo weights, and a bootstrap."""

from __future__ import annotations

import numpy as np
from scipy import stats

from moestat import streams
from moestat.rates.estimate import NOTHING, Estimate, slopes


def of_log_means(x: np.ndarray, losses: np.ndarray, level: float) -> tuple[Estimate, Estimate]:
    """Return the OLS and the WLS slope of the log mean of losses (S, R) at log sizes x (S,)."""
    from statsmodels.regression.linear_model import OLS, WLS  # a slow import, needed here alone

    size, count = losses.shape
    if size < 2 or count == 0:
        return NOTHING, NOTHING
    # each size in units of its own, a power of two that changes no digit: squares of 1e200 or 1e-200 are none
    unit = np.frexp(np.max(losses, axis=1))[1]
    relative = np.ldexp(losses, -unit[:, None])
    means = np.ldexp(np.mean(relative, axis=1), unit)
    design = np.stack([np.ones(size), x], axis=1)
    line = OLS(np.log(means), design).fit()
    slope = float(line.params[1])
    if size < 3:
        ols = Estimate(slope, np.nan, np.nan)
    else:
        low, high = (float(v) for v in line.conf_int(1 - level)[1])
        ols = Estimate(slope, low, high, se=float(line.bse[1]))
    if count < 2:
        return ols, NOTHING
    se = np.std(relative, axis=1, ddof=1) / np.sqrt(count) / np.mean(relative, axis=1)
    if not np.all(se > 0):
        return ols, NOTHING
    weighted = WLS(np.log(means), design, weights=se**-2.0).fit(cov_type="fixed scale")
    value, error = float(weighted.params[1]), float(weighted.bse[1])
    half = float(stats.t.ppf(0.5 + level / 2, count - 1)) * error
    return ols, Estimate(value, value - half, value + half, se=error)


def bootstrap(x: np.ndarray, losses: np.ndarray, level: float, draws: int, seed: int) -> tuple[float, float]:
    """Return the percentile interval of the slope of the log mean loss, whole replicates drawn again."""
    count = losses.shape[1]
    if draws < 1 or count < 2 or x.size < 2:
        return (np.nan, np.nan)
    rng = streams.generator(seed, streams.key(use="rates.fit"), 0, "bootstrap")
    weights = rng.multinomial(count, np.full(count, 1 / count), size=draws) / count
    each = slopes(x, np.log(losses @ weights.T))
    low, high = np.quantile(each, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)

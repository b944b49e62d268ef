"""Estimates with intervals, and the one that rates are built on: a slope per replicate, averaged over replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes half a second to import

from moestat import streams
from moestat.doors import takes_float64


@dataclass(frozen=True)
class Cases:
    """What a statement about every case, or about some case, was checked on."""

    count: int
    inside: int  #: Cases that are as the statement says.
    draws: int = 0  #: Independent draws that the cases come from; 0 for cases that were not drawn.
    inside_draws: int = 0  #: Draws with no case that is otherwise.
    every: bool = True  #: About every case (one other case refutes it), or about some (one such case shows it).


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval, what it is, what it rests on and what speaks against using it.

    Rates, verdicts and the functions of claims all speak of numbers in this one form. ``low`` and ``high`` are NaN
    where there is no interval, and equal to the value for a number without a Monte Carlo error.
    """

    value: float
    low: float
    high: float
    note: str = ""  #: What it rests on, for the reader of a verdict.
    reasons: tuple[str, ...] = ()  #: Why the number must not decide a claim, one sentence each.
    #: Whether it accounts itself for replicates that failed or did not converge (as events that it counts, say), so
    #: that they do not stand in the way of a verdict.
    counts_failures: bool = False
    se: float = np.nan  #: Standard error.
    subject: str = "The estimate"  #: What the number is, as the beginning of a sentence.
    exact: bool = False  #: No Monte Carlo error: an interval of width zero decides a claim only then.
    replicates: int | None = None  #: Independent replicates that the interval rests on, where it does.
    cases: Cases | None = None  #: For a statement about every case or about some case.
    bend: str = ""  #: How the line, or the lines of a difference, bend, in a sentence; it forbids no verdict.

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


NOTHING = Estimate(np.nan, np.nan, np.nan)


@takes_float64("x", "logs")
def replicate_slopes(x: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the least-squares slopes (..., R) of logs (..., S, R) at log sizes x (S,); NaN for fewer than two."""
    centred = x - np.mean(x) if x.size else x
    spread = np.sum(centred**2)
    if spread == 0:
        return np.full(logs.shape[:-2] + logs.shape[-1:], np.nan)
    found: np.ndarray = np.einsum("s,...sr->...r", centred / spread, logs)
    return found


@takes_float64("samples")
def mean_interval(samples: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, standard error, low and high of the t-interval of independent samples (..., R), each (...).

    All but the mean are NaN for R = 1, and all are for R = 0.
    """
    count = samples.shape[-1]
    nothing = np.full(samples.shape[:-1], np.nan)
    if count == 0:
        return nothing, nothing, nothing, nothing
    mean = np.mean(samples, axis=-1)
    if count == 1:
        return mean, nothing, nothing, nothing
    se = np.std(samples, axis=-1, ddof=1) / np.sqrt(count)
    half = stdtrit(count - 1, 0.5 + level / 2) * se
    return mean, se, mean - half, mean + half


slopes, interval = replicate_slopes, mean_interval


def over_replicates(samples: np.ndarray, level: float) -> Estimate:
    """Return the mean of independent samples (R,) with its t-interval."""
    mean, se, low, high = (float(v) for v in mean_interval(samples, level))
    return Estimate(mean, low, high, se=se)


def of_log_means(x: np.ndarray, losses: np.ndarray, level: float) -> tuple[Estimate, Estimate]:
    """Return the OLS and the WLS slope of the log mean of losses (S, R) at log sizes x (S,)."""
    size, count = losses.shape
    if size < 2 or count == 0:
        return NOTHING, NOTHING
    # each size in units of its own, a power of two that changes no digit: squares of 1e200 or 1e-200 are none
    unit = np.frexp(np.max(losses, axis=1))[1]
    relative = np.ldexp(losses, -unit[:, None])
    means = np.ldexp(np.mean(relative, axis=1), unit)
    design, logs = np.stack([np.ones(size), x], axis=1), np.log(means)
    slope, variance, rest = _line(design, logs)
    ols = Estimate(slope, np.nan, np.nan)
    if size > 2:
        ols = _around(slope, variance * (float(rest @ rest) / (size - 2)), level, size - 2)
    if count < 2:
        return ols, NOTHING
    se = np.std(relative, axis=1, ddof=1) / np.sqrt(count) / np.mean(relative, axis=1)
    if not np.all(se > 0):
        return ols, NOTHING
    root = np.sqrt(se**-2.0)  # of the weights
    slope, variance, _ = _line(design * root[:, None], logs * root)
    return ols, _around(slope, variance, level, count - 1)


def _line(design: np.ndarray, values: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the slope of a least-squares line, its variance where that of the values is 1, and the residuals."""
    inverse = np.linalg.pinv(design)
    line = inverse @ values
    return float(line[1]), float((inverse @ inverse.T)[1, 1]), values - design @ line


def _around(slope: float, variance: float, level: float, freedom: int) -> Estimate:
    se = float(np.sqrt(variance))
    half = float(stdtrit(freedom, 0.5 + level / 2)) * se
    return Estimate(slope, slope - half, slope + half, se=se)


def bootstrap(x: np.ndarray, losses: np.ndarray, level: float, draws: int, seed: int) -> tuple[float, float]:
    """Return the percentile interval of the slope of the log mean loss, whole replicates drawn again."""
    count = losses.shape[1]
    if draws < 1 or count < 2 or x.size < 2:
        return (np.nan, np.nan)
    rng = streams.generator(seed, streams.key(use="rates.fit"), 0, "bootstrap")
    weights = rng.multinomial(count, np.full(count, 1 / count), size=draws) / count
    each = replicate_slopes(x, np.log(losses @ weights.T))
    low, high = np.quantile(each, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)

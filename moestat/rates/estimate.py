"""Estimates with intervals, and the one that rates are built on: a slope per replicate, averaged over replicates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes half a second to import

from moestat import streams
from moestat.doors import takes_float64

DRAWS, PARTS = 1999, 10  #: Resamples of the bootstrap, and how many parts they are taken in, for the memory.
BOOTSTRAP = (8, 1000)  #: Numbers of samples of which it is made.
ROUNDING = 1e-12  #: A standard error of a slope below this one is none.
MOST = 3.0  #: Its quantiles are at most so many times those of t.


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


@takes_float64("x", "logs", empty=True)
def replicate_slopes(x: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the least-squares slopes (..., R) of logs (..., S, R) at log sizes x (S,); NaN for fewer than two."""
    if x.ndim != 1 or logs.ndim < 2 or logs.shape[-2] != x.size:
        raise ValueError(f"x and logs have shapes {x.shape} and {logs.shape}; they must be (S,) and (..., S, R)")
    centred = x - np.mean(x) if x.size else x
    spread = np.sum(centred**2)
    if spread == 0:
        return np.full(logs.shape[:-2] + logs.shape[-1:], np.nan)
    found: np.ndarray = np.einsum("s,...sr->...r", centred / spread, logs)
    return found


@takes_float64("samples", empty=True)
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


def wider(samples: np.ndarray, level: float) -> Estimate:
    """Return the mean of independent samples (R,) with an interval that also covers where their law is skewed.

    The hull of the t-interval and of the bootstrap-t interval (Efron 1982), for ``BOOTSTRAP`` numbers of samples; the
    t-interval for others: fewer samples have too few resamples, and of more the mean is as good as normal. Where most
    samples agree, quantiles of the bootstrap run away; none counts for more than ``MOST`` times that of t.
    """
    plain, count = over_replicates(samples, level), samples.size
    if not (BOOTSTRAP[0] <= count <= BOOTSTRAP[1] and plain.se > ROUNDING):
        return plain
    drawn = streams.generator(0, streams.key(use="rates.wider"), 0, "bootstrap").integers(count, size=(DRAWS, count))
    unit = (samples - plain.value) / plain.se
    ratio = np.sort(np.concatenate([_studentised(unit[rows]) for rows in np.array_split(drawn, PARTS)]))
    usual = float(stdtrit(count - 1, 0.5 + level / 2))
    tail = max(int((0.5 - level / 2) * (ratio.size + 1)) - 1, 0)
    below, above = (float(np.clip(end, usual, MOST * usual)) for end in (ratio[-1 - tail], -ratio[tail]))
    return replace(plain, low=plain.value - below * plain.se, high=plain.value + above * plain.se)


def _studentised(samples: np.ndarray) -> np.ndarray:
    """Return the means of samples (B, R) in their standard errors, where these are above 0."""
    mean, se = np.mean(samples, axis=1), np.std(samples, axis=1, ddof=1) / np.sqrt(samples.shape[1])
    kept: np.ndarray = mean[se > 0] / se[se > 0]
    return kept

"""Estimates with intervals, and the one that rates are built on: a slope per replicate, averaged over replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from moestat.doors import as_float64


@dataclass(frozen=True)
class Cases:
    """What a statement about every case, or about some case, was checked on.

    Attributes
    ----------
    count, inside : int
        Cases, and how many of them are as the statement says.
    draws, inside_draws : int
        Independent draws that the cases come from, and how many of these have no case that is otherwise; 0 draws for
        cases that were not drawn.
    every : bool
        Whether the statement is about every case (one other case refutes it) or about some (one such case shows it).
    """

    count: int
    inside: int
    draws: int = 0
    inside_draws: int = 0
    every: bool = True


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval, what it is, what it rests on and what speaks against using it.

    Rates, verdicts and the functions of claims all speak of numbers in this one form.

    Attributes
    ----------
    value, low, high : float
        The estimate and its interval, NaN where there is none; equal for a number without a Monte Carlo error.
    note : str
        What it rests on, for the reader of a verdict.
    reasons : tuple of str
        Why the number must not decide a claim, one sentence each.
    counts_failures : bool
        Whether it accounts itself for replicates that failed or did not converge (as events that it counts, say), so
        that they do not stand in the way of a verdict.
    se : float
        Standard error, NaN where there is none.
    subject : str
        What the number is, as the beginning of a sentence.
    exact : bool
        Whether it has no Monte Carlo error: an interval of width zero decides a claim only then.
    replicates : int or None
        Independent replicates that the interval rests on, where that is what it rests on.
    cases : Cases or None
        For a statement about every case or about some case.
    bend : str
        Of the slope of a line, or of a difference of such: how the lines bend, in a sentence; empty where they do not.
        It forbids no verdict.
    """

    value: float
    low: float
    high: float
    note: str = ""
    reasons: tuple[str, ...] = ()
    counts_failures: bool = False
    se: float = np.nan
    subject: str = "The estimate"
    exact: bool = False
    replicates: int | None = None
    cases: Cases | None = None
    bend: str = ""

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


NOTHING = Estimate(np.nan, np.nan, np.nan)


def slopes(x: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the least-squares slopes (..., R) of logs (..., S, R) at x (S,); NaN for fewer than two sizes."""
    centred = x - np.mean(x) if x.size else x
    spread = np.sum(centred**2)
    if spread == 0:
        return np.full(logs.shape[:-2] + logs.shape[-1:], np.nan)
    found: np.ndarray = np.einsum("s,...sr->...r", centred / spread, logs)
    return found


def interval(samples: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, standard error and t-interval of independent samples (..., R) along the last axis."""
    count = samples.shape[-1]
    nothing = np.full(samples.shape[:-1], np.nan)
    if count == 0:
        return nothing, nothing, nothing, nothing
    mean = np.mean(samples, axis=-1)
    if count == 1:
        return mean, nothing, nothing, nothing
    se = np.std(samples, axis=-1, ddof=1) / np.sqrt(count)
    half = stats.t.ppf(0.5 + level / 2, count - 1) * se
    return mean, se, mean - half, mean + half


def replicate_slopes(x: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the least-squares slope of every replicate.

    Parameters
    ----------
    x : array (S,)
        Log sizes.
    logs : array (..., S, R)
        Log losses.

    Returns
    -------
    array (..., R)
        NaN when there are fewer than two sizes.
    """
    return slopes(as_float64(x, "x"), as_float64(logs, "logs"))


def mean_interval(samples: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, standard error and t-interval of independent samples (..., R) along the last axis.

    Returns (...): all but the mean are NaN for R = 1, and all are for R = 0.
    """
    return interval(as_float64(samples, "samples"), level)


def over_replicates(samples: np.ndarray, level: float) -> Estimate:
    """Return the mean of independent samples (R,) with its t-interval."""
    mean, se, low, high = (float(v) for v in mean_interval(samples, level))
    return Estimate(mean, low, high, se=se)

"""Claims about waiting times that grow no faster than a bound: what censored medians leave open is in the interval."""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat import streams
from moestat.claims.selection import NoAnswerError, variable
from moestat.papers.mixture_of_transformers.rules import DRAWS
from moestat.rates import Estimate
from moestat.rates.estimate import replicate_slopes
from moestat.study.spec import Claim


def median_slope_bounds(ds: xr.Dataset, claim: Claim, *, over: str = "experts", least: float = 0.0) -> Estimate:
    """Estimate the exponent of the median of a waiting time along ``over``, censored medians as late as they can be.

    Other than in :func:`rules.median_slope`, a bootstrap draw in which a median is censored keeps that point: the
    median is somewhere between the latest time that any run was seen to need and infinity. The upper end of the
    interval is that of the largest slopes that this allows, the lower end that of the smallest; either may be infinite.

    Parameters
    ----------
    over : str
        The axis.
    least : float
        Points of the axis below it are left out.

    Raises
    ------
    NoAnswerError
        If a median of the runs themselves is censored, or there are fewer than three points.
    """
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose(over, "replicate")
    array = array.isel({over: np.flatnonzero(array[over].values >= least)})
    seen = np.isfinite(array.values)
    medians = np.median(np.where(seen, np.maximum(array.values, 1.0), np.inf), axis=1)
    if (reached := int(np.isfinite(medians).sum())) < max(len(medians), 3):
        raise NoAnswerError(f"Only {reached} of {len(medians)} medians of {claim.variable} are not censored.")
    times = np.where(seen, np.maximum(array.values, 1.0), np.inf)
    x, last = np.log(array[over].values.astype(np.float64)), float(times[seen].max())
    rng = streams.generator(0, streams.key(use="median_slope"), 0, "bootstrap")
    count = times.shape[1]
    drawn = [np.median(times[:, rng.integers(count, size=count)], axis=1) for _ in range(DRAWS)]
    ends = np.array([slopes(x, each, last) for each in drawn])
    tail = (1 - claim.level) / 2
    low = np.quantile(ends[:, 0], tail, method="lower")
    high = np.quantile(ends[:, 1], 1 - tail, method="higher")
    by_point = ", ".join(f"{value}: {median:.4g}" for value, median in zip(array[over].values, medians, strict=True))
    open_ended = float(np.mean([not np.isfinite(each).all() for each in drawn]))
    note = (
        f"medians by {over} {by_point}; {int((~seen).sum())} of {seen.size} times are censored, "
        f"and a median in {open_ended:.0%} of the bootstrap draws"
    )
    value = slopes(x, medians, last)[0]
    return Estimate(value, float(low), float(high), note, counts_failures=True, replicates=count)


def slopes(x: np.ndarray, medians: np.ndarray, last: float) -> tuple[float, float]:
    """Return the smallest and the largest slope of log medians over ``x``; inf stands for a time from ``last`` on."""
    late, weight = ~np.isfinite(medians), x - x.mean()
    weight = np.where(np.abs(weight) < 1e-9 * np.ptp(x), 0.0, weight)  # the middle point has no part in a slope
    at_once = float(replicate_slopes(x, np.log(np.where(late, last, medians))[:, None])[0])
    smallest = -np.inf if np.any(late & (weight < 0)) else at_once
    return smallest, np.inf if np.any(late & (weight > 0)) else at_once

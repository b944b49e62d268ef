"""Claims about waiting times of which some are censored: what that leaves open is in the interval, or is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from moestat import streams
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.rates.estimate import replicate_slopes
from moestat.study.spec import Claim
from studies.mixture_of_transformers.parts.rules import DRAWS, median_slope


def median_slope_bounds(ds: xr.Dataset, claim: Claim, *, over: str = "experts", least: float = 0.0) -> Estimate:
    """Estimate the exponent of the median of a waiting time along ``over``, censored medians as late as they can be.

    Other than in :func:`rules.median_slope`, a bootstrap draw in which a median is censored keeps that point: the
    median is somewhere between the latest time that any run was seen to need and infinity. The upper end of the
    interval is that of the largest slopes that this allows, the lower end that of the smallest; either may be infinite.

    ``over``: the axis; ``least``: points of the axis below it are left out.
    """
    array = _times(ds, claim, over, least)
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


def growth(ds: xr.Dataset, claim: Claim, *, over: str = "experts", least: float = 0.0) -> Estimate:
    """Estimate the exponent of the median of a waiting time along ``over``, as far as censoring alone does not make it.

    The number is that of :func:`rules.median_slope`. Where fewer runs arrive at one end than at the other, the median
    of all runs moves along the times of those that do arrive, whether or not these are longer. So the exponent of the
    medians of the runs that arrive is estimated too, and nothing is decided unless it lies where the first one does.

    ``over``: the axis; ``least``: points of the axis below it are left out.
    """
    every = median_slope(ds, claim, over=over, least=least)
    array = _times(ds, claim, over, least)
    times = np.maximum(array.values, 1.0)
    seen = np.isfinite(times)
    if not seen.any(axis=1).all():
        raise NoAnswerError(f"No run has a {claim.variable} at some {over}.")
    x = np.log(array[over].values.astype(np.float64))
    rng = streams.generator(0, streams.key(use="growth of those that arrive"), 0, "bootstrap")
    count = times.shape[1]

    def exponent(rows: list[np.ndarray]) -> float:
        with np.errstate(invalid="ignore"):
            medians = np.array([np.median(row[np.isfinite(row)]) for row in rows])
        return float(replicate_slopes(x, np.log(medians)[:, None])[0])

    found = []
    for _ in range(DRAWS):
        places = rng.integers(count, size=count)
        if seen[:, places].any(axis=1).all():
            found.append(exponent(list(times[:, places])))
    tail = (1 - claim.level) / 2
    low, high = (float(end) for end in np.quantile(found, (tail, 1 - tail)))
    value = exponent(list(times))
    shares = ", ".join(f"{at}: {share:.0%}" for at, share in zip(array[over].values, seen.mean(axis=1), strict=True))
    least_end, most_end = claim.region
    same = True
    if least_end <= every.low and every.high <= most_end:
        same = least_end <= low and high <= most_end
    elif every.high < least_end or every.low > most_end:
        same = high < least_end or low > most_end
    told = f"the exponent of those that arrive is {value:.3f} [{low:.3f}, {high:.3f}]"
    reasons = () if same or seen.all() else (f"Not all runs arrive, and {told}: what is seen may be their share.",)
    note = f"{every.note}; runs that arrive by {over} {shares}; {told}"
    return replace(every, note=note, reasons=(*every.reasons, *reasons))


def _times(ds: xr.Dataset, claim: Claim, over: str, least: float) -> xr.DataArray:
    """Return the waiting times (over, replicate) of a claim, at the points of ``over`` from ``least`` on."""
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose(over, "replicate")
    return array.isel({over: np.flatnonzero(array[over].values >= least)})


def slopes(x: np.ndarray, medians: np.ndarray, last: float) -> tuple[float, float]:
    """Return the smallest and the largest slope of log medians over ``x``; inf stands for a time from ``last`` on."""
    late, weight = ~np.isfinite(medians), x - x.mean()
    weight = np.where(np.abs(weight) < 1e-9 * np.ptp(x), 0.0, weight)  # the middle point has no part in a slope
    at_once = float(replicate_slopes(x, np.log(np.where(late, last, medians))[:, None])[0])
    smallest = -np.inf if np.any(late & (weight < 0)) else at_once
    return smallest, np.inf if np.any(late & (weight > 0)) else at_once

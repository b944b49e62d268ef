"""Claims about a protocol that is started by a rule: is its slope a property of the fit, or of the start?

Both functions serve claims of kind ``function``: ``claim.variable`` is the loss, ``claim.arm`` the arm, ``claim.at``
fixes the other axes of the grid. Slopes are per replicate, as everywhere; a replicate with a hole is left out.
"""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

from moestat.claims.counts import is_at
from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import Estimate
from moestat.rates.estimate import mean_interval, replicate_slopes
from moestat.study.spec import Claim


def largest_slope_gap(ds: xr.Dataset, claim: Claim, *, between: str = "start_rule", over: str = "n") -> Estimate:
    """Estimate the largest difference of slopes between any two values of the axis ``between``.

    Differences are paired by replicate. The interval covers all pairs at once (Bonferroni): its lower end is above a
    bound if some pair differs by more, its upper end is below if no pair does.
    """
    slopes, names, note = _slopes(ds, claim, claim.variable, between, over)
    pairs = list(itertools.combinations(range(len(names)), 2))
    if not pairs:
        raise NoAnswerError(f"At least two values of {between} are needed; there is {', '.join(names)}.")
    gaps = np.stack([slopes[i] - slopes[j] for i, j in pairs])
    mean, low, high = _simultaneous(gaps, claim.level)
    i, j = pairs[int(np.argmax(mean))]
    note = f"{names[i]} gives {slopes[i].mean():.2f}, {names[j]} gives {slopes[j].mean():.2f}; {note}"
    return Estimate(float(mean.max()), float(low.max()), float(high.max()), note)


def largest_move(
    ds: xr.Dataset, claim: Claim, *, start: str = "", between: str = "start_rule", over: str = "n"
) -> Estimate:
    """Estimate the largest difference, over the axis ``between``, of the final slope to the slope at the start.

    ``start`` is the variable at the start, ``start_`` + ``claim.variable`` when empty. Interval as in
    :func:`largest_slope_gap`.
    """
    final, names, note = _slopes(ds, claim, claim.variable, between, over)
    first, _, _ = _slopes(ds, claim, start or f"start_{claim.variable}", between, over)
    if final.shape != first.shape:
        raise NoAnswerError(f"{claim.variable} and its start have values in different replicates.")
    mean, low, high = _simultaneous(final - first, claim.level)
    worst = int(np.argmax(mean))
    note = f"{names[worst]}: {first[worst].mean():.2f} at the start, {final[worst].mean():.2f} at the end; {note}"
    return Estimate(float(mean.max()), float(low.max()), float(high.max()), note)


def _simultaneous(differences: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return | mean | of differences (K, R) with ends of its interval, at a joint level."""
    mean, _, low, high = mean_interval(differences, 1 - (1 - level) / len(differences))
    inside = (low <= 0) & (high >= 0)
    nearest = np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high)))
    return np.abs(mean), nearest, np.maximum(np.abs(low), np.abs(high))


def _slopes(ds: xr.Dataset, claim: Claim, variable: str, between: str, over: str) -> tuple[np.ndarray, list[str], str]:
    """Return slopes (K, R) of the complete replicates, the names along ``between``, and a note on how many."""
    if variable not in ds:
        raise NoAnswerError(f"The results hold no variable {variable!r}.")
    if claim.arm not in ds["arm"].values:
        raise NoAnswerError(f"The arm {claim.arm!r} is not part of this run.")
    array = ds[variable].sel(arm=claim.arm)
    for axis, value in claim.at.items():
        here = is_at(array[axis], value).values
        if here.sum() != 1:
            raise NoAnswerError(f"{axis} = {value!r} is not on the grid of this run.")
        array = array.isel({axis: int(np.flatnonzero(here)[0])})
    left = [str(d) for d in array.dims if d not in (between, over, "replicate")]
    if left:
        raise NoAnswerError(f"{variable} also runs over {', '.join(left)}; say under 'at' where it is taken.")
    array = array.transpose(between, over, "replicate").sortby(over)
    values = array.values.astype(np.float64)
    if values.shape[1] < 2:
        raise NoAnswerError(f"A slope needs at least two values of {over}.")
    complete = np.all(np.isfinite(values) & (values > 0), axis=(0, 1))
    if complete.sum() < 2:
        raise NoAnswerError(f"{int(complete.sum())} complete replicates give no interval; at least 2 are needed.")
    slopes = replicate_slopes(np.log(array[over].values.astype(np.float64)), np.log(values[:, :, complete]))
    note = f"{int(complete.sum())} of {complete.size} replicates, {values.shape[1]} sizes"
    return slopes, [str(value) for value in array[between].values], note

"""Claims that compare whole rows of a grid: where a metric peaks, what goes with what, which runs scatter more.

Each function serves a claim of kind ``function``: ``f(ds, claim, **options) -> Estimate``. ``claim.variable`` and
``claim.arm`` say what is looked at, ``claim.at`` fixes coordinates (of the grid, or own ones such as ``step``), and
``over`` names the axes that a row runs over. Comparisons are paired by replicate; a replicate with a hole in what is
compared is left out, and the note says how many were used.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy import stats

from moestat.claims.counts import is_at
from moestat.claims.selection import NoAnswerError, at_point
from moestat.claims.verdicts import Estimate
from moestat.rates.estimate import mean_interval
from moestat.study.spec import Claim, Scalar


def peak(ds: xr.Dataset, claim: Claim, *, value: Scalar, over: str = "experts") -> Estimate:
    """Estimate by how much the mean at ``value`` exceeds the best of the other means along ``over``.

    The interval is a multiple comparison with the best (Hsu 1981) with paired differences and Bonferroni t-quantiles:
    above 0, ``value`` is the peak; below 0, some other point is better.
    """
    points = ds[over].values
    here = is_at(ds[over], value).values
    if np.sum(here) != 1 or here.size == 1:
        raise NoAnswerError(
            f"{over} = {value!r} and others to compare it with are needed; there are {points.tolist()}."
        )
    (rows,), note = _complete(_rows(ds, claim.variable, claim.arm, claim.at, [over]))
    lead = rows[:, here] - rows[:, ~here]
    mean, _, low, high = mean_interval(lead.T, 1 - (1 - claim.level) / lead.shape[1])
    rival = points[~here][int(np.argmin(mean))]
    return Estimate(float(mean.min()), float(low.min()), float(high.min()), f"best other: {over} = {rival}; {note}")


def lead(ds: xr.Dataset, claim: Claim, *, others: Sequence[str], lower: bool = False) -> Estimate:
    """Estimate by how much the mean of ``claim.arm`` exceeds the best of the ``others``, which are arms.

    ``lower``: how far it stays below the lowest of them. The interval is that of :func:`peak`: above 0, no other arm
    reaches it; below 0, some other arm is beyond it.
    """
    names = [name for name in others if name != claim.arm]
    if not names:
        raise NoAnswerError("At least one other arm is needed to compare with.")
    sides = [_rows(ds, claim.variable, arm, claim.at, []) for arm in (claim.arm, *names)]
    sides, note = _complete(*sides)
    leads = np.concatenate([(other - sides[0]) if lower else (sides[0] - other) for other in sides[1:]], axis=1)
    mean, _, low, high = mean_interval(leads.T, 1 - (1 - claim.level) / len(names))
    rival = names[int(np.argmin(mean))]
    return Estimate(float(mean.min()), float(low.min()), float(high.min()), f"best other: {rival}; {note}")


def widest(ds: xr.Dataset, claim: Claim, *, over: str, values: Sequence[Scalar]) -> Estimate:
    """Estimate the largest difference of the means at any two of some ``values`` of the axis ``over``.

    Differences are paired by replicate. The interval covers all pairs at once (Bonferroni): above a bound if some pair
    differs by more, below if no pair does.
    """
    pairs = list(itertools.combinations(range(len(values)), 2))
    if not pairs:
        raise NoAnswerError(f"At least two values of {over} are needed.")
    rows, note = _complete(*(_rows(ds, claim.variable, claim.arm, {**claim.at, over: v}, []) for v in values))
    gaps = np.stack([rows[i][:, 0] - rows[j][:, 0] for i, j in pairs])
    mean, _, low, high = mean_interval(gaps, 1 - (1 - claim.level) / len(pairs))
    nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    farthest = np.maximum(np.abs(low), np.abs(high))
    i, j = pairs[int(np.argmax(np.abs(mean)))]
    note = f"largest between {over} = {values[i]} and {values[j]}; {note}"
    return Estimate(float(np.abs(mean).max()), float(nearest.max()), float(farthest.max()), note)


def gap(ds: xr.Dataset, claim: Claim, *, over: Sequence[str] = ("experts",)) -> Estimate:
    """Estimate the difference between ``claim.arm`` and ``claim.versus``, averaged over ``over``."""
    ours = _rows(ds, claim.variable, claim.arm, claim.at, over)
    theirs = _rows(ds, claim.variable, claim.versus, claim.at if claim.versus_at is None else claim.versus_at, over)
    (ours, theirs), note = _complete(ours, theirs)
    return _mean(np.mean(ours - theirs, axis=1), claim.level, note)


def rank_correlation(ds: xr.Dataset, claim: Claim, *, other: str, over: Sequence[str] = ("experts",)) -> Estimate:
    """Estimate Spearman's correlation of ``claim.variable`` with ``other`` along ``over``.

    One correlation per replicate, so that replicates are the independent units, averaged with a t-interval that is cut
    to [-1, 1]. A replicate in which either variable is constant has none and is left out.
    """
    first, second = (_rows(ds, name, claim.arm, claim.at, over) for name in (claim.variable, other))
    (first, second), note = _complete(first, second)
    ranks = [stats.rankdata(rows, axis=1) for rows in (first, second)]
    ranks = [r - r.mean(axis=1, keepdims=True) for r in ranks]
    norm = np.sqrt(np.prod([np.sum(r**2, axis=1) for r in ranks], axis=0))
    values = np.sum(ranks[0] * ranks[1], axis=1)[norm > 0] / norm[norm > 0]
    constant = int(np.sum(norm == 0))
    found = _mean(values, claim.level, f"{note}, {constant} of them constant" if constant else note)
    return replace(found, low=max(found.low, -1.0), high=min(found.high, 1.0))


def spread(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate how much more the runs scatter at ``claim.at`` than at ``claim.versus_at``.

    The difference of the mean absolute deviations from the median, paired by replicate: the comparison of Brown and
    Forsythe (1974), which bears skewed metrics, where a ratio of variances does not.
    """
    rows = _rows(ds, claim.variable, claim.arm, claim.at, [])
    other = _rows(ds, claim.variable, claim.versus or claim.arm, claim.versus_at or {}, [])
    (rows, other), note = _complete(rows, other)
    deviations = [np.abs(r - np.median(r, axis=0)) for r in (rows, other)]
    deviation = [float(np.std(r, ddof=1)) if len(r) > 1 else np.nan for r in (rows, other)]
    note = f"standard deviations {deviation[0]:.3g} and {deviation[1]:.3g}; {note}"
    return _mean((deviations[0] - deviations[1])[:, 0], claim.level, note)


def largest(ds: xr.Dataset, claim: Claim, *, over: Sequence[str] = ("experts",)) -> Estimate:
    """Return the largest value of ``claim.variable``, for statements about every run; it has no sampling error."""
    rows = _rows(ds, claim.variable, claim.arm, claim.at, over)
    value = float(np.nanmax(rows))
    return Estimate(value, value, value, f"largest of {np.sum(np.isfinite(rows))} values")


def _rows(ds: xr.Dataset, variable: str, arm: str, at: Mapping[str, Scalar], over: Sequence[str]) -> np.ndarray:
    """Return a variable as rows (replicates, points), points running over ``over``."""
    array = at_point(ds, variable, {"arm": arm, **at})
    left = [str(axis) for axis in array.dims if axis != "replicate" and axis not in over]
    if left:
        raise NoAnswerError(f"{variable} also runs over {', '.join(left)}: fix it in 'at' or name it in 'over'.")
    return array.transpose("replicate", *over).values.reshape(array.sizes["replicate"], -1)


def _complete(*rows: np.ndarray) -> tuple[list[np.ndarray], str]:
    """Keep the replicates that are complete in all rows, and say how many they are."""
    whole = np.all([np.all(np.isfinite(r), axis=1) for r in rows], axis=0)
    return [r[whole] for r in rows], f"{np.sum(whole)} of {len(whole)} replicates"


def _mean(samples: np.ndarray, level: float, note: str) -> Estimate:
    mean, _, low, high = mean_interval(samples, level)
    return Estimate(float(mean), float(low), float(high), note)

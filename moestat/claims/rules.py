"""Rules of claims that any study can use: extremes over every run, comparisons of arms and points, scatter.

Each function serves a claim of kind ``function``: ``f(ds, claim, **options) -> Estimate``. ``claim.variable`` and
``claim.arm`` say what is looked at, ``claim.at`` fixes coordinates, and ``over`` names the axes that a row runs over.
Comparisons are paired by replicate; one with a hole in what is compared is left out, and the note says how many remain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from moestat.claims.estimates import proportion_interval
from moestat.claims.selection import NoAnswerError, chosen, is_at, variable, versus
from moestat.rates import Cases, Estimate
from moestat.rates.estimate import interval, over_replicates
from moestat.study.spec import Claim, Scalar


def largest(
    ds: xr.Dataset,
    claim: Claim,
    *,
    arms: Sequence[str] = (),
    over: Sequence[str] | None = None,
) -> Estimate:
    """Return the largest value of ``claim.variable``, and say where it is; values that are NaN are passed over.

    With the rule ``at_most`` it judges a statement about every case, which one value refutes; with ``at_least`` one
    about some case. ``arms`` are names or patterns, in place of ``claim.arm``, and ``over`` names the axes that it runs
    over beside arms and replicates (all, if absent).
    """
    patterns = list(arms) or [claim.arm or "*"]
    if not (names := chosen(ds, patterns)):
        raise NoAnswerError(f"No arm of this run matches {', '.join(patterns)}.")
    array = variable(ds, claim.variable, claim.at)
    array = array.isel(arm=np.flatnonzero(np.isin(ds["arm"].values, names))) if "arm" in array.dims else array
    if over is not None:
        _refuse_axes(array, ("arm", "replicate", *over), claim.variable)
    samples = array.values
    if not np.isfinite(samples).any():
        raise NoAnswerError(f"{claim.variable} has no value in the arms {', '.join(patterns)}.")
    place = np.unravel_index(int(np.nanargmax(samples)), samples.shape)
    labels = [(str(name), array[name].values[k]) for name, k in zip(array.dims, place, strict=True)]
    at = ", ".join(f"{name} {x:.3g}" if isinstance(x, np.floating) else f"{name} {x}" for name, x in labels)
    value, note = float(samples[place]), f"largest of {np.isfinite(samples).sum()} values, at {at}"
    subject = f"The largest {claim.variable}"
    return Estimate(value, value, value, note, subject=subject, exact=True, cases=_cases(array, claim))


def smallest(ds: xr.Dataset, claim: Claim, **options: Any) -> Estimate:
    """Return the smallest value of ``claim.variable``, and say where it is; with the options of :func:`largest`."""
    ends = {"at_most": claim.at_least, "at_least": claim.at_most}
    ends = {name: None if end is None else -end for name, end in ends.items()}
    within = None if claim.within is None else (-claim.within[1], -claim.within[0])
    turned = ds.assign({claim.variable: -variable(ds, claim.variable)})
    found = largest(turned, claim.model_copy(update={**ends, "within": within}), **options)
    note, subject = (text.replace("largest", "smallest", 1) for text in (found.note, found.subject))
    return replace(found, value=-found.value, low=-found.low, high=-found.high, note=note, subject=subject)


def _cases(array: xr.DataArray, claim: Claim) -> Cases | None:
    """Count the values that are as the rule says, and the replicates without one that is otherwise."""
    if claim.at_most is None and claim.at_least is None:
        return None  # the extreme itself is to lie in a region
    low, high = claim.region
    known = np.isfinite(array.values)
    inside = (array.values >= low) & (array.values <= high)
    draws = inside_draws = 0
    if "replicate" in array.dims:
        others = tuple(k for k, axis in enumerate(array.dims) if axis != "replicate")
        drawn = known.any(axis=others)
        draws, inside_draws = int(drawn.sum()), int((drawn & (inside | ~known).all(axis=others)).sum())
    return Cases(int(known.sum()), int((inside & known).sum()), draws, inside_draws, every=claim.at_most is not None)


def share(ds: xr.Dataset, claim: Claim, *, least: float | None = None) -> Estimate:
    """Estimate the share of replicates in which ``claim.variable`` (0 or 1) is true, with its exact interval.

    With ``least`` the variable may be any number, and it is the share of replicates in which it is that or more.
    """
    rows = _rows(ds, claim.variable, claim.arm, claim.at, [])
    known = rows[np.isfinite(rows)] if least is None else rows[np.isfinite(rows)] >= least
    low, high = proportion_interval(int(known.sum()), known.size, claim.level)
    mean = float(known.mean()) if known.size else np.nan
    return Estimate(mean, low, high, f"{int(known.sum())} of {known.size} replicates", replicates=known.size)


def peak(ds: xr.Dataset, claim: Claim, *, value: Scalar, over: str = "experts") -> Estimate:
    """Estimate by how much the mean at ``value`` exceeds the best of the other means along ``over``.

    A multiple comparison with the best (Hsu 1981), paired, with Bonferroni t-quantiles: above 0, ``value`` is the peak.
    """
    points, here = ds[over].values, is_at(ds[over], value).values
    if np.sum(here) != 1 or here.size == 1:
        raise NoAnswerError(
            f"{over} = {value!r} and others to compare it with are needed; there are {points.tolist()}."
        )
    (rows,), note = _complete(_rows(ds, claim.variable, claim.arm, claim.at, [over]))
    return _ahead(rows[:, here] - rows[:, ~here], claim.level, [f"{over} = {x}" for x in points[~here]], note)


def lead(ds: xr.Dataset, claim: Claim, *, others: Sequence[str], lower: bool = False) -> Estimate:
    """Estimate by how much the mean of ``claim.arm`` exceeds the best of the ``others``, which are arms.

    ``lower``: how far it stays below the lowest of them. The interval is that of :func:`peak`.
    """
    if not (names := [name for name in others if name != claim.arm]):
        raise NoAnswerError("At least one other arm is needed to compare with.")
    sides, note = _complete(*(_rows(ds, claim.variable, arm, claim.at, []) for arm in (claim.arm, *names)))
    leads = np.concatenate([(other - sides[0]) if lower else (sides[0] - other) for other in sides[1:]], axis=1)
    return _ahead(leads, claim.level, names, note)


def _ahead(leads: np.ndarray, level: float, rivals: Sequence[str], note: str) -> Estimate:
    """Return the smallest mean lead (replicates, rivals), at a joint level, and name the rival."""
    mean, _, low, high = interval(leads.T, 1 - (1 - level) / leads.shape[1])
    note = f"best other: {rivals[int(np.argmin(mean))]}; {note}"
    return Estimate(float(mean.min()), float(low.min()), float(high.min()), note, replicates=len(leads))


def gap(ds: xr.Dataset, claim: Claim, *, over: Sequence[str] = ("experts",)) -> Estimate:
    """Estimate the difference between ``claim.arm`` and ``claim.versus``, averaged over ``over``."""
    places = ((claim.arm, claim.at), versus(claim)[1:])
    (ours, theirs), note = _complete(*(_rows(ds, claim.variable, arm, at, over) for arm, at in places))
    gaps = np.mean(ours - theirs, axis=1)
    return replace(over_replicates(gaps, claim.level), note=note, replicates=gaps.size)


def _rows(ds: xr.Dataset, name: str, arm: str, at: Mapping[str, Scalar], over: Sequence[str]) -> np.ndarray:
    """Return a variable of an arm as rows (replicates, points), points running over ``over``."""
    array = variable(ds, name, {"arm": arm, **at})
    _refuse_axes(array, ("replicate", *over), name)
    return array.transpose("replicate", *over).values.reshape(array.sizes["replicate"], -1)


def _refuse_axes(array: xr.DataArray, allowed: Sequence[str], name: str) -> None:
    left = [str(axis) for axis in array.dims if axis not in allowed]
    if left:
        raise NoAnswerError(f"{name} also runs over {', '.join(left)}: fix it in 'at' or name it in 'over'.")


def _complete(*rows: np.ndarray) -> tuple[list[np.ndarray], str]:
    """Keep the replicates that are complete in all rows, and say how many they are."""
    whole = np.all([np.all(np.isfinite(r), axis=1) for r in rows], axis=0)
    return [r[whole] for r in rows], f"{np.sum(whole)} of {len(whole)} replicates"

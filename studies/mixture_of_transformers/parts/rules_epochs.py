"""Claims about the course of a training: its mean over a stage, and its error at an epoch that other runs chose.

Each function serves a claim of kind ``function``: ``f(ds, claim, **options) -> Estimate``. Both compare ``claim.arm``
with ``claim.versus``, paired by replicate.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def stage_mean(ds: xr.Dataset, claim: Claim, *, stage: str, ends: str = "stage_end") -> Estimate:
    """Estimate the difference of the means of ``claim.variable`` over the epochs of a stage.

    A course that is slower for a while lies higher for a while; at the end of the stage both may have arrived.

    ``stage``: a label of the axis ``stage``. ``ends``: the variable that holds the last epoch of every stage, by
    ``stage``; those of ``claim.arm`` are taken.
    """
    epoch = ds["epoch"].values
    last = _ends(ds, claim, ends)
    names = [str(name) for name in ds["stage"].values]
    if stage not in names:
        raise NoAnswerError(f"There is no stage {stage!r} in this run, only {', '.join(names)}.")
    place = names.index(stage)
    first = last[place - 1] if place else 0
    inside = (epoch > first) & (epoch <= last[place])
    ours, theirs = (course[:, inside].mean(axis=1) for course in _courses(ds, claim))
    return _difference(ours, theirs, claim, f"epochs {first + 1:g} to {last[place]:g}")


def at_chosen_epoch(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the difference of ``claim.variable``, each arm at the epoch where the other replicates have it lowest.

    For every replicate and each arm the epoch is that of the lowest mean over all *other* replicates, the first of
    several that are level, so that no run is judged at an epoch that it chose itself. What is left is what remains of a
    lead if neither side is trained too long.
    """
    sides = _courses(ds, claim)
    whole = np.all([np.isfinite(course).all(axis=1) for course in sides], axis=0)
    if whole.sum() < 3:
        raise NoAnswerError(f"An epoch is chosen by two other replicates at least; {whole.sum()} in all are whole.")
    epoch = ds["epoch"].values
    found: list[np.ndarray] = []
    told: list[str] = []
    for arm, course in zip((claim.arm, claim.versus), sides, strict=True):
        kept = course[whole]
        others = (kept.sum(axis=0) - kept) / (len(kept) - 1)
        place = others.round(12).argmin(axis=1)  # shares of few samples tie, but for rounding
        value = np.full(whole.size, np.nan)
        value[whole] = kept[np.arange(len(kept)), place]
        found.append(value)
        low, high = epoch[place].min(), epoch[place].max()
        told.append(f"{arm} at epoch {low}" + (f" to {high}" if high > low else ""))
    return _difference(found[0], found[1], claim, ", ".join(told))


def _courses(ds: xr.Dataset, claim: Claim) -> list[np.ndarray]:
    """Return ``claim.variable`` of both arms as arrays (replicates, epochs)."""
    both = [variable(ds, claim.variable, {"arm": arm, **claim.at}) for arm in (claim.arm, claim.versus)]
    return [side.transpose("replicate", "epoch").values for side in both]


def _ends(ds: xr.Dataset, claim: Claim, ends: str) -> np.ndarray:
    at = {axis: value for axis, value in {"arm": claim.arm, **claim.at}.items() if axis in ds[ends].dims}
    last = variable(ds, ends, at)
    return last.transpose(..., "stage").values.reshape(-1, last.sizes["stage"])[0]


def _difference(ours: np.ndarray, theirs: np.ndarray, claim: Claim, note: str) -> Estimate:
    gap = ours - theirs
    kept = gap[np.isfinite(gap)]
    if kept.size < 2:
        raise NoAnswerError(f"Only {kept.size} of {gap.size} replicates have both values.")
    mean, _, low, high = rates.mean_interval(kept, claim.level)
    note = f"{kept.size} of {gap.size} replicates, paired; {note}"
    return Estimate(float(mean), float(low), float(high), note, replicates=int(kept.size))

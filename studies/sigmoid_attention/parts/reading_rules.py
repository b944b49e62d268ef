"""Rules on a protocol that is printed in part: what some reading of it gives, of all those that were run.

A reading is a value of every axis in ``between``: a rule for the start, a batch size. The paper names one protocol and
neither of these, so that what it says is kept by a reading that gives it. Slopes are per replicate; intervals hold for
all readings at once (Bonferroni).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from moestat.claims.rules import simultaneous
from moestat.claims.selection import variable
from moestat.rates import Estimate, bends
from moestat.rates.estimate import mean_interval
from moestat.study.spec import Claim
from studies.sigmoid_attention.parts.rules import paired, slopes_of, turns_of

BETWEEN = ("start_rule", "batch_size")


def nearest_reading(
    ds: xr.Dataset,
    claim: Claim,
    *,
    curves: Sequence[Mapping[str, Any]],
    between: Sequence[str] = BETWEEN,
    over: str = "n",
) -> Estimate:
    """Estimate by how much the nearest reading misses the regions of some slopes; below 0 it meets all of them.

    ``claim``: its ``arm`` and ``variable`` stand for what a curve leaves out. ``curves``: ``within``, the region [low,
    high] of a slope, with ``arm`` and ``variable``. A reading misses by the slope that is farthest from its region.
    ``between``: the axes of the readings. ``over``: the axis of the slopes.
    """
    kept, names, turns = zip(*(_of_curve(ds, claim, curve, between, over) for curve in curves), strict=True)
    slopes = np.stack(paired(kept))  # curves, readings, replicates
    regions = np.array([curve["within"] for curve in curves], dtype=np.float64)
    middle, half = regions.mean(axis=1), np.diff(regions, axis=1)[:, 0] / 2
    flat = (slopes - middle[:, None, None]).reshape(-1, slopes.shape[-1])
    ends = [one.reshape(slopes.shape[:2]) - half[:, None] for one in simultaneous(flat, claim.level)]
    value, low, high = (end.max(axis=0) for end in ends)
    best = int(np.argmin(value))
    lines = [f"the line of {curve.get('variable', claim.variable)}, {curve.get('arm', claim.arm)}," for curve in curves]
    given = ", ".join(f"{one:.2f}" for one in slopes[:, best].mean(axis=-1))
    note = f"nearest of {value.size} readings: {names[0][best]}, with {given}; {slopes.shape[-1]} replicates"
    bend = bends.sentence({line: said[best] for line, said in zip(lines, turns, strict=True)})
    interval = (float(value.min()), float(low.min()), float(high.min()))
    return Estimate(*interval, note, replicates=slopes.shape[-1], bend=bend)


def fastest_reading(ds: xr.Dataset, claim: Claim, *, between: Sequence[str] = BETWEEN, over: str = "n") -> Estimate:
    """Estimate the lowest difference, over all readings, of the slope of ``claim.arm`` to that of ``claim.versus``."""
    ours, names, first_turns = _of_curve(ds, claim, {}, between, over)
    theirs, _, second_turns = _of_curve(ds, claim, {"arm": claim.versus}, between, over)
    first, second = paired([ours, theirs])
    mean, _, low, high = mean_interval(first - second, 1 - (1 - claim.level) / len(names))
    best = int(np.argmin(mean))
    note = f"lowest of {len(names)} readings: {names[best]}; {first.shape[-1]} replicates"
    bend = bends.sentence({"the first line": first_turns[best], "the second line": second_turns[best]})
    return Estimate(float(mean.min()), float(low.min()), float(high.min()), note, replicates=first.shape[-1], bend=bend)


def _of_curve(
    ds: xr.Dataset, claim: Claim, curve: Mapping[str, Any], between: Sequence[str], over: str
) -> tuple[np.ndarray, list[str], list[str]]:
    """Return slopes (readings, replicates), NaN in replicates with a hole, the readings' names, and their bends."""
    name, arm = curve.get("variable", claim.variable), curve.get("arm", claim.arm)
    array = variable(ds, name, {"arm": arm, **claim.at})
    axes = [axis for axis in between if axis in array.dims]
    labels = [[f"{axis} {one}" for one in array[axis].values] for axis in axes]
    named = [", ".join(one) for one in itertools.product(*labels)]
    return slopes_of(array, axes, over), named, turns_of(array, axes, over, claim.level)

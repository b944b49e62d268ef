"""Claims that leave something open: a constant, or a step of the training, with which a statement is to hold.

One constant, or one step, is enough for such a statement, so that it is judged at the best one, or at the first that is
as the statement has it, and not at every one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def best_of(
    ds: xr.Dataset, claim: Claim, *, over: str, arms: Sequence[str], lower: bool = False, open_ends: bool = True
) -> Estimate:
    """Estimate the mean of ``claim.variable`` at the best of some arms and values of the axis ``over``.

    The best has the highest mean over replicates. It is chosen on one half of the replicates (even, odd) and used for
    the other, so that no run is judged where it chose itself. Replicates with a hole at some point are left out.

    ``over``: the axis that the constant runs along; ``arms``: the arms that are looked at, in place of ``claim.arm``;
    ``lower``: whether the best is the lowest; ``open_ends``: whether a better value may lie beyond an end of the axis:
    a best at an end then decides nothing against the statement.
    """
    each = [variable(ds, claim.variable, {"arm": arm, **claim.at}).transpose(over, "replicate") for arm in arms]
    axis = each[0][over].values
    value = np.concatenate([array.values for array in each])
    whole = np.isfinite(value).all(axis=0)
    if whole.sum() < 4:  # each half chooses for the other
        raise NoAnswerError(
            f"Two halves choose from four replicates at least; {whole.sum()} of {whole.size} are whole."
        )
    sign = -1 if lower else 1
    found = np.full(whole.size, np.nan)
    chosen = []
    for half in (0, 1):
        mine, others = (whole & (np.arange(whole.size) % 2 == part) for part in (half, 1 - half))
        if not others.any():
            raise NoAnswerError("One half of the replicates is not whole.")
        place = int(np.argmax(sign * value[:, others].mean(axis=1)))
        found[mine] = value[place, mine]
        chosen.append((arms[place // len(axis)], float(axis[place % len(axis)])))
    mean, _, low, high = rates.mean_interval(found[whole], claim.level)
    ends = {float(axis.min()), float(axis.max())}
    at_end = [point for point in chosen if point[1] in ends]
    told = " or ".join(
        f"{arm} at {over} {at:g}" + (" (an end of the axis)" if at in ends else "") for arm, at in sorted(set(chosen))
    )
    least, most = claim.region
    against = low > most if lower else high < least
    reasons = (
        ("The best is at an end; a better one beyond it could turn this.",) if open_ends and at_end and against else ()
    )
    note = f"{whole.sum()} of {whole.size} replicates; {told}"
    return Estimate(float(mean), float(low), float(high), note, reasons, replicates=int(whole.sum()))


def at_first(ds: xr.Dataset, claim: Claim, *, when: str, least: float, over: str = "epoch") -> Estimate:
    """Estimate the mean of ``claim.variable`` at the first recorded step at which the variable ``when`` is ``least``.

    The step is that of each replicate. With ``claim.versus`` it is the log ratio to what that arm has at its own first
    step, paired by replicate.

    ``when``: a variable over the same axis; ``over``: the axis of the steps.
    """

    def first(arm: str) -> tuple[np.ndarray, np.ndarray]:
        at = {"arm": arm, **claim.at}
        value, level = (variable(ds, name, at).transpose("replicate", over) for name in (claim.variable, when))
        there = np.isfinite(value.values) & (level.values >= least)
        if late := int(np.sum(~there.any(axis=1))):
            raise NoAnswerError(f"{when} does not get to {least:g} in {late} of {len(there)} replicates of {arm}.")
        place = there.argmax(axis=1)
        return value.values[np.arange(len(there)), place], value[over].values[place]

    found, steps = first(claim.arm)
    note = f"steps {steps.min():g} to {steps.max():g}"
    if claim.versus:
        with np.errstate(invalid="ignore", divide="ignore"):
            other, theirs = first(claim.versus)
            found = np.log(found) - np.log(other)
        note += f" and {theirs.min():g} to {theirs.max():g}"
    usable = np.isfinite(found)
    if usable.sum() < 2:
        raise NoAnswerError(f"Only {usable.sum()} of {usable.size} replicates have a number.")
    mean, _, low, high = rates.mean_interval(found[usable], claim.level)
    note = f"{usable.sum()} of {usable.size} replicates; {note}"
    return Estimate(float(mean), float(low), float(high), note, replicates=int(usable.sum()))

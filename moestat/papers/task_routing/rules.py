"""Claims of the task-routing paper: failures of a construction, of which there must be none, gaps and their trends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from moestat.claims.estimates import seen
from moestat.claims.rules import gap as paired_gap
from moestat.claims.rules import largest, smallest
from moestat.claims.selection import NoAnswerError, at_point, variable
from moestat.rates import Estimate
from moestat.rates.estimate import mean_interval
from moestat.study.spec import Claim


def worst(ds: xr.Dataset, claim: Claim, *, witness: str = "", without: str = "") -> Estimate:
    """Return the worst value of ``claim.variable`` over all datasets of ``claim.arm`` at ``claim.at``.

    The largest, or the smallest where the rule is a lower limit. A statement about every dataset is refuted by one: see
    :func:`moestat.claims.rules.largest`. Sizes count alike.

    Parameters
    ----------
    witness : str, optional
        A text variable of the results that names what fails; that of the first dataset against the rule goes into the
        note.
    without : str, optional
        A value of the axis ``repairs``: the note compares with the same datasets there, which tells what a repair
        mends.

    Raises
    ------
    NoAnswerError
        If the arm, a coordinate or the variable is not in the results.
    """
    here = {"arm": claim.arm, **claim.at}
    datasets = variable(ds, claim.variable, here)
    lower = claim.at_least is not None
    answer = (smallest if lower else largest)(ds, claim)
    low, high = claim.region
    against = ((datasets < low) | (datasets > high)).values
    known = int(np.isfinite(datasets.values).sum())
    note = [f"{'smallest' if lower else 'largest'} of {known} draws, {int(against.sum())} of them against the rule"]
    if witness and witness in ds:
        texts = at_point(ds[witness], here).transpose(*datasets.dims).values[against]
        note += [f"first: {text}" for text in texts[:1] if str(text)]
    if without:
        mended = variable(ds, claim.variable, {**here, "repairs": without}).values
        note.append(f"with repairs = {without} the largest is {np.nanmax(mended):g}")
    return replace(answer, note="; ".join(note))


def visible_gap(ds: xr.Dataset, claim: Claim, *, visible: float) -> Estimate:
    """Estimate the gap between ``claim.arm`` and ``claim.versus`` at ``claim.at``, paired by replicate.

    Parameters
    ----------
    visible : float
        A smaller gap, either way, decides nothing: a statement on what a figure shows is not about it.
    """
    return seen(paired_gap(ds, claim, over=()), visible, "too small to be seen in a figure")


def trend(ds: xr.Dataset, claim: Claim, *, along: str = "experts") -> Estimate:
    """Estimate by how much the gap between ``claim.arm`` and ``claim.versus`` grows per unit of ``along``.

    The least-squares slope of the gap in every replicate, other axes averaged; a t-interval over replicates, the
    independent units.

    Raises
    ------
    NoAnswerError
        If an arm or a coordinate is not in the results, or ``along`` has fewer than two values.
    """
    sides = [variable(ds, claim.variable, {"arm": arm, **claim.at}) for arm in (claim.arm, claim.versus)]
    gap = sides[0] - sides[1]
    if along not in gap.dims or gap.sizes[along] < 2:
        raise NoAnswerError(f"A trend needs two or more values of {along!r}.")
    averaged = gap.mean([axis for axis in gap.dims if axis not in ("replicate", along)], skipna=False)
    rows = averaged.transpose("replicate", along).dropna("replicate").values
    x = ds[along].values.astype(float)
    slopes = (rows - rows.mean(axis=1, keepdims=True)) @ (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    mean, _, low, high = (float(part) for part in mean_interval(slopes, claim.level))
    points = ", ".join(f"{value:g}: {gap:+.4g}" for value, gap in zip(x, rows.mean(axis=0), strict=True))
    return Estimate(mean, low, high, f"gap at {along} {points}; {len(rows)} replicates")

"""Rules of claims that the task-routing paper alone needs: failures that are named, gaps, and their trends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from moestat.claims.estimates import seen
from moestat.claims.rules import gap as paired_gap
from moestat.claims.rules import largest
from moestat.claims.selection import NoAnswerError, at_point, variable
from moestat.rates import Estimate
from moestat.rates.estimate import mean_interval
from moestat.study.spec import Claim


def worst(ds: xr.Dataset, claim: Claim, *, witness: str = "", exact: Mapping[str, float] | None = None) -> Estimate:
    """Return the largest value of ``claim.variable`` over all datasets, and name what breaks the rule in the first.

    ``witness``: a text variable that names what fails. ``exact``: variables and how large each may be; a dataset with a
    larger one is not what the claim is about: it is told in the note and decides nothing.
    """
    here = {"arm": claim.arm, **claim.at}
    ds, left_out = _meant(ds, claim, exact)
    datasets = variable(ds, claim.variable, here)
    low, high = claim.region
    against = ((datasets < low) | (datasets > high)).values
    known = int(np.isfinite(datasets.values).sum())
    note = [f"largest of {known} draws, {int(against.sum())} of them against the rule"]
    if witness and witness in ds:
        texts = at_point(ds[witness], here).transpose(*datasets.dims).values[against]
        note += [f"first: {text}" for text in texts[:1] if str(text)]
    return replace(largest(ds, claim), note="; ".join(note + left_out))


def _meant(ds: xr.Dataset, claim: Claim, exact: Mapping[str, float] | None) -> tuple[xr.Dataset, list[str]]:
    """Return results without a value of what a claim is not about, and how many these are, in words."""
    left_out = []
    for name, most in (exact or {}).items():
        off = variable(ds, name, {"arm": claim.arm, **claim.at}) > most
        left_out += [f"{int(off.sum())} left out, {name} above {most:g}"] if off.any() else []
        ds = ds.assign({claim.variable: ds[claim.variable].where(~(ds[name] > most))})
    return ds, left_out


def built(
    ds: xr.Dataset,
    claim: Claim,
    *,
    witness: str = "",
    exact: Mapping[str, float] | None = None,
    fits: Mapping[str, float] | None = None,
) -> Estimate:
    """Return what :func:`worst` does, for a statement that some weights exist: where ours fail it is not decided.

    ``fits``: variables and how large each may be for our weights to count; they fail where one is larger.
    """
    found = worst(ds, claim, witness=witness, exact=exact)
    here = {"arm": claim.arm, **claim.at}
    meant = np.isfinite(variable(_meant(ds, claim, exact)[0], claim.variable, here))
    low, high = claim.region
    told = [] if low <= found.value <= high else ["Our weights fail on a dataset, and others may do."]
    for name, most in (fits or {}).items():
        count = int((meant & (variable(ds, name, here) > most)).sum())
        if count:
            told += [f"On {count} of {int(meant.sum())} draws {name} is above {most:g}, and others may do."]
    return replace(found, reasons=(*found.reasons, *told))


def gap_for_its_share(ds: xr.Dataset, claim: Claim, *, share: str) -> Estimate:
    """Estimate the gap between two arms in ``claim.variable`` over ``share``, paired by replicate.

    What silencing an expert costs grows with the share of its task that goes to it.
    """
    parts = variable(ds, claim.variable) / variable(ds, share)
    return paired_gap(ds.assign({claim.variable: parts}), claim, over=())


def visible_gap(ds: xr.Dataset, claim: Claim, *, visible: float) -> Estimate:
    """Estimate the gap between two arms, paired by replicate; one smaller than ``visible`` decides nothing."""
    return seen(paired_gap(ds, claim, over=()), visible, "too small to be seen in a figure")


def trend(ds: xr.Dataset, claim: Claim, *, along: str = "experts") -> Estimate:
    """Estimate by how much the gap between two arms grows per unit of ``along``, other axes averaged.

    The least-squares slope of the gap in every replicate, with a t-interval over replicates.
    """
    gap = _gap(ds, claim, along)
    averaged = gap.mean([axis for axis in gap.dims if axis not in ("replicate", along)], skipna=False)
    rows = averaged.transpose("replicate", along).dropna("replicate").values
    x = ds[along].values.astype(float)
    slopes = (rows - rows.mean(axis=1, keepdims=True)) @ (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    mean, _, low, high = (float(part) for part in mean_interval(slopes, claim.level))
    points = ", ".join(f"{value:g}: {gap:+.4g}" for value, gap in zip(x, rows.mean(axis=0), strict=True))
    return Estimate(mean, low, high, f"gap at {along} {points}; {len(rows)} replicates")


def cells_at_least(ds: xr.Dataset, claim: Claim, *, least: float, over: str = "experts") -> Estimate:
    """Estimate the share of cells along ``over`` where the gap between two arms is ``least`` or more.

    Gaps are paired by replicate, with t-intervals that cover all cells at once (Bonferroni). The interval of the share
    runs from the cells that lie in the region with their whole interval to those with some part of it.
    """
    rows = _gap(ds, claim, over).transpose("replicate", over).dropna("replicate").values
    mean, _, low, high = mean_interval(rows.T, 1 - (1 - claim.level) / rows.shape[1])
    value, lower, upper = (float(np.mean(end >= least)) for end in (mean, low, high))
    points = ", ".join(
        f"{value:g}: {m:+.3f} [{a:+.3f}, {b:+.3f}]"
        for value, m, a, b in zip(ds[over].values, mean, low, high, strict=True)
    )
    note = f"gap at {over} {points}, all at once; {len(rows)} replicates"
    # where every cell is decided the share is known, at the joint level
    known = lower == upper
    return Estimate(value, lower, upper, note, subject="The share of cells", exact=known, replicates=len(rows))


def _gap(ds: xr.Dataset, claim: Claim, along: str) -> xr.DataArray:
    """Return ``claim.arm`` less ``claim.versus`` over two or more values of ``along``."""
    arm, versus = (variable(ds, claim.variable, {"arm": name, **claim.at}) for name in (claim.arm, claim.versus))
    gap = arm - versus
    if along not in gap.dims or gap.sizes[along] < 2:
        raise NoAnswerError(f"Two or more values of {along!r} are needed.")
    return gap

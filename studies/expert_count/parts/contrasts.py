"""Claims about expert count: differences of means between points of the grid, and on replicates that chose nothing.

Functions for claims of kind ``function``: ``f(ds, claim, **options) -> Estimate``. Where a run was started because its
first replicates looked a certain way, these cannot be evidence for what they looked like: ``after`` leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from moestat.claims import rules
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.rates.estimate import over_replicates
from moestat.study.spec import Claim, Scalar


def fresh(ds: xr.Dataset, after: int) -> xr.Dataset:
    """Leave out the first ``after`` replicates, by which a run was chosen; a run of these alone stays as it is."""
    later = np.flatnonzero(ds["replicate"].values >= after)
    return ds.isel(replicate=later) if later.size else ds


def difference(ds: xr.Dataset, claim: Claim, *, after: int = 0) -> Estimate:
    """Estimate how much larger ``claim.variable`` is at ``claim.at`` than at ``claim.versus_at``.

    Differences are paired by replicate, with a t-interval.

    ``after``: replicates that chose the run, see :func:`fresh`.
    """
    return _mean(_differences(fresh(ds, after), claim, {}), claim, _chosen(ds, after))


def peak(ds: xr.Dataset, claim: Claim, *, value: Scalar, after: int = 0) -> Estimate:
    """Estimate by how much the mean at M = ``value`` exceeds the best other, as :func:`moestat.claims.rules.peak` does.

    ``after``: replicates that chose the run, see :func:`fresh`.
    """
    return rules.peak(fresh(ds, after), claim, value=value)


def interaction(ds: xr.Dataset, claim: Claim, *, other: Mapping[str, Scalar]) -> Estimate:
    """Estimate how much larger the difference of ``claim.at`` to ``claim.versus_at`` is there than at ``other``.

    ``other``: coordinates that take the place of those of both sides: ``{"experts": 8}``.
    """
    return _mean(_differences(ds, claim, {}) - _differences(ds, claim, other), claim, "")


def turn(ds: xr.Dataset, claim: Claim, *, before: Mapping[str, Scalar], over: str = "experts") -> Estimate:
    """Estimate how much faster ``claim.variable`` changes from ``versus_at`` to ``at`` than from ``before`` to there.

    Both changes are per doubling of ``over``, and paired by replicate.

    ``before``: coordinates of the point before: ``{"experts": 4}``.
    """
    first, middle, last = (float(at[over]) for at in (before, claim.versus_at or {}, claim.at))
    onwards = _differences(ds, claim, {}) / np.log2(last / middle)
    up_to = _differences(
        ds, claim.model_copy(update={"at": claim.versus_at, "versus_at": {**(claim.versus_at or {}), **before}}), {}
    )
    return _mean(onwards - up_to / np.log2(middle / first), claim, "")


def _differences(ds: xr.Dataset, claim: Claim, other: Mapping[str, Scalar]) -> np.ndarray:
    """Return the paired differences, (replicates,)."""
    sides = []
    for at in (claim.at, claim.versus_at or {}):
        array = variable(ds, claim.variable, {"arm": claim.arm, **at, **other})
        if array.dims != ("replicate",):
            raise NoAnswerError(f"{claim.variable} also runs over other axes than replicates: fix them in 'at'.")
        sides.append(array.values)
    return np.asarray(sides[0] - sides[1])


def _chosen(ds: xr.Dataset, after: int) -> str:
    """Say how many replicates were left out."""
    left_out = ds.sizes["replicate"] - fresh(ds, after).sizes["replicate"]
    return f"; {left_out} that chose the run are left out" if left_out else ""


def _mean(differences: np.ndarray, claim: Claim, more: str) -> Estimate:
    kept = differences[np.isfinite(differences)]
    note, subject = f"{kept.size} replicates, paired{more}", f"The difference of {claim.variable}"
    return replace(over_replicates(kept, claim.level), note=note, subject=subject, replicates=kept.size)

"""Claims about what a training adds to a lead that its start has already."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def adds(
    ds: xr.Dataset, claim: Claim, *, since: str, of: Literal["difference", "log_ratio"] = "difference"
) -> Estimate:
    """Estimate by how much the difference (or log ratio) of two arms at ``claim.at`` exceeds that at stage ``since``.

    It is paired by replicate. Zero: what the arms differ by at the end, they differed by at that stage.
    """

    def lead(at: dict[str, Any]) -> np.ndarray:
        sides = [
            variable(ds, claim.variable, {"arm": arm, **at}).transpose("replicate").values
            for arm in (claim.arm, claim.versus)
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            first, second = (np.log(side) for side in sides) if of == "log_ratio" else sides
            return np.asarray(first - second)

    before, after = lead({**claim.at, "stage": since}), lead(dict(claim.at))
    with np.errstate(invalid="ignore"):
        gain = after - before
    kept = gain[np.isfinite(gain)]
    if kept.size < 2:
        raise NoAnswerError(f"Only {kept.size} of {gain.size} replicates have all four numbers.")
    mean, _, low, high = (float(value) for value in rates.mean_interval(kept, claim.level))
    was = float(before[np.isfinite(gain)].mean())
    note = f"{kept.size} of {gain.size} replicates, paired; it was {was:.4g} at stage {since}"
    return Estimate(mean, low, high, note, replicates=kept.size)

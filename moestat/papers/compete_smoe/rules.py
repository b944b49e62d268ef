"""Claims about how many fits failed."""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat.claims.estimates import proportion_interval
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.runner.results import NOT_COMPUTED
from moestat.study.spec import Claim


def share(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the share of runs, over all arms and the whole grid, in which ``claim.variable`` is 1.

    A run that was computed and has no value, because it raised an error, counts as one in which it is 1. The interval
    is exact for independent runs with one probability; the note says where the share is largest.

    Raises
    ------
    NoAnswerError
        If the variable is not in the results or has no value.
    """
    array = variable(ds, claim.variable)
    if "status" in ds:
        array = array.where(array.notnull() | (ds["status"] == NOT_COMPUTED), 1.0)
    kept = array.values[np.isfinite(array.values)]
    if not kept.size:
        raise NoAnswerError(f"{claim.variable} has no value.")
    low, high = proportion_interval(int(kept.sum()), kept.size, claim.level)
    cells = array.mean("replicate").stack(cell=[d for d in array.dims if d != "replicate"]).dropna("cell")
    note = f"{int(kept.sum())} of {kept.size} runs"
    if kept.sum():
        worst = cells.isel(cell=int(np.argmax(cells.values)))
        place = ", ".join(f"{axis} {worst[axis].item()}" for axis in array.dims if axis != "replicate")
        note += f"; most at {place}: {float(worst):.0%}"
    return Estimate(float(kept.mean()), low, high, note, counts_failures=True)

"""Means over replicates along an axis, with their intervals: what the figures draw."""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.estimates import proportion_interval
from moestat.runner.results import BINARY, within_range


def along(array: xr.DataArray, x: str, *, log: bool = False, level: float = 0.95) -> tuple[np.ndarray, ...]:
    """Return places of an axis in order, mean, low and high end of its interval, and how many values enter.

    With ``log`` they are geometric means of the positive values. A single value has no interval.
    """
    samples = (array if "replicate" in array.dims else array.expand_dims(replicate=[0])).transpose(x, "replicate")
    places = samples[x].values if x in array.coords else np.arange(array.sizes[x])
    named, binary = places.dtype.kind in "OUb", bool(array.attrs.get(BINARY))
    log = log and not binary
    rows = []
    for row in samples.values:
        kept = row[np.isfinite(row) & (row > 0 if log else True)]
        mean, _, low, high = (float(v) for v in rates.mean_interval(np.log(kept) if log else kept, level))
        if binary:
            low, high = proportion_interval(int(kept.sum()), kept.size, level)
        rows.append((*(np.exp((mean, low, high)) if log else (mean, low, high)), kept.size))
    mean_, low_, high_, used = np.array(rows, dtype=float).reshape(-1, 4).T
    out = (places.astype(str if named else float), mean_, *within_range(array, low_, high_), used)
    return out if named else tuple(part[np.argsort(out[0])] for part in out)

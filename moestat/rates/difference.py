"""The difference of two slopes, paired by replicate or not."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from moestat.arrays import to_numpy
from moestat.doors import as_float64
from moestat.rates import bends
from moestat.rates.estimate import Estimate, mean_interval, over_replicates
from moestat.rates.loglog import RateFit, arranged, fit_array, refuse_other, trust


@dataclass(frozen=True)
class Difference:
    """Slope of a first series minus slope of a second one, with the two fits it is taken from."""

    estimate: Estimate
    paired: bool
    first: RateFit
    second: RateFit
    reasons: tuple[str, ...]

    @property
    def trusted(self) -> bool:
        """Whether nothing speaks against either fit."""
        return not self.reasons

    @property
    def bend(self) -> str:
        """How the two lines bend, in a sentence; empty where neither does."""
        return self.estimate.bend

    def __str__(self) -> str:
        first, second = self.first, self.second
        how = f"paired, {first.complete} replicates" if self.paired else "not paired"
        return (
            f"slope difference {self.estimate} ({first.level:.0%}, {how})\n"
            f"{trust(self.reasons, self.bend)}; first {first.rate}, second {second.rate}"
        )

    __repr__ = __str__


def difference(
    first: Any,
    second: Any,
    *,
    over: Any,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    paired: bool = True,
    replicate: Hashable = "replicate",
) -> Difference:
    """Return the slope of ``first`` minus the slope of ``second``.

    Parameters
    ----------
    first, second : array (S, R) or xarray.DataArray
        Losses at the same sizes. Two-dimensional; DataArrays are matched by size and replicate. See :func:`fit`.
    paired : bool, default True
        The same replicate of both shares its data, so slopes are subtracted per replicate (t-interval, R - 1);
        otherwise the interval is Welch's.
    """
    import xarray as xr

    for values in (first, second):
        refuse_other(values, over, "rates.difference")
    if isinstance(first, xr.DataArray) and isinstance(second, xr.DataArray):
        first, second = (arranged(a, over, replicate).reset_coords(drop=True) for a in (first, second))
        if paired:
            first, second = xr.align(first, second, join="outer")
        else:
            first, second = xr.align(first, second, join="outer", exclude={replicate})
        over, first, second = first[over].values, first.values, second.values
    first, second = to_numpy(as_float64(first, "first")), to_numpy(as_float64(second, "second"))
    sizes = to_numpy(as_float64(over, "over"))
    if paired and first.shape != second.shape:
        raise ValueError(f"paired losses must have one shape; they have {first.shape} and {second.shape}")
    if paired:
        # a replicate counts only if it is complete in both
        first, second = (
            np.where(np.isfinite(other) & (other > 0), one, np.nan) for one, other in ((first, second), (second, first))
        )
    one, other = (fit_array(values, sizes, window, level) for values in (first, second))
    slopes = one.slopes, other.slopes
    estimate = over_replicates(slopes[0] - slopes[1], level) if paired else _welch(*slopes, level)
    bend = bends.sentence({"the first line": one.turn, "the second line": other.turn})
    reasons = tuple(dict.fromkeys(one.reasons + other.reasons))
    return Difference(replace(estimate, bend=bend), paired, one, other, reasons)


def _welch(first: np.ndarray, second: np.ndarray, level: float) -> Estimate:
    (m1, s1, *_), (m2, s2, *_) = mean_interval(first, level), mean_interval(second, level)
    se = float(np.hypot(s1, s2))
    if not se > 0:
        return Estimate(float(m1 - m2), *((float(m1 - m2),) * 2 if se == 0 else (np.nan, np.nan)), se=se)
    freedom = se**4 / (s1**4 / (first.size - 1) + s2**4 / (second.size - 1))
    half = float(stdtrit(freedom, 0.5 + level / 2)) * se
    return Estimate(float(m1 - m2), float(m1 - m2) - half, float(m1 - m2) + half, se=se)

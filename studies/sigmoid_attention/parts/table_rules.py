"""Claims of Table 2 of the sigmoid-attention paper: a printed difference with the interval of its printed errors."""

from __future__ import annotations

import xarray as xr
from scipy import stats

from moestat.claims.selection import NoAnswerError
from moestat.rates import Estimate
from moestat.study.spec import Claim


def printed_difference(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the difference of ``claim.arm`` with its interval at the level of the claim, by the normal law."""
    row = _rows(ds, [claim.arm]).isel(arm=0)
    value, error = float(row["difference"]), float(row["error"])
    width = stats.norm.ppf(0.5 + claim.level / 2) * error
    note = f"{abs(value) / error:.2f} times its error of {error:.3g}; printed numbers, nothing was run"
    return Estimate(value, value - width, value + width, note, se=error, subject="The printed difference")


def in_favour(ds: xr.Dataset, claim: Claim, *, arms: list[str]) -> Estimate:
    """Return the share of the ``arms`` whose difference is not negative."""
    above = _rows(ds, arms)["difference"].values >= 0
    value = float(above.mean())
    note = f"{int(above.sum())} of {above.size} printed differences are not negative"
    return Estimate(value, value, value, note, subject="The share", exact=True)


def _rows(ds: xr.Dataset, arms: list[str]) -> xr.Dataset:
    missing = [arm for arm in arms if arm not in ds["arm"].values]
    if missing:
        raise NoAnswerError(f"The arm {missing[0]!r} is not part of this run.")
    return ds.sel(arm=arms).isel(replicate=0)

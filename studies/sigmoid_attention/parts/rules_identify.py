"""Claims of "sigmoid-attention" that no general rule judges: section 3, appendix B.1, and the printed Table 2."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats

from moestat.claims.rules import smallest
from moestat.claims.selection import NoAnswerError, chosen
from moestat.rates import Estimate
from moestat.study.spec import Claim


def least_together(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the least distance of two atoms at a true one of dense gate, all experts and truths."""
    dense = claim.model_copy(update={"variable": "together"})
    return smallest(ds.sel(gate=ds["gate"].values[ds["gate"].values > 0]), dense, arms=["*"])


def entropy_added(ds: xr.Dataset, claim: Claim, *, arms: list[str]) -> Estimate:
    """Return the largest slope, over log log(1 / epsilon), of what the entropy grows by per unit of log(1 / epsilon).

    Zero for any entropy a + b log(1 / epsilon), however large a is, and above 0 for a higher order. The entropy of the
    cover is a formula, the same in every draw, so that the slope has no error.
    """
    sizes = np.sort(ds["epsilon"].values)[::-1]
    logs = np.log(1.0 / sizes)
    slopes = []
    for arm in _there(ds, arms):
        entropy = ds["entropy"].sel(arm=arm).isel(replicate=0).sel(epsilon=sizes).values
        slopes.append(float(np.polyfit(np.log(logs[1:]), np.log(np.diff(entropy) / np.diff(logs)), 1)[0]))
    value = max(slopes)
    note = f"{sizes.size} sizes from {sizes[0]:.2g} to {sizes[-1]:.2g}; a formula, the same in every draw"
    return Estimate(value, value, value, note, subject="The slope of what the entropy grows by", exact=True)


def printed_difference(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the difference of ``claim.arm`` with its interval at the level of the claim, by the normal law."""
    row = ds.sel(arm=_there(ds, [claim.arm])[0]).isel(replicate=0)
    value, error = float(row["difference"]), float(row["error"])
    width = stats.norm.ppf(0.5 + claim.level / 2) * error
    note = f"{abs(value) / error:.2f} times its error of {error:.3g}; printed numbers, nothing was run"
    return Estimate(value, value - width, value + width, note, se=error, subject="The printed difference")


def in_favour(ds: xr.Dataset, claim: Claim, *, arms: list[str]) -> Estimate:
    """Return the share of the ``arms`` whose printed difference is not negative."""
    above = ds["difference"].sel(arm=_there(ds, arms)).isel(replicate=0).values >= 0
    value = float(above.mean())
    note = f"{int(above.sum())} of {above.size} printed differences are not negative"
    return Estimate(value, value, value, note, subject="The share", exact=True)


def _there(ds: xr.Dataset, arms: list[str]) -> list[str]:
    if not (names := chosen(ds, arms)):
        raise NoAnswerError(f"No arm of this run matches {', '.join(arms)}.")
    return list(names)

"""Claims of section 3 and appendix B.1 of the sigmoid-attention paper."""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat.claims.rules import smallest
from moestat.claims.selection import NoAnswerError
from moestat.rates import Estimate
from moestat.study.patterns import fits
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
    found = {}
    for name in (str(arm) for arm in ds["arm"].values if fits(str(arm), arms)):
        entropy = ds["entropy"].sel(arm=name).isel(replicate=0).sel(epsilon=sizes).values
        added = np.diff(entropy) / np.diff(logs)
        found[name] = float(np.polyfit(np.log(logs[1:]), np.log(added), 1)[0])
    if not found:
        raise NoAnswerError(f"No arm of this run matches {', '.join(arms)}.")
    value = max(found.values())
    note = f"{sizes.size} sizes from {sizes[0]:.2g} to {sizes[-1]:.2g}; a formula, the same in every draw"
    return Estimate(value, value, value, note, subject="The slope of what the entropy grows by", exact=True)

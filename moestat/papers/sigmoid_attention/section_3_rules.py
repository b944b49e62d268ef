"""Claims of section 3 and appendix B.1 of the sigmoid-attention paper."""

from __future__ import annotations

import xarray as xr

from moestat.claims.rules import largest, smallest
from moestat.rates import Estimate
from moestat.study.spec import Claim


def least_together(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the least distance of two atoms at a true one of dense gate, all experts and truths."""
    dense = claim.model_copy(update={"variable": "together"})
    return smallest(ds.sel(gate=ds["gate"].values[ds["gate"].values > 0]), dense, arms=["*"])


def entropy_growth(ds: xr.Dataset, claim: Claim, *, arms: list[str]) -> Estimate:
    """Return the largest ratio of entropy and log(1 / epsilon), in units of the one at the largest epsilon."""
    first = ds["ratio"].sel(epsilon=float(ds["epsilon"].max()), drop=True)
    relative = ds.assign(growth=ds["ratio"] / first)
    return largest(relative, claim.model_copy(update={"variable": "growth"}), arms=arms)

"""Claims about a row of the table of sample complexities: is the measured slope that of the printed order?"""

from __future__ import annotations

import xarray as xr

from moestat.study.claims import Estimate
from moestat.study.spec import Claim
from moestat.study.values import NoAnswerError


def measured_slope(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the slope of a row with the interval that its source gives."""
    if claim.arm not in ds["arm"].values:
        raise NoAnswerError(f"The arm {claim.arm!r} is not part of this run.")
    row = ds.sel(arm=claim.arm).squeeze(drop=True)
    slope, low, high = (float(row[name]) for name in ("slope", "slope_low", "slope_high"))
    reasons = str(row["reasons"].values)
    note = (
        f"{float(row['halving']):.3g} times the samples halve the error; {int(row['source_replicates'])} replicates, "
        f"{row['source_file'].values} of {row['source_date'].values}, sha256 {str(row['source_sha256'].values)[:12]}"
    )
    return Estimate(slope, low, high, note, (reasons,) if reasons else ())

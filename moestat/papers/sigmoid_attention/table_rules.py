"""Claims about a row of the table of sample complexities: is the measured slope that of the printed order?"""

from __future__ import annotations

import xarray as xr

from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import Estimate
from moestat.study.spec import Claim


def measured_slope(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the slope of a row with the interval that its source gives."""
    if claim.arm not in ds["arm"].values:
        raise NoAnswerError(f"The arm {claim.arm!r} is not part of this run.")
    row = ds.sel(arm=claim.arm).isel(replicate=0)
    slope, low, high = (float(row[name]) for name in ("slope", "slope_low", "slope_high"))
    reasons = [text for text in (str(row["reasons"].values),) if text]
    rest = tuple(float(row[f"converged_{end}"]) for end in ("low", "high"))
    if _place(claim, rest) != _place(claim, (low, high)):
        reasons.append("The verdict hangs on replicates of the source that did not converge.")
    # the folder of all results belongs to one machine, and a claim is read on others
    source = "/".join(str(row["source_file"].values).split("/")[-3:])
    note = (
        f"{float(row['halving']):.3g} times the samples halve the error; {int(row['source_replicates'])} replicates, "
        f"{source} of {str(row['source_date'].values)[:10]}, sha256 {str(row['source_sha256'].values)[:12]}"
    )
    return Estimate(slope, low, high, note, tuple(reasons))


def _place(claim: Claim, interval: tuple[float, ...]) -> str:
    """Say where an interval lies with respect to the region of the rule; an interval of NaN lies nowhere."""
    low, high = claim.region
    if not interval[0] <= interval[1]:
        return "nowhere"
    if low <= interval[0] and interval[1] <= high:
        return "inside"
    return "outside" if interval[1] < low or interval[0] > high else "across"

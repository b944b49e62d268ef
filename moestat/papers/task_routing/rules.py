"""Claims about constructions: a count of failures that must be zero, with the first failure named."""

from __future__ import annotations

import numpy as np
import xarray as xr

from moestat.claims.counts import is_at
from moestat.claims.selection import NoAnswerError
from moestat.claims.verdicts import Estimate
from moestat.study.spec import Claim


def worst(ds: xr.Dataset, claim: Claim, *, witness: str = "", without: str = "") -> Estimate:
    """Return the largest value of ``claim.variable`` over all datasets of ``claim.arm`` at ``claim.at``.

    A theorem about every dataset is refuted by one, so the number has no sampling error.

    Parameters
    ----------
    witness : str, optional
        A text variable of the results that names what fails; the first one (smallest dataset) goes into the note.
    without : str, optional
        A value of the axis ``repairs``: the note compares with the same datasets there, which tells what a repair
        mends.

    Raises
    ------
    NoAnswerError
        If the arm, a coordinate or the variable is not in the results.
    """
    here = _cut(ds, claim.arm, dict(claim.at))
    array = _variable(here, claim.variable)
    found = array.values[np.isfinite(array.values)]
    if not found.size:
        raise NoAnswerError(f"{claim.variable} has no value there.")
    value = float(found.max())
    above = int(np.sum(found > claim.region[1]))
    note = [f"largest of {found.size} datasets, {above} of them above the rule"]
    if witness and witness in here:
        texts = [str(text) for text in here[witness].values.ravel() if str(text)]
        note += [f"first: {texts[0]}"] if texts else []
    if without:
        mended = _variable(_cut(ds, claim.arm, {**claim.at, "repairs": without}), claim.variable).values
        note.append(f"with repairs = {without} the largest is {np.nanmax(mended):g}")
    return Estimate(value, value, value, "; ".join(note))


def _cut(ds: xr.Dataset, arm: str, at: dict[str, object]) -> xr.Dataset:
    for axis, value in {"arm": arm, **at}.items():
        if axis not in ds.dims:
            raise NoAnswerError(f"The results have no axis {axis!r}.")
        here = np.flatnonzero(is_at(ds[axis], value).values)
        if here.size == 0:
            raise NoAnswerError(f"{axis} = {value!r} is not part of this run.")
        ds = ds.isel({axis: int(here[0])})
    return ds


def _variable(ds: xr.Dataset, name: str) -> xr.DataArray:
    if name not in ds.data_vars:
        raise NoAnswerError(f"The results hold no variable {name!r}.")
    return ds[name].astype(float)

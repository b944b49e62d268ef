"""Claims about constructions: a count of failures that must be zero, with the first failure named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from moestat.claims.rules import largest
from moestat.claims.selection import at_point, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def worst(ds: xr.Dataset, claim: Claim, *, witness: str = "", without: str = "") -> Estimate:
    """Return the largest value of ``claim.variable`` over all datasets of ``claim.arm`` at ``claim.at``.

    A theorem about every dataset is refuted by one: see :func:`moestat.claims.rules.largest`.

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
    here = {"arm": claim.arm, **claim.at}
    datasets = variable(ds, claim.variable, here).values
    answer = largest(ds, claim)
    above = int(np.sum(datasets[np.isfinite(datasets)] > claim.region[1]))
    note = [f"largest of {np.isfinite(datasets).sum()} datasets, {above} of them above the rule"]
    if witness and witness in ds:
        texts = [str(text) for text in at_point(ds[witness], here).values.ravel() if str(text)]
        note += [f"first: {texts[0]}"] if texts else []
    if without:
        mended = variable(ds, claim.variable, {**here, "repairs": without}).values
        note.append(f"with repairs = {without} the largest is {np.nanmax(mended):g}")
    return replace(answer, note="; ".join(note))

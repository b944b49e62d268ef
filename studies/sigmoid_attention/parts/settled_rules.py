"""Rates of the argmin: as they are where two searches agree, elsewhere by what more searching leaves unchanged.

A data set is *settled* if two searches that draw everything apart end within v log n of each other in the residual sum
of squares (v: noise variance). In that width the theorems hold for every approximate minimiser, so which of the two is
taken does not matter to them. Two searches may still agree above the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from moestat.claims.selection import variable
from moestat.rates import Estimate
from moestat.rounding import estimate as rounded
from moestat.sentences import listed
from moestat.study.spec import Claim
from studies.sigmoid_attention.parts.rules import slope_by_truth

LOCAL, TENFOLD = "local", "tenfold"
MORE = {LOCAL: "the local fit", "": "the search", TENFOLD: "ten times the search"}
"""Ends of the names of a loss, and at which fit it is taken."""


def slope_by_settled(ds: xr.Dataset, claim: Claim, *, together: Sequence[str] = ()) -> Estimate:
    """Estimate the slope of a loss of the argmin, or its difference to that of ``versus``, over truths.

    Where every data set in the window is settled (variable ``settled``), the loss is that of the lower of two
    minimisers. Otherwise three estimates are made: on the data sets that are not settled the loss is that of the local
    fit (``<loss>_local``), of the search, and of a search with ten times the evaluations (``<loss>_tenfold``). The
    interval is the hull of the three, so that a claim is decided only if each of them decides it in the same way.
    ``together`` names further losses, which must decide it likewise (:func:`.rules.slope_by_truth`).
    """
    arms = [arm for arm in (claim.arm, claim.versus) if arm]
    own = [variable(ds, "settled", {"arm": arm, **claim.at}) for arm in arms]
    if claim.window is not None:
        own = [
            known.where((known[claim.over] >= claim.window[0]) & (known[claim.over] <= claim.window[1]))
            for known in own
        ]
    sets, settled = (sum(int(count(known)) for known in own) for count in (_known, _true))
    if sets == settled:
        answer = slope_by_truth(ds, claim, together=together)
        return replace(answer, note=f"{answer.note}; all {sets} data sets are settled")
    names = (claim.variable, *together)
    found = {fit: slope_by_truth(_at(ds, names, end), claim, together=together) for end, fit in MORE.items()}
    said = {fit: " ".join(rounded(one.value, one.low, one.high)) for fit, one in found.items()}
    told = listed([f"{fit} {text}" for fit, text in said.items()])
    search = found[MORE[""]]
    return replace(
        search,
        low=min(one.low for one in found.values()),
        high=max(one.high for one in found.values()),
        note=f"{search.note}; {settled} of {sets} data sets are settled, on the others: {told}",
        reasons=tuple(dict.fromkeys(text for one in found.values() for text in one.reasons)),
    )


def _at(ds: xr.Dataset, names: Sequence[str], end: str) -> xr.Dataset:
    """Return the results with losses at another fit where a data set is not settled."""
    if not end:
        return ds
    settled = variable(ds, "settled") != 0
    return ds.assign({name: variable(ds, name).where(settled, variable(ds, f"{name}_{end}")) for name in names})


def _known(settled: xr.DataArray) -> int:
    return int(settled.notnull().sum())


def _true(settled: xr.DataArray) -> int:
    return int((settled == 1).sum())

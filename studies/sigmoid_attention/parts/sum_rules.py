"""The rate of a loss that is a sum of parts: in the end it is as slow as the slowest of them.

L3 adds up the errors of all parameters of all atoms, and a part of it that is small at the sizes at hand and falls
slowly hardly shows in the slope of the sum. A sum has a rate only if every part of it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable, without_lengths_of_one
from moestat.experiment import Source
from moestat.rates import Estimate
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study.spec import Claim
from studies.sigmoid_attention.parts.expert_block import STORED, expert_errors
from studies.sigmoid_attention.parts.expert_error import PARTS


def slope_of_sum(ds: xr.Dataset, claim: Claim, *, parts: Sequence[str]) -> Estimate:
    """Estimate the slope of a sum, which shows its rate only where its named parts are as fast by themselves.

    The estimate is that of a claim of kind ``slope``. It decides nothing where a part is slower than the rule by its
    own estimate: as n grows the slope of the sum tends to that of its slowest part. A sum that is itself outside of
    the region stays there.

    ``claim``: as of kind ``slope``, with the rule ``at_most`` or ``within``: ``arm``, ``variable``, ``at``, ``over``,
    ``window``. ``parts``: variables that are terms of the sum. A replicate counts where the part is positive at every
    size. Errors of experts, which records hold and runs do not, are computed from the fitted parameters where they are
    not there.
    """
    most = claim.region[1]
    if not most < float("inf"):
        raise NoAnswerError("A sum is held against its parts where the rule bounds its slope from above.")
    fit = _fit(ds, claim, claim.variable)
    notes, slower = [f"{fit.complete} complete replicates at {fit.sizes.size} sizes"], []
    for name in parts:
        part = _fit(ds, claim, name)
        value, interval = rounded(part.slope, part.low, part.high)
        said = f"{name} has the slope {value} {interval}".rstrip() if value else f"{name} has no slope"
        if part.slope <= most or fit.low > most:
            notes.append(f"its part {said}")
            continue
        asked = f"({part.complete} of {part.replicates} replicates), where at most {number(most)} is asked"
        slower.append(f"In the end a sum is as slow as its slowest part, and {said} {asked}.")
    return replace(
        fit.rate,
        subject=f"The slope of {claim.variable} over {claim.over}",
        note="; ".join(notes),
        reasons=(*fit.reasons, *slower),
        replicates=fit.complete,
    )


def _fit(ds: xr.Dataset, claim: Claim, name: str) -> rates.RateFit:
    of_experts = {STORED.format(part): part for part in PARTS}
    if name not in ds and name in of_experts and "theta" in ds:
        source = Source(Path("results"), "", ds, "run the study again")
        array = expert_errors(source, claim.arm)[of_experts[name]]
    else:
        array = variable(ds, name, {"arm": claim.arm, **claim.at})
    series = without_lengths_of_one(array, (claim.over, "replicate"))
    fit: rates.RateFit = rates.fit(series, over=claim.over, window=claim.window, level=claim.level, draws=0)
    return fit

"""Claims about the specialisation gap of every expert, which Proposition 1 speaks of, and not of their mean."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim
from studies.mixture_of_transformers.parts import specialisation


def expert_gaps(
    ds: xr.Dataset, claim: Claim, *, of: Literal["smallest", "share"] = "smallest", least: float = 0.0
) -> Estimate:
    """Estimate the smallest gap of an expert, or the share of experts with a gap of ``least``; mean over replicates.

    The gap of an expert is its largest <W, v_n> less the next one, from ``claim.variable`` by expert and class; rows
    that are NaN are experts beyond M.
    """
    labels = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose("replicate", "expert", "class")
    gaps = specialisation.gap(labels.values)
    there = np.isfinite(gaps)
    usable = there.any(axis=-1)
    if usable.sum() < 2:
        raise NoAnswerError(f"Only {usable.sum()} of {usable.size} replicates have experts.")
    gaps, there = gaps[usable], there[usable]
    if of == "smallest":
        found = np.min(np.where(there, gaps, np.inf), axis=-1)
    else:
        found = np.sum(there & (gaps >= least), axis=-1) / there.sum(axis=-1)
    mean, _, low, high = rates.mean_interval(found, claim.level)
    note = f"{usable.sum()} of {usable.size} replicates"
    return Estimate(float(mean), float(low), float(high), note, replicates=int(usable.sum()))

"""Claims about trainings with competition: what is measured at the last step, and settings that are tuned first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.rates.estimate import over_replicates
from moestat.study.spec import Claim


def at_last_step(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate by how much ``claim.variable`` of ``claim.arm`` exceeds that of ``claim.versus`` at the last step.

    Differences are paired by replicate, with a t-interval; no replicate is chosen.
    """
    last = ds["step"].values.max()
    ours, theirs = (
        variable(ds, claim.variable, {"arm": arm, **claim.at}).sel(step=last).values
        for arm in (claim.arm, claim.versus)
    )
    return _paired(ours - theirs, claim, f"step {last}")


def tuned(
    ds: xr.Dataset, claim: Claim, *, first: Sequence[str], then: Mapping[str, Sequence[str]], by: str, seeds: int
) -> Estimate:
    """Estimate by how much ``claim.variable`` of the arm that is tuned exceeds that of ``claim.versus``.

    Two settings are chosen one after the other, as in section 6.1 of compete-smoe: the arm of ``first`` with the lowest
    mean of ``by`` over the first ``seeds`` replicates, then the lowest of the arms that ``then`` names for it. The
    difference is that of the other replicates, which the choice has not seen, paired, with a t-interval.
    """
    choice = _lowest(ds, by, claim, first, seeds)
    choice = _lowest(ds, by, claim, then[choice], seeds)
    ours, theirs = (
        variable(ds, claim.variable, {"arm": arm, **claim.at}).values[seeds:] for arm in (choice, claim.versus)
    )
    return _paired(ours - theirs, claim, f"chosen by {by} of {seeds} other replicates: {choice}")


def _lowest(ds: xr.Dataset, by: str, claim: Claim, arms: Sequence[str], seeds: int) -> str:
    means = [float(np.mean(variable(ds, by, {"arm": arm, **claim.at}).values[:seeds])) for arm in arms]
    if not np.isfinite(means).all():
        raise NoAnswerError(f"{by} has no value in every one of {', '.join(arms)}.")
    return arms[int(np.argmin(means))]


def _paired(differences: np.ndarray, claim: Claim, note: str) -> Estimate:
    known = differences[np.isfinite(differences)]
    if known.size < 2:
        raise NoAnswerError(f"{known.size} replicates have a value in both arms; two are needed.")
    note = f"{known.size} of {differences.size} replicates, paired; {note}"
    subject = f"The difference of {claim.variable}"
    return replace(over_replicates(known, claim.level), note=note, subject=subject, replicates=known.size)

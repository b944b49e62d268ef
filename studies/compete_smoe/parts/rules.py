"""Rules of claims that this paper alone needs: counterexamples, exponents, tails, layers, contrasts, printed rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.estimates import proportion_interval
from moestat.claims.evidence import SEARCHES, unsettled
from moestat.claims.rules import gap
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Cases, Estimate, replicate_slopes
from moestat.runner.results import NOT_COMPUTED
from moestat.study.spec import Claim


def share(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the share of runs, over all arms and the whole grid, in which ``claim.variable`` is 1; exact interval.

    A run that was computed and has no value, because it raised an error, counts as 1.
    """
    array = variable(ds, claim.variable)
    if "status" in ds:
        array = array.where(array.notnull() | (ds["status"] == NOT_COMPUTED), 1.0)
    kept = array.values[np.isfinite(array.values)]
    if not kept.size:
        raise NoAnswerError(f"{claim.variable} has no value.")
    low, high = proportion_interval(count := int(kept.sum()), kept.size, claim.level)
    return Estimate(count / kept.size, low, high, f"{count} of {kept.size} runs", counts_failures=True)


def counterexample(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return whether a statement about every truth is refuted in ``claim.arm``: 1 if so, 0 if not.

    One run with ``claim.variable`` = 1, a counterexample that is certain, refutes it. Where there is none, a run
    without ``holds``, in which the statement fails as far as can be seen, keeps it from being supported.
    """
    rows = [variable(ds, name, {"arm": claim.arm}).values.astype(float) for name in (claim.variable, "holds")]
    certain, fine = (row[np.isfinite(row)] for row in rows)
    if not certain.size or not fine.size:
        raise NoAnswerError(f"{claim.variable} or holds has no value.")
    value, count, doubtful = float(certain.max()), certain.size, int(np.sum(fine == 0))
    without = count - int(certain.sum())
    note = f"{count - without} certain counterexamples and {doubtful} probable ones in {count} runs"
    reasons = (f"{doubtful} probable counterexamples are not certain.",) if doubtful and not value else ()
    return Estimate(value, value, value, note, reasons, cases=Cases(count, without, count, without))


def extreme_exponent(ds: xr.Dataset, claim: Claim, *, shortest: int = 0) -> Estimate:
    """Return the slope of ``claim.variable`` over ``claim.over`` in that replicate of ``claim.arm`` that decides.

    A replicate is a direction or a truth, and a case: the largest slope counts with the rule ``at_most``, the least
    with ``at_least``. A value of 0 has an infinite one. ``shortest``: so many of the shortest lengths; 0: all.
    """
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose(claim.over, "replicate")
    array = array.sortby(claim.over).isel({claim.over: slice(0, shortest or None)})
    values, lengths = array.values.astype(float), array[claim.over].values.astype(float)
    if len(lengths) < 2 or not values.size or not np.isfinite(values).all():
        raise NoAnswerError(f"{claim.variable} needs a value at two lengths or more in every replicate.")
    zero = 1e-9  # a ratio below this one is 0 up to rounding
    slopes = replicate_slopes(np.log(lengths), np.log(np.maximum(values, zero)))
    slopes = np.where((values < zero).any(axis=0), np.inf, slopes)
    word, value = ("largest", float(slopes.max())) if claim.at_least is None else ("least", float(slopes.min()))
    count, inside = slopes.size, int(np.sum((slopes >= claim.region[0]) & (slopes <= claim.region[1])))
    note = f"exponents from {slopes.min():.3g} to {slopes.max():.3g} in {count} replicates"
    subject, cases = f"The {word} exponent of {claim.variable} over {claim.over}", Cases(count, inside, count, inside)
    return Estimate(value, value, value, note, subject=subject, exact=True, cases=cases)


def over_bound(ds: xr.Dataset, claim: Claim, *, window: tuple[float, float] | None = None) -> Estimate:
    """Estimate the slope of a loss of parameters over sqrt(log n / n), at most 0 if that bounds it, as a rate of it."""
    loss, window = variable(ds, claim.variable, {"arm": claim.arm}), window or claim.window
    bound = np.sqrt(np.log(loss[claim.over]) / loss[claim.over])
    fit = rates.fit(loss / bound, over=claim.over, window=window, level=claim.level)
    note, reasons = f"{fit.complete} complete replicates", fit.reasons + _unsettled(ds, claim, window)
    return Estimate(fit.slope, fit.low, fit.high, note, reasons, replicates=fit.complete, bend=fit.bend)


def _unsettled(ds: xr.Dataset, claim: Claim, window: tuple[float, float] | None) -> tuple[str, ...]:
    """Say where the search for the maximum has not settled, in the window of a fit."""
    name = next((name for name in SEARCHES if name in ds), "")
    text = name and unsettled([variable(ds, name, {"arm": claim.arm}) + SEARCHES[name]], claim.over, window)
    return (text,) if text else ()


def above_chance(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate how much more often above chance a router meets the winners than that of ``claim.versus`` does.

    Chance (``overlap_chance``) is what two choices with the same loads have in common that know nothing of each other.
    """
    excess = variable(ds, "overlap") - variable(ds, "overlap_chance")
    return gap(ds.assign(overlap=excess), claim.model_copy(update={"variable": "overlap"}), over=[])


def where_delivered(ds: xr.Dataset, claim: Claim, *, without: str) -> Estimate:
    """Estimate the difference of two arms, which decides nothing where ``claim.arm`` does not deliver competition.

    It delivers if its router meets the winners more often above chance than that of ``without``, at the claim's level.
    """
    answer = gap(ds, claim, over=[])
    learnt = above_chance(ds, claim.model_copy(update={"versus": without}))
    if learnt.low > 0:
        return answer
    text = f"overlap above chance {learnt.value:+.3f} [{learnt.low:.3f}, {learnt.high:.3f}] beside {without}"
    return replace(answer, reasons=(*answer.reasons, f"Competition is not shown to be delivered: {text}."))


def larger_gains(ds: xr.Dataset, claim: Claim, *, row: str, larger: Sequence[str], smaller: Sequence[str]) -> Estimate:
    """Return the least by which a row leads the best of the others more in some columns than in others."""
    table = variable(ds, claim.variable, {"arm": claim.arm}).isel(replicate=0)
    leads = table.sel(row=row, drop=True) - table.sel(row=table["row"] != row).max("row")
    first, second = (np.round(leads.sel(column=list(names)).values, 9) for names in (larger, smaller))
    gaps = np.round(first[:, None] - second, 9)
    if not np.isfinite(gaps).all():
        raise NoAnswerError(f"{claim.variable} has no number in some of these columns.")
    value, note = float(gaps.min()), f"leads {first.tolist()} against {second.tolist()}"
    cases = Cases(gaps.size, int(np.sum(gaps >= claim.region[0])))
    return Estimate(value, value, value, note, subject="The smallest difference of two leads", exact=True, cases=cases)


def lead_of_means(ds: xr.Dataset, claim: Claim, *, row: str) -> Estimate:
    """Return by how much the mean of a row of a printed table exceeds the largest mean of the other rows."""
    table = variable(ds, claim.variable, {"arm": claim.arm}).isel(replicate=0)
    means = table.dropna("row", how="all").dropna("column", how="all").mean("column", skipna=False)
    others = means.drop_sel(row=row)
    value = round(float(means.sel(row=row) - others.max(skipna=False)), 9)
    if not math.isfinite(value):
        raise NoAnswerError(f"{claim.variable} needs a number in every column.")
    note = f"ahead of {others['row'].values[int(np.argmax(others.values))]}"
    return Estimate(value, value, value, note, subject="The lead of the mean", exact=True)

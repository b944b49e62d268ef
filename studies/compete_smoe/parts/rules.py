"""Rules of claims that this paper alone needs: counterexamples, exponents, tails, layers, contrasts, printed rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from scipy import optimize

from moestat import rates
from moestat.claims.estimates import proportion_interval
from moestat.claims.evidence import FUNCTIONS, SEARCHES, unsettled
from moestat.claims.rules import gap, lead
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Cases, Estimate, replicate_slopes
from moestat.rates.estimate import mean_interval, over_replicates
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


def tail_exponent(ds: xr.Dataset, claim: Claim, *, draws: int = 1000) -> Estimate:
    """Estimate c in P(loss > C sqrt(log n / n)) ~ n^-c, C being the loss's median at the smallest n in these units.

    One binomial regression with a logarithmic link. Percentile interval over ``draws`` resamples of the replicates of
    every size, C and all. Of parameters it decides nothing where the search has not settled, as a rate of theirs.
    """
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose("n", "replicate")
    n = array["n"].values.astype(float)
    scaled = array.values.astype(float) / np.sqrt(np.log(n) / n)[:, None]
    if len(n) < 2 or not np.isfinite(scaled).all():
        raise NoAnswerError("A tail exponent needs two sizes or more, and a loss of every replicate.")
    rng = np.random.default_rng(20240305)
    resampled = [_tail_slope(n, np.stack([rng.choice(row, row.size) for row in scaled])) for _ in range(draws)]
    low, high = (float(end) for end in np.percentile(resampled, [50 * (1 - claim.level), 50 * (1 + claim.level)]))
    note = f"shares above C: {np.mean(scaled > np.median(scaled[0]), axis=1).round(3).tolist()}"
    reasons = () if claim.variable in FUNCTIONS else _unsettled(ds, claim, claim.window)
    return Estimate(_tail_slope(n, scaled), low, high, note, reasons)


def _tail_slope(n: np.ndarray, scaled: np.ndarray) -> float:
    """Return c of P = n^-c / 2, n in units of the smallest, by maximum likelihood over the sizes after the first."""
    above = np.sum(scaled[1:] > np.median(scaled[0]), axis=1)
    count, length = scaled.shape[1], np.log(n[1:] / n[0])

    def minus(c: float) -> float:
        log_p = math.log(0.5) - c * length
        return -float(np.sum(above * log_p + (count - above) * np.log1p(-np.exp(np.minimum(log_p, -1e-12)))))

    low = math.log(0.5) / length.max() * 0.999
    return float(optimize.minimize_scalar(minus, bounds=(low, 20.0), method="bounded").x)


def average_gap(ds: xr.Dataset, claim: Claim, *, over: str, least: float) -> Estimate:
    """Estimate the difference of two arms, averaged over the values of an axis that are at least ``least``."""
    return gap(ds.isel({over: np.flatnonzero(ds[over].values >= least)}), claim, over=[over])


def lower_in_most(ds: xr.Dataset, claim: Claim, *, others: Sequence[str]) -> Estimate:
    """Estimate the difference that decides if ``claim.arm`` is lower in more than half of the cases: at most 0 if so.

    A case is a layer and one of the ``others``. Of C paired differences the (floor(C / 2) + 1)-th smallest is judged;
    the ends of its interval have that place among those of all, which hold jointly (Bonferroni).
    """
    ours, *theirs = (
        variable(ds, claim.variable, {"arm": arm, **claim.at}).transpose("replicate", "layer").values
        for arm in (claim.arm, *others)
    )
    gaps = np.concatenate([ours - other for other in theirs], axis=1)
    whole, count = np.isfinite(gaps).all(axis=1), gaps.shape[1]
    if not whole.any():
        raise NoAnswerError(f"{claim.variable} has no value in all layers of {claim.arm} and {', '.join(others)}.")
    mean, _, low, high = mean_interval(gaps[whole].T, 1 - (1 - claim.level) / count)
    value, below, above = (float(np.sort(ends)[count // 2]) for ends in (mean, low, high))
    note = f"lower in {int(np.sum(mean < 0))} of {count} cases on average; {whole.sum()} of {len(whole)} replicates"
    return Estimate(value, below, above, note, subject="The difference in most cases", replicates=int(whole.sum()))


def where_delivered(ds: xr.Dataset, claim: Claim, *, without: str) -> Estimate:
    """Estimate the difference of two arms, which decides nothing where ``claim.arm`` does not deliver competition.

    It delivers if its router meets the winners more often (``overlap``) than that of ``without``, at the claim's level.
    """
    answer = gap(ds, claim, over=[])
    learnt = gap(ds, claim.model_copy(update={"variable": "overlap", "versus": without}), over=[])
    if learnt.low > 0:
        return answer
    text = f"overlap {learnt.value:+.3f} [{learnt.low:.3f}, {learnt.high:.3f}] beside {without}"
    return replace(answer, reasons=(*answer.reasons, f"Competition is not shown to be delivered: {text}."))


def lead_of_those_run(ds: xr.Dataset, claim: Claim, *, others: Sequence[str], lower: bool = False) -> Estimate:
    """Estimate the lead of ``claim.arm`` over ``others`` as :func:`moestat.claims.rules.lead`; some may be missing.

    Where some were not run, one that was and is better refutes that the arm is the best of all; nothing can show it.
    """
    there = [arm for arm in others if arm in ds["arm"].values]
    answer = lead(ds, claim, others=there, lower=lower)
    if len(there) < len(others) and not answer.high < claim.region[0]:
        left = ", ".join(arm for arm in others if arm not in there)
        raise NoAnswerError(f"{left} were not run, and none of the others is shown to be beyond {claim.arm}.")
    return answer


def contrast(ds: xr.Dataset, claim: Claim, *, terms: Sequence[Mapping[str, Any]]) -> Estimate:
    """Estimate a sum of means, paired by replicate; a term has ``sign`` (1 or -1), ``arm``, coordinates ``at``."""
    rows = [term["sign"] * variable(ds, claim.variable, {"arm": term["arm"], **term["at"]}).values for term in terms]
    return _over_replicates(np.sum(rows, axis=0), claim)


def tuned(
    ds: xr.Dataset, claim: Claim, *, first: Sequence[str], then: Mapping[str, Sequence[str]], by: str, seeds: int
) -> Estimate:
    """Estimate by how much ``claim.variable`` of the arm that is tuned exceeds that of ``claim.versus``.

    As in section 6.1: the arm of ``first`` with the lowest mean of ``by`` over the first ``seeds`` replicates, then the
    lowest of those that ``then`` names for it. The other replicates judge, paired; the choice has not seen them.
    """

    def lowest(arms: Sequence[str]) -> str:
        means = [float(variable(ds, by, {"arm": arm}).values[:seeds].mean()) for arm in arms]
        if not np.isfinite(means).all():
            raise NoAnswerError(f"{by} has no value in every one of {', '.join(arms)}.")
        return arms[int(np.argmin(means))]

    choice = lowest(then[lowest(first)])
    ours, theirs = (variable(ds, claim.variable, {"arm": arm}).values[seeds:] for arm in (choice, claim.versus))
    return _over_replicates(ours - theirs, claim, f", chosen by {by} of {seeds} others: {choice}")


def _over_replicates(samples: np.ndarray, claim: Claim, note: str = "") -> Estimate:
    known = samples[np.isfinite(samples)]
    if known.size < 2:
        raise NoAnswerError(f"{known.size} replicates have a value of {claim.variable} in every arm; two are needed.")
    note = f"{known.size} of {samples.size} replicates, paired{note}"
    return replace(over_replicates(known, claim.level), note=note, replicates=known.size)


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

"""Claims about competition routing: failed fits, counterexamples, sharp rates, tails; layers and contrasts of arms."""

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
from moestat.rounding import estimate as rounded
from moestat.runner.results import NOT_COMPUTED
from moestat.study.spec import Claim


def share(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the share of runs, over all arms and the whole grid, in which ``claim.variable`` is 1.

    A run that was computed and has no value, because it raised an error, counts as one in which it is 1. The interval
    is exact for independent runs with one probability; the note says where the share is largest.
    """
    array = variable(ds, claim.variable)
    if "status" in ds:
        array = array.where(array.notnull() | (ds["status"] == NOT_COMPUTED), 1.0)
    kept = array.values[np.isfinite(array.values)]
    if not kept.size:
        raise NoAnswerError(f"{claim.variable} has no value.")
    low, high = proportion_interval(int(kept.sum()), kept.size, claim.level)
    cells = array.mean("replicate").stack(cell=[d for d in array.dims if d != "replicate"]).dropna("cell")
    note = f"{int(kept.sum())} of {kept.size} runs"
    if kept.sum():
        worst = cells.isel(cell=int(np.argmax(cells.values)))
        place = ", ".join(f"{axis} {worst[axis].item()}" for axis in array.dims if axis != "replicate")
        note += f"; most at {place}: {float(worst):.0%}"
    return Estimate(float(kept.mean()), low, high, note, counts_failures=True)


def counterexample(ds: xr.Dataset, claim: Claim, *, holds: str = "holds") -> Estimate:
    """Return whether a statement about every truth is refuted in ``claim.arm``: 1 if so, 0 if not.

    One run with ``claim.variable`` = 1, a counterexample that is certain, refutes it. Where there is none, a run
    without ``holds``, in which the statement fails as far as can be seen, keeps it from being supported. Each run is a
    case, and a draw of its own.
    """
    rows = {name: variable(ds, name, {"arm": claim.arm}).values.astype(float) for name in (claim.variable, holds)}
    certain, fine = (row[np.isfinite(row)] for row in rows.values())
    if not certain.size or not fine.size:
        raise NoAnswerError(f"{claim.variable} or {holds} has no value.")
    value = float(certain.max())
    doubtful = int(np.sum(fine == 0))
    note = f"{int(certain.sum())} certain counterexamples and {doubtful} probable ones in {certain.size} runs"
    reasons = (f"{doubtful} probable counterexamples are not certain.",) if doubtful and not value else ()
    without = certain.size - int(certain.sum())
    return Estimate(value, value, value, note, reasons, cases=Cases(certain.size, without, certain.size, without))


def least_exponent(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the least of the slopes of ``claim.variable`` over ``claim.over`` in the replicates of ``claim.arm``.

    For a bound that is to hold along every direction, the rule being ``at_least``: a replicate is a direction, and a
    case. One that is below refutes it, and directions with one and the same slope are no obstacle.
    """
    if claim.at_least is None:
        raise NoAnswerError("A bound along every direction takes the rule at_least.")
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose(claim.over, "replicate")
    values = array.values.astype(float)
    logs = np.log(np.where(values > 0, values, np.nan))
    slopes = replicate_slopes(np.log(array[claim.over].values.astype(float)), logs)
    known = slopes[np.isfinite(slopes)]
    if not known.size:
        raise NoAnswerError(f"{claim.variable} has no slope over {claim.over}.")
    inside = int(np.sum(known >= claim.at_least))
    least = float(known.min())
    note = f"exponents from {least:.3g} to {known.max():.3g} in {known.size} directions"
    subject = f"The least exponent of {claim.variable} over {claim.over}"
    cases = Cases(known.size, inside, known.size, inside)
    return Estimate(least, least, least, note, subject=subject, exact=True, cases=cases)


def sharp(
    ds: xr.Dataset, claim: Claim, *, exponent: float = -0.5, window: tuple[float, float] | None = None
) -> Estimate:
    """Estimate the slope of ``claim.variable`` in ``claim.arm``, which is sharp if it can be ``exponent``.

    An interval that lies in the region of the rule, but leaves the exponent out, does not decide: the slope is near the
    exponent and is not it, at these sizes. Nor does a search that has not settled: that a loss falls no faster
    is said of the maximum, and not of every fit that is as good as the truth.
    """
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at})
    fit = rates.fit(array, over=claim.over, window=window or claim.window, level=claim.level, draws=0)
    reasons = fit.reasons + _unsettled(ds, claim, window)
    low, high = claim.region
    if low <= fit.low and fit.high <= high and not fit.low <= exponent <= fit.high:
        reasons += (f"The interval lies in the region but leaves {exponent:g} out.",)
    note = f"{fit.complete} complete replicates, {fit.sizes.size} sizes"
    return Estimate(fit.slope, fit.low, fit.high, note, reasons, bend=fit.bend)


def over_bound(ds: xr.Dataset, claim: Claim, *, window: tuple[float, float] | None = None) -> Estimate:
    """Estimate the slope of ``claim.variable`` over sqrt(log n / n) in ``claim.arm``: at most 0 if that bounds it.

    For losses of parameters that the results hold without the division; the search must have settled, as for others.
    """
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at})
    n = array[claim.over].astype(float)
    scaled = array / np.sqrt(np.log(n) / n)
    fit = rates.fit(scaled, over=claim.over, window=window or claim.window, level=claim.level, draws=0)
    note = f"{fit.complete} complete replicates, {fit.sizes.size} sizes"
    subject = f"The slope of {claim.variable} over sqrt(log n / n)"
    reasons = fit.reasons + _unsettled(ds, claim, window)
    return Estimate(
        fit.slope, fit.low, fit.high, note, reasons, subject=subject, replicates=fit.complete, bend=fit.bend
    )


def _unsettled(ds: xr.Dataset, claim: Claim, window: tuple[float, float] | None) -> tuple[str, ...]:
    """Say where the search for the maximum has not settled, in the window of a fit."""
    if not (name := next((name for name in SEARCHES if name in ds), "")):
        return ()
    found = variable(ds, name, {"arm": claim.arm, **claim.at}) + SEARCHES[name]
    text = unsettled([found], claim.over, window or claim.window)
    return (text,) if text else ()


def average_gap(ds: xr.Dataset, claim: Claim, *, over: str, least: float) -> Estimate:
    """Estimate the difference of two arms, averaged over the values of an axis that are at least ``least``."""
    return gap(ds.isel({over: np.flatnonzero(ds[over].values >= least)}), claim, over=[over])


def larger_gains(ds: xr.Dataset, claim: Claim, *, row: str, larger: Sequence[str], smaller: Sequence[str]) -> Estimate:
    """Return the least by which a row of a printed table leads more in some columns than in others; pairs are cases.

    A lead is that over the best of the other rows, as printed.
    """
    table = variable(ds, claim.variable, {"arm": claim.arm}).isel(replicate=0)
    others = table.sel(row=table["row"] != row).max("row")
    leads = table.sel(row=row, drop=True) - others
    first, second = (leads.sel(column=list(names)).values for names in (larger, smaller))
    gaps = np.round(first[:, None] - second, 9)
    if not np.isfinite(gaps).all():
        raise NoAnswerError(f"{claim.variable} has no number in some of these columns.")
    text = [
        ", ".join(f"{name} {lead:.3g}" for name, lead in zip(names, values, strict=True))
        for names, values in ((larger, first), (smaller, second))
    ]
    inside = int(np.sum(gaps >= claim.region[0]))
    value = float(gaps.min())
    return Estimate(
        value,
        value,
        value,
        f"{text[0]} against {text[1]}",
        subject="The smallest difference of two leads",
        exact=True,
        cases=Cases(gaps.size, inside),
    )


def lead_of_means(ds: xr.Dataset, claim: Claim, *, row: str) -> Estimate:
    """Return by how much the mean of a row of a printed table exceeds the largest mean of the other rows."""
    table = variable(ds, claim.variable, {"arm": claim.arm}).isel(replicate=0)
    table = table.dropna("row", how="all").dropna("column", how="all")
    if not np.isfinite(table.values).all() or row not in table["row"].values or table.sizes["row"] < 2:
        raise NoAnswerError(f"{claim.variable} needs a number in every column of {row} and of another row.")
    means = table.mean("column")
    own, others = float(means.sel(row=row)), means.sel(row=means["row"] != row)
    rival = others.isel(row=int(others.argmax("row")))
    value = round(own - float(rival), 9)
    note = f"{own:.3g} against {float(rival):.3g} of {rival['row'].item()}, {table.sizes['column']} columns"
    return Estimate(value, value, value, note, subject="The lead of the mean", exact=True)


def tail_exponent(ds: xr.Dataset, claim: Claim, *, draws: int = 1000) -> Estimate:
    """Estimate c in P(loss > C sqrt(log n / n)) ~ n^-c, C being the loss's median at the smallest n in these units.

    One binomial regression with a logarithmic link over the sizes; at the smallest n half of the replicates exceed C by
    its choice. Percentile interval over ``draws`` resamples of the replicates of every size, C and all. Of parameters
    it decides nothing where the search has not settled, as a rate of theirs.
    """
    array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at}).transpose("n", "replicate")
    n, losses = array["n"].values.astype(float), array.values.astype(float)
    if len(n) < 2 or not np.isfinite(losses).all():
        raise NoAnswerError("A tail exponent needs two sizes or more, and a loss of every replicate.")
    scaled = losses / np.sqrt(np.log(n) / n)[:, None]
    rng = np.random.default_rng(20240305)
    value = _tail_slope(n, scaled)
    resampled = [_tail_slope(n, np.stack([rng.choice(row, row.size) for row in scaled])) for _ in range(draws)]
    tail = 100 * (1 - claim.level) / 2
    low, high = np.percentile(resampled, [tail, 100 - tail])
    shares = np.mean(scaled > np.median(scaled[0]), axis=1)
    note = "shares above C: " + ", ".join(f"{share:.3f} at n = {size:g}" for share, size in zip(shares, n, strict=True))
    reasons = () if claim.variable in FUNCTIONS else _unsettled(ds, claim, None)
    return Estimate(value, float(low), float(high), note, reasons)


def share_of_layers(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the share of the layers in which ``claim.variable`` is lower in ``claim.arm`` than in ``claim.versus``.

    Counted in each replicate; the mean over replicates has a t-interval that is cut to [0, 1].
    """
    ours, theirs = (
        variable(ds, claim.variable, {"arm": arm, **claim.at}).transpose("replicate", "layer").values
        for arm in (claim.arm, claim.versus)
    )
    whole = np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
    if not whole.any():
        raise NoAnswerError(f"{claim.variable} has no value in all layers of {claim.arm} and {claim.versus}.")
    shares = (ours < theirs)[whole].mean(axis=1)
    mean, _, low, high = mean_interval(shares, claim.level)
    note = f"{ours.shape[1]} layers, {int(whole.sum())} of {len(whole)} replicates"
    return Estimate(float(mean), max(float(low), 0.0), min(float(high), 1.0), note, replicates=int(whole.sum()))


def lower_in_most(ds: xr.Dataset, claim: Claim, *, others: Sequence[str]) -> Estimate:
    """Estimate the difference that decides if ``claim.arm`` is lower in more than half of the cases: at most 0 if so.

    A case is a layer and one of the ``others``; its difference is the mean of ``claim.variable`` in ``claim.arm`` minus
    that in the other arm, paired by replicate. Of C cases that with the (floor(C / 2) + 1)-th smallest is judged: if it
    is below 0, more than half of them are. The ends of its interval have that place among the ends of all intervals,
    which hold jointly (Bonferroni t-quantiles). So the independent units are replicates, and not layers.
    """
    ours, *theirs = (
        variable(ds, claim.variable, {"arm": arm, **claim.at}).transpose("replicate", "layer").values
        for arm in (claim.arm, *others)
    )
    gaps = np.concatenate([ours - other for other in theirs], axis=1)
    whole = np.isfinite(gaps).all(axis=1)
    if not whole.any():
        raise NoAnswerError(f"{claim.variable} has no value in all layers of {claim.arm} and {', '.join(others)}.")
    gaps = gaps[whole]
    count = gaps.shape[1]
    mean, _, low, high = mean_interval(gaps.T, 1 - (1 - claim.level) / count)
    value, below, above = (float(np.sort(ends)[count // 2]) for ends in (mean, low, high))
    note = (
        f"lower in {int(np.sum(mean < 0))} of {count} cases on average, in {int(np.sum(gaps < 0))} of {gaps.size} by "
        f"seeds; {len(gaps)} of {len(whole)} replicates"
    )
    return Estimate(value, below, above, note, subject="The difference in most cases", replicates=len(gaps))


def lead_of_those_run(ds: xr.Dataset, claim: Claim, *, others: Sequence[str], lower: bool = False) -> Estimate:
    """Estimate the lead of ``claim.arm`` over ``others`` as :func:`moestat.claims.rules.lead`; some may be missing.

    Where some of the others were not run, one that was and is better refutes that the arm is the best of all; nothing
    can show it.
    """
    there = [arm for arm in others if arm in ds["arm"].values]
    left = ", ".join(arm for arm in others if arm not in there)
    answer = lead(ds, claim, others=there, lower=lower)
    if not left:
        return answer
    if not answer.high < claim.region[0]:
        value, interval = rounded(answer.value, answer.low, answer.high)
        raise NoAnswerError(
            f"{left} were not run, and none of the others is shown to be beyond {claim.arm}: its lead over them is "
            f"{value} {interval}, {answer.note}."
        )
    return replace(answer, note=f"{answer.note}; not run: {left}")


def contrast(ds: xr.Dataset, claim: Claim, *, terms: Sequence[Mapping[str, Any]]) -> Estimate:
    """Estimate a sum of signed means of ``claim.variable``, paired by replicate: a difference of differences, say.

    ``claim``: its ``variable`` and ``level`` are used; ``claim.at`` holds for every term. ``terms``: ``sign`` (1 or
    -1), ``arm``, and ``at``, the coordinates of the term.
    """
    total: xr.DataArray | float = 0.0
    for term in terms:
        found = variable(ds, claim.variable, {"arm": term["arm"], **claim.at, **term.get("at", {})})
        total = total + term["sign"] * found.reset_coords(drop=True)
    samples = np.asarray(total, dtype=float)
    known = samples[np.isfinite(samples)]
    if samples.ndim != 1 or not known.size:
        raise NoAnswerError(f"{claim.variable} has no value in every term of the contrast.")
    mean, _, low, high = mean_interval(known, claim.level)
    note = f"{known.size} of {samples.size} replicates"
    return Estimate(float(mean), float(low), float(high), note, replicates=known.size)


def _tail_slope(n: np.ndarray, scaled: np.ndarray) -> float:
    """Return c of P = n^-c / 2, n in units of the smallest, by maximum likelihood over the sizes after the first."""
    above = np.sum(scaled[1:] > np.median(scaled[0]), axis=1)
    count, length = scaled.shape[1], np.log(n[1:] / n[0])

    def minus(c: float) -> float:
        log_p = math.log(0.5) - c * length
        return -float(np.sum(above * log_p + (count - above) * np.log1p(-np.exp(np.minimum(log_p, -1e-12)))))

    low = math.log(0.5) / length.max() * 0.999
    return float(optimize.minimize_scalar(minus, bounds=(low, 20.0), method="bounded").x)


def at_the_end(ds: xr.Dataset, claim: Claim, *, other: str = "") -> Estimate:
    """Estimate how much larger ``claim.variable`` of ``claim.arm`` is than that of ``claim.versus``, at the last step.

    A test is of the weights with the lowest validation loss, which the router routes. Where it is not the router that
    routes in the test, these may be weights of the wrong step: replicates in which either arm was tested with other
    weights than those of its last step are left out. Differences are paired by replicate, with a t-interval.

    ``other``: the variable of ``claim.versus``, where it is another one.
    """
    sides = [
        variable(ds, name, {"arm": arm, **claim.at})
        for name, arm in ((claim.variable, claim.arm), (other or claim.variable, claim.versus))
    ]
    ended = [
        variable(ds, "best_step", {"arm": arm, **claim.at}).values == ds["step"].values.max()
        for arm in (claim.arm, claim.versus)
    ]
    differences = (sides[0] - sides[1]).values
    kept = differences[np.isfinite(differences) & ended[0] & ended[1]]
    if kept.size < 2:
        raise NoAnswerError(f"{kept.size} replicates were tested with the weights of their last step; two are needed.")
    note = f"{kept.size} of {differences.size} replicates, paired: those whose best weights are of the last step"
    subject = f"The difference of {claim.variable}"
    return replace(over_replicates(kept, claim.level), note=note, subject=subject, replicates=kept.size)

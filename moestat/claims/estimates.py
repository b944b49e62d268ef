"""The number that a claim is about, with its interval: one function per kind of claim.

A difference is always taken replicate by replicate. Replicates are independent of each other, so the interval is
honest whether or not the two sides share their draws; where they do, the common part cancels.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from moestat import rates
from moestat.claims.evidence import Evidence, FittedSeries, difference
from moestat.claims.selection import NoAnswerError, without_lengths_of_one
from moestat.rates import Estimate
from moestat.rounding import number
from moestat.runner.results import BINARY, within_range
from moestat.study import hub
from moestat.study.spec import Claim


def estimate(evidence: Evidence, claim: Claim, *, converged_only: bool = False) -> Estimate:
    """Estimate what a claim is about.

    Parameters
    ----------
    evidence : Evidence
    claim : Claim
    converged_only : bool, default False
        Leave out replicates that have values but did not converge.

    Raises
    ------
    NoAnswerError
        If there is no such number in the results; the message says why.
    """
    if claim.kind == "function":
        return _function(evidence.usable(converged_only=converged_only), claim)
    versus_at = claim.at if claim.versus_at is None else claim.versus_at
    first = (claim.variable, claim.arm, claim.at)
    second = (claim.versus_variable or claim.variable, claim.versus or claim.arm, versus_at)

    def samples(variable: str, arm: str, at: dict[str, Any]) -> xr.DataArray:
        array = evidence.samples(variable, arm, at, converged_only=converged_only)
        return without_lengths_of_one(array, ("replicate",))

    if claim.kind == "slope":
        return _slope(claim, _series(evidence, claim, first, converged_only))
    if claim.kind == "mean":
        return _mean(claim, samples(*first))
    if claim.kind == "slope_difference":
        return _slope_difference(claim, *(_series(evidence, claim, side, converged_only) for side in (first, second)))
    return _difference(claim, samples(*first), samples(*second))


def window_of(evidence: Evidence, claim: Claim) -> hub.Window:
    """Return the fit window of a claim about a slope."""
    return hub.window_of(evidence.study, evidence.preset, claim.variable, claim.over, claim.arm, claim)


def sides(claim: Claim) -> str:
    """Return what a difference is taken of, as text: ``sigmoid - softmax``."""

    def side(variable: str, arm: str, at: dict[str, Any]) -> str:
        place = ", ".join(f"{axis} = {number(v)}" for axis, v in at.items()) if claim.versus_at is not None else ""
        parts = [
            variable if claim.versus_variable else "",
            arm if claim.versus or not (place or variable) else "",
            place,
        ]
        return " at ".join(part for part in (" of ".join(p for p in parts[:2] if p), parts[2]) if part)

    one = side(claim.variable, claim.arm, claim.at)
    versus_at = claim.at if claim.versus_at is None else claim.versus_at
    other = side(claim.versus_variable or claim.variable, claim.versus or claim.arm, versus_at)
    return f"{one} against {other}"


def _series(
    evidence: Evidence, claim: Claim, side: tuple[str, str, dict[str, Any]], converged_only: bool
) -> FittedSeries:
    """Return the fitted series of one side of a claim about slopes: the one that tables and figures show."""
    variable, arm, at = side
    window, level = window_of(evidence, claim), claim.level
    try:
        return evidence.series(variable, claim.over, arm, at, window=window, level=level, converged_only=converged_only)
    except NoAnswerError:
        raise
    except ValueError as error:
        raise NoAnswerError(_sentence(str(error))) from None


def _slope(claim: Claim, series: FittedSeries) -> Estimate:
    fit = series.fit
    subject = f"The slope of {claim.variable} over {claim.over}"
    note = _series_basis(fit, series.exact)
    count = None if series.exact else fit.complete
    return replace(fit.rate, subject=subject, note=note, reasons=fit.reasons, exact=series.exact, replicates=count)


def _slope_difference(claim: Claim, first: FittedSeries, second: FittedSeries) -> Estimate:
    exact = first.exact and second.exact
    try:
        result = difference(first, second)
    except ValueError as error:
        raise NoAnswerError(_sentence(str(error))) from None
    subject = f"The difference of the slopes of {claim.variable} over {claim.over} ({sides(claim)})"
    note = _series_basis(result.first, exact)
    count = None if exact else result.first.complete
    return replace(result.estimate, subject=subject, note=note, reasons=result.reasons, exact=exact, replicates=count)


def _series_basis(fit: rates.RateFit, exact: bool) -> str:
    sizes = f"{fit.sizes.size} sizes"
    if fit.sizes.size:
        sizes += f" from {number(fit.sizes[0])} to {number(fit.sizes[-1])}"
    return f"no Monte Carlo error, {sizes}" if exact else f"{fit.complete} complete replicates at {sizes}"


def _mean(claim: Claim, array: xr.DataArray) -> Estimate:
    subject = f"The mean of {claim.variable}{_place(claim)}"
    if "replicate" not in array.dims:
        return _of_cell(subject, float(array))
    samples = array.values
    kept = samples[np.isfinite(samples)]
    note, reasons = f"{kept.size} replicates", _lost(samples, kept)
    if array.attrs.get(BINARY):
        low, high = proportion_interval(int(kept.sum()), kept.size, claim.level)
        share = float(kept.mean()) if kept.size else np.nan
        subject = f"The share of {claim.variable}{_place(claim)}"
        return Estimate(share, low, high, note, reasons, subject=subject, replicates=kept.size)
    mean, se, low, high = (float(v) for v in rates.mean_interval(kept, claim.level))
    low, high = (float(end) for end in within_range(array, low, high))
    return Estimate(mean, low, high, note, reasons, se=se, subject=subject, replicates=kept.size)


def _difference(claim: Claim, first: xr.DataArray, second: xr.DataArray) -> Estimate:
    of = "" if claim.versus_variable else f" of {claim.variable}"
    subject = f"The mean difference{of} ({sides(claim)}{_place(claim)})"
    reasons: tuple[str, ...] = ()
    if claim.kind == "log_ratio":
        subject = f"The mean log ratio{of} ({sides(claim)}{_place(claim)})"
        bad = sum(int(np.sum(np.isfinite(side.values) & (side.values <= 0))) for side in (first, second))
        if bad:
            reasons = (f"{bad} values are not positive and have no logarithm.",)
        first, second = (xr.apply_ufunc(np.log, side.where(side > 0)) for side in (first, second))
    first, second = (side.reset_coords(drop=True) for side in (first, second))
    if "replicate" in first.dims and "replicate" in second.dims:
        first, second = xr.align(first, second, join="outer")
    both = first - second
    if "replicate" not in both.dims:
        return _of_cell(subject, float(both))
    kept = both.values[np.isfinite(both.values)]
    mean, se, low, high = (float(v) for v in rates.mean_interval(kept, claim.level))
    reasons += _lost(both.values, kept)
    note = f"{kept.size} replicates, paired"
    note = f"a ratio of {np.exp(mean):.3g}, {note}" if claim.kind == "log_ratio" else note
    return Estimate(mean, low, high, note, reasons, se=se, subject=subject, replicates=kept.size)


def _of_cell(subject: str, value: float) -> Estimate:
    reasons = () if np.isfinite(value) else ("It is not a finite number.",)
    return Estimate(value, value, value, "no Monte Carlo error", reasons, subject=subject, exact=True)


def _function(ds: xr.Dataset, claim: Claim) -> Estimate:
    function = resolve(claim.function)
    try:
        answer = function(ds, claim, **claim.options)
    except NoAnswerError:
        raise
    except Exception as error:  # a user's function: its failure is told in the verdict, the run is kept
        raise NoAnswerError(f"{claim.function} raised {type(error).__name__}: {_sentence(str(error))}") from error
    try:
        value, low, high = (float(getattr(answer, name)) for name in ("value", "low", "high"))
    except (AttributeError, TypeError, ValueError):
        raise NoAnswerError(
            f"{claim.function} returned a {type(answer).__name__}; it must return an Estimate with value, low and high."
        ) from None
    note = str(getattr(answer, "note", "") or "").rstrip(". ")
    reasons = tuple(getattr(answer, "reasons", ()))
    return Estimate(
        value,
        low,
        high,
        note,
        reasons,
        bool(getattr(answer, "counts_failures", False)),
        subject=str(getattr(answer, "subject", "The estimate")),
        exact=bool(getattr(answer, "exact", False)),
        replicates=getattr(answer, "replicates", None),
        cases=getattr(answer, "cases", None),
        bend=str(getattr(answer, "bend", "") or ""),
    )


def resolve(path: str) -> Callable[..., Any]:
    """Return the callable that ``'package.module:callable'`` means.

    Raises
    ------
    NoAnswerError
        If it cannot be imported or is not callable.
    """
    module_name, _, name = path.partition(":")
    try:
        target = getattr(importlib.import_module(module_name), name)
    except Exception as error:  # a user's module can fail at import in any way
        raise NoAnswerError(f"{path} cannot be imported: {type(error).__name__}: {_sentence(str(error))}") from error
    if not callable(target):
        raise NoAnswerError(f"{path} is not callable.")
    return target


def proportion_interval(successes: int, count: int, level: float) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a proportion; NaN for no trial.

    >>> low, high = proportion_interval(10, 10, 0.95)
    >>> round(low, 3), high
    (0.692, 1.0)
    """
    if count == 0:
        return (np.nan, np.nan)
    ends = stats.binomtest(successes, count).proportion_ci(level, method="exact")
    return float(ends.low), float(ends.high)


def _lost(samples: np.ndarray, kept: np.ndarray) -> tuple[str, ...]:
    reasons: tuple[str, ...] = ()
    if kept.size < samples.size:
        reasons += (f"{samples.size - kept.size} of {samples.size} replicates have no value.",)
    if kept.size < 2:
        reasons += (f"{kept.size} replicates give no interval; at least 2 are needed.",)
    return reasons


def _place(claim: Claim) -> str:
    if claim.versus_at is not None or not claim.at:
        return ""
    return " at " + ", ".join(f"{axis} = {number(v)}" for axis, v in claim.at.items())


def _sentence(text: str) -> str:
    text = text.strip() or "no message"
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def seen(answer: Estimate, visible: float, why: str) -> Estimate:
    """Return a difference that decides nothing if it is below ``visible``, either way; ``why`` ends the sentence."""
    if not abs(answer.value) < visible:
        return answer
    return replace(answer, reasons=(*answer.reasons, f"A difference below {visible:g} is {why}."))

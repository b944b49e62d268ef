"""The number that a claim is about, with its interval: one function per kind of claim.

A difference is always taken replicate by replicate. Replicates are independent of each other, so the interval is
honest whether or not the two sides share their draws; where they do, the common part cancels.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from moestat import rates
from moestat.claims.selection import BINARY, NoAnswerError, usable, values, without_lengths_of_one
from moestat.rounding import number
from moestat.study.spec import Claim, Study

Window = tuple[float, float] | None


@dataclass(frozen=True)
class Estimate:
    """What the function of a claim of kind ``function`` returns; any object with these attributes will do.

    Attributes
    ----------
    value, low, high : float
        The estimate and its interval; equal for a number without a Monte Carlo error.
    note : str
        What it is and what it rests on, for the reader of the verdict.
    reasons : tuple of str
        Why the number must not decide the claim, one sentence each.
    counts_failures : bool
        Whether the function itself accounts for replicates that failed or did not converge (as events that it
        counts, say), so that they do not stand in the way of a verdict.
    """

    value: float
    low: float
    high: float
    note: str = ""
    reasons: tuple[str, ...] = ()
    counts_failures: bool = False


@dataclass(frozen=True)
class Answer:
    """An estimate with its interval, what it is (``what``), what it rests on and what speaks against using it."""

    what: str
    value: float
    low: float
    high: float
    basis: str
    reasons: tuple[str, ...] = ()
    counts_failures: bool = False


def estimate(
    ds: xr.Dataset, study: Study, claim: Claim, window: Window = None, *, converged_only: bool = False
) -> Answer:
    """Estimate what a claim is about.

    Parameters
    ----------
    window : (low, high), optional
        Fit window of the kinds ``slope`` and ``slope_difference``.
    converged_only : bool, default False
        Leave out replicates that have values but did not converge.

    Raises
    ------
    NoAnswerError
        If there is no such number in the results; the message says why.
    """
    if claim.kind == "function":
        return _function(usable(ds, converged_only=converged_only), claim)

    def take(variable: str, arm: str, at: dict[str, Any]) -> xr.DataArray:
        keep = (claim.over, "replicate") if claim.kind.startswith("slope") else ("replicate",)
        taken = values(ds, study, variable, arm, at, converged_only=converged_only)
        return without_lengths_of_one(taken, keep)

    first = take(claim.variable, claim.arm, claim.at)
    if claim.kind == "slope":
        return _slope(claim, first, window)
    if claim.kind == "mean":
        return _mean(claim, first)
    second = take(
        claim.versus_variable or claim.variable,
        claim.versus or claim.arm,
        claim.at if claim.versus_at is None else claim.versus_at,
    )
    if claim.kind == "slope_difference":
        return _slope_difference(claim, first, second, window)
    return _difference(claim, first, second)


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


def _slope(claim: Claim, array: xr.DataArray, window: Window) -> Answer:
    fit = _fit(array, claim, window)
    what = f"The slope of {claim.variable} over {claim.over}"
    return Answer(what, fit.slope, fit.low, fit.high, _series_basis(fit, "replicate" not in array.dims), fit.reasons)


def _slope_difference(claim: Claim, first: xr.DataArray, second: xr.DataArray, window: Window) -> Answer:
    exact = all("replicate" not in side.dims for side in (first, second))
    first, second = (with_replicates(side, other) for side, other in ((first, second), (second, first)))
    try:
        result = rates.difference(first, second, over=claim.over, window=window, level=claim.level)
    except ValueError as error:
        raise NoAnswerError(_sentence(str(error))) from None
    what = f"The difference of the slopes of {claim.variable} over {claim.over} ({sides(claim)})"
    found = result.estimate
    basis = _series_basis(result.first, exact)
    return Answer(what, found.value, found.low, found.high, basis, result.reasons)


def _fit(array: xr.DataArray, claim: Claim, window: Window) -> rates.RateFit:
    try:
        fit = rates.fit(with_replicates(array, None), over=claim.over, window=window, level=claim.level, draws=0)
    except ValueError as error:
        raise NoAnswerError(_sentence(str(error))) from None
    return fit


def with_replicates(array: xr.DataArray, other: xr.DataArray | None) -> xr.DataArray:
    """Repeat a property of the cell over replicates (those of ``other``): no Monte Carlo error, no width."""
    if "replicate" in array.dims:
        return array
    labels = other["replicate"].values if other is not None and "replicate" in other.dims else np.arange(2)
    return array.expand_dims(replicate=labels)


def _series_basis(fit: rates.RateFit, exact: bool) -> str:
    sizes = f"{fit.sizes.size} sizes"
    if fit.sizes.size:
        sizes += f" from {number(fit.sizes[0])} to {number(fit.sizes[-1])}"
    return f"no Monte Carlo error, {sizes}" if exact else f"{fit.complete} complete replicates at {sizes}"


def _mean(claim: Claim, array: xr.DataArray) -> Answer:
    what = f"The mean of {claim.variable}{_place(claim)}"
    if "replicate" not in array.dims:
        return _of_cell(what, array, array)
    samples = array.values
    kept = samples[np.isfinite(samples)]
    basis, reasons = f"{kept.size} replicates", _lost(samples, kept)
    if array.attrs.get(BINARY):
        low, high = proportion_interval(int(kept.sum()), kept.size, claim.level)
        value = float(kept.mean()) if kept.size else np.nan
        return Answer(f"The share of {claim.variable}{_place(claim)}", value, low, high, basis, reasons)
    mean, _, low, high = (float(v) for v in rates.mean_interval(kept, claim.level))
    return Answer(what, mean, low, high, basis, reasons)


def _difference(claim: Claim, first: xr.DataArray, second: xr.DataArray) -> Answer:
    subject = "" if claim.versus_variable else f" of {claim.variable}"
    what = f"The mean difference{subject} ({sides(claim)}{_place(claim)})"
    notes: tuple[str, ...] = ()
    binary = any(side.attrs.get(BINARY) for side in (first, second))
    if claim.kind == "log_ratio":
        what = f"The mean log ratio{subject} ({sides(claim)}{_place(claim)})"
        bad = sum(int(np.sum(np.isfinite(side.values) & (side.values <= 0))) for side in (first, second))
        if bad:
            notes = (f"{bad} values are not positive and have no logarithm.",)
        first, second = (xr.apply_ufunc(np.log, side.where(side > 0)) for side in (first, second))
    first, second = (side.reset_coords(drop=True) for side in (first, second))
    if "replicate" in first.dims and "replicate" in second.dims:
        first, second = xr.align(first, second, join="outer")
    both = first - second
    if "replicate" not in both.dims:
        return _of_cell(what, first, second, float(both))
    kept = both.values[np.isfinite(both.values)]
    mean, _, low, high = (float(v) for v in rates.mean_interval(kept, claim.level))
    reasons = notes + _lost(both.values, kept)
    if binary and kept.size > 1 and np.ptp(kept) == 0:
        reasons += ("All differences of these truth values are equal, which gives no interval.",)
    basis = f"{kept.size} replicates, paired"
    return Answer(
        what,
        mean,
        low,
        high,
        f"a ratio of {np.exp(mean):.3g}, {basis}" if claim.kind == "log_ratio" else basis,
        reasons,
    )


def _of_cell(what: str, first: xr.DataArray, second: xr.DataArray, value: float | None = None) -> Answer:
    value = float(first) if value is None else value
    reasons = () if np.isfinite(value) else ("It is not a finite number.",)
    return Answer(what, value, value, value, "no Monte Carlo error", reasons)


def _function(ds: xr.Dataset, claim: Claim) -> Answer:
    function = resolve(claim.function)
    try:
        found = function(ds, claim, **claim.options)
    except NoAnswerError:
        raise
    except Exception as error:  # a user's function: its failure is told in the verdict, the run is kept
        raise NoAnswerError(f"{claim.function} raised {type(error).__name__}: {_sentence(str(error))}") from error
    try:
        value, low, high = (float(getattr(found, name)) for name in ("value", "low", "high"))
    except (AttributeError, TypeError, ValueError):
        raise NoAnswerError(
            f"{claim.function} returned a {type(found).__name__}; it must return an Estimate with value, low and high."
        ) from None
    return Answer(
        "The estimate",
        value,
        low,
        high,
        str(getattr(found, "note", "") or "").rstrip(". "),
        tuple(getattr(found, "reasons", ())),
        bool(getattr(found, "counts_failures", False)),
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
        found = getattr(importlib.import_module(module_name), name)
    except Exception as error:  # a user's module can fail at import in any way
        raise NoAnswerError(f"{path} cannot be imported: {type(error).__name__}: {_sentence(str(error))}") from error
    if not callable(found):
        raise NoAnswerError(f"{path} is not callable.")
    return found


def proportion_interval(successes: int, count: int, level: float) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a proportion; NaN for no trial.

    >>> low, high = proportion_interval(10, 10, 0.95)
    >>> round(low, 3), high
    (0.692, 1.0)
    """
    if count == 0:
        return (np.nan, np.nan)
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, successes, count - successes + 1) if successes else 0.0
    high = stats.beta.ppf(1 - tail, successes + 1, count - successes) if successes < count else 1.0
    return float(low), float(high)


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

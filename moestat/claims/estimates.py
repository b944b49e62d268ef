"""The number that a claim is about, with its interval. A difference is always taken replicate by replicate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from moestat import own
from moestat.claims.evidence import Evidence, difference
from moestat.claims.selection import NoAnswerError, versus, without_lengths_of_one
from moestat.claims.wording import against
from moestat.rates import Estimate
from moestat.rates.estimate import interval
from moestat.rounding import number
from moestat.runner.results import BINARY, within_range
from moestat.study.spec import Claim

if TYPE_CHECKING:
    import xarray as xr


def estimate(evidence: Evidence, claim: Claim, *, converged_only: bool = False) -> Estimate:
    """Estimate what a claim is about, whose window is settled (:func:`moestat.study.seal.settled`).

    ``converged_only`` leaves out replicates that have values but did not converge. Where there is no such number in the
    results, :class:`NoAnswerError` says why.
    """
    if claim.kind == "function":
        return _function(evidence.usable(converged_only=converged_only), claim)
    sides = [(claim.variable, claim.arm, claim.at)]
    if claim.kind not in ("slope", "mean"):
        sides.append(versus(claim))
    if not claim.kind.startswith("slope"):
        arrays = [evidence.samples(*side, converged_only=converged_only) for side in sides]
        arrays = [without_lengths_of_one(array, ("replicate",)) for array in arrays]
        return _mean(claim, arrays[0]) if claim.kind == "mean" else _difference(claim, *arrays)
    how: dict[str, Any] = {"window": claim.window, "level": claim.level, "converged_only": converged_only}
    try:
        series = [evidence.series(name, claim.over, arm, at, **how) for name, arm, at in sides]
        fit = series[0].fit
        rate, reasons, subject = fit.rate, fit.reasons, f"The slope of {claim.variable} over {claim.over}"
        if claim.kind == "slope_difference":
            found = difference(*series)
            fit, rate, reasons = found.first, found.estimate, found.reasons
            subject = f"The difference of the slopes of {claim.variable} over {claim.over} ({against(claim)})"
    except NoAnswerError:
        raise
    except ValueError as error:
        raise NoAnswerError(_sentence(error)) from None
    note = f"{fit.sizes.size} sizes"
    if fit.sizes.size:
        note += f" from {number(fit.sizes[0])} to {number(fit.sizes[-1])}"
    exact = all(one.exact for one in series)
    note = f"no Monte Carlo error, {note}" if exact else f"{fit.complete} complete replicates at {note}"
    count = None if exact else fit.complete
    return replace(rate, subject=subject, note=note, reasons=reasons, exact=exact, replicates=count)


def _mean(claim: Claim, array: xr.DataArray) -> Estimate:
    if "replicate" in array.dims and array.attrs.get(BINARY):
        kept = array.values[np.isfinite(array.values)]
        low, high = proportion_interval(int(kept.sum()), kept.size, claim.level)
        share = float(kept.mean()) if kept.size else np.nan
        subject = f"The share of {claim.variable}{_place(claim)}"
        note, reasons = f"{kept.size} replicates", _lost(array.values, kept)
        return Estimate(share, low, high, note, reasons, subject=subject, replicates=kept.size)
    answer = _of_cell_or_samples(array, claim.level, f"The mean of {claim.variable}{_place(claim)}")
    low, high = (float(end) for end in within_range(array, answer.low, answer.high))
    return answer if answer.exact else replace(answer, low=low, high=high)


def _difference(claim: Claim, first: xr.DataArray, second: xr.DataArray) -> Estimate:
    import xarray as xr

    of = "" if claim.versus_variable else f" of {claim.variable}"
    log = claim.kind == "log_ratio"
    subject = f"The mean {'log ratio' if log else 'difference'}{of} ({against(claim)}{_place(claim)})"
    reasons: tuple[str, ...] = ()
    if log:
        bad = sum(int(np.sum(np.isfinite(side.values) & (side.values <= 0))) for side in (first, second))
        reasons = (f"{bad} values are not positive and have no logarithm.",) if bad else ()
        first, second = (xr.apply_ufunc(np.log, side.where(side > 0)) for side in (first, second))
    first, second = (side.reset_coords(drop=True) for side in (first, second))
    if "replicate" in first.dims and "replicate" in second.dims:
        first, second = xr.align(first, second, join="outer")
    answer = _of_cell_or_samples(first - second, claim.level, subject)
    if answer.exact:
        return answer
    note = f"a ratio of {np.exp(answer.value):.3g}, " if log else ""
    return replace(answer, note=f"{note}{answer.note}, paired", reasons=reasons + answer.reasons)


def _of_cell_or_samples(array: xr.DataArray, level: float, subject: str) -> Estimate:
    if "replicate" in array.dims:
        return of_samples(array.values, level, subject)
    value = float(array)
    reasons = () if np.isfinite(value) else ("It is not a finite number.",)
    return Estimate(value, value, value, "no Monte Carlo error", reasons, subject=subject, exact=True)


def of_samples(samples: np.ndarray, level: float, subject: str) -> Estimate:
    """Return the mean over replicates, those without a value left out, with its t-interval."""
    kept = samples[np.isfinite(samples)]
    mean, se, low, high = (float(v) for v in interval(kept, level))
    reasons = _lost(samples, kept)
    return Estimate(mean, low, high, f"{kept.size} replicates", reasons, se=se, subject=subject, replicates=kept.size)


def _lost(samples: np.ndarray, kept: np.ndarray) -> tuple[str, ...]:
    reasons: tuple[str, ...] = ()
    if kept.size < samples.size:
        reasons += (f"{samples.size - kept.size} of {samples.size} replicates have no value.",)
    if kept.size < 2:
        reasons += (f"{kept.size} replicates give no interval; at least 2 are needed.",)
    return reasons


def _function(ds: xr.Dataset, claim: Claim) -> Estimate:
    function = resolve(claim.function)
    try:
        answer = function(ds, claim, **claim.options)
    except NoAnswerError:
        raise
    except Exception as error:  # a user's function: its failure is told in the verdict, the run is kept
        raise NoAnswerError(f"{claim.function} raised {type(error).__name__}: {_sentence(error)}") from error
    if not isinstance(answer, Estimate):
        raise NoAnswerError(f"{claim.function} returned a {type(answer).__name__}; it must return an Estimate.")
    value, low, high = (float(number) for number in (answer.value, answer.low, answer.high))
    note, reasons = answer.note.rstrip(". "), tuple(answer.reasons)
    return replace(answer, value=value, low=low, high=high, note=note, reasons=reasons)


def resolve(path: str) -> Callable[..., Any]:
    """Return the callable that ``'package.module:callable'`` means."""
    try:
        target = own.imported(path)
    except ValueError as error:
        raise NoAnswerError(_sentence(error)) from error
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
    ends = scipy.stats.binomtest(successes, count).proportion_ci(level, method="exact")
    return float(ends.low), float(ends.high)


def seen(answer: Estimate, visible: float, why: str) -> Estimate:
    """Return a difference that decides nothing if it is below ``visible``, either way; ``why`` ends the sentence."""
    if not abs(answer.value) < visible:
        return answer
    return replace(answer, reasons=(*answer.reasons, f"A difference below {visible:g} is {why}."))


def _place(claim: Claim) -> str:
    if claim.versus_at is not None or not claim.at:
        return ""
    return " at " + ", ".join(f"{axis} = {number(v)}" for axis, v in claim.at.items())


def _sentence(error: Exception) -> str:
    text = str(error).strip() or "no message"
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")

"""Two gates compared over truths: data sets of one truth count as one, and several losses can be asked for together.

A run with several truths has data sets of each (``truth``), which are not independent of each other: what they have is
averaged within a truth, and intervals are t-intervals over truths. A run without ``truth`` has replicates alone.

Of several losses the interval is the hull of theirs: all of it is below a bound where every loss has its interval
there, all of it above where every loss has, and a claim on which they part is open. So no loss decides for the others,
neither one that a start meets without any fit, nor one that asks of a model what it cannot hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable, without_lengths_of_one
from moestat.rates import Estimate, bends
from moestat.rates.estimate import mean_interval
from moestat.rounding import estimate as rounded
from moestat.study.spec import Claim
from studies.sigmoid_attention.parts.rules import slopes_of


def level_by_truth(ds: xr.Dataset, claim: Claim, *, together: Sequence[str] = ()) -> Estimate:
    """Estimate the log ratio of two arms' losses at ``claim.at``, over truths.

    ``claim``: ``arm``, ``versus``, ``at``, and the loss, ``variable``. ``together``: further losses; the value is that
    of the largest log ratio, the interval the hull of all.
    """
    parts = {}
    for name in (claim.variable, *together):
        sides = [_samples(ds, name, arm, claim) for arm in (claim.arm, claim.versus)]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.log(np.where(side > 0, side, np.nan)) for side in sides]
        parts[name] = _over_truths(logs[0] - logs[1], _truths(ds, claim), claim.level)
    return _hull(parts, "log ratio")


def log_ratio_to(ds: xr.Dataset, claim: Claim, *, scale: float, exponent: float) -> Estimate:
    """Estimate the log ratio of a printed loss, ``scale * n**exponent``, to a variable at ``claim.at``, over truths."""
    own = np.log(_samples(ds, claim.variable, claim.arm, claim))
    printed = np.log(scale) + exponent * np.log(float(claim.at["n"]))
    return _hull({claim.variable: _over_truths(printed - own, _truths(ds, claim), claim.level)}, "log ratio")


def slope_by_truth(ds: xr.Dataset, claim: Claim, *, together: Sequence[str] = ()) -> Estimate:
    """Estimate the slope of an arm's loss, or how it differs from that of ``versus``, over truths.

    As :func:`level_by_truth`. What stands in the way of either slope stands in that of the difference, as in claims of
    kind ``slope_difference``.
    """
    parts: dict[str, Estimate] = {}
    reasons: dict[str, None] = {}
    turns: dict[str, str] = {}
    for name in (claim.variable, *together):
        sides = [side for side in (claim.arm, claim.versus) if side]
        arrays = [variable(ds, name, {"arm": side, **claim.at}) for side in sides]
        arrays = [without_lengths_of_one(array, (claim.over, "replicate")) for array in arrays]
        slopes = [slopes_of(array, [], claim.over)[0] for array in arrays]
        of = f" of {name}" if together else ""
        if claim.versus:
            both = rates.difference(*arrays, over=claim.over, window=claim.window, level=claim.level)
            reasons |= dict.fromkeys(both.reasons)
            turns |= {f"the first line{of}": both.first.turn, f"the second line{of}": both.second.turn}
            own = slopes[0] - slopes[1]
        else:
            line = rates.fit(arrays[0], over=claim.over, window=claim.window, level=claim.level)
            reasons |= dict.fromkeys(line.reasons)
            turns |= {f"the line{of}": line.turn}
            own = slopes[0]
        parts[name] = _over_truths(own, _truths(ds, claim), claim.level)
    what = "difference of the slopes" if claim.versus else "slope"
    return replace(_hull(parts, what, tuple(reasons)), bend=bends.sentence(turns))


def _samples(ds: xr.Dataset, name: str, arm: str, claim: Claim) -> np.ndarray:
    array = without_lengths_of_one(variable(ds, name, {"arm": arm, **claim.at}), ("replicate",))
    if array.dims != ("replicate",):
        raise NoAnswerError(f"{name} also runs over {', '.join(map(str, array.dims))}; say under 'at' where.")
    return np.asarray(array.values, dtype=np.float64)


def _truths(ds: xr.Dataset, claim: Claim) -> np.ndarray | None:
    """Return the truth of every replicate (R,), or None where a run has no several ones."""
    if "truth" not in ds:
        return None
    array = variable(ds, "truth", {"arm": claim.arm})
    others = [str(axis) for axis in array.dims if axis != "replicate"]
    return np.asarray(array.max(others).values)


def _over_truths(samples: np.ndarray, truths: np.ndarray | None, level: float) -> Estimate:
    known = np.isfinite(samples)
    labels = np.arange(samples.size) if truths is None else truths
    means = np.array([samples[known & (labels == one)].mean() for one in np.unique(labels[known])])
    if means.size < 2:
        unit = "replicates" if truths is None else "truths"
        raise NoAnswerError(f"{means.size} {unit} give no interval; at least 2 are needed.")
    mean, se, low, high = (float(v) for v in mean_interval(means, level))
    note = f"{means.size} replicates" if truths is None else f"{means.size} truths, {int(known.sum())} data sets"
    lost = int((~known).sum())
    reasons = (f"{lost} of {samples.size} replicates have no value.",) if lost else ()
    return Estimate(mean, low, high, note, reasons, se=se, replicates=int(means.size))


def _hull(parts: dict[str, Estimate], what: str, reasons: tuple[str, ...] = ()) -> Estimate:
    every = list(parts.values())
    reasons = tuple(dict.fromkeys([*reasons, *(text for part in every for text in part.reasons)]))
    counted = min(part.replicates or 0 for part in every)
    notes = [every[0].note]
    if len(parts) > 1:
        said = {name: rounded(part.value, part.low, part.high) for name, part in parts.items()}
        notes.append(", ".join(f"{name} {value} {interval}" for name, (value, interval) in said.items()))
    largest = max(parts, key=lambda name: parts[name].value)
    subject = f"The {what} of {largest}" if len(parts) == 1 else f"The largest {what}, of {largest},"
    low, high = min(part.low for part in every), max(part.high for part in every)
    return Estimate(parts[largest].value, low, high, "; ".join(notes), reasons, subject=subject, replicates=counted)

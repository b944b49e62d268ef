"""Rules of sigmoid-attention that no general rule has: slopes over truths, of sums, of the slower of two sides.

They have the keys of the kinds ``slope``, ``slope_difference`` and ``log_ratio``. Besides them the rows of Table 1, the
printed numbers of Table 2, and section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from moestat import rates
from moestat.claims.estimates import of_samples
from moestat.claims.rules import smallest
from moestat.claims.selection import NoAnswerError, chosen, variable, versus, without_lengths_of_one
from moestat.experiment import Source
from moestat.rates import Estimate, bends
from moestat.rates.estimate import interval
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.study.spec import Claim
from studies.sigmoid_attention.parts.expert_error import PARTS, STORED, expert_errors


def slope_by_truth(ds: xr.Dataset, claim: Claim, *, together: Sequence[str] = ()) -> Estimate:
    """Estimate the slope of an arm's loss, or its difference to that of ``versus``, over truths.

    Data sets of one truth are not independent: they count as one, by their geometric mean. ``together`` names further
    losses: the value is then the largest, and the interval the hull of all, so that a claim on which losses part is
    open, and none decides for the others.
    """

    def of_loss(name: str) -> Estimate:
        sides = [_truths(ds, name, arm, claim, claim.over) for arm in (claim.arm, claim.versus) if arm]
        how: dict[str, Any] = dict(over=claim.over, window=claim.window, level=claim.level)
        if claim.versus:
            found = rates.difference(*sides, **how)
            return replace(found.estimate, reasons=found.reasons, replicates=found.first.complete)
        fit: rates.RateFit = rates.fit(*sides, **how)
        return replace(fit.rate, reasons=fit.reasons, replicates=fit.complete)

    return _hull(of_loss, (claim.variable, *together), "difference of the slopes" if claim.versus else "slope")


def level_by_truth(ds: xr.Dataset, claim: Claim, *, together: Sequence[str] = ()) -> Estimate:
    """Estimate the log ratio of two arms' losses at ``claim.at``, over truths; see :func:`slope_by_truth`."""

    def of_loss(name: str) -> Estimate:
        first, second = (np.log(_truths(ds, name, arm, claim).values) for arm in (claim.arm, claim.versus))
        return of_samples(first - second, claim.level, "")

    return _hull(of_loss, (claim.variable, *together), "log ratio")


def log_ratio_to(ds: xr.Dataset, claim: Claim, *, scale: float, exponent: float) -> Estimate:
    """Estimate the log ratio of a printed loss, ``scale * n**exponent``, to a variable at ``claim.at``, over truths."""

    def of_loss(name: str) -> Estimate:
        printed = np.log(scale) + exponent * np.log(float(claim.at["n"]))
        return of_samples(printed - np.log(_truths(ds, name, claim.arm, claim).values), claim.level, "")

    return _hull(of_loss, (claim.variable,), "log ratio")


def _truths(ds: xr.Dataset, name: str, arm: str, claim: Claim, *axes: str) -> xr.DataArray:
    """Return a loss with truths in the place of replicates, where there are several data sets of each."""
    array = without_lengths_of_one(variable(ds, name, {"arm": arm, **claim.at}), (*axes, "replicate"))
    array = array.where(array > 0)
    if "truth" not in ds:
        return array
    truth = variable(ds, "truth", {"arm": arm})
    number_of = truth.max([axis for axis in truth.dims if axis != "replicate"]).values
    numbers = np.unique(number_of[np.isfinite(number_of)])
    logs = xr.apply_ufunc(np.log, array).transpose("replicate", ...)
    own = [logs[number_of == one].mean("replicate", skipna=False) for one in numbers]
    means: xr.DataArray = xr.apply_ufunc(np.exp, xr.concat(own, "replicate"))
    return means


def _hull(of_loss: Callable[[str], Estimate], names: Sequence[str], what: str) -> Estimate:
    parts = {name: of_loss(name) for name in names}
    largest = max(parts, key=lambda name: parts[name].value)
    every = parts.values()
    note, bend = f"{parts[largest].replicates} truths", parts[largest].bend
    if len(parts) > 1:
        bend = " ".join(f"{name}: {part.bend}" for name, part in parts.items() if part.bend)
        said = {name: rounded(part.value, part.low, part.high) for name, part in parts.items()}
        note += "; " + ", ".join(f"{name} {value} {ends}" for name, (value, ends) in said.items())
    return replace(
        parts[largest],
        low=min(part.low for part in every),
        high=max(part.high for part in every),
        note=note,
        reasons=tuple(dict.fromkeys(text for part in every for text in part.reasons)),
        bend=bend,
        subject=f"The {what} of {largest}" if len(parts) == 1 else f"The largest {what}, of {largest},",
    )


def slope_of_sum(ds: xr.Dataset, claim: Claim, *, parts: Sequence[str]) -> Estimate:
    """Estimate the slope of a sum, which shows its rate only where its named ``parts`` are as fast by themselves.

    In the end a sum is as slow as its slowest part, however small that is at the sizes at hand: nothing is decided
    where a part is slower than the rule by its own estimate, unless the sum is itself outside of the region.
    """
    most = claim.region[1]
    if not most < float("inf"):
        raise NoAnswerError("A sum is held against its parts where the rule bounds its slope from above.")
    fit = _fit(ds, claim, claim.variable)
    notes, slower = [f"{fit.complete} complete replicates at {fit.sizes.size} sizes"], []
    for name in parts:
        part = _fit(ds, claim, name)
        value, ends = rounded(part.slope, part.low, part.high)
        said = f"{name} has the slope {value} {ends}".rstrip() if value else f"{name} has no slope"
        if part.slope <= most or fit.low > most:
            notes.append(f"its part {said}")
        else:
            asked = f"({part.complete} of {part.replicates} replicates), where at most {number(most)} is asked"
            slower.append(f"In the end a sum is as slow as its slowest part, and {said} {asked}.")
    subject, reasons = f"The slope of {claim.variable} over {claim.over}", (*fit.reasons, *slower)
    return replace(fit.rate, subject=subject, note="; ".join(notes), reasons=reasons, replicates=fit.complete)


def slope_beside_failure(ds: xr.Dataset, claim: Claim, *, arm: str, variable: str) -> Estimate:
    """Estimate a slope that shows a rate only where the same design shows that another loss has it not.

    ``variable`` of ``arm`` is a loss whose bound is disproved: where its interval is not outside of the region, fits of
    this design do not tell a bound that holds from one that fails, and nothing is decided, unless the slope is itself
    outside. Both may be one: then the claim is of the bound that is disproved, and fits can only contradict it.
    """
    fit = _fit(ds, claim, claim.variable)
    other = _fit(ds, claim.model_copy(update={"arm": arm}), variable)
    value, ends = rounded(other.slope, other.low, other.high)
    reasons = fit.reasons
    if "outside" not in (_side(claim, fit.low, fit.high), _side(claim, other.low, other.high)):
        failing = f"{variable} of {arm}, whose bound fails, has the slope {value} {ends}".rstrip()
        reasons = (*reasons, f"The design does not tell a bound that holds from one that fails: {failing}.")
    note = f"{fit.complete} complete replicates at {fit.sizes.size} sizes"
    subject = f"The slope of {claim.variable} over {claim.over}"
    return replace(fit.rate, subject=subject, note=note, reasons=reasons, replicates=fit.complete)


def _fit(ds: xr.Dataset, claim: Claim, name: str) -> rates.RateFit:
    """Fit a series; errors of experts, which records hold and runs do not, are computed from the parameters."""
    of_experts = {STORED.format(part): part for part in PARTS}
    if name not in ds and name in of_experts and "theta" in ds:
        source = Source(Path("results"), "", ds, "run the study again")
        array = expert_errors(source, claim.arm)[of_experts[name]]
    else:
        array = variable(ds, name, {"arm": claim.arm, **claim.at})
    series = without_lengths_of_one(array, (claim.over, "replicate"))
    fit: rates.RateFit = rates.fit(series, over=claim.over, window=claim.window, level=claim.level)
    return fit


def ordered_series(ds: xr.Dataset, claim: Claim, *, slower_at_most: float) -> Estimate:
    """Estimate the difference of the slopes of two series, where the slower one has an order of its own.

    A series that does not fall at all is slower than any other, and shows nothing of an order: the interval of the
    slower slope must lie at most at ``slower_at_most``. With the rule ``at_most`` the second side is the slower one.
    """
    sides = [(claim.variable, claim.arm, claim.at), versus(claim)]
    arrays = [
        without_lengths_of_one(variable(ds, name, {"arm": arm, **at}), (claim.over, "replicate"))
        for name, arm, at in sides
    ]
    found = rates.difference(*arrays, over=claim.over, window=claim.window, level=claim.level)
    answer = replace(
        found.estimate,
        subject=f"The difference of the slopes of {sides[0][0]} and {sides[1][0]} over {claim.over}",
        note=f"{found.first.complete} complete replicates at {found.first.sizes.size} sizes",
        reasons=found.reasons,
        replicates=found.first.complete,
    )
    slower = (found.first, found.second)[claim.at_most is not None]
    return _ordered(answer, slower.slope, slower.low, slower.high, slower_at_most)


def _ordered(answer: Estimate, slope: float, low: float, high: float, most: float) -> Estimate:
    if high <= most:
        return answer
    value, ends = rounded(slope, low, high)
    own = f"The slower side has a slope of {value} {ends} itself, where all of its interval should be at most"
    return replace(answer, reasons=(*answer.reasons, f"{own} {number(most)}: its failure alone may be the difference."))


def slope_of_row(ds: xr.Dataset, claim: Claim, *, slower_at_most: float | None = None) -> Estimate:
    """Estimate the slope of a row of Table 1, or its difference to that of ``versus``, paired by their replicates.

    ``slower_at_most``: as of :func:`ordered_series`. A verdict that hangs on replicates of the source that did not
    converge is none.
    """
    rows = [ds.sel(arm=_there(ds, [arm])[0]).isel(replicate=0) for arm in (claim.arm, claim.versus) if arm]
    every, converged = (
        rows[0][name].values - (rows[1][name].values if claim.versus else 0.0)
        for name in ("slopes", "slopes_converged")
    )
    every, converged = every[np.isfinite(every)], converged[np.isfinite(converged)]
    if every.size < 2:
        raise NoAnswerError(f"{every.size} complete replicates give no interval; at least 2 are needed.")
    mean, se, low, high = (float(v) for v in interval(every, claim.level))
    reasons = [text for row in rows if (text := str(row["reasons"].values))]
    if _side(claim, *(float(v) for v in interval(converged, claim.level)[2:])) != _side(claim, low, high):
        reasons.append("The verdict hangs on replicates of the source that did not converge.")
    lines = ["the line"] if len(rows) == 1 else ["the first line", "the second line"]
    turns = {line: str(row["turn"].values) for line, row in zip(lines, rows, strict=True) if "turn" in row}
    note = f"{every.size} replicates"
    if not claim.versus:
        note += f", {float(rows[0]['halving']):.3g} times the samples halve the error"
    answer = Estimate(
        *(mean, low, high, note, tuple(dict.fromkeys(reasons))),
        se=se,
        subject="The slope of the row" if len(rows) == 1 else "The difference of the slopes of the rows",
        replicates=every.size,
        bend=bends.sentence(turns),
    )
    if slower_at_most is None:
        return answer
    slope, least, most = (float(rows[claim.at_most is not None][name]) for name in ("slope", "slope_low", "slope_high"))
    return _ordered(answer, slope, least, most, slower_at_most)


def _side(claim: Claim, low: float, high: float) -> str:
    """Say where an interval lies with respect to the region of the rule; an interval of NaN lies nowhere."""
    least, most = claim.region
    if not low <= high:
        return "nowhere"
    if least <= low and high <= most:
        return "inside"
    return "outside" if high < least or low > most else "across"


def least_together(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the least distance of two atoms at a true one of dense gate, all experts and truths."""
    dense = claim.model_copy(update={"variable": "together"})
    return smallest(ds.sel(gate=ds["gate"].values[ds["gate"].values > 0]), dense, arms=["*"])


def printed_difference(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the difference of ``claim.arm`` with its interval at the level of the claim, by the normal law."""
    row = ds.sel(arm=_there(ds, [claim.arm])[0]).isel(replicate=0)
    value, error = float(row["difference"]), float(row["error"])
    width = special.ndtri(0.5 + claim.level / 2) * error
    note = f"{abs(value) / error:.2f} times its error of {error:.3g}; printed numbers, nothing was run"
    return Estimate(value, value - width, value + width, note, se=error, subject="The printed difference")


def in_favour(ds: xr.Dataset, claim: Claim, *, arms: list[str]) -> Estimate:
    """Return the share of the ``arms`` whose printed difference is not negative."""
    above = ds["difference"].sel(arm=_there(ds, arms)).isel(replicate=0).values >= 0
    note = f"{int(above.sum())} of {above.size} printed differences are not negative"
    value = float(above.mean())
    return Estimate(value, value, value, note, subject="The share", exact=True)


def _there(ds: xr.Dataset, arms: Sequence[str]) -> list[str]:
    """Return the arms of a run that fit some names or patterns."""
    if not (names := chosen(ds, arms)):
        raise NoAnswerError(f"No arm of this run matches {', '.join(arms)}.")
    return list(names)

"""Rules of claims on printed tables (:mod:`moestat.printed`): what a sentence says of the numbers beside it.

Each function serves a claim of kind ``function`` on the variable ``printed``. A *choice* is a mapping from axes
(``arm``, ``row``, ``column``) to a label or a list of labels. Two choices are compared wherever both have a number: one
label meets every label of the other side, and lists meet label by label. Nothing here has a Monte Carlo error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy
import xarray as xr

from moestat.claims.selection import NoAnswerError, listed, variable
from moestat.rates import Cases, Estimate
from moestat.study.spec import Claim

Choice = Mapping[str, str | Sequence[str]]

DIGITS = 9
"""Differences are rounded to this many decimals: 38.3 - 35.3 is 3."""


def lead(ds: xr.Dataset, claim: Claim, *, lower: Choice, higher: Choice) -> Estimate:
    """Return the smallest of ``higher`` less ``lower``, and say where it is; each pair of numbers is a case."""
    pairs = _leads(ds, claim, lower, higher)
    place = np.unravel_index(int(np.nanargmin(pairs.values)), pairs.shape)
    at = ", ".join(f"{axis} {pairs[axis].values[k]}" for axis, k in zip(pairs.dims, place, strict=True))
    known = _known(pairs)
    low, high = claim.region
    cases = Cases(known.size, int(((known >= low) & (known <= high)).sum())) if claim.at_least is not None else None
    note = f"smallest of {known.size} differences" + (f", at {at}" if at else "")
    value = float(pairs.values[place])
    return Estimate(value, value, value, note, subject="The smallest lead", exact=True, cases=cases)


def share(ds: xr.Dataset, claim: Claim, *, lower: Choice, higher: Choice) -> Estimate:
    """Return the share of pairs in which ``higher`` is above ``lower``; equal numbers are not."""
    known = _known(_leads(ds, claim, lower, higher))
    above = int((known > 0).sum())
    return _exact(above / known.size, "The share", f"{above} of {known.size} pairs")


def average(ds: xr.Dataset, claim: Claim, *, of: Choice) -> Estimate:
    """Return the mean of a choice."""
    numbers = _numbers(ds, claim, of)
    return _exact(round(float(numbers.mean()), DIGITS), "The mean", f"mean of {numbers.size} numbers")


def deviation(ds: xr.Dataset, claim: Claim, *, of: Choice) -> Estimate:
    """Return the standard deviation of a choice, with one degree of freedom less than it has numbers."""
    numbers = _numbers(ds, claim, of)
    if numbers.size < 2:
        raise NoAnswerError("One number has no standard deviation.")
    return _exact(float(numbers.std(ddof=1)), "The standard deviation", f"of {numbers.size} numbers")


def ratio(ds: xr.Dataset, claim: Claim, *, of: Choice, to: Choice, unit: float) -> Estimate:
    """Return the quotient of two printed numbers, with all that it can be.

    ``unit`` is the last printed place, 0.01 for 0.13: the number itself is up to half of it away.
    """
    numbers = [_numbers(ds, claim, choice) for choice in (of, to)]
    if any(n.size != 1 for n in numbers):
        raise NoAnswerError("A ratio is of one number to one other.")
    above, below = (float(n[0]) for n in numbers)
    half = unit / 2.0
    note = f"{above:g} / {below:g}, each rounded to {unit:g}"
    return Estimate(above / below, (above - half) / (below + half), (above + half) / (below - half), note)


def t_test(ds: xr.Dataset, claim: Claim, *, first: Choice, second: Choice) -> Estimate:
    """Return the p-value of Student's two-sided test of two choices (equal variances)."""
    one, two = (_numbers(ds, claim, choice) for choice in (first, second))
    found = scipy.stats.ttest_ind(one, two)
    return _exact(float(found.pvalue), "The p-value", f"t = {found.statistic:.3f}, {one.size} and {two.size} numbers")


def _exact(value: float, subject: str, note: str) -> Estimate:
    return Estimate(value, value, value, note, subject=subject, exact=True)


def _chosen(ds: xr.Dataset, claim: Claim, choice: Choice) -> xr.DataArray:
    array = variable(ds, claim.variable, claim.at)
    array = array.isel(replicate=0, drop=True) if "replicate" in array.dims else array
    for axis, labels in choice.items():
        if axis not in array.dims:
            raise NoAnswerError(f"The variable {claim.variable!r} has no axis {axis!r}, only {listed(array.dims)}.")
        wanted, there = [labels] if isinstance(labels, str) else list(labels), array[axis].values.tolist()
        if missing := [label for label in wanted if label not in there]:
            raise NoAnswerError(f"{axis} = {missing[0]!r} is not in this table, which has {listed(there)}.")
        array = array.isel({axis: [there.index(label) for label in wanted]})
        array = array.isel({axis: 0}, drop=True) if isinstance(labels, str) else array
    return array


def _known(array: xr.DataArray) -> np.ndarray:
    return np.asarray(array.values[np.isfinite(array.values)])


def _numbers(ds: xr.Dataset, claim: Claim, choice: Choice) -> np.ndarray:
    known = _known(_chosen(ds, claim, choice))
    if not known.size:
        raise NoAnswerError("There is no number where it is looked for.")
    return known


def _leads(ds: xr.Dataset, claim: Claim, lower: Choice, higher: Choice) -> xr.DataArray:
    difference = _chosen(ds, claim, higher) - _chosen(ds, claim, lower)
    if not np.isfinite(difference.values).any():
        raise NoAnswerError("The two choices have no place in common.")
    return difference.round(DIGITS)

"""What of the ledger chance alone may have decided; docs/trust.md has the definitions.

An interval of 95 % misses the truth once in twenty, so of the decisions that rest on one some are to be expected wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from moestat.claims.wording import VERDICTS

RATE = 0.05
"""The false discovery rate of which the ledger tells what survives it."""
DECIDED = tuple(word for word in VERDICTS if word != "inconclusive")
EVERY = ("no counterexample", "refuted")
"""Verdicts that count cases, and rest on no interval."""


def p_value(row: Mapping[str, Any], region: tuple[float, float], level: float, replicates: int) -> float:
    """Return one minus the level at which the interval of a claim would reach the edge of its region.

    It is scaled as an interval of t with one degree less than there are replicates. A claim that something else leaves
    open than the edge (a failed replicate, say) has 1, and one that rests on no interval NaN.

    >>> row = {"verdict": "supported", "reason": "", "estimate": 0.0, "ci_low": -1.0, "ci_high": 1.0}
    >>> round(p_value(row, (-1.0, 1.0), 0.95, 10), 3), round(p_value(row, (-2.0, 9.0), 0.95, 10), 4)
    (0.05, 0.0014)
    """
    value, low, high = (row[key] for key in ("estimate", "ci_low", "ci_high"))
    if row["verdict"] not in VERDICTS or row["verdict"] in EVERY or not low < high or not math.isfinite(value):
        return math.nan
    if row["verdict"] == "inconclusive" and row["reason"] != "across the edge":
        return 1.0
    inside = region[0] <= value <= region[1]
    below, above = (value - region[0], region[1] - value) if inside else (value - region[1], region[0] - value)
    reach = [_times(below, value - low), _times(above, high - value)]
    lengths = min(reach) if inside else max(reach)
    degrees = max(replicates - 1, 1)
    return float(2 * special.stdtr(degrees, -lengths * special.stdtrit(degrees, (1 + level) / 2)))


def _times(distance: float, arm: float) -> float:
    """Return how many times the arm of an interval a distance is; one of no length reaches nothing."""
    return distance / arm if arm > 0 else math.copysign(math.inf, distance + 0.0)


def survivors(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say of each row of a paper whether it survives: yes or no of decided primary claims with an interval, else empty.

    Benjamini and Hochberg's step-up over all primary claims that have an interval, the undecided among them.
    """
    found = list(rows)
    there = [at for at, row in enumerate(found) if row["cell"] and not math.isnan(row["p"])]
    shown = [""] * len(found)
    if there:
        p = np.array([found[at]["p"] for at in there])
        order = np.argsort(p)[::-1]
        adjusted = np.empty_like(p)  # scipy.stats does this, and takes half a second to import
        adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
        for at, value in zip(there, adjusted.tolist(), strict=True):
            shown[at] = ("yes" if value <= RATE else "no") if found[at]["verdict"] in DECIDED else ""
    return shown


class Counts(NamedTuple):
    """Decisions, those that rest on an interval, how many of these are to be expected wrong, and how many survive.

    ``wrong`` is a bound: a claim is decided wrongly only if its interval misses the truth, so it is the sum of one
    minus the level over all claims that an interval ``judged``. Over the decided ones alone it would be none: those
    are selected, and near an edge it is the misses that decide.
    """

    decided: int
    resting: int
    judged: int
    wrong: float
    survive: int


def counts(rows: Iterable[Mapping[str, Any]]) -> Counts:
    """Count the decisions of some primary claims."""
    found = [(row, not math.isnan(row["p"]), row["verdict"] in DECIDED) for row in rows]
    return Counts(
        decided=sum(is_decided for _, _, is_decided in found),
        resting=sum(has and is_decided for _, has, is_decided in found),
        judged=sum(has for _, has, _ in found),
        wrong=sum(1 - row["level"] for row, has, _ in found if has),
        survive=sum(row["survives"] == "yes" for row, _, _ in found),
    )


def told(rows: Iterable[Mapping[str, Any]]) -> str:
    """Say so in a sentence; of no decisions an empty text."""
    found = counts(rows)
    if not found.resting:
        return f"none of {found.decided} decisions rests on an interval" if found.decided else ""
    return (
        f"{found.resting} of {found.decided} decisions rest on an interval, and {found.survive} of these survive a "
        f"false discovery rate of {100 * RATE:g} %; if intervals cover, at most {found.wrong:.1f} are to be "
        f"expected wrong, as an interval judged {found.judged} claims"
    )


def of_claim(row: Mapping[str, Any]) -> str:
    """Say whether a decided primary claim rests on an interval, and whether it survives the rate; of others nothing."""
    if not row["cell"] or row["verdict"] not in DECIDED:
        return ""
    if math.isnan(row["p"]):
        return "it rests on no interval of its own: a count, a proof or an exact number"
    survives = "survives" if row["survives"] == "yes" else "does not survive"
    return f"p = {row['p']:.2g} by the interval; {survives} a false discovery rate of {100 * RATE:g} % over its paper"

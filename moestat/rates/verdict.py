"""Verdicts: an estimate with its interval beside the region of a rule.

Inside is *supported*, outside is *not supported*, anything else *inconclusive*; so is what rests on too little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from moestat.errors import InputError
from moestat.rates.estimate import Estimate
from moestat.rounding import estimate as rounded
from moestat.rounding import number
from moestat.rounding import region as in_words
from moestat.sentences import listed

Word = Literal["supported", "no counterexample", "not supported", "refuted", "inconclusive"]
Region = tuple[float, float]
LEAST = 3
"""Replicates that a decisive verdict needs at least."""
EACH = 100
"""Up to so many replicates each is left out in turn; of more, the smallest and the largest."""


@dataclass(frozen=True)
class Verdict:
    """What an estimate says of a rule.

    ``word`` is *supported*, *not supported* or *inconclusive*; ``reason`` says in a word or two what made it
    inconclusive, of several the first, and ``why`` all of it in a sentence.
    """

    word: Word
    reason: str
    why: str
    estimate: Estimate
    region: Region

    def __str__(self) -> str:
        return f"{self.word}: {self.why}"

    __repr__ = __str__


def judge(
    answer: Estimate,
    region: Region,
    *,
    level: float,
    samples: np.ndarray,
    again: Callable[[np.ndarray], Estimate],
    bent: Literal["told", "inconclusive"] = "told",
) -> Verdict:
    """Judge an estimate made of independent ``samples`` by ``again``.

    It decides nothing where a verdict becomes undecided when one replicate is left out. Of a bent line the bend is
    told, or with ``bent="inconclusive"`` nothing is decided.
    """
    word, reason, place = compared(answer, region)
    obstacles = [("not trusted", text) for text in answer.reasons] or [*unfit(answer)]
    if answer.bend and bent == "inconclusive":
        obstacles.append(("bent", BENT))
    if not obstacles and word != "inconclusive":
        obstacles = [("one replicate", text) for text in hanging(samples, region, word, again)]
    doubt = ""
    if obstacles:
        word, reason = "inconclusive", obstacles[0][0]
        doubt = f"It decides nothing: {' '.join(text for _, text in obstacles)}"
    why = reasoned(answer, level, answer.note, place, in_words(region), doubt)
    return Verdict(word, reason, " ".join(filter(None, (why, answer.bend))), answer, region)


BENT = "The rule asks for a straight line."


def compared(answer: Estimate, region: Region) -> tuple[Word, str, str]:
    """Compare an estimate with the region of a rule: the verdict, why it is inconclusive, and what lies where."""
    low, high = region
    if (cases := answer.cases) is not None:
        if cases.every:
            return ("no counterexample" if cases.inside == cases.count else "refuted"), "", ""
        return ("supported", "", "") if cases.inside else ("inconclusive", "no case", "")
    point = answer.low == answer.high
    if low <= answer.low and answer.high <= high:
        return "supported", "", "it is" if point else "the whole interval is"
    if answer.high < low or answer.low > high:
        return "not supported", "", "it is not" if point else "no part of the interval is"
    return "inconclusive", "across the edge", "only a part of the interval is"


def unfit(answer: Estimate) -> Iterator[tuple[str, str]]:
    """Yield why an interval can decide nothing: a word and a sentence."""
    if not (math.isfinite(answer.value) and answer.low <= answer.value <= answer.high):
        yield "no interval", "There is no interval around it."
    elif answer.cases is None and not answer.exact:
        if answer.replicates is not None and answer.replicates < LEAST:
            verb = "is" if answer.replicates == 1 else "are"
            counted = f"{answer.replicates} replicate{'s' * (answer.replicates != 1)}"
            yield "too few", f"{counted} {verb} too few; a verdict needs at least {LEAST}."
        elif answer.low == answer.high:
            yield "no width", "Its interval has no width, though it is not exact: all replicates may give one number."


def hanging(samples: np.ndarray, region: Region, word: Word, again: Callable[[np.ndarray], Estimate]) -> Iterator[str]:
    """Yield a sentence where a verdict becomes another one without some single replicate."""
    order = np.argsort(samples)
    places = order if order.size <= EACH else order[[0, -1]]
    one = [int(k) for k in places if compared(again(np.delete(samples, k)), region)[0] != word]
    if one:
        several = f"one of {len(one)} of them, whichever," if len(one) > 1 else ""
        left = several or f"that with {number(samples[one[0]], 3)}"
        yield f"The verdict hangs on a single replicate: without {left} it is undecided."


def reasoned(answer: Estimate, level: float, rests: str, place: str, rule: str, doubt: str = "") -> str:
    """Return the number with its interval and what of it lies where, or what it decides nothing for, in a sentence."""
    text = said(answer, level)
    return f"{text} ({rests}). {doubt}" if doubt else f"{text}: {place} {rule} ({rests})."


def said(answer: Estimate, level: float) -> str:
    """Return the number with its interval as the beginning of a sentence."""
    value, interval = rounded(answer.value, answer.low, answer.high)
    text = f"{answer.subject} is {value}" if value else f"{answer.subject} is not a number"
    if value and answer.low != answer.high:
        text += f", {100 * level:.4g} % interval {interval}" if interval else ", without an interval"
    return text


def region_of(within: Region | None, at_most: float | None, at_least: float | None) -> Region:
    """Return the region of a rule, of which exactly one form is given; InputError otherwise."""
    rules = {"within": within, "at_most": at_most, "at_least": at_least}
    given = [name for name, rule in rules.items() if rule is not None]
    if len(given) != 1:
        raise InputError(f"a rule is one of within=(low, high), at_most and at_least; given are {listed(given)}")
    if within is not None:
        low, high = (float(end) for end in within)
        if not low < high:
            raise InputError(f"within is {within}; allowed is (low, high) with low < high")
        return low, high
    return (-math.inf, float(at_most)) if at_most is not None else (float(at_least or 0.0), math.inf)

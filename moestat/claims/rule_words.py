"""The rule of a claim in words: which number is judged, and where it must lie."""

from __future__ import annotations

import inspect

from moestat.claims.estimates import resolve, sides
from moestat.claims.selection import NoAnswerError
from moestat.claims.wording import rule
from moestat.rounding import number
from moestat.study.spec import Claim

KINDS = {
    "slope": "slope of log {variable} against log {over}",
    "slope_difference": "difference of the slopes of log {variable} against log {over}",
    "mean": "mean of {variable}",
    "difference": "mean difference of {variable}, paired by replicate",
    "log_ratio": "mean log ratio of {variable}, paired by replicate",
}


def in_words(claim: Claim) -> str:
    """Return the rule of a claim as a sentence.

    >>> about = {"id": "c", "source": "s", "statement": "t", "variable": "L3", "arm": "relu"}
    >>> in_words(Claim(**about, kind="slope", at_most=-0.4))
    'Supported where the whole 95 % interval of the slope of log L3 against log n, arm relu is at most -0.4.'
    """
    place = rule(claim)
    return f"Supported where the whole {100 * claim.level:.4g} % interval of {_subject(claim)} is {place}."


def _subject(claim: Claim) -> str:
    at = ", ".join(f"{axis} = {number(value)}" for axis, value in claim.at.items())
    if claim.kind == "function":
        options = ", ".join(f"{key} = {value}" for key, value in claim.options.items())
        parts = [f"the result of {claim.function}{_purpose(claim.function)} for {claim.variable}".removesuffix(" for ")]
        parts += [claim.arm and f"arm {claim.arm}", claim.versus and f"against {claim.versus}", at, options]
        return ", ".join(part for part in parts if part)
    text = KINDS[claim.kind].format(variable=claim.variable, over=claim.over)
    if claim.kind in ("slope", "mean"):
        parts = [f"arm {claim.arm}", at]
    else:
        parts = [sides(claim), at if claim.versus_at is None else ""]
    window = f"{claim.over} from {number(claim.window[0])} to {number(claim.window[1])}" if claim.window else ""
    return f"the {', '.join(part for part in (text, *parts, window) if part)}"


def _purpose(function: str) -> str:
    """Return what the first line of a function's docstring says of it, in brackets."""
    try:
        lines = (inspect.getdoc(resolve(function)) or "").split("\n\n")[0].split()
    except NoAnswerError:
        return ""
    return f" ({' '.join(lines).rstrip('.')})".replace("``", "") if lines else ""

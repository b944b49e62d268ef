"""Verdicts and rules in words: which verdicts there are, how they are shown and counted, what a rule says."""

from __future__ import annotations

import ast
import fnmatch
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, get_args

from moestat import own_files
from moestat.claims.selection import versus
from moestat.rounding import number, region
from moestat.study.seal import Written
from moestat.study.spec import Claim, Finding, Scale

if TYPE_CHECKING:
    from moestat.rates import Cases
    from moestat.rates.verdict import Word

VERDICTS: tuple[Word, ...] = ("supported", "no counterexample", "not supported", "refuted", "inconclusive")
AT_SCALE: dict[Scale, str] = {"paper": "", "reduced": " at reduced scale", "stand-in": " on a stand-in"}
WHEN: tuple[Written, ...] = get_args(Written)
"""When a rule may have been written."""

KINDS = {
    "slope": "slope of log {variable} against log {over}",
    "slope_difference": "difference of the slopes of log {variable} against log {over}",
    "mean": "mean of {variable}",
    "difference": "mean difference of {variable}, paired by replicate",
    "log_ratio": "mean log ratio of {variable}, paired by replicate",
}


@dataclass(frozen=True)
class Verdict:
    """A judged claim; its fields are the columns of claims.csv, and ``bend``.

    ``wording`` is the verdict as it is shown, with the scale of the run. ``reason`` is what made it inconclusive, of
    several the first, and ``why`` all of it in words. ``rule`` is a hash of all that it was judged by, and ``sealed``
    says when that was written (empty where no seal is known). ``bend`` says how the lines bend whose slopes were
    judged; ``why`` has it, too.
    """

    claim: str
    source: str
    origin: str
    bearing: str
    scale: Scale
    statement: str
    predicted: str | float
    estimate: float = math.nan
    ci_low: float = math.nan
    ci_high: float = math.nan
    verdict: Word = "inconclusive"
    wording: str = "inconclusive"
    reason: str = "no number"
    why: str = ""
    rule: str = ""
    sealed: Written | Literal[""] = ""
    bend: str = ""

    def row(self) -> dict[str, Any]:
        """Return the verdict as a row of claims.csv."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = tuple(Verdict.__dataclass_fields__)[:-1]


def written(row: Mapping[str, Any]) -> Written:
    """Return when the rule of a judged row of claims.csv was written; where no seal is known, as if before the run."""
    return row.get("sealed") or "sealed"


def in_hindsight(row: Mapping[str, Any]) -> bool:
    """Whether a rule was sealed before the run that it judges, and after related results had been seen."""
    return written(row) == "sealed" and bool(row.get("hindsight"))


def count_written(rows: Iterable[Mapping[str, Any]]) -> dict[Written, int]:
    """Count judged rows by when their rules were written; a claim without a run has no verdict, and is not counted."""
    found = [written(row) for row in rows if row["verdict"] in VERDICTS]
    return {when: found.count(when) for when in WHEN}


def tally(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Count judged rows by their verdicts as they are worded at their scales; what is no verdict is passed over.

    >>> words = [("supported", "paper"), ("not supported", "reduced"), ("refuted", "paper"), ("supported", "paper")]
    >>> tally([{"verdict": word, "scale": scale} for word, scale in words])
    {'supported': 2, 'not shown at reduced scale': 1, 'refuted': 1}
    """
    counts = Counter((row["verdict"], row["scale"]) for row in rows)
    table: Counter[str] = Counter()
    for word, scale in product(VERDICTS, AT_SCALE):
        table[wording(word, scale)] += counts[word, scale]  # inconclusive is worded alike at all scales
    return {shown: count for shown, count in table.items() if count}


def broad(verdict: str) -> str:
    """Return which of the three verdicts a verdict is, with those about every case among them.

    >>> broad("no counterexample"), broad("refuted"), broad("inconclusive")
    ('supported', 'not supported', 'inconclusive')
    """
    return {"no counterexample": "supported", "refuted": "not supported"}.get(verdict, verdict)


def holds(finding: Finding, verdicts: Mapping[str, str]) -> bool:
    """Return whether a finding holds: every claim that it names has its verdict, and there is one for every name.

    >>> finding = Finding(when={"better-*": "not supported"}, text="It is not.")
    >>> holds(finding, {"better-1": "refuted"}), holds(finding, {"better-1": "refuted", "better-2": ""})
    (True, False)
    """
    for pattern, word in finding.when.items():
        found = [verdicts[name] for name in fnmatch.filter(verdicts, pattern)]
        if not found or any(word not in (verdict, broad(verdict)) for verdict in found):
            return False
    return True


def wording(word: Word, scale: Scale, cases: Cases | None = None) -> str:
    """Return a verdict as it is shown: with its scale, and the number of cases of a statement about every case.

    >>> wording("not supported", "reduced"), wording("supported", "paper"), wording("refuted", "paper", Cases(40, 37))
    ('not shown at reduced scale', 'supported', 'refuted by 3 of 40')
    """
    where = AT_SCALE[scale]
    if word == "inconclusive":
        return word
    if cases is not None:
        shown = {"refuted": f"refuted by {cases.count - cases.inside}", "supported": f"shown by {cases.inside}"}
        return f"{shown.get(word, f'{word} in {cases.count}')} of {cases.count}{where}"
    return f"not shown{where}" if word == "not supported" and where else word + where


def against(claim: Claim) -> str:
    """Return what a difference is taken of, as text: ``sigmoid against softmax``."""
    texts = []
    for variable, arm, at in ((claim.variable, claim.arm, claim.at), versus(claim)):
        place = ", ".join(f"{axis} = {number(v)}" for axis, v in at.items()) if claim.versus_at is not None else ""
        name = variable if claim.versus_variable else ""
        arm = arm if claim.versus or not (place or variable) else ""
        texts.append(" at ".join(filter(None, (" of ".join(filter(None, (name, arm))), place))))
    return " against ".join(texts)


def rule(claim: Claim) -> str:
    """Return the rule of a claim in words: ``within [-0.61, -0.41]``, ``at most 0``, ``at least 2``."""
    return "equivalent, " * bool(claim.equivalent) + region(claim.region)


def in_words(claim: Claim) -> str:
    """Return the rule of a claim as a sentence.

    >>> about = {"id": "c", "source": "s", "statement": "t", "variable": "L3", "arm": "relu"}
    >>> in_words(Claim(**about, kind="slope", at_most=-0.4))
    'Supported where the whole 95 % interval of the slope of log L3 against log n, arm relu is at most -0.4.'
    """
    at = ", ".join(f"{axis} = {number(value)}" for axis, value in claim.at.items())
    if claim.kind == "function":
        what = f"result of {claim.function}{_purpose(claim.function)}" + f" for {claim.variable}" * bool(claim.variable)
        options = ", ".join(f"{key} = {value}" for key, value in claim.options.items())
        parts = [claim.arm and f"arm {claim.arm}", claim.versus and f"against {claim.versus}", at, options]
    else:
        what = KINDS[claim.kind].format(variable=claim.variable, over=claim.over)
        alone = claim.kind in ("slope", "mean")
        parts = [f"arm {claim.arm}" if alone else against(claim), at if claim.versus_at is None else ""]
        if claim.window:
            parts.append(f"{claim.over} from {number(claim.window[0])} to {number(claim.window[1])}")
    subject = ", ".join(filter(None, (what, *parts)))
    text = f"Supported where the whole {100 * claim.level:.4g} % interval of the {subject} is {rule(claim)}"
    return text + ", and the line does not bend." * (claim.bent == "inconclusive") or text + "."


def _purpose(function: str) -> str:
    """Return what the first line of a function's docstring says of it, in brackets."""
    module, _, name = function.partition(":")
    try:  # its text is enough: what the module imports takes a second
        nodes = ast.parse(own_files.source(module)).body
    except (SyntaxError, ValueError):
        return ""
    found = [ast.get_docstring(node) for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name]
    lines = (found[-1] or "").split("\n\n")[0].split() if found else []
    return re.sub("(:[a-z]+:)?`+", "", f" ({' '.join(lines).rstrip('.')})") if lines else ""

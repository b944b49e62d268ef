"""Verdicts beside the seal of their run: where a rule was edited later, both verdicts are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from moestat.claims.evidence import Evidence
from moestat.claims.verdicts import VERDICTS, Verdict, judge_claim, judged, rule
from moestat.rounding import number
from moestat.study.seal import PROSE, Seal, code_of, digest_of, settled
from moestat.study.spec import RULES, Claim

ADDED = "The claim was added after the run on {day}."
"""What ``why`` says of a claim that the run did not know: there was no rule that could have been changed."""


Written = Literal["sealed", "edited", "added"]
"""When a rule was written: before its run, whose seal has it; or it, or its code, was edited after the run; or the
claim was added after the run."""
WHEN: tuple[Written, ...] = get_args(Written)
OURS = ("moestat.claims.", "moestat.papers.")
STRANGE = "which is not imported, for the study file does not name it"


def written(row: Mapping[str, Any]) -> Written:
    """Return when the rule of a judged row of claims.csv was written."""
    day = row.get("changed")
    if not day:
        return "sealed"
    return "added" if str(row["why"]).endswith(ADDED.format(day=day)) else "edited"


def count_written(rows: Iterable[Mapping[str, Any]]) -> dict[Written, int]:
    """Count judged rows by when their rules were written; a claim without a run has no verdict, and is not counted."""
    found = [written(row) for row in rows if row["verdict"] in VERDICTS]
    return {when: found.count(when) for when in WHEN}


def judge_sealed(
    evidence: Evidence, seal: Seal | None, before: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[list[Verdict], list[str]]:
    """Judge every claim of a run by its present rule, and say what was changed after the run started.

    Parameters
    ----------
    evidence : Evidence
    seal : Seal or None
        The rules at the start of the run; without one nothing is said about changes.
    before : mapping, optional
        Earlier rows of claims.csv by claim: what is left of a rule whose code was changed. A change of code that
        reaches neither the estimate nor the verdict is none.

    Returns
    -------
    verdicts : list of Verdict
        Where a rule was changed, ``changed`` holds the day of the run, and ``why`` both verdicts.
    notes : list of str
        Claims that were sealed and are gone, with their verdicts.
    """
    now = judged(evidence.study, evidence.preset)
    verdicts = [judge_claim(evidence, claim) for claim in now]
    if seal is None:
        return verdicts, []
    day = seal.date[:10]
    marked = []
    for claim, verdict in zip(now, verdicts, strict=True):
        text = _change(evidence, seal, claim, verdict, (before or {}).get(claim.id))
        marked.append(replace(verdict, why=f"{verdict.why} {text}", changed=day) if text else verdict)
    names = {claim.id for claim in evidence.study.claims}
    dropped = [seal.claim(name) for name in seal.claims if name not in names]
    gone = [claim for claim in dropped if claim is not None]
    gone = [
        claim for claim in gone if claim in judged(evidence.study.model_copy(update={"claims": gone}), evidence.preset)
    ]
    notes = [
        f"The claim {claim.id} was removed after the run on {day}; "
        + (
            f"by its rule ({rule(claim)}) it is: {judge_claim(evidence, claim).wording}."
            if _known(evidence, claim)
            else f"its rule is {claim.function}, {STRANGE}."
        )
        for claim in gone
    ]
    return marked, notes


def _change(evidence: Evidence, seal: Seal, claim: Claim, verdict: Verdict, before: Mapping[str, str] | None) -> str:
    """Say what was changed in the rule of a claim since the seal; an empty text for nothing."""
    day, old = seal.date[:10], seal.claim(claim.id)
    if old is None:
        return ADDED.format(day=day)
    if not _known(evidence, old):
        word = f" The verdict before was: {before['wording']}." if before is not None else ""
        return f"The rule was changed after the run on {day}: it was {old.function}, {STRANGE}.{word}"
    if digest_of(old) != digest_of(settled(evidence.study, evidence.preset, claim)):
        word = judge_claim(evidence, old).wording
        named = _differences(old, settled(evidence.study, evidence.preset, claim))
        return (
            f"The rule was changed after the run on {day}{named}: by the rule before ({rule(old)}) the verdict is: "
            f"{word}."
        )
    sealed, now = seal.claims[claim.id]["code"], code_of(claim)
    if sealed != now:  # also where an older moestat sealed a hash of its own function: the verdict tells
        if before is None and not now:
            return ""
        if before is None:
            return f"The code of the rule was changed after the run on {day}. The verdict before is not known."
        if before["changed"] or not _same(before, verdict):
            return (
                f"The code of the rule was changed after the run on {day}. The verdict before was: {before['wording']}."
            )
    return ""


def _known(evidence: Evidence, old: Claim) -> bool:
    """Whether a sealed rule may be imported: it is one of ours, or the study file names it today."""
    now = {claim.function for claim in evidence.study.claims}
    return old.function in now or not old.function or old.function.startswith(OURS)


def _differences(old: Claim, now: Claim) -> str:
    """Name in brackets what was changed in a rule, old and new; an empty text where its region alone was."""
    before, after = (claim.model_dump(mode="json", exclude=set(PROSE)) for claim in (old, now))
    keys = [key for key in after if before[key] != after[key]]
    if set(keys) <= set(RULES):
        return ""
    texts = []
    for key in (key for key in keys if key not in RULES):
        if isinstance(before[key], dict) and isinstance(after[key], dict):
            for part in before[key] | after[key]:
                one, other = before[key].get(part), after[key].get(part)
                texts += [f"{key} {part}: {_value(one)} -> {_value(other)}"] if one != other else []
        else:
            none = "all sizes" if key == "window" else "none"
            texts.append(f"{key}: {_value(before[key], none)} -> {_value(after[key], none)}")
    if not set(keys).isdisjoint(RULES):
        texts.append(f"{rule(old)} -> {rule(now)}")
    return f" ({'; '.join(texts)})"


def _value(value: Any, none: str = "none") -> str:
    """Return a value of a key of a claim as text."""
    if value in (None, "", {}):
        return none
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_value(part)}" for key, part in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return number(value) if isinstance(value, bool | int | float | str) else str(value)


def _same(before: Mapping[str, str], now: Verdict) -> bool:
    """Whether estimate, interval and verdict are those of an earlier row, to the last bit."""
    try:
        pairs = [(float(before[key] or "nan"), getattr(now, key)) for key in ("estimate", "ci_low", "ci_high")]
    except ValueError:
        return False
    return before["verdict"] == now.verdict and all(a == b or (a != a and b != b) for a, b in pairs)

"""What is wrong with a study file whose form is right: claims that no run can judge, and what a reader objects to.

Faults are refused when the file is loaded: a claim that is mended after the run counts as one whose rule was changed.
Objections (claims that cannot be told apart, looked up, or fail) are looked for by a test over all studies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from moestat.sentences import counted, listed, show
from moestat.study import hub, presets
from moestat.study.patterns import fits
from moestat.study.spec import Claim, Finding, Scalar, Study

KEYS = re.compile(r"(SA|CS|EC|MT|TR|DS)\b")
"""How the place in a paper begins: the key of the paper."""
LEANING = re.compile(
    r"(the same|it|its|those|these|they|their|them|this|likewise|also|and|but|neither|nor|so)\b", re.IGNORECASE
)
"""How a statement begins that cannot be read without its neighbour."""


RULES = ("within", "equivalent", "at_most", "at_least")
"""Keys of a claim of which one states its rule."""
FEWEST_SIZES = 2
"""Sizes without which there is no slope."""

Fault = tuple[str, str]
"""A key of a table, and what is wrong with it, as the rest of a sentence."""


# -- faults: what a file is refused for ---------------------------------------------------------------------------


def faults(study: Study) -> list[str]:
    """Return what no run of a study can use or judge: key, what is wrong, what is allowed.

    Arms and presets that the tables name must exist.
    """
    found = [*_idle_settings(study), *_reversed_windows(study)]
    for index, claim in enumerate(study.claims):
        of_claim: dict[str, str] = {}
        for key, text in _faults_of_claim(study, claim):
            of_claim.setdefault(key, text)  # of several presets the first
        found += [f"claims[{index}].{key} ('{claim.id}') {text}" for key, text in of_claim.items()]
    return found


def _idle_settings(study: Study) -> Iterator[str]:
    """Settings that the grid replaces wherever they could count."""
    grids = {name: study.grid | preset.grid for name, preset in study.presets.items()}
    tables = {"settings": (study.settings, list(grids.values()))}
    tables |= {f"presets.{name}.settings": (study.presets[name].settings, [grid]) for name, grid in grids.items()}
    for table, (settings, there) in tables.items():
        for key, value in settings.items():
            if all(key in grid for grid in there):
                grid = f"the grid replaces it by {key} = {listed(there[0][key])}"
                yield f"{table}.{key} is {show(value)}, which never counts: {grid}; allowed is one of the two"


def _reversed_windows(study: Study) -> Iterator[str]:
    places = {f"presets.{name}.window": preset.window for name, preset in study.presets.items()}
    places |= {f"rates[{i}].window ('{rate.loss}')": rate.window for i, rate in enumerate(study.rates)}
    places |= {f"parameters[{i}].window ('{rate.loss}')": rate.window for i, rate in enumerate(study.parameters)}
    places |= {f"claims[{i}].window ('{claim.id}')": claim.window for i, claim in enumerate(study.claims)}
    for key, window in places.items():
        if window is not None and not window[0] < window[1]:
            yield f"{key} is {show(list(window))}; allowed is [low, high] with low < high"


def _faults_of_claim(study: Study, claim: Claim) -> Iterator[Fault]:
    if decides_nothing(claim):
        rule = next(rule for rule in RULES if getattr(claim, rule) is not None)
        value = getattr(claim, rule)
        allowed = "numbers of which one is finite" if rule == "within" else "finite numbers"
        yield rule, f"is {show(list(value) if rule == 'within' else value)}, which decides nothing; allowed are {allowed}"
    sides = compared(claim)
    if len(sides) == 2 and sides[0] == sides[1]:
        key = next((key for key in ("versus", "versus_variable", "versus_at") if getattr(claim, key)), "versus_at")
        same = f"is {show(getattr(claim, key))}, so that {claim.variable} of the arm {claim.arm!r} is compared with itself"
        yield key, f"{same}; allowed are another versus, versus_at or versus_variable"
    if claim.window is not None and not claim.window[0] < claim.window[1]:  # told above
        return
    able = presets.able(study, claim)
    if not able:
        yield from _nowhere(study, claim)
    for preset in able if claim.kind != "function" else ():
        yield from _open_points(study, preset, claim)
        if claim.kind.startswith("slope"):
            yield from _short_window(study, preset, claim)


def compared(claim: Claim) -> list[tuple[str, str, dict[str, Scalar]]]:
    """Return what a claim compares, or takes, as (variable, arm, coordinates); nothing of a function's."""
    if claim.kind == "function":
        return []
    first = (claim.variable, claim.arm, claim.at)
    if claim.kind in ("slope", "mean"):
        return [first]
    at = claim.at if claim.versus_at is None else claim.versus_at
    return [first, (claim.versus_variable or claim.variable, claim.versus or claim.arm, at)]


def decides_nothing(claim: Claim) -> bool:
    """Return whether the limits of a claim are met by every number, or by none.

    >>> about = {"id": "c", "source": "s", "statement": "t", "kind": "slope", "variable": "L", "arm": "a"}
    >>> decides_nothing(Claim(**about, within=(float("-inf"), float("inf"))))
    True
    >>> decides_nothing(Claim(**about, within=(float("-inf"), -0.4)))
    False
    """
    low, high = claim.region
    return math.isnan(low) or math.isnan(high) or math.isinf(low) and math.isinf(high)


def _nowhere(study: Study, claim: Claim) -> Iterator[Fault]:
    """Say why no preset can judge a claim: a point that is off the grid of all, or arms that none runs."""
    ran = [p for p in study.presets if presets.named(p, claim) and presets.runs_arms(study, p, claim)]
    grids = [study.grid | study.presets[preset].grid for preset in ran]
    off = False
    for key, at in (("at", claim.at), ("versus_at", claim.versus_at or {})):
        for axis, value in at.items():
            if grids and all(axis in grid and value not in grid[axis] for grid in grids):
                values = dict.fromkeys(number for grid in grids for number in grid[axis])
                yield f"{key}.{axis}", f"is {show(value)}, which is not on the grid; allowed are {listed(values)}"
                off = True
    if not off:
        whose = "runs its arms at its points" if ran else "runs its arms"
        yield "presets", f"is {claim.presets}, and no such preset {whose}; the presets are {listed(study.presets)}"


def _points(study: Study, preset: str, arm: str) -> dict[str, list[Scalar]]:
    """Return the values of every axis of the grid at which a preset runs an arm."""
    settings: dict[str, Any] = next((each.settings for each in study.arms if each.name == arm), {})
    points = {}
    for axis, values in (study.grid | study.presets[preset].grid).items():
        own = settings.get(axis, values)
        points[axis] = [value for value in values if value in (own if isinstance(own, list) else [own])]
    return points


def _open_points(study: Study, preset: str, claim: Claim) -> Iterator[Fault]:
    """Coordinates that a claim leaves open, or at which its arm is not run."""
    over = claim.over if claim.kind.startswith("slope") else ""
    for key, (variable, arm, at) in zip(("at", "at" if claim.versus_at is None else "versus_at"), compared(claim)):
        for axis, values in _points(study, preset, arm).items():
            if axis in at and at[axis] not in values:
                where = f"at preset {preset!r} the arm {arm!r} does not run"
                yield f"{key}.{axis}", f"is {show(at[axis])}, at which {where}; allowed are {listed(values)}"
            elif axis not in at and axis != over and len(values) > 1:
                example = f"{key} = {{ {axis} = {show(values[-1])} }}"
                runs = f"at preset {preset!r} {variable} of the arm {arm!r} runs over {axis} = {listed(values)}"
                yield key, f"does not say at which {axis} it is judged, and {runs}; allowed is one of them, as {example}"


def _short_window(study: Study, preset: str, claim: Claim) -> Iterator[Fault]:
    """Fit windows that hold too few sizes of the grid; an axis of the experiment's own is not known before the run."""
    window = hub.window_of(study, preset, claim.variable, claim.over, claim.arm, claim)
    whose = f"presets.{preset}.window" if study.presets[preset].window is not None else "[[rates]]"
    for _, arm, _ in compared(claim):
        sizes = _points(study, preset, arm).get(claim.over)
        if window is None or sizes is None:
            continue
        inside = [n for n in sizes if isinstance(n, int | float) and window[0] <= n <= window[1]]
        if len(inside) < FEWEST_SIZES:
            key, of = ("window", "") if claim.window is not None else ("over", f"{claim.over}, whose window in {whose} ")
            holds = f"which holds {counted(len(inside), 'size')} of the grid at preset {preset!r}"
            allowed = f"allowed are windows of at least {FEWEST_SIZES} of {claim.over} = {listed(sizes)}"
            yield key, f"is {of}{'is ' if of else ''}{show(list(window))}, {holds}; {allowed}"


# -- objections: what a reader would say --------------------------------------------------------------------------


def objections(study: Study) -> list[str]:
    """Return what is to be said against the claims of a study and its findings, as ``claim: sentence``."""
    of_claims = [f"{claim.id}: {text}" for claim in study.claims for text in _of_claim(study, claim)]
    return of_claims + [text for finding in study.findings for text in _of_finding(study, finding)]


def _of_finding(study: Study, finding: Finding) -> list[str]:
    """A finding holds where all claims of its patterns are judged: a claim of another preset would switch it off."""
    bound = [claim for claim in study.claims if fits(claim.id, finding.when)]
    if any(all(presets.judges(study, preset, claim) for claim in bound) for preset in study.presets):
        return []
    told = f"no preset judges all claims of {', '.join(finding.when)}, so that this is never shown"
    return [f"findings: {told}: {finding.text!r}"]


def _of_claim(study: Study, claim: Claim) -> list[str]:
    texts = []
    twins = [c.id for c in study.claims if _plain(c.statement) == _plain(claim.statement) and c.id != claim.id]
    if twins:
        texts.append(f"its statement is also that of {', '.join(twins)}")
    if LEANING.match(claim.statement):
        texts.append(f"its statement leans on a neighbour: {claim.statement!r}")
    if claim.origin != "ours" and not KEYS.match(claim.source):
        texts.append(f"its source names no paper: {claim.source!r}")
    if not presets.able(study, claim):
        texts.append("no preset runs its arms at its points")
    if nothing_happens(claim):
        texts.append("its rule calls a loss that does not fall at all convergence")
    if fails_its_prediction(claim):
        texts.append(f"its rule is failed by the number that it predicts, {claim.predicted}")
    return texts


def _plain(statement: str) -> str:
    return " ".join(statement.lower().split()).rstrip(".")


def nothing_happens(claim: Claim) -> bool:
    """Return whether a claim of convergence is met by a loss that stays where it is.

    A claim of convergence is one about a slope whose prediction is a negative number, with an upper end. Slope 0 in
    the interior of its region means that the rule cannot tell convergence from nothing.

    >>> about = {"id": "c", "source": "s", "statement": "t", "kind": "slope", "variable": "L", "arm": "a"}
    >>> nothing_happens(Claim(**about, predicted=-0.07, within=(-0.17, 0.03)))
    True
    >>> nothing_happens(Claim(**about, predicted=-0.5, within=(-0.6, -0.4)))
    False
    """
    if claim.kind != "slope" or claim.at_least is not None:
        return False
    try:
        converges = float(claim.predicted) < 0
    except ValueError:
        return False
    low, high = claim.region
    return converges and low < 0 < high


def fails_its_prediction(claim: Claim) -> bool:
    """Return whether the number that a claim predicts, which the paper prints, lies outside the region of its rule.

    >>> about = {"id": "c", "source": "s", "statement": "t", "kind": "difference", "variable": "L", "arm": "a"}
    >>> fails_its_prediction(Claim(**about, versus="b", predicted="+0.001", at_most=0.0))
    True
    >>> fails_its_prediction(Claim(**about, versus="b", predicted="< 0", at_most=0.0))
    False
    """
    try:
        number = float(claim.predicted)
    except ValueError:  # in words
        return False
    low, high = claim.region
    return not low <= number <= high

"""Faults of a study file whose form is right: claims that no run can judge, settings that never count.

They are refused when the file is loaded, since a claim that is mended after the run counts as one whose rule was
changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from moestat.sentences import counted, listed, show
from moestat.study import hub, presets, toml_text
from moestat.study.spec import RULES, Claim, Scalar, Study

FEWEST_SIZES = 2
"""Sizes without which there is no slope."""

Fault = tuple[str, str]
"""A key of a table, and what is wrong with it, as the rest of a sentence."""


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
        limits, allowed = getattr(claim, rule), "finite numbers"
        if rule == "within":
            limits, allowed = list(limits), "numbers of which one is finite"
        yield rule, f"is {show(limits)}, which decides nothing; allowed are {allowed}"
    sides = compared(claim)
    if len(sides) == 2 and sides[0] == sides[1]:
        key = next((key for key in ("versus", "versus_variable", "versus_at") if getattr(claim, key)), "versus_at")
        same = f"so that {claim.variable} of the arm {claim.arm!r} is compared with itself"
        allowed = "allowed are another versus, versus_at or versus_variable"
        yield key, f"is {show(getattr(claim, key))}, {same}; {allowed}"
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
    for side, (variable, arm, at) in enumerate(compared(claim)):
        key = "versus_at" if side and claim.versus_at is not None else "at"
        for axis, values in _points(study, preset, arm).items():
            if axis in at and at[axis] not in values:
                where = f"at preset {preset!r} the arm {arm!r} does not run"
                yield f"{key}.{axis}", f"is {show(at[axis])}, at which {where}; allowed are {listed(values)}"
            elif axis not in at and axis != over and len(values) > 1:
                runs = f"{variable} of the arm {arm!r} runs over {axis} = {listed(values)} at preset {preset!r}"
                allowed = f"allowed is one of them, as {key} = {{ {axis} = {toml_text.inline(values[-1])} }}"
                what = f"the slope over {over!r}" if over else f"the {claim.kind}"
                yield key, f"does not say at which {axis} {what} is taken, and {runs}; {allowed}"


def _short_window(study: Study, preset: str, claim: Claim) -> Iterator[Fault]:
    """Fit windows that hold too few sizes of the grid; an axis of the experiment's own is not known before the run."""
    window = hub.window_of(study, preset, claim.variable, claim.over, claim.arm, claim)
    key, of = "window", ""
    if claim.window is None:
        whose = f"presets.{preset}.window" if study.presets[preset].window is not None else "[[rates]]"
        key, of = "over", f"{claim.over!r}, whose window in {whose} is "
    for _, arm, _ in compared(claim):
        sizes = _points(study, preset, arm).get(claim.over)
        if window is None or sizes is None or not window[0] < window[1]:  # which is told already
            continue
        inside = [n for n in sizes if isinstance(n, int | float) and window[0] <= n <= window[1]]
        if len(inside) < FEWEST_SIZES:
            holds = f"which holds {counted(len(inside), 'size')} of the grid at preset {preset!r}"
            allowed = f"allowed are windows of at least {FEWEST_SIZES} of {claim.over} = {listed(sizes)}"
            yield key, f"is {of}{show(list(window))}, {holds}; {allowed}"

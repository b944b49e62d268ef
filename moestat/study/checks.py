"""What no run of a study could use or judge, though its form is right: names that do not exist, points off the grid.

It is refused when the study is read, since a claim that is mended after the run counts as one whose rule was changed.
"""

from __future__ import annotations

import fnmatch
import functools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moestat.experiment import no_truth_value, truth_values
from moestat.sentences import counted, listed, nearest, show
from moestat.study import presets
from moestat.study.builder import LISTS
from moestat.study.problems import Loc, path_text
from moestat.study.spec import OPTIONS, RULES, Claim, Scalar, Study, fits

RESERVED = frozenset({"arm", "arm_label", "replicate", "status", "message", "iterations"})
"""Names of what every run writes, which no axis may have."""
ONE = {table: table.rstrip("s") for table in (*LISTS, "presets")}

Fault = tuple[Loc, str]
"""A place in the tables, and what is wrong with it, as the rest of a sentence."""
Grid = Mapping[str, list[Scalar]]


def faults(study: Study, tables: Any) -> list[Fault]:
    """Return what is wrong with a study of the right form; names and grids first, which the rest takes for granted."""
    found: list[Fault] = [(loc, "holds a NUL character, which no file of results can keep") for loc in _nul(tables)]
    for loc, of in truth_values(tables, study):  # those of settings are checked by their experiment
        found.append((loc, f"is {show(functools.reduce(operator.getitem, loc, tables))}: {no_truth_value(of)}"))
    found = found or [*_twice(study), *_unknown(study), *_options(study), *_axes(study)]
    return found or [*_idle_settings(study), *_never_run(study), *_unjudged(study)]


def words(tables: Mapping[str, Any], loc: Loc) -> str:
    """Name a place as a reader of the study does.

    >>> words({"claims": [{"id": "c"}]}, ("claims", 0, "at", "n"))
    "claim 'c': at.n"
    """
    if len(loc) < 2 or loc[0] not in ONE:
        return path_text(loc) or "the study:"
    name: Any = loc[1]
    if isinstance(name, int):
        item = tables[loc[0]][name]
        given = [item.get(key) for key in ("id", "name", "loss")] if isinstance(item, Mapping) else []
        name = next((str(word)[:40] for word in given if word), name + 1)
    return f"{ONE[str(loc[0])]} {name!r}: {path_text(loc[2:])}".rstrip()


def axis_problems(axis: str, values: list[Any]) -> list[str]:
    """Say what is wrong with one axis of a grid."""
    kinds = {str if isinstance(value, str) else bool if isinstance(value, bool) else float for value in values}
    infinite = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    plain = f"a plain word other than {', '.join(sorted(RESERVED))}"
    found = {
        f"is not allowed as the name of an axis ({plain})": axis in RESERVED or not axis.isidentifier(),
        "is empty; give at least one value": not values,
        f"has a value twice: {show(values)}": len(set(values)) < len(values),
        f"holds {listed(infinite)}; allowed are finite numbers, text, true and false": infinite,
        "holds an integer beyond 64 bits": any(isinstance(value, int) and abs(value) >= 2**63 for value in values),
        f"mixes numbers, text and truth values: {show(values)}": len(kinds) > 1,
    }
    return [text for text, wrong in found.items() if wrong]


def _nul(value: Any, loc: Loc = ()) -> Iterator[Loc]:
    if isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from [(*loc, str(key))] if "\0" in str(key) else _nul(item, (*loc, key))
    elif isinstance(value, str) and "\0" in value:
        yield loc


# -- names ----------------------------------------------------------------------------------------------------------


def _twice(study: Study) -> Iterator[Fault]:
    """Arms, claims and figures that are called as one before them; the files of the first figure are figure.*."""
    for table, key in (("arms", "name"), ("claims", "id"), ("figures", "name")):
        names = [getattr(item, key) for item in getattr(study, table)]
        names[:1] = ["figure"] if table == "figures" and names else names[:1]
        for at, name in enumerate(names):
            if name in names[:at]:
                why = "; the first is always called 'figure'" if name == "figure" else ""
                yield (table, at, key), f"is that of an earlier {ONE[table]}; allowed are different names{why}"


def _unknown(study: Study) -> Iterator[Fault]:
    """Patterns that match no arm, preset or claim."""
    named: list[tuple[Loc, Iterable[str], str]] = [
        (("presets", name, "arms"), preset.arms, "arms") for name, preset in study.presets.items()
    ]
    for table in ("arms", "claims", "figures"):
        named += [((table, i, "presets"), item.presets, "presets") for i, item in enumerate(getattr(study, table))]
    for table in ("rates", "parameters"):
        for i, rate in enumerate(getattr(study, table)):
            named += [((table, i, key), getattr(rate, key), "arms") for key in ("arms", "predicted", "printed")]
    for i, claim in enumerate(study.claims):
        named += [(("claims", i, key), [arm], "arms") for key in ("arm", "versus") if (arm := getattr(claim, key))]
        named += [(("claims", i, key), [id_], "claims") for key in ("check", "control") if (id_ := getattr(claim, key))]
    named += [(("findings", i, "when"), finding.when, "claims") for i, finding in enumerate(study.findings)]
    for i, figure in enumerate(study.figures):
        named += [(("figures", i, "panels", j, "arms"), panel.arms, "arms") for j, panel in enumerate(figure.panels)]
    ids = [claim.id for claim in study.claims]
    known = {"arms": [arm.name for arm in study.arms], "presets": list(study.presets), "claims": ids}
    for loc, patterns, table in named:
        for pattern in patterns:
            if not fnmatch.filter(known[table], pattern):
                told = nearest(pattern, known[table]) or ";"
                told += f" they are {listed(known[table])}"
                yield loc, f"names {pattern!r}, which is no {ONE[table]} of the study{told}"


def _options(study: Study) -> Iterator[Fault]:
    """Options that no figure of the kind reads; what a function takes is its own affair."""
    for i, figure in enumerate(study.figures):
        allowed = sorted(OPTIONS.get(figure.kind, figure.options))
        for key in figure.options:
            if key not in allowed:
                told = f"{nearest(key, allowed) or ';'} allowed are {listed(allowed)}"
                yield ("figures", i, "options", key), f"is no option of kind '{figure.kind}'{told}"


def _axes(study: Study) -> Iterator[Fault]:
    grids: list[tuple[Loc, Grid]] = [(("presets", name, "grid"), preset.grid) for name, preset in study.presets.items()]
    for loc, grid in [(("grid",), study.grid), *grids]:
        for axis, values in grid.items():
            yield from (((*loc, axis), problem) for problem in axis_problems(axis, values))


# -- what counts ----------------------------------------------------------------------------------------------------


def _idle_settings(study: Study) -> Iterator[Fault]:
    """Settings that the grid replaces wherever they could count."""
    grids = {name: study.grid | preset.grid for name, preset in study.presets.items()}
    tables: list[tuple[Loc, Mapping[str, Any], list[Grid]]] = [(("settings",), study.settings, [*grids.values()])]
    tables += [(("presets", name, "settings"), study.presets[name].settings, [grid]) for name, grid in grids.items()]
    for loc, settings, there in tables:
        for key in (key for key in settings if all(key in grid for grid in there)):
            counts = f"the grid replaces it by {key} = {listed(there[0][key])}"
            yield (*loc, key), f"is {show(settings[key])}, which never counts: {counts}; allowed is one of the two"


def _never_run(study: Study) -> Iterator[Fault]:
    """Arms that every preset leaves out."""
    for i, arm in enumerate(study.arms):
        if not any(presets.runs(study, preset, arm) for preset in study.presets):
            of = [
                f"{name}: {listed(preset.arms, 8)}" for name, preset in study.presets.items() if fits(name, arm.presets)
            ]
            told = f"is {arm.presets}, and no such preset runs it; the arms of presets are {'; '.join(of)}"
            yield ("arms", i, "presets"), told


def _unjudged(study: Study) -> Iterator[Fault]:
    for index, claim in enumerate(study.claims):
        told: dict[str, str] = {}
        for key, text in _faults_of_claim(study, claim):
            told.setdefault(key, text)  # of several presets the first
        for key, text in told.items():
            loc: Loc = ("claims", index, *key.split(".", 1))
            yield loc, text


def _faults_of_claim(study: Study, claim: Claim) -> Iterator[tuple[str, str]]:
    if not any(map(math.isfinite, claim.region)):
        rule = next(rule for rule in RULES if getattr(claim, rule) is not None)
        yield rule, f"is {show(getattr(claim, rule))}, which decides nothing; allowed are limits of which one is finite"
    sides = _compared(claim)
    if len(sides) == 2 and sides[0] == sides[1]:
        key = next((key for key in ("versus", "versus_variable", "versus_at") if getattr(claim, key)), "versus_at")
        same = f"so that {claim.variable} of the arm {claim.arm!r} is compared with itself"
        allowed = "allowed are another versus, versus_at or versus_variable"
        yield key, f"is {show(getattr(claim, key))}, {same}; {allowed}"
    if claim.check and any(other.check for other in study.claims if other.id == claim.check):
        yield "check", f"is {claim.check!r}, which has a check of its own; allowed are claims without one"
    able = presets.able(study, claim)
    if not able:
        yield from _nowhere(study, claim)
    for preset in able if claim.kind != "function" else ():
        yield from _open_points(study, preset, claim)
        if claim.kind.startswith("slope"):
            yield from _short_window(study, preset, claim)


def _compared(claim: Claim) -> list[tuple[str, str, dict[str, Scalar]]]:
    """Return what a claim compares, or takes, as (variable, arm, coordinates); nothing of a function's."""
    if claim.kind == "function":
        return []
    first = (claim.variable, claim.arm, claim.at)
    if claim.kind in ("slope", "mean"):
        return [first]
    at = claim.at if claim.versus_at is None else claim.versus_at
    return [first, (claim.versus_variable or claim.variable, claim.versus or claim.arm, at)]


def _nowhere(study: Study, claim: Claim) -> Iterator[tuple[str, str]]:
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
    if not off and ran:
        yield (
            "presets",
            f"is {claim.presets}, and no such preset runs its arms at its points; the presets are {listed(ran)}",
        )
    elif not off:
        of = [f"{name}: {listed(preset.arms)}" for name, preset in study.presets.items() if presets.named(name, claim)]
        told = "; ".join(of) or listed(study.presets)
        yield "presets", f"is {claim.presets}, and no such preset runs its arms; the arms of presets are {told}"


def _points(study: Study, preset: str, arm: str) -> dict[str, list[Scalar]]:
    """Return the values of every axis of the grid at which a preset runs an arm."""
    settings: dict[str, Any] = next((each.settings for each in study.arms if each.name == arm), {})
    points = {}
    for axis, values in (study.grid | study.presets[preset].grid).items():
        own = settings.get(axis, values)
        points[axis] = [value for value in values if value in (own if isinstance(own, list) else [own])]
    return points


def _open_points(study: Study, preset: str, claim: Claim) -> Iterator[tuple[str, str]]:
    """Coordinates that a claim leaves open, or at which its arm is not run."""
    over = claim.over if claim.kind.startswith("slope") else ""
    for side, (variable, arm, at) in enumerate(_compared(claim)):
        key = "versus_at" if side and claim.versus_at is not None else "at"
        for axis, values in _points(study, preset, arm).items():
            if axis in at and at[axis] not in values:
                where = f"at preset {preset!r} the arm {arm!r} does not run"
                yield f"{key}.{axis}", f"is {show(at[axis])}, at which {where}; allowed are {listed(values)}"
            elif axis not in at and axis != over and len(values) > 1:
                runs = f"{variable} of the arm {arm!r} runs over {axis} = {listed(values)} at preset {preset!r}"
                what = f"the slope over {over!r}" if over else f"the {claim.kind}"
                allowed = f"allowed is one of them, as {key}={{{axis!r}: {values[-1]!r}}}"
                yield key, f"does not say at which {axis} {what} is taken, and {runs}; {allowed}"


def _short_window(study: Study, preset: str, claim: Claim) -> Iterator[tuple[str, str]]:
    """Fit windows that hold too few sizes of the grid; an axis of the experiment's own is not known before the run."""
    window, key, of = claim.window, "window", ""
    if window is None:
        whose = f"the preset {preset!r}" if study.presets[preset].window is not None else "its rate"
        key, of = "over", f"{claim.over!r}, whose window in {whose} is "
        rate = presets.rate_of(study, claim.variable, claim.over, claim.arm)
        window = presets.window_of(study, preset, rate)
    for _, arm, _ in _compared(claim):
        sizes = _points(study, preset, arm).get(claim.over)
        if window is None or sizes is None:
            continue
        inside = [n for n in sizes if isinstance(n, int | float) and window[0] <= n <= window[1]]
        if len(inside) < 2:  # there is no slope
            holds = f"which holds {counted(len(inside), 'size')} of the grid at preset {preset!r}"
            allowed = f"allowed are windows of at least 2 of {claim.over} = {listed(sizes)}"
            yield key, f"is {of}{show(list(window))}, {holds}; {allowed}"

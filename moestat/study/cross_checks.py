"""What one table of a study file says about another: names, axes and presets that do not exist or exist twice."""

from __future__ import annotations

import fnmatch
import math
from typing import Any

from moestat.sentences import listed, nearest, show
from moestat.study import faults
from moestat.study.patterns import fits
from moestat.study.spec import Study

RESERVED = frozenset({"arm", "arm_label", "replicate", "status", "message", "iterations"})
"""Names of what every run writes, which no axis may have."""


def _names_twice(study: Study) -> list[str]:
    """Say which arms, claims and figures are called as one before them; the first figure's files are figure.*."""
    complaints = []
    figures = ["figure", *(figure.name for figure in study.figures[1:])] if study.figures else []
    for what, key, names in (
        ("arm", "name", [arm.name for arm in study.arms]),
        ("claim", "id", [claim.id for claim in study.claims]),
        ("figure", "name", figures),
    ):
        for at, name in enumerate(names):
            if (first := names.index(name)) < at:
                called = "is called" if what != "figure" or first else "is always called, whatever its name"
                told = f"is {name!r}, as {what}s[{first}] {called}; {what} names must be different"
                complaints.append(f"{what}s[{at}].{key} {told}")
    return complaints


def problems(study: Study) -> list[str]:
    """What one table says about another: arms, axes and presets that do not exist, and what no run could judge."""
    arms = [arm.name for arm in study.arms]
    presets = list(study.presets)
    complaints = _names_twice(study)

    def matches(key: str, patterns: list[str], names: list[str], what: str) -> None:
        for pattern in patterns:
            if not fnmatch.filter(names, pattern):
                hint = nearest(pattern, names) or ";"
                complaints.append(
                    f"{key} names {pattern!r}, which is no {what} of the study{hint} they are {listed(names)}"
                )

    for name, preset in study.presets.items():
        matches(f"presets.{name}.arms", preset.arms, arms, "arm")
    for index, arm in enumerate(study.arms):
        matches(f"arms[{index}].presets ('{arm.name}')", arm.presets, presets, "preset")
    for index, rate in enumerate(study.rates):
        for key in ("arms", "predicted", "printed"):
            matches(f"rates[{index}].{key} ('{rate.loss}')", list(getattr(rate, key)), arms, "arm")
    complaints += _windows(study)
    for index, claim in enumerate(study.claims):
        for key in ("arm", "versus"):
            value = getattr(claim, key)
            if value and value not in arms:
                matches(f"claims[{index}].{key} ('{claim.id}')", [value], arms, "arm")
        matches(f"claims[{index}].presets ('{claim.id}')", claim.presets, presets, "preset")
    for index, finding in enumerate(study.findings):
        matches(f"findings[{index}].when", list(finding.when), [claim.id for claim in study.claims], "claim")
    for index, figure in enumerate(study.figures):
        matches(f"figures[{index}].presets ('{figure.name}')", figure.presets, presets, "preset")
        for place, panel in enumerate(figure.panels):
            matches(f"figures[{index}].panels[{place}].arms ('{figure.name}')", panel.arms, arms, "arm")
    for table, grid in [("grid", study.grid)] + [(f"presets.{k}.grid", p.grid) for k, p in study.presets.items()]:
        complaints.extend(
            f"{table}.{axis} {problem}" for axis, values in grid.items() for problem in axis_problems(axis, values)
        )
    return complaints or faults.faults(study)  # which takes names and grids for granted


def _windows(study: Study) -> list[str]:
    """Say which series have a fit window twice, and not the same one."""
    windows: dict[tuple[str, str, str], Any] = {}
    complaints = []
    for rate in [*study.rates, *study.parameters]:
        for arm in study.arms:
            if fits(arm.name, rate.arms):
                before = windows.setdefault((rate.loss, rate.over, arm.name), rate.window)
                if before != rate.window:
                    complaints.append(
                        f"rates: {rate.loss!r} over {rate.over} of the arm {arm.name!r} has two fit windows, "
                        f"{before or 'all sizes'} and {rate.window or 'all sizes'}; allowed is one"
                    )
    return complaints


def axis_problems(axis: str, values: list[Any]) -> list[str]:
    """Say what is wrong with one axis of a grid."""
    complaints = []
    if axis in RESERVED or not axis.isidentifier():
        complaints.append(
            f"is not allowed as the name of an axis (a plain word other than {', '.join(sorted(RESERVED))})"
        )
    if not values:
        complaints.append("is empty; give at least one value")
    if len(set(values)) < len(values):
        complaints.append(f"has a value twice: {show(values)}")
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            complaints.append(f"holds {value}; allowed are finite numbers, text, true and false")
        if isinstance(value, int) and abs(value) >= 2**63:
            complaints.append("holds an integer beyond 64 bits")
    kinds = {str if isinstance(value, str) else bool if isinstance(value, bool) else float for value in values}
    if len(kinds) > 1:
        complaints.append(f"mixes numbers, text and truth values: {show(values)}")
    return complaints

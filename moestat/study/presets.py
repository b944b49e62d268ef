"""Which preset decides a claim: the sizes of a study, ordered by how much their runs say.

A run at the scale of the paper says more than a reduced one, and that more than a stand-in. Among presets of one scale
the declared ``rank`` counts: *quick* is a look (0), all others decide (1), unless the study says otherwise. Of
presets that decide alike the first is the cheapest, since presets are written from the cheapest to the
dearest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from moestat.study.patterns import fits
from moestat.study.spec import Arm, Claim, Scale, Study

SCALES: tuple[Scale, ...] = get_args(Scale)


def judges(study: Study, preset: str, claim: Claim) -> bool:
    """Return whether a preset judges a claim and runs its arms, at its points of the grid."""
    if not (named(preset, claim) and runs_arms(study, preset, claim)):
        return False
    grid = study.grid | study.presets[preset].grid
    points = [(axis, value) for at in (claim.at, claim.versus_at or {}) for axis, value in at.items()]
    return all(axis not in grid or value in grid[axis] for axis, value in points)


def figure_file(study: Study, preset: str, figure: str) -> str:
    """Return the name of a figure's files at a preset: of the first figure that it has, and of no name, ``figure``."""
    first = next((one.name for one in study.figures if fits(preset, one.presets)), "")
    return "figure" if figure in ("", first) else figure


def named(preset: str, claim: Claim) -> bool:
    """Return whether a claim is declared for a preset."""
    return fits(preset, claim.presets)


def runs_arms(study: Study, preset: str, claim: Claim) -> bool:
    """Return whether a preset leaves none of the arms out that a claim names."""
    if preset not in study.presets:
        return True
    needed = {arm for arm in (claim.arm, claim.versus) if arm and "*" not in arm}
    return all(fits(arm, study.presets[preset].arms) for arm in needed) and all(
        fits(preset, arm.presets) for arm in study.arms if arm.name in needed
    )


def runs(study: Study, preset: str, arm: Arm) -> bool:
    """Return whether a preset runs an arm: it leaves it in, and the arm is not for others alone."""
    return fits(arm.name, study.presets[preset].arms) and fits(preset, arm.presets)


def able(study: Study, claim: Claim) -> list[str]:
    """Return the presets that can judge a claim, in their order."""
    return [name for name in study.presets if judges(study, name, claim)]


def decisive(study: Study, claim: Claim) -> str:
    """Return the cheapest preset that decides a claim; empty where none can judge it."""
    return min(able(study, claim), key=lambda name: _says(study, claim, name), default="")


def strongest_first(study: Study, claim: Claim, presets: Iterable[str]) -> list[str]:
    """Order presets that were run: the one that says most about a claim first, the dearest of those that say alike."""
    place = {name: i for i, name in enumerate(study.presets)}
    return sorted(presets, key=lambda name: (*_says(study, claim, name), -place.get(name, -1)))


def _says(study: Study, claim: Claim, preset: str) -> tuple[int, int]:
    return SCALES.index(study.scale_of(preset, claim)), -study.rank_of(preset)

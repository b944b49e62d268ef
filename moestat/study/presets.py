"""What a study says at a preset: who judges a claim and which preset decides it; window and exponents of a series.

A run at the scale of the paper says more than a reduced one, and that more than a stand-in. Among presets of one scale
the declared ``rank`` counts: *quick* is a look (0), all others decide (1), unless the study says otherwise. Of
presets that decide alike the first is the cheapest, since presets are written from the cheapest to the dearest; but
one that runs a part of another's replicates and grid never takes its place. What is said of a series, a loss of one
arm over one axis, stands once, in its rate (or that of a block of parameters): claims, tables and figures read it here.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple, get_args

from moestat.study.spec import Arm, Claim, Rate, Scale, Study, fits

SCALES: tuple[Scale, ...] = get_args(Scale)
Window = tuple[float, float] | None
"""Which sizes are fitted; None for all."""


def named(preset: str, claim: Claim) -> bool:
    """Return whether a claim is declared for a preset."""
    return fits(preset, claim.presets)


def runs(study: Study, preset: str, arm: Arm) -> bool:
    """Return whether a preset runs an arm: it leaves it in, and the arm is not for others alone."""
    return fits(arm.name, study.presets[preset].arms) and fits(preset, arm.presets)


def runs_arms(study: Study, preset: str, claim: Claim) -> bool:
    """Return whether a preset leaves none of the arms out that a claim names."""
    needed = [arm for arm in study.arms if arm.name in (claim.arm, claim.versus)]
    return preset not in study.presets or all(runs(study, preset, arm) for arm in needed)


def judges(study: Study, preset: str, claim: Claim) -> bool:
    """Return whether a preset judges a claim and runs its arms, at its points of the grid."""
    if not (named(preset, claim) and runs_arms(study, preset, claim)):
        return False
    grid = study.grid | study.presets[preset].grid
    points = [*claim.at.items(), *(claim.versus_at or {}).items()]
    return all(axis not in grid or value in grid[axis] for axis, value in points)


def able(study: Study, claim: Claim) -> list[str]:
    """Return the presets that can judge a claim, in their order."""
    return [name for name in study.presets if judges(study, name, claim)]


def decisive(study: Study, claim: Claim) -> str:
    """Return the cheapest preset that decides a claim; empty where none can judge it."""
    return min(able(study, claim), key=lambda name: _says(study, claim, name), default="")


def strongest_first(study: Study, claim: Claim, presets: Iterable[str]) -> list[str]:
    """Order presets that were run: the one that says most about a claim first, the dearest of those that say alike.

    One that runs a part of another's replicates and grid comes after it.
    """
    place = {name: i for i, name in enumerate(study.presets)}
    says = {name: _says(study, claim, name) for name in presets}

    def order(name: str) -> tuple[object, ...]:
        part = any(says[other] == says[name] and _is_part(study, name, other) for other in says)
        return *says[name], part, -place.get(name, -1)

    return sorted(says, key=order)


def _says(study: Study, claim: Claim, preset: str) -> tuple[int, int]:
    return SCALES.index(study.scale_of(preset, claim)), -study.rank_of(preset)


def _is_part(study: Study, preset: str, of: str) -> bool:
    """Return whether a preset runs the problem of another, with fewer replicates or on a smaller grid."""
    if not {preset, of} <= study.presets.keys():
        return False
    part, whole = study.presets[preset], study.presets[of]
    points, among = (set(itertools.product(*(study.grid | one.grid).values())) for one in (part, whole))
    within = part.replicates <= whole.replicates and points <= among
    return within and (part.replicates, points) != (whole.replicates, among) and part.settings == whole.settings


def figure_file(study: Study, preset: str, figure: str) -> str:
    """Return the name of a figure's files at a preset: of the first figure that it has, and of no name, ``figure``."""
    first = next((one.name for one in study.figures if fits(preset, one.presets)), "")
    return "figure" if figure in ("", first) else figure


class SeriesFacts(NamedTuple):
    """What a study says about a series; see :class:`moestat.study.spec.Rate`. Exponents are those of the arm."""

    window: Window
    bound: float | None
    predicted: float | None
    printed: float | None
    reference: str
    start: str


def rate_of(study: Study, loss: str, over: str, arm: str) -> Rate | None:
    """Return the first rate that a series belongs to, those of the parameters last."""
    rates = [rate for rate in [*study.rates, *study.parameters] if (rate.loss, rate.over) == (loss, over)]
    return next((rate for rate in rates if fits(arm, rate.arms)), None)


def window_of(study: Study, preset: str, rate: Rate | None) -> Window:
    """Return the fit window of a rate at a preset: the preset's own, or that of the rate."""
    replaced = study.presets[preset].window if preset in study.presets else None
    return replaced or (rate.window if rate is not None else None)


def facts(study: Study, preset: str, loss: str, over: str, arm: str) -> SeriesFacts:
    """Return what a study says about a series at a preset."""
    rate = rate_of(study, loss, over, arm) or Rate.model_validate({"loss": loss, "over": over})
    return facts_of(study, preset, rate, arm)


def facts_of(study: Study, preset: str, rate: Rate, arm: str) -> SeriesFacts:
    """Return what a rate says about an arm at a preset."""

    def of_arm(exponents: Mapping[str, float]) -> float | None:
        return next((value for pattern, value in exponents.items() if fnmatch.fnmatchcase(arm, pattern)), None)

    exponents = rate.bound, of_arm(rate.predicted), of_arm(rate.printed)
    return SeriesFacts(window_of(study, preset, rate), *exponents, rate.reference, rate.start)

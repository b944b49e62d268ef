"""What a study says about one series, a loss of one arm over one axis: window, reference, start, slopes.

Its rate (or that of a block of parameters) is where it stands, once: claims, tables and figures read it here.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass

from moestat.study.patterns import fits
from moestat.study.spec import Claim, Rate, Study

Window = tuple[float, float] | None


@dataclass(frozen=True)
class SeriesFacts:
    """What a study says about a series; see :class:`moestat.study.spec.Rate`.

    ``window`` is None for all sizes; ``predicted`` and ``printed`` are those of the arm.
    """

    window: Window
    bound: float | None
    predicted: float | None
    printed: float | None
    reference: str
    start: str

    @property
    def expected(self) -> float | None:
        """The exponent of the theory for this arm."""
        return self.bound if self.predicted is None else self.predicted


def rate_of(study: Study, loss: str, over: str, arm: str) -> Rate | None:
    """Return the first rate that a series belongs to, those of the parameters last."""
    for rate in [*study.rates, *study.parameters]:
        if (rate.loss, rate.over) == (loss, over) and fits(arm, rate.arms):
            return rate
    return None


def window_of(study: Study, preset: str, loss: str, over: str, arm: str, claim: Claim | None = None) -> Window:
    """Return the fit window of a series: a claim's own, else the preset's, else that of its rate."""
    if claim is not None and claim.window is not None:
        return claim.window
    replaced, rate = study.presets[preset].window if preset in study.presets else None, rate_of(study, loss, over, arm)
    return rate.window if rate is not None and replaced is None else replaced


def facts(study: Study, preset: str, loss: str, over: str, arm: str) -> SeriesFacts:
    """Return what a study says about a series at a preset."""
    return facts_of(
        study, preset, rate_of(study, loss, over, arm) or Rate.model_validate({"loss": loss, "over": over}), arm
    )


def facts_of(study: Study, preset: str, rate: Rate, arm: str) -> SeriesFacts:
    """Return what a rate says about an arm at a preset."""
    replaced = study.presets[preset].window if preset in study.presets else None
    return SeriesFacts(
        window=rate.window if replaced is None else replaced,
        bound=rate.bound,
        predicted=_of_arm(rate.predicted, arm),
        printed=_of_arm(rate.printed, arm),
        reference=rate.reference,
        start=rate.start,
    )


def _of_arm(exponents: Mapping[str, float], arm: str) -> float | None:
    return next((value for pattern, value in exponents.items() if fnmatch.fnmatchcase(arm, pattern)), None)

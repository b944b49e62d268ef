"""What a study says about one series, a loss of one arm over one axis: window, reference, start, printed slope.

``[[rates]]`` is where it stands. Where a rate leaves a reference, a start or a printed slope out, the panel or the
claim that names it fills in, so that verdict, table and figure never disagree.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from moestat.study.spec import Claim, Panel, Rate, Study

Window = tuple[float, float] | None


@dataclass(frozen=True)
class SeriesFacts:
    """What a study says about a series.

    Attributes
    ----------
    window : (low, high) or None
        Fit window at a preset; all sizes when None.
    bound : float or None
        The exponent that the theory predicts.
    printed : float or None
        The slope that the paper prints for the arm.
    claimed : float or None
        The number that a claim about the slope predicts.
    reference, start : str
        Names of the variables that belong beside the loss; they need not be in the results.
    """

    window: Window
    bound: float | None
    printed: float | None
    claimed: float | None
    reference: str
    start: str


def rate_of(study: Study, loss: str, over: str, arm: str) -> Rate | None:
    """Return the first rate that a series belongs to."""
    for rate in study.rates:
        if (rate.loss, rate.over) == (loss, over) and any(fnmatch.fnmatchcase(arm, p) for p in rate.arms):
            return rate
    return None


def window_of(study: Study, preset: str, loss: str, over: str, arm: str, claim: Claim | None = None) -> Window:
    """Return the fit window of a series: a claim's own, else the preset's, else that of its rate."""
    if claim is not None and claim.window is not None:
        return claim.window
    if preset in study.presets and study.presets[preset].window is not None:
        return study.presets[preset].window
    rate = rate_of(study, loss, over, arm)
    return None if rate is None else rate.window


def facts(study: Study, preset: str, loss: str, over: str, arm: str) -> SeriesFacts:
    """Return what a study says about a series at a preset."""
    rate = rate_of(study, loss, over, arm)
    panels = [
        panel for figure in study.figures if figure.kind == "rates" for panel in figure.panels if panel.variable == loss
    ]
    beside = [panel for figure in study.figures for panel in figure.panels if panel.variable == loss]
    return SeriesFacts(
        window=window_of(study, preset, loss, over, arm),
        bound=None if rate is None else rate.bound,
        printed=_printed(rate, panels, arm),
        claimed=_claimed(study, preset, loss, over, arm),
        reference=_companion(rate, beside, "reference") or f"fisher_{loss}",
        start=_companion(rate, beside, "start") or f"start_{loss}",
    )


def _printed(rate: Rate | None, panels: list[Panel], arm: str) -> float | None:
    if rate is not None and arm in rate.printed:
        return rate.printed[arm]
    return next((panel.predicted[arm] for panel in panels if arm in panel.predicted), None)


def _companion(rate: Rate | None, panels: list[Panel], role: str) -> str:
    named = [getattr(rate, role)] if rate is not None else []
    # the last panel that names one counts, as a later panel is drawn for its companion
    named += [getattr(panel, role) for panel in reversed(panels)]
    return next((name for name in named if name), "")


def _claimed(study: Study, preset: str, loss: str, over: str, arm: str) -> float | None:
    for claim in study.claims:
        judged = any(fnmatch.fnmatchcase(preset, pattern) for pattern in claim.presets)
        if judged and (claim.kind, claim.variable, claim.over, claim.arm) == ("slope", loss, over, arm):
            try:
                return float(claim.predicted)
            except ValueError:  # the prediction is a text
                continue
    return None

"""What a study says about one series, a loss of one arm over one axis: window, reference, start, slopes.

``[[rates]]`` (and ``[[parameters]]``, rates of blocks) is where it stands, once: claims, tables and figures read it
here.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass

from moestat.errors import InputError
from moestat.sentences import listed, nearest
from moestat.study.patterns import fits
from moestat.study.spec import Claim, Rate, Study

Window = tuple[float, float] | None
PLACE = "{predicted}"
"""Stands in the statement of a claim for the number that its rate predicts."""


@dataclass(frozen=True)
class SeriesFacts:
    """What a study says about a series.

    Attributes
    ----------
    window : (low, high) or None
        Fit window at a preset; all sizes when None.
    bound : float or None
        The exponent that the theory predicts, whatever the arm.
    predicted : float or None
        The exponent that is expected of this arm, where arms differ in it.
    printed : float or None
        The slope that the paper prints for the arm.
    reference, start : str
        Variables that are drawn beside the loss; empty for none.
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


def predictions(study: Study) -> Study:
    """Give claims about slopes that state no prediction the one of their rate: the printed one or the theory's.

    Raises
    ------
    InputError
        If a claim that is printed, or whose statement places the number, has none.
    """
    claims = [_predicted(study, index, claim) for index, claim in enumerate(study.claims)]
    return study.model_copy(update={"claims": claims})


def _predicted(study: Study, index: int, claim: Claim) -> Claim:
    if claim.kind != "slope" or claim.predicted != "":
        return claim
    series = facts(study, "", claim.variable, claim.over, claim.arm)
    exponent = series.printed if claim.printed else series.expected
    if exponent is None:
        if claim.printed or PLACE in claim.statement:
            kind = "printed" if claim.printed else "predicted"
            losses = list(dict.fromkeys(rate.loss for rate in [*study.rates, *study.parameters]))
            hint = "" if claim.variable in losses else nearest(claim.variable, losses)
            raise InputError(
                f"claims[{index}].variable ('{claim.id}') is {claim.variable!r}, of which no [[rates]] states a {kind} "
                f"slope over {claim.over} for the arm {claim.arm!r}{hint or ';'} there are [[rates]] of "
                f"{listed(losses)}; allowed is also `predicted` in the claim"
            )
        return claim
    statement = claim.statement.replace(PLACE, f"{exponent:g}")
    return claim.model_copy(update={"predicted": exponent, "statement": statement})


def _of_arm(exponents: Mapping[str, float], arm: str) -> float | None:
    return next((value for pattern, value in exponents.items() if fnmatch.fnmatchcase(arm, pattern)), None)

"""Panels that show one point of the results each: where a panel stands, and what is said of that point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, is_at
from moestat.report.exponents import minus
from moestat.study.spec import Figure, Panel

LAST = "last"
"""Stands for the last value of an axis of numbers."""


def point(ds: xr.Dataset, figure: Figure, panel: Panel) -> dict[str, Any] | None:
    """Return the coordinates at which a panel is taken: the figure's, then its own.

    Of several values the first one that was run counts. None: no such point was run, and the panel is left out.
    """
    chosen: dict[str, Any] = {}
    for axis, wanted in (figure.options.get("at", {}) | panel.at).items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if axis in ds.coords and axis in ds.dims:
            labels = ds[axis]
            values = [labels.values.tolist()[-1] if v == LAST and labels.dtype.kind in "iuf" else v for v in values]
            values = [v for v in values if bool(np.any(is_at(labels, v)))]
        if not values:
            return None
        chosen[axis] = values[0]
    return chosen


def note(evidence: Evidence, panel: Panel, arm: str, at: Mapping[str, Any]) -> str:
    """Return the note of a panel, with the means of variables at its point in their places.

    Raises
    ------
    NoAnswerError
        If it places a variable that the results do not hold, or in a way that no number is written.
    """
    try:
        return minus(panel.note.format_map(_Here(evidence, arm, at)))
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        if isinstance(error, NoAnswerError):
            raise
        raise NoAnswerError(f"The note {panel.note!r} cannot be filled: {error}.") from None


class _Here(dict[str, Any]):
    """What the names in a note mean: coordinates of the panel's point, and means of variables there."""

    def __init__(self, evidence: Evidence, arm: str, at: Mapping[str, Any]) -> None:
        super().__init__(at)
        self.evidence, self.arm = evidence, arm

    def __missing__(self, name: str) -> float:
        array = self.evidence.samples(name, self.arm)
        own = {axis: value for axis, value in self.items() if axis in array.dims}
        return float(self.evidence.samples(name, self.arm, own).mean())

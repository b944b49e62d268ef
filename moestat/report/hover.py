"""Which lines of a figure are whose, and the values at their points: what a page needs to show and to switch them.

A line has an id in the SVG, ``series-<number>-<place>``; :mod:`moestat.report.svg` turns it into values that a browser
shows over the points, and into the switches of the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moestat.rounding import number

MARK = "series-"


@dataclass
class Known:
    """What is known of the lines of a panel.

    Attributes
    ----------
    names : dict
        Number of a line, the same in all panels, -> its name.
    points : dict
        Id of a line in the SVG -> what is said at each of its points.
    """

    names: dict[int, str] = field(default_factory=dict)
    points: dict[str, list[str]] = field(default_factory=dict)

    def mark(self, index: int, name: str, artists: Sequence[Artist], at: Sequence[str] = ()) -> None:
        """Say that artists belong to the line with a number; ``at``: what to say at each of its points."""
        self.names[index] = name
        for artist in artists:
            axes = artist.axes
            assert isinstance(axes, Axes) and isinstance(axes.figure, Figure)
            place = f"{axes.figure.axes.index(axes)}-{axes.get_children().index(artist)}"
            artist.set_gid(f"{MARK}{index}-{place}")
            if at:
                self.points[f"{MARK}{index}-{place}"] = list(at)


def points(axis: str, x: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[str]:
    """Return what is said at each point: ``n = 1000: 0.12 [0.1, 0.15]``."""
    out = []
    for place, value, below, above in zip(x.tolist(), mean, low, high, strict=True):
        interval = f" [{below:.3g}, {above:.3g}]" if np.isfinite(below) and below < above else ""
        out.append(f"{axis} = {place if isinstance(place, str) else number(place)}: {value:.3g}{interval}")
    return out

"""What stands beside the lines of a panel: laws, places and levels with names, and standard deviations over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from moestat.report import style
from moestat.report.exponents import mathtext
from moestat.rounding import number

DECADES = 3
"""A power is drawn over so many decades at the end of a line, and crosses their middle above it."""
ABOVE = 2.0
"""A power stands higher than its line by this factor, so that both are seen."""


def draw(axes: Axes, laws: Sequence[float | str], x: np.ndarray, y: np.ndarray) -> None:
    """Draw laws beside a line; the axes stay as they are.

    Parameters
    ----------
    axes : Axes
    laws : sequence of float or "geometric"
        Exponents, and the geometric decay that has the values of the line at a hundredth and a tenth of its last place.
    x, y : (n,) arrays
        The line; where one of them is not positive it has no place on logarithmic axes.
    """
    known = np.isfinite(y) & (y > 0) & (x > 0) if x.dtype.kind == "f" else np.zeros(len(x), dtype=bool)
    if known.sum() < 3:
        return
    x, y, (low, high) = np.log(x[known]), np.log(y[known]), axes.get_ylim()
    for law in laws:
        t = np.linspace(max(x[0], x[-1] - DECADES * np.log(10)), x[-1], 200)
        if law == "geometric":
            late = x[-1] - np.log(10)
            early = late - np.log(10)
            if early < x[0]:
                continue
            known_at = np.interp([early, late], x, y)
            rate = (known_at[0] - known_at[1]) / (np.exp(late) - np.exp(early))
            if rate <= 0:
                continue  # nothing decays
            log_of, name = known_at[1] - rate * (np.exp(t) - np.exp(late)), "geometric"
        else:
            middle = (t[0] + t[-1]) / 2
            log_of = np.log(ABOVE) + np.interp(middle, x, y) + float(law) * (t - middle)
            name = f"slope {number(float(law))}".replace("-", "−")
        inside = (log_of >= np.log(max(low, 1e-300))) & (log_of <= np.log(high))
        if inside.sum() < 2:
            continue
        places, values = np.exp(t[inside]), np.exp(log_of[inside])
        colour = style.REFERENCE
        axes.plot(places, values, "--", color=colour, linewidth=0.9, zorder=1.5, scalex=False, scaley=False)
        # names stand at the ends, where laws part; one that leaves the panel above has its name there, over the data
        cut = log_of.max() > np.log(high)
        at, side = (int(np.argmax(values)), "left") if cut else (int(np.argmin(values)), "right")
        above = not cut and axes.transLimits.transform(axes.transScale.transform((places[at], values[at])))[1] < 0.1
        axes.text(
            *(places[at], values[at], f" {name} "), fontsize=6, color=colour, ha=side, va="bottom" if above else "top"
        )


def named(axes: Axes, marks: Mapping[str, float], levels: Mapping[str, float]) -> None:
    """Draw dotted lines with their names: ``marks`` across places of the horizontal axis, ``levels`` along heights.

    A level widens the vertical axis to be seen; a mark beyond the ends of the horizontal axis is left out.
    """
    look: dict[str, Any] = {"color": style.REFERENCE, "linestyle": ":", "linewidth": 1.0, "zorder": 1.5}
    words: dict[str, Any] = {"fontsize": 6, "color": style.REFERENCE}
    for name, height in levels.items():
        axes.axhline(height, **look)
        across = axes.get_yaxis_transform()
        axes.text(1.0, height, mathtext(name), transform=across, ha="right", va="bottom", **words)
    low, high = sorted(axes.get_xlim())
    inside = dict(sorted(((n, m) for n, m in marks.items() if low < m < high), key=lambda mark: mark[1]))
    for place in inside.values():
        axes.axvline(place, **look)
    if inside:  # above the panel, where no data are
        above = axes.secondary_xaxis("top")
        above.set_xticks(list(inside.values()), [mathtext(name) for name in inside], **words)
        above.minorticks_off()
        above.tick_params(length=0, pad=1)
        above.spines["top"].set_visible(False)
        labels = above.get_xticklabels()
        for label in labels:
            label.set_horizontalalignment("left" if label is labels[-1] else "right")


def deviations(
    axes: Axes, array: xr.DataArray, x: str, at: np.ndarray, bounds: tuple[float, float], colour: str
) -> None:
    """Draw one standard deviation over replicates to both sides of every mean, thinly, at the places ``at``."""
    ordered = array.sortby(x) if x in array.coords and array[x].dtype.kind in "iuf" else array
    rows = [row[np.isfinite(row)] for row in ordered.transpose(x, "replicate").values]
    mean = np.array([row.mean() if row.size else np.nan for row in rows])
    deviation = np.array([row.std(ddof=1) if row.size > 1 else 0.0 for row in rows])
    ends = np.clip(mean - deviation, *bounds), np.clip(mean + deviation, *bounds)
    axes.errorbar(
        at, mean, [mean - ends[0], ends[1] - mean], fmt="none", ecolor=colour, elinewidth=0.5, capsize=2.5, capthick=0.5
    )

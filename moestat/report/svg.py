"""Drawings inside a page: figures as they are saved, and small strips of intervals."""

from __future__ import annotations

import base64
import math
from xml.etree import ElementTree

from markupsafe import Markup

from moestat.report import style
from moestat.report.span import span


def is_narrow(svg: bytes) -> bool:
    """Return whether a saved SVG, whose units are points, is as wide as one column of a journal."""
    *_, width, _ = ElementTree.fromstring(svg).attrib["viewBox"].split()
    return float(width) < 72 * 1.2 * style.ONE_COLUMN


def picture(svg: bytes, alternative: str) -> Markup:
    """Return a saved SVG for an HTML page, with the text that stands for it where it cannot be seen."""
    data = base64.b64encode(svg).decode("ascii")
    return Markup('<img src="data:image/svg+xml;base64,{}" alt="{}">').format(data, alternative)


def strip(
    low: float, high: float, region: tuple[float, float], value: float, predicted: float | None, width: int = 380
) -> Markup:
    """Return a small drawing of an interval beside the region of its rule; empty where there is no interval.

    It only repeats what the text says, so it is hidden from screen readers.
    """
    ends = span(low, high, value, region, predicted)
    if ends is None:
        return Markup("")
    left, right = ends

    def at(v: float) -> float:
        return round(4 + (width - 8) * (min(max(v, left), right) - left) / (right - left), 1)

    a, b = at(region[0]), at(region[1])
    parts = [
        f'<rect class="region" x="{a}" y="3" width="{max(b - a, 1):.1f}" height="16" rx="2"/>',
        f'<line class="axis" x1="4" x2="{width - 4}" y1="11" y2="11"/>',
    ]
    if predicted is not None and math.isfinite(predicted):
        x = at(predicted)
        parts.append(f'<path class="paper" d="M{x} 5 l6 6 -6 6 -6 -6 z"/>')
    parts.append(f'<line class="ci" x1="{at(low)}" x2="{max(at(high), at(low) + 1)}" y1="11" y2="11"/>')
    parts.append(f'<circle class="dot" cx="{at(value)}" cy="11" r="3.5"/>')
    for edge, anchor in zip(region, ("start", "end"), strict=True):
        if math.isfinite(edge):
            minus = f"{edge:g}".replace("-", "\N{MINUS SIGN}")
            middle = "middle" if 20 < at(edge) < width - 20 else anchor
            parts.append(f'<text x="{at(edge)}" y="29" text-anchor="{middle}">{minus}</text>')
    return Markup(f'<svg class="strip" viewBox="0 0 {width} 32" aria-hidden="true">{"".join(parts)}</svg>')

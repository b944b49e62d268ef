"""The part of the number line that a drawing of an interval shows: its marks, with room on both sides."""

from __future__ import annotations

import math

PAD = 0.18
"""Room on either side of the outermost marks, in parts of their distance."""


def span(
    low: float, high: float, value: float, region: tuple[float, float], predicted: float | None
) -> tuple[float, float] | None:
    """Return the ends of the drawn line; None where there is no interval to draw.

    Infinite ends of a region lie outside of it.
    """
    if not all(math.isfinite(v) for v in (low, high, value)):
        return None
    marks = [m for m in (low, high, *region, *(() if predicted is None else (predicted,))) if math.isfinite(m)]
    left, right = min(marks), max(marks)
    pad = PAD * (right - left) or max(abs(left), 1.0) * 0.2
    return left - pad, right + pad


def printed(predicted: object) -> float | None:
    """Return a prediction as a number; None where it is a text, and nothing is drawn."""
    try:
        number = float(str(predicted))
    except ValueError:
        return None
    return number if math.isfinite(number) else None

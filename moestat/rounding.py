"""Numbers as text: rounded to what their uncertainty lets one say."""

from __future__ import annotations

import math
from typing import Any


def number(value: Any, digits: int = 4) -> str:
    """Return a number with so many significant digits, without trailing noise; an empty text for NaN.

    >>> number(1000.0), number(0.000123456), number(-0.5), number(100000)
    ('1000', '0.0001235', '-0.5', '100000')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    value = float(value)
    if math.isnan(value):
        return ""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.{digits}g}"


def estimate(value: float, low: float = math.nan, high: float = math.nan) -> tuple[str, str]:
    """Return a value and its interval as two texts with the same number of decimals, empty where there is none.

    >>> estimate(-0.50231, -0.5312, -0.4734)
    ('-0.502', '[-0.531, -0.473]')
    >>> estimate(12345.6, 12000.1, 12700.9)
    ('12346', '[12000, 12701]')
    >>> estimate(2.5e-5, 2.4985e-5, 2.5015e-5)
    ('2.5e-05', '[2.4985e-05, 2.5015e-05]')
    """
    largest = max((abs(n) for n in (value, low, high) if math.isfinite(n)), default=0.0)
    half = (high - low) / 2
    known = 0 < half < math.inf
    size, spread = (math.floor(math.log10(n)) if 0 < n < math.inf else 0 for n in (largest, half))
    if largest >= 1e6 or 0 < largest < 1e-4:
        form = f".{min(max(size - spread + 2, 3), 5) if known else 3}g"
    else:  # two digits of the uncertainty, but no more than five of the largest number
        places = min(1 - spread, 4 - size) if known else 3 - size
        form = f".{min(max(places, 0), 8) if largest else 1}f"
    shown = ["" if math.isnan(n) else f"{n:{form}}" for n in (value, low, high)]
    shown = [s.removeprefix("-") if not s.strip("-0.") else s for s in shown]
    return shown[0], f"[{shown[1]}, {shown[2]}]" if shown[1] and shown[2] else ""


def region(ends: tuple[float, float]) -> str:
    """Return the region of a rule in words.

    >>> region((-0.61, -0.41)), region((-math.inf, 0.0)), region((2.0, math.inf))
    ('within [-0.61, -0.41]', 'at most 0', 'at least 2')
    """
    low, high = ends
    if low == -math.inf:
        return f"at most {number(high)}"
    return f"at least {number(low)}" if high == math.inf else f"within [{number(low)}, {number(high)}]"

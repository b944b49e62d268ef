"""An interval drawn beside the region of its rule in characters, for a terminal."""

from __future__ import annotations

import math

from moestat.report.span import span
from moestat.rounding import number


def draw(
    low: float, high: float, value: float, region: tuple[float, float], predicted: float | None = None, width: int = 80
) -> list[str]:
    r"""Return a drawing of an interval on the region of a rule, as lines of at most ``width`` characters.

    ``=`` is the region, ``[`` and ``]`` its ends (``<`` and ``>`` where it has none), ``|--o--|`` the interval with
    the estimate, ``x`` what the paper predicts. Without an interval there is no drawing.

    >>> print("\n".join(draw(-0.55, -0.45, -0.5, (-0.6, -0.4), -0.51, width=44)))
    rule          [=======================]
    estimate            |-----o-----|
    paper                    x
                  -0.6                    -0.4
    """
    ends = span(low, high, value, region, predicted)
    if ends is None:
        return []
    left, right = ends
    head = 10
    columns = width - head - 1

    def at(v: float) -> int:
        return round((columns - 1) * (min(max(v, left), right) - left) / (right - left))

    a, b = at(region[0]), at(region[1])
    rule = dict.fromkeys(range(a, b + 1), "=")
    rule |= {a: "[" if math.isfinite(region[0]) else "<", b: "]" if math.isfinite(region[1]) else ">"}
    interval = dict.fromkeys(range(at(low), at(high) + 1), "-") | {at(low): "|", at(high): "|"} | {at(value): "o"}
    rows = [("rule", rule), ("estimate", interval)]
    rows += [("paper", {at(predicted): "x"})] if predicted is not None else []
    lines = [name.ljust(head) + "".join(marks.get(k, " ") for k in range(columns)) for name, marks in rows]
    lines.append(" " * head + _scale([(at(end), number(end)) for end in region if math.isfinite(end)], columns))
    return [line.rstrip() for line in lines]


def _scale(labels: list[tuple[int, str]], columns: int) -> str:
    """Write numbers below their places, one space apart at least."""
    line = ""
    for place, text in labels:
        start = max(min(place, columns - len(text)), len(line) + bool(line))
        line = line.ljust(start) + text
    return line[max(len(line) - columns, 0) :]

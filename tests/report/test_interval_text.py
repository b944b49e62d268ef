"""An interval drawn in characters says what the verdict says: inside, outside or across the region."""

import math

import pytest

from moestat.report.interval_text import draw

INF = math.inf


@pytest.mark.parametrize("region", [(-0.6, -0.4), (-INF, -0.4), (0.25, INF), (-1e-9, 1e-9), (1e5, 2e5)])
@pytest.mark.parametrize("interval", [(-0.55, -0.5, -0.45), (-0.61, -0.5, -0.2), (0.3, 0.3, 0.3), (-4e5, 1.5e5, 1.9e5)])
@pytest.mark.parametrize("predicted", [None, -0.5, 7e6])
def test_the_drawing_fits_and_agrees_with_the_numbers(region, interval, predicted):
    low, value, high = interval
    lines = draw(low, high, value, region, predicted)
    assert max(map(len, lines)) <= 80 and len(lines) == 3 + (predicted is not None)
    rule, estimate = lines[0][10:], lines[1][10:]
    marks = [place for place, mark in enumerate(estimate) if mark in "|o"]
    band = [place for place, mark in enumerate(rule) if mark in "[]<>="]
    # columns are wide: what is inside is drawn inside, and what sticks out by a tenth of the line sticks out
    if region[0] <= low and high <= region[1]:
        assert band[0] <= marks[0] and marks[-1] <= band[-1]
    ends = [v for v in (low, high, *region, predicted) if v is not None and math.isfinite(v)]
    tenth = (max(ends) - min(ends)) / 10
    if math.isfinite(region[1]) and high > region[1] + tenth:
        assert marks[-1] > band[-1]
    if math.isfinite(region[0]) and low < region[0] - tenth:
        assert marks[0] < band[0]


def test_without_an_interval_there_is_no_drawing():
    assert draw(math.nan, math.nan, 1.0, (0.0, 1.0)) == [] == draw(0.0, INF, 1.0, (0.0, 1.0))

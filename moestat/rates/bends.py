"""Whether a line of log losses bends, in words: a mean slope is a rate only where the line is straight."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from moestat.rates.estimate import Estimate

STILL = 1e-9  #: A slope or a change of it below this one is rounding.


def turn(first: Estimate, last: Estimate, local: np.ndarray) -> str:
    """Say how a line bends, behind "is bent", by its slopes on the lower and on the upper half of the sizes.

    ``local`` (S - 1,) are the slopes between neighbouring sizes, for a line of which one half has one size.
    """
    if not np.isfinite([first.value, last.value]).all():
        return f": its local slopes go from {local[0]:.3f} to {local[-1]:.3f}"
    falls = first.value < 0
    if first.high < 0 < last.low or last.high < 0 < first.low:
        word = "turns"
    elif abs(last.value) >= abs(first.value):
        word = "steepens"
    # an interval that reaches the slope of the lower half as well as 0 does not show a level
    elif last.low <= 0 <= last.high and not last.low <= first.value <= last.high:
        word = "ends level, as on a floor" if falls else "ends level, as at a ceiling"
    else:
        word = "flattens, towards a floor or a slower rate" if falls else "flattens"
    upper = str(last) if last.low < last.high else f"{last.value:.3f}"
    return f" and {word}: slope {first.value:.3f} in the lower half of its sizes, {upper} in the upper"


def sentence(turns: Mapping[str, str]) -> str:
    """Name the lines that bend, by what :func:`turn` says of each, in one sentence; an empty text where none does.

    >>> sentence({"the first line": "", "the second line": " and turns"})
    'The second line is bent and turns.'
    """
    text = "; ".join(f"{name} is bent{said}" for name, said in turns.items() if said)
    return f"{text[0].upper()}{text[1:]}." if text else ""

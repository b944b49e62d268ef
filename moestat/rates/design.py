r"""How large a study must be for a slope of wanted precision.

The slope of one replicate over S sizes with log-spread :math:`\sigma` has the standard deviation
:math:`\sigma / \sqrt{S_{xx}}`, :math:`S_{xx} = \sum_s (\log n_s - \overline{\log n})^2`, so the interval over R
replicates has the half-width :math:`t_{R-1} \sigma / \sqrt{R S_{xx}}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Design:
    """A number of sizes and replicates, and the half-width of the slope's interval they give."""

    sizes: int
    replicates: int
    half_width: float


def power(
    half_width: float,
    log_sd: float,
    *,
    low: float = 1e3,
    high: float = 1e5,
    sizes: Sequence[int] = (4, 6, 8, 12, 16),
    level: float = 0.95,
    most: int = 100_000,
) -> list[Design]:
    """Return, for each number of log-equispaced sizes, the fewest replicates that reach a half-width.

    Parameters
    ----------
    half_width : float
        Wanted half-width of the slope's interval, e.g. 0.05 to tell -0.25 from -0.5 with ease.
    log_sd : float
        Standard deviation of the log loss of one replicate, independent between sizes
        (``RateFit.log_sd`` of a pilot); for a loss it is close to its coefficient of variation.
    low, high : float
        Smallest and largest size.
    sizes : sequence of int
        Numbers of sizes to consider.
    level : float, default 0.95
    most : int
        Largest number of replicates that is considered; designs beyond it are left out.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> [(d.sizes, d.replicates) for d in power(0.05, 0.6)]
    [(4, 50), (6, 40), (8, 33), (12, 25), (16, 20)]
    """
    if not (half_width > 0 and log_sd >= 0 and 0 < low < high and 0 < level < 1):
        raise ValueError("needed are half_width > 0, log_sd >= 0, 0 < low < high and 0 < level < 1")
    if min(sizes) < 2:
        raise ValueError("a slope needs at least 2 sizes")
    replicates = np.arange(2, most + 1)
    factor = stats.t.ppf(0.5 + level / 2, replicates - 1) / np.sqrt(replicates)
    designs = []
    for count in sizes:
        x = np.linspace(np.log(low), np.log(high), count)
        widths = factor * log_sd / np.sqrt(np.sum((x - x.mean()) ** 2))
        enough = np.flatnonzero(widths <= half_width)
        if enough.size:
            designs.append(Design(int(count), int(replicates[enough[0]]), float(widths[enough[0]])))
    return designs

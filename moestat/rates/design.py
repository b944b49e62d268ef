r"""How large a study must be for a slope of wanted precision.

The slope of one replicate over S sizes with log-spread :math:`\sigma` has the standard deviation
:math:`\sigma / \sqrt{S_{xx}}`, :math:`S_{xx} = \sum_s (\log n_s - \overline{\log n})^2`, so the interval over R
replicates has the half-width :math:`t_{R-1} \sigma / \sqrt{R S_{xx}}`.

Two arms that share their draws have one difference per seed; its interval over R seeds excludes 0 when
:math:`|\bar\Delta| > t_{R-1} s_\Delta / \sqrt R`, which for a true difference :math:`\delta` has the probability
P(T > t), T noncentral t with R - 1 degrees of freedom and noncentrality :math:`\delta \sqrt R / \sigma_\Delta`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from scipy.special import stdtrit

from moestat.errors import InputError
from moestat.rates.verdict import LEAST

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Design:
    """A number of sizes and replicates, and the half-width of the slope's interval they give."""

    sizes: int
    replicates: int
    half_width: float


def plan(
    table: Any,
    half_width: float | None = None,
    *,
    margin: float | None = None,
    chance: float = 0.8,
    most: int = 100_000,
) -> pd.DataFrame:
    """Return how many replicates each arm of a table needs, at its own sizes and with its own spread.

    Parameters
    ----------
    table : Table or RateFit
        Of a pilot, with two replicates or more.
    half_width : float, optional
        Wanted half-width of the t-interval of a slope.
    margin, chance : float, optional
        Instead of it the distance of a true slope from the edge of a rule, which is to be decided with this chance.

    Returns
    -------
    pandas.DataFrame
        Per arm the standard deviation of one replicate's slope, the replicates that are there, the half-width of the
        t-interval that they give, the replicates that are needed and the half-width that these give on average. The
        standard deviation is itself uncertain: over its interval (chi-square, R - 1 degrees of freedom, the table's
        level) the need goes from ``low`` to ``high``, which is ``most`` at most.
    """
    import pandas as pd

    if (half_width is None) == (margin is None) or not (half_width or margin or 0.0) > 0:
        raise InputError(f"a plan is for a half_width or a margin above 0; they are {half_width} and {margin}")
    rows = []
    for arm, fit in getattr(table, "fits", {"": table}).items():
        sd, there = float(np.std(fit.slopes, ddof=1)) if fit.complete > 1 else math.nan, fit.complete
        if not sd > 0:
            raise InputError(f"{there} replicates{f' of {arm!r}' if arm else ''} show no spread to plan by")

        def need(sd: float, level: float = fit.level) -> int:
            if half_width is None:
                return paired_seeds(margin or 0.0, sd, chance=chance, level=level, most=most)
            enough = np.flatnonzero(_factor(np.arange(2, most + 1), level) * sd <= half_width)
            if not enough.size:
                raise InputError(f"more than {most} replicates are needed for a half-width of {half_width:g}")
            return 2 + int(enough[0])

        needed, last = need(sd), most
        ends = scipy.stats.chi2.ppf([0.5 + fit.level / 2, 0.5 - fit.level / 2], there - 1)
        least, largest = sd * np.sqrt((there - 1) / ends)
        with contextlib.suppress(InputError, ValueError):  # beyond `most`
            last = need(float(largest))
        now, then = (float(_factor(count, fit.level) * sd) for count in (there, needed))
        rows.append((arm, sd, there, now, needed, need(float(least)), last, then))
    columns = ["slope_sd", "replicates", "half_width", "needed", "low", "high", "half_width_then"]
    return pd.DataFrame(rows, columns=["arm", *columns]).set_index("arm")


def power(
    half_width: float,
    log_sd: float,
    *,
    low: float,
    high: float,
    sizes: Sequence[int] = (4, 6, 8, 12, 16),
    level: float = 0.95,
    assurance: float | None = None,
    most: int = 100_000,
) -> list[Design]:
    """Return, for each number of ``sizes`` log-equispaced from low to high, the fewest replicates for a half-width.

    Parameters
    ----------
    half_width : float
        Wanted half-width of the slope's interval. With one as large as the distance from the edge of a claim little
        more than half of the studies decide: :func:`deciding`.
    log_sd : float
        Standard deviation of the log loss of one replicate, independent between sizes (``RateFit.log_sd`` of a pilot).
    assurance : float, optional
        Probability with which the interval is at most that long; without one it is so on average (root mean square).
    most : int
        Largest number of replicates that is considered; designs beyond it are left out.

    Examples
    --------
    >>> [(d.sizes, d.replicates) for d in power(0.05, 0.6, low=1e3, high=1e5)]
    [(4, 50), (6, 40), (8, 33), (12, 25), (16, 20)]
    >>> [(d.sizes, d.replicates) for d in power(0.05, 0.6, low=1e3, high=1e5, assurance=0.8)]
    [(4, 57), (6, 47), (8, 39), (12, 30), (16, 24)]
    """
    _check(log_sd, low, high, sizes, level)
    if not half_width > 0 or not (assurance is None or 0 < assurance < 1):
        raise ValueError("needed are half_width > 0 and 0 < assurance < 1")
    replicates = np.arange(2, most + 1)
    factor = _factor(replicates, level)
    if assurance is not None:
        factor = factor * np.sqrt(scipy.stats.chi2.ppf(assurance, replicates - 1) / (replicates - 1))
    sds = [(count, _slope_sd(log_sd, low, high, count)) for count in sizes]
    enough = [(count, sd, int(np.argmax(factor * sd <= half_width))) for count, sd in sds]
    return [
        Design(int(count), int(replicates[k]), float(factor[k] * sd))
        for count, sd, k in enough
        if factor[k] * sd <= half_width
    ]


def chance(
    margin: float,
    log_sd: float,
    *,
    sizes: int,
    replicates: int,
    low: float,
    high: float,
    level: float = 0.95,
) -> float:
    """Return the probability that a study decides a claim about a slope; otherwise as :func:`power`.

    A claim is decided when the slope's whole interval lies on one side of the edge of its region. ``margin`` is the
    distance of the true slope from the edge: 0.1 for a slope of -0.5 and the rule ``at_most = -0.4``. For a rule
    ``within`` take the nearer edge; the result is then a little too large where both are near.

    Examples
    --------
    >>> [round(chance(0.1, 0.6, sizes=8, replicates=r, low=1e3, high=1e5), 2) for r in (5, 10, 20)]
    [0.23, 0.52, 0.85]
    """
    _check(log_sd, low, high, [sizes], level)
    if not margin > 0 or replicates < 2:
        raise ValueError("needed are margin > 0 and replicates >= 2")
    return _decided(margin, _slope_sd(log_sd, low, high, sizes), replicates, level)


def deciding(
    margin: float,
    log_sd: float,
    *,
    chance: float = 0.8,
    low: float,
    high: float,
    sizes: Sequence[int] = (4, 6, 8, 12, 16),
    level: float = 0.95,
    most: int = 100_000,
) -> list[Design]:
    """Return, for each number of sizes, the fewest replicates that decide a claim with the probability ``chance``.

    The inverse of :func:`moestat.rates.chance`, otherwise as :func:`power`; the half-width is that on average. The
    margin is half the gap, 0.125, for telling -0.25 from -0.5 by a rule whose edge is between them.

    Examples
    --------
    >>> [(d.sizes, d.replicates) for d in deciding(0.1, 0.6, low=1e3, high=1e5)]
    [(4, 26), (6, 22), (8, 18), (12, 14), (16, 11)]
    """
    _check(log_sd, low, high, sizes, level)
    if not (margin > 0 and 0 < chance < 1):
        raise ValueError("needed are margin > 0 and 0 < chance < 1")
    designs = []
    for count in sizes:
        sd = _slope_sd(log_sd, low, high, count)
        with contextlib.suppress(ValueError):  # beyond `most`
            seeds = paired_seeds(margin, sd, chance=chance, level=level, most=most)
            designs.append(Design(int(count), seeds, float(_factor(seeds, level) * sd)))
    return designs


def paired_seeds(margin: float, sd: float, *, chance: float = 0.8, level: float = 0.95, most: int = 100_000) -> int:
    """Return the fewest seeds whose interval lies on one side of the edge with the probability ``chance``.

    The margin is the distance of the true difference from the edge, for the rule ``at_most = 0`` the difference itself;
    ``sd`` is the standard deviation of one seed's difference. More than ``most`` seeds are refused.

    Examples
    --------
    >>> [paired_seeds(0.014, sd) for sd in (0.005, 0.01, 0.02)]
    [4, 7, 19]
    """
    if not (margin > 0 and sd >= 0 and 0 < chance < 1 and 0 < level < 1):
        raise ValueError("needed are margin > 0, sd >= 0, 0 < chance < 1, 0 < level < 1, and 1 or 2 arms")

    def enough(seeds: int) -> bool:
        return _decided(margin, sd, seeds, level) >= chance

    low, high = LEAST - 1, LEAST
    while not enough(high):
        if high >= most:
            raise ValueError(f"more than {most} seeds are needed for a margin of {margin:g} with sd {sd:g}")
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _decided(margin: float, sd: float, replicates: int, level: float) -> float:
    """Return the probability that the interval of replicates with this standard deviation excludes the edge."""
    if sd == 0:
        return 1.0
    bound = stdtrit(replicates - 1, 0.5 + level / 2)
    return float(scipy.stats.nct.sf(bound, replicates - 1, margin * math.sqrt(replicates) / sd))


def _factor(replicates: Any, level: float) -> Any:
    """Return the half-width of the interval over so many replicates, in standard deviations of one."""
    return stdtrit(replicates - 1, 0.5 + level / 2) / np.sqrt(replicates)


def _check(log_sd: float, low: float, high: float, sizes: Sequence[int], level: float) -> None:
    if np.ndim(log_sd):
        raise ValueError(f"log_sd is an array of shape {np.shape(log_sd)}; it must be a number, its largest, say")
    if np.ndim(sizes) != 1:
        raise ValueError(f"sizes is {sizes!r}; it must be a sequence, [{sizes!r}], say")
    if not (log_sd >= 0 and 0 < low < high and 0 < level < 1):
        raise ValueError("needed are log_sd >= 0, 0 < low < high and 0 < level < 1")
    if min(sizes) < 2:
        raise ValueError("a slope needs at least 2 sizes")


def _slope_sd(log_sd: float, low: float, high: float, sizes: int) -> float:
    """Return the standard deviation of the slope of one replicate over log-equispaced sizes."""
    x = np.linspace(np.log(low), np.log(high), sizes)
    return float(log_sd / np.sqrt(np.sum((x - x.mean()) ** 2)))

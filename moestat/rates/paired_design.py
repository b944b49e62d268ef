r"""How many paired seeds resolve a difference of two arms.

Two arms that share their draws have one difference per seed; its interval over R seeds excludes 0 when
:math:`|\bar\Delta| > t_{R-1} s_\Delta / \sqrt R`, which for a true difference :math:`\delta` has the probability
P(T > t), T noncentral t with R - 1 degrees of freedom and noncentrality :math:`\delta \sqrt R / \sigma_\Delta`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from moestat.doors import as_float64

LEAST = 3
"""A verdict needs as many replicates."""


@dataclass(frozen=True)
class PairedDesign:
    """How many seeds decide a difference, with pairs and without.

    Attributes
    ----------
    margin : float
        The difference to resolve, or the distance of the true one from the edge of a claim's region.
    sd : float
        Standard deviation of the paired difference, of one seed.
    seeds : int
        Fewest that decide with the wanted probability.
    correlation : float
        Of the two arms over the seeds of the pilot; NaN if they were not given.
    sd_unpaired : float
        Standard deviation of the difference of two independent runs; NaN if the arms were not given.
    seeds_unpaired : int or None
        Seeds of each arm that would be needed without pairs; None if the arms were not given.
    chance, level : float
    """

    margin: float
    sd: float
    seeds: int
    correlation: float = math.nan
    sd_unpaired: float = math.nan
    seeds_unpaired: int | None = None
    chance: float = 0.8
    level: float = 0.95

    def __str__(self) -> str:
        text = (
            f"{self.seeds} paired seeds decide a difference of {self.margin:.3g} in {self.chance:.0%} of studies "
            f"(standard deviation of the paired difference {self.sd:.2g}"
        )
        if self.seeds_unpaired is None:
            return f"{text})"
        return f"{text}, correlation {self.correlation:.2f}); without pairs it takes {self.seeds_unpaired} of each arm"


def paired_seeds(
    margin: float, sd: float, *, chance: float = 0.8, level: float = 0.95, most: int = 100_000, arms: int = 1
) -> int:
    """Return the fewest seeds whose interval lies on one side of the edge with a wanted probability.

    Parameters
    ----------
    margin : float
        Distance of the true difference from the edge of the claim's region; for the rule ``at_most = 0`` it is the
        difference itself.
    sd : float
        Standard deviation of one seed's difference.
    chance : float
        The wanted probability.
    level : float
        Of the interval.
    most : int
        Largest number that is considered.
    arms : {1, 2}
        Samples whose spread is estimated: 1 for paired differences, 2 for independent arms of so many seeds each.

    Raises
    ------
    ValueError
        If a number is out of range, or more than ``most`` seeds are needed.

    Examples
    --------
    >>> [paired_seeds(0.014, sd) for sd in (0.005, 0.01, 0.02)]
    [4, 7, 19]
    """
    if not (margin > 0 and sd >= 0 and 0 < chance < 1 and 0 < level < 1 and arms in (1, 2)):
        raise ValueError("needed are margin > 0, sd >= 0, 0 < chance < 1, 0 < level < 1, and 1 or 2 arms")

    def enough(seeds: int) -> bool:
        freedom = arms * (seeds - 1)
        if sd == 0:
            return True
        bound = stats.t.ppf(0.5 + level / 2, freedom)
        return bool(stats.nct.sf(bound, freedom, margin * math.sqrt(seeds) / sd) >= chance)

    low, high = LEAST - 1, LEAST
    while not enough(high):
        if high >= most:
            raise ValueError(f"more than {most} seeds are needed for a margin of {margin:g} with sd {sd:g}")
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def plan_pairs(
    first: ArrayLike | Sequence[float],
    second: ArrayLike | Sequence[float],
    margin: float,
    *,
    chance: float = 0.8,
    level: float = 0.95,
) -> PairedDesign:
    """Plan a comparison of two arms from a pilot of both on the same seeds.

    Parameters
    ----------
    first, second : array-like, shape (R,)
        The pilot, seed by seed; seeds without a number in either are left out.
    margin : float
        The difference to resolve.
    chance : float
        Probability that the study decides.
    level : float
        Of its interval.

    Raises
    ------
    ValueError
        If the arms have different numbers of seeds, or fewer than 3 seeds with numbers in both.

    Examples
    --------
    >>> print(plan_pairs([1.30, 1.33, 1.31, 1.28], [1.31, 1.345, 1.33, 1.295], 0.014))
    3 paired seeds decide a difference of 0.014 in 80% of studies (standard deviation of the paired difference 0.0041, \
correlation 0.98); without pairs it takes 38 of each arm
    """
    one, two = (as_float64(values, name).ravel() for values, name in ((first, "first"), (second, "second")))
    if one.size != two.size:
        raise ValueError(f"the arms have {one.size} and {two.size} seeds; pairs need as many in both")
    known = np.isfinite(one) & np.isfinite(two)
    one, two = one[known], two[known]
    if one.size < LEAST:
        raise ValueError(f"{one.size} seeds have numbers in both arms; a pilot needs at least {LEAST}")
    sd = float(np.std(one - two, ddof=1))
    apart = math.hypot(float(np.std(one, ddof=1)), float(np.std(two, ddof=1)))
    varied = min(np.ptp(one), np.ptp(two)) > 0
    return PairedDesign(
        margin,
        sd,
        paired_seeds(margin, sd, chance=chance, level=level),
        float(np.corrcoef(one, two)[0, 1]) if varied else math.nan,
        apart,
        paired_seeds(margin, apart, chance=chance, level=level, arms=2),
        chance,
        level,
    )

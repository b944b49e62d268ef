r"""What the end points of many starts say: how many minima there are, what may be left, and which of them are close.

*What may be left.* Boender and Rinnooy Kan (Bayesian stopping rules for multistart global optimization methods,
Mathematical Programming 37, 1987, 59-80) put a uniform prior on the number K of minima and on the sizes of their
basins. After S searches from independent starts that ended at W different minima the posterior mean of K is
W (S - 1) / (S - W - 2). If the depth of a minimum has nothing to do with the size of its basin, about

.. math:: 1 - W / E[K] = (W + 1) / (S - 1)

is the chance that something lower is left (1 where S <= W + 2). Deep minima tend to have large basins, so the number
errs to the careful side.

*Near-minimisers.* The theorems of sigmoid-attention bound every measure whose mean squared residual exceeds the least
one by O(log n / n): the basic inequality of least squares,

.. math::
    \|f_{\hat G} - f_*\|_n^2 \le 2 \langle \varepsilon, f_{\hat G} - f_* \rangle_n + \delta_n,

keeps its rate as long as delta_n is of that order. So a claim on the rate of a loss must hold on the whole set of such
points, and two widths of it are looked at, in units of the residual sum of squares: v log n, the order itself with the
noise variance as the only constant, and v p, p parameters, the excess of the truth over the minimum in a regular model,
hence the radius of a confidence set for f.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

SAME = 0.05
"""End points whose residual sums of squares differ by less than this share of the residual variance are one minimum."""
FLOOR = 1e-12  #: Losses below this share of the variance of y are zero: without noise the loss has no other end.


@dataclass(frozen=True)
class Minima:
    """End points by minimum."""

    #: (S,) int, the minimum that every end point belongs to, 0 the lowest; -1 where the loss is not finite.
    label: np.ndarray
    count: np.ndarray  #: (W,) int, number of end points of each.
    lower_left: float  #: The chance that something lower is left (see the module's text).


def minima(loss: np.ndarray, tolerance: float) -> Minima:
    """Sort the losses (S,) of end points into minima.

    Sorted losses belong to one minimum while each is within ``tolerance`` (see :func:`tolerance_of`) of the lowest of
    it. Minima that agree in the loss by chance count as one.
    """
    label = np.full(len(loss), -1)
    current, lowest = -1, -math.inf
    for k in np.argsort(loss, kind="stable"):
        if not np.isfinite(loss[k]):
            continue
        if current < 0 or loss[k] > lowest + tolerance:
            current, lowest = current + 1, float(loss[k])
        label[k] = current
    count = np.bincount(label[label >= 0], minlength=current + 1)
    return Minima(label, count, lower_left(int(count.sum()), len(count)))


class Record(ABC):
    """The end points of one search of a data set of n samples; ``variance`` is that of y."""

    def __init__(self, n: int, variance: float) -> None:
        self.n, self.variance = n, variance
        self.kinds: list[str] = []  #: Of the starts that led to the end points, in the order in which they were found.
        self.losses: dict[str, list[float]] = {}  #: By kind the last loss of every start.
        self.steps = 0.0

    @property
    @abstractmethod
    def values(self) -> np.ndarray:
        """Losses (E,) of the end points."""

    @property
    def loss(self) -> np.ndarray:
        """The same, infinite where they are not finite."""
        values = self.values
        return np.where(np.isfinite(values), values, np.inf)

    @property
    def winner(self) -> int:
        """Position of the lowest end point."""
        return int(np.argmin(self.loss))

    def minima(self, which: np.ndarray | slice = slice(None)) -> Minima:
        """Sort some end points by minimum."""
        loss = self.loss
        return minima(loss[which], tolerance_of(float(loss.min()), self.n, self.variance))

    @property
    def independent(self) -> np.ndarray:
        """Which end points come from independent starts: replacements descend from the best fit."""
        return np.array([kind != "replace" for kind in self.kinds])

    @property
    def found(self) -> int:
        """How many independent starts have ended at the best minimum."""
        return int(np.sum((self.minima().label == 0) & self.independent))

    def lowered(self, before: float) -> bool:
        """Whether the best loss has fallen below ``before`` by more than what tells two minima apart."""
        best = float(self.loss.min())
        return before - best > tolerance_of(best, self.n, self.variance)

    def told(self, loss: np.ndarray, agree: int) -> dict[str, Any]:
        """Return what is said of a search whose end points have the losses (E,), and that asked for so many to agree.

        The names are those of the fields of :class:`moestat.fit.global_search.Search`.
        """
        local, lowest = np.array([kind == "local" for kind in self.kinds]), loss[self.winner]
        return {
            "kind": self.kinds[self.winner],
            "loss": loss,
            "end_kind": np.array(self.kinds),
            "start_losses": {kind: np.array(losses) for kind, losses in self.losses.items() if losses},
            "found": self.found,
            "distinct": len(self.minima().count),
            "lower_left": self.minima(self.independent).lower_left,
            "gain": float(2.0 * self.n * (loss[local].min() - lowest)) if np.isfinite(lowest) else np.nan,
            "agreed": self.found >= agree,
            "steps": self.steps,
        }


def tolerance_of(best: float, n: int, variance: float) -> float:
    """Return the difference of losses (half mean squares over n samples) below which two minima are one.

    ``best`` is the lowest loss, ``variance`` that of y.
    """
    return SAME * best / n + FLOOR * variance


def lower_left(searches: int, different: int) -> float:
    """Return the chance that a lower minimum is left after so many searches have ended at so many different ones."""
    if searches <= different + 2:
        return 1.0
    return min(1.0, (different + 1) / (searches - 1))


def near(loss: np.ndarray, n: int, excess: float) -> np.ndarray:
    """Return which end points are near-minimisers, (S,), by half their mean squared residuals.

    ``excess`` is that of the residual sum of squares over the lowest one, e.g. v log n; the lowest is always among
    them.
    """
    finite = np.where(np.isfinite(loss), loss, np.inf)
    best = np.min(finite)
    close: np.ndarray = np.isfinite(finite) & (2.0 * n * (finite - best) <= excess)
    close[int(np.argmin(finite))] = True
    return close


def excesses(noise_variance: float, n: int, parameters: int) -> dict[str, float]:
    """Return the two declared widths of the set of near-minimisers: ``"log"`` v log n and ``"wide"`` v p."""
    return {"log": noise_variance * math.log(n), "wide": noise_variance * parameters}

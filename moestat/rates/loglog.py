r"""Log-log fits of a loss over sizes.

The estimate is the mean over replicates of the slope of log loss against log size, with the t-interval over
replicates. It is the one whose interval keeps its level whatever the spread does along the sizes and however the
sizes share their data, because a replicate is the unit: its sizes may be nested, share a seed, or differ in spread.
The price is its estimand, the slope of the *mean log* loss, not of the *log mean* loss. Where the slopes of replicates
are skewed, as with fits of which some escape, the t-interval is too short: ``wider`` is for them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from scipy.special import stdtrit

from moestat.arrays import to_numpy
from moestat.doors import as_float64
from moestat.rates import bends
from moestat.rates.estimate import (
    BOOTSTRAP,
    Estimate,
    mean_interval,
    over_replicates,
    replicate_slopes,
    wider,
)

if TYPE_CHECKING:
    import xarray as xr

DECADE = 10.0
MIN_SIZES = 4
TAKES = (
    'an xarray.DataArray with the dimensions that hold sizes and replicates, as in {call}(ds["L3"], over="n"), or an '
    "array (sizes, replicates) with the sizes as over"
)


@dataclass(frozen=True)
class RateFit:
    """A fitted rate. When it is not ``trusted`` the numbers are there all the same, and ``reasons`` says why not.

    Trust is about the data: enough sizes, a decade, whole replicates. Whether they lie on a line is another question,
    which ``bend`` answers: of a bent line the slope is a mean over its sizes, and no rate.
    """

    rate: Estimate  #: Mean slope over replicates, t-interval: the estimate.
    #: first_half, last_half: As ``rate``, on the sizes in the lower and in the upper half of the log range.
    first_half: Estimate
    last_half: Estimate
    #: Change of the local slope per decade of sizes (from a quadratic per replicate); 0 for a power law.
    curvature: Estimate
    local: np.ndarray  #: (distinct sizes - 1,): Slopes between neighbouring ones, means over replicates.
    slopes: np.ndarray  #: (R',), slope of every complete replicate.
    intercept: float  #: exp(intercept) n**rate is the fitted geometric mean loss.
    log_sd: np.ndarray  #: (S,), standard deviation of the log loss over replicates, per size.
    sizes: np.ndarray  #: (S,): In order, those in the window; one that was measured twice is there twice.
    losses: np.ndarray  #: (S, R'), of the complete replicates: positive and finite at every size.
    #: replicates, complete: Replicates asked for and used.
    replicates: int
    complete: int
    level: float  #: Level of all intervals.
    reasons: tuple[str, ...]  #: Why the fit cannot be trusted; empty when it can.
    turn: str  #: How the line bends, behind "is bent"; empty where the interval of its curvature reaches 0.

    @property
    def trusted(self) -> bool:
        """Whether nothing speaks against the fit."""
        return not self.reasons

    @cached_property
    def wider(self) -> Estimate:
        """The estimate with an interval that also covers skewed slopes; of one replicate that of the regression."""
        if self.complete == 1 and self.sizes.size > 2:
            se = float(scipy.stats.linregress(np.log(self.sizes), np.log(self.losses[:, 0])).stderr)
            half = se * float(stdtrit(self.sizes.size - 2, 0.5 + self.level / 2))
            return replace(self.rate, low=self.slope - half, high=self.slope + half, se=se)
        return replace(wider(self.slopes, self.level), bend=self.bend)

    @property
    def kind(self) -> str:
        """What the interval of ``wider`` is made of."""
        if self.complete == 1:
            return f"regression (t, {max(self.sizes.size - 2, 0)} degrees of freedom)"
        inside = BOOTSTRAP[0] <= self.complete <= BOOTSTRAP[1]
        return "hull of t and bootstrap-t over replicates" if inside else "t over replicates"

    @property
    def bend(self) -> str:
        """How the line bends, in a sentence; empty where the interval of its curvature reaches 0."""
        return self.rate.bend

    @property
    def slope(self) -> float:
        """The estimate, ``rate.value``."""
        return self.rate.value

    @property
    def low(self) -> float:
        """Lower end of its interval."""
        return self.rate.low

    @property
    def high(self) -> float:
        """Upper end of its interval."""
        return self.rate.high

    def row(self) -> dict[str, Any]:
        """Return the fit as one flat row of a table."""
        out: dict[str, Any] = {"slope": self.rate.value, "se": self.rate.se, "low": self.low, "high": self.high}
        out |= {"wider_low": self.wider.low, "wider_high": self.wider.high}
        for name in ("first_half", "last_half", "curvature"):
            estimate: Estimate = getattr(self, name)
            out |= {name: estimate.value, f"{name}_se": estimate.se}
            out |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        ends = {"first": float(self.sizes.min(initial=np.inf)), "last": float(self.sizes.max(initial=-np.inf))}
        counts = {"sizes": self.sizes.size, "replicates": self.replicates, "complete": self.complete}
        out |= {"intercept": self.intercept} | counts | ends
        return out | {"trusted": self.trusted, "reasons": " ".join(self.reasons), "notes": self.bend}

    def __str__(self) -> str:
        span = f" from {self.sizes[0]:g} to {self.sizes[-1]:g}" if self.sizes.size else ""
        half = self.last_half
        upper = "" if self.bend else f"upper half {half if half.se > 0 else f'{half.value:.3f}'}, "
        one = self.complete == 1
        counted = f"1 replicate, {self.kind}" if one else f"{self.complete} replicates"
        return (
            f"slope {self.wider if one else self.rate} ({self.level:.0%}, {counted}, {self.sizes.size} sizes{span})\n"
            f"{trust(self.reasons, self.bend)}; {upper}curvature {self.curvature.value:+.3f} per decade"
        )

    __repr__ = __str__


def trust(reasons: tuple[str, ...], bend: str) -> str:
    """Say whether a result is to be trusted, why not, and how its lines bend, in place of a bare "trusted"."""
    said = [f"NOT TRUSTED: {' '.join(reasons)}"] if reasons else []
    return "; ".join(text.rstrip(".") for text in [*said, bend] if text) or "trusted"


def fit(
    values: Any,
    *,
    over: Any,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    replicate: Hashable = "replicate",
) -> RateFit:
    """Fit the rate at which a loss falls with the size.

    Parameters
    ----------
    values : array (S, R) or xarray.DataArray
        Losses per size and replicate. A replicate keeps its place in all sizes. NaN marks a missing one.
    over : array (S,) or str
        The sizes, of which one may be there twice; for a DataArray the name of the dimension that holds them.
    window : (low, high), optional
        Sizes that are used, both ends included; declare it before looking at the losses.
    level : float, default 0.95
        Of the intervals.
    replicate : str, default "replicate"
        Name of the replicates' dimension of a DataArray.

    Returns
    -------
    RateFit
        It prints as two lines. A series that is too short, too narrow or incomplete is not ``trusted``, with reasons.
        Several series are a :func:`moestat.rates.table`.

    Examples
    --------
    >>> import numpy as np
    >>> n = np.geomspace(1e3, 1e5, 8)
    >>> noise = np.random.default_rng(0).normal(scale=0.3, size=(8, 10))
    >>> f = fit(3 * n[:, None] ** -0.5 * np.exp(noise), over=n)
    >>> f.trusted, bool(f.low < -0.5 < f.high)
    (True, True)
    """
    import xarray as xr

    refuse_other(values, over, "rates.fit")
    if not isinstance(values, xr.DataArray):
        losses, sizes = to_numpy(as_float64(values, "values")), to_numpy(as_float64(over, "over"))
        if losses.ndim == 2 and any(np.array_equal(column, sizes) for column in losses.T):
            raise ValueError("a column of values is equal to over: the sizes are no replicate, leave them out")
        return fit_array(losses, sizes, window, level)
    array = arranged(values, over, replicate)
    if array.ndim > 2:
        rest = ", ".join(map(str, array.dims[:-2]))
        raise ValueError(f"the data also run over {rest}: choose one by sel, or take rates.table for all")
    return fit_array(as_float64(array.values, "values"), as_float64(array[over].values, "over"), window, level)


def fit_array(values: np.ndarray, sizes: np.ndarray, window: tuple[float, float] | None, level: float) -> RateFit:
    """Fit float64 losses (S, R) at float64 sizes (S,): cut the window out, keep whole replicates, average slopes."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must be between 0 and 1")
    if values.ndim != 2 or sizes.ndim != 1 or values.shape[0] != sizes.size:
        shapes = f"{values.shape} and over {sizes.shape}"
        raise ValueError(f"values has shape {shapes}; needed are (sizes, replicates) and (sizes,)")
    if not np.all(np.isfinite(sizes) & (sizes > 0)):
        raise ValueError("over must hold positive, finite sizes")
    low, high = (-np.inf, np.inf) if window is None else window
    if not low <= high:
        raise ValueError(f"window is {window}; it must be (low, high) with low <= high")
    order = np.argsort(sizes, kind="stable")
    order = order[(sizes[order] >= low) & (sizes[order] <= high)]
    sizes, values = sizes[order], values[order]
    reasons = []
    distinct = np.unique(sizes)
    if distinct.size < MIN_SIZES:
        reasons.append(f"Only {distinct.size} sizes are in the window; a rate needs at least {MIN_SIZES}.")
    if sizes.size and sizes[-1] < DECADE * sizes[0] * (1 - 1e-12):
        reasons.append(
            f"The sizes span a factor of {sizes[-1] / sizes[0]:.3g}, from {sizes[0]:g} to {sizes[-1]:g}; "
            "a rate needs at least one decade."
        )
    finite = np.isfinite(values)
    usable = finite & (values > 0)
    complete = np.all(usable, axis=0)
    count = int(complete.sum())
    if count < complete.size:
        kinds = {
            "not finite (missing or failed)": ~finite,
            "exactly 0, which has no logarithm": values == 0,
            "negative": finite & (values < 0),
        }
        why = "; ".join(f"{int(mask.sum())} {name}" for name, mask in kinds.items() if mask.any())
        where = ", ".join(f"{size:g}" for size, ok in zip(sizes, usable, strict=True) if not ok.all())
        reasons.append(
            f"{complete.size - count} of {complete.size} replicates are incomplete at sizes {where} (values: {why}); "
            "the numbers use the complete ones only."
        )
    if count < 2:
        word = "1 complete replicate gives" if count == 1 else "0 complete replicates give"
        reasons.append(f"{word} no interval over replicates; at least 2 are needed.")
    values = values[:, complete]
    x, logs = np.log(sizes), np.log(values)
    each = replicate_slopes(x, logs)
    middle = 0.5 * (x[0] + x[-1]) if x.size else np.nan
    halves = (x <= middle + 1e-9, x >= middle)  # a size in the middle belongs to the lower half, whatever rounding says
    change = np.full(each.size, np.nan)  # of the local slope per decade, from a quadratic in the log size
    if distinct.size >= 3:
        u = x - np.mean(x)
        lower = np.stack([np.ones_like(u), u], axis=1)
        square = u**2 - lower @ np.linalg.lstsq(lower, u**2, rcond=None)[0]
        change = 2 * np.log(10) * (square @ logs) / (square @ square)
    both = (replicate_slopes(x[half], logs[half]) for half in halves)
    rate, first, last, curvature = (over_replicates(samples, level) for samples in (each, *both, change))
    at_size = np.array([np.mean(logs[sizes == size], axis=0) for size in distinct]).reshape(distinct.size, each.size)
    local, *_ = mean_interval(np.diff(at_size, axis=0) / np.diff(np.log(distinct))[:, None], level)
    turn = ""
    if (curvature.low > 0 or curvature.high < 0) and abs(curvature.value) >= bends.STILL:
        turn = bends.turn(first, last, local)
    return RateFit(
        rate=replace(rate, bend=f"The line is bent{turn}." if turn else ""),
        first_half=first,
        last_half=last,
        curvature=curvature,
        local=local,
        slopes=each,
        intercept=float(np.mean(logs) - rate.value * np.mean(x)) if each.size and x.size else np.nan,
        log_sd=np.std(logs, axis=1, ddof=1) if each.size > 1 else np.full(x.size, np.nan),
        sizes=sizes,
        losses=values,
        replicates=complete.size,
        complete=each.size,
        level=level,
        reasons=tuple(reasons),
        turn=turn,
    )


def arranged(values: xr.DataArray, over: Any, replicate: Hashable) -> xr.DataArray:
    """Return the losses with sizes and replicates as their last two dimensions."""
    missing = [str(name) for name in (over, replicate) if name not in values.dims]
    if missing:
        there = ", ".join(map(str, values.dims))
        raise ValueError(f"the data have no dimension {', '.join(missing)}; they have {there}")
    if over not in values.coords:
        raise ValueError(f"the dimension {over} has no coordinate, so its sizes are unknown")
    return values.transpose(..., over, replicate)


def refuse_other(values: Any, over: Any, call: str) -> None:
    """Refuse what is no loss, by a TypeError that says what is taken, and what was given."""
    import xarray as xr

    if isinstance(values, xr.DataArray):
        return
    takes = f"{call} takes one loss: {TAKES.format(call=call)}"
    if isinstance(values, xr.Dataset):
        names = ", ".join(repr(str(name)) for name in list(values.data_vars)[:6])
        raise TypeError(f"{takes}; it was given a Dataset with the variables {names}, of which one is to be chosen")
    try:
        dimensions = np.ndim(values)
    except ValueError:  # rows of different lengths
        dimensions = 0
    if dimensions != 2 and not isinstance(values, np.ndarray):  # the shape of an array is told where it is used
        raise TypeError(f"{takes}; it was given a {type(values).__name__}")
    if isinstance(over, str):
        raise TypeError(f"{takes}; over is {over!r}, a name, which needs a DataArray")

"""What a user calls: the estimates of :mod:`moestat.rates.core`, with checks in words and results that print."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
import xarray as xr

from moestat.rates import core
from moestat.rates.difference import Difference
from moestat.rates.loglog import RateFit

T = TypeVar("T")
TAKES = (
    'an xarray.DataArray with the dimensions that hold sizes and replicates, as in {call}(ds["L3"], over="n"), or an '
    "array (sizes, replicates) with the sizes as over"
)


class Fit(RateFit):
    """A fitted rate that prints as two lines; see :class:`moestat.rates.RateFit`."""

    def __str__(self) -> str:
        span = f" from {self.sizes[0]:g} to {self.sizes[-1]:g}" if self.sizes.size else ""
        upper, bend = self.last_half.value, self.curvature.value
        return (
            f"slope {self.rate} ({self.level:.0%}, {self.complete} replicates, {self.sizes.size} sizes{span})\n"
            f"{_trust(self.reasons)}; upper half {upper:.3f}, curvature {bend:+.3f} per decade"
        )

    __repr__ = __str__


class SlopeDifference(Difference):
    """A difference of slopes that prints as two lines; see :class:`moestat.rates.Difference`."""

    def __str__(self) -> str:
        first, second = self.first, self.second
        how = f"paired, {first.complete} replicates" if self.paired else "not paired"
        return (
            f"slope difference {self.estimate} ({first.level:.0%}, {how})\n"
            f"{_trust(self.reasons)}; first {first.rate}, second {second.rate}"
        )

    __repr__ = __str__


def _trust(reasons: tuple[str, ...]) -> str:
    return f"NOT TRUSTED: {' '.join(reasons).rstrip('.')}" if reasons else "trusted"


@overload
def fit(
    values: xr.DataArray,
    *,
    over: Hashable,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    replicate: Hashable = "replicate",
) -> Any: ...


@overload
def fit(
    values: npt.ArrayLike,
    *,
    over: npt.ArrayLike,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    replicate: Hashable = "replicate",
) -> Fit: ...


def fit(
    values: Any,
    *,
    over: Any,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    replicate: Hashable = "replicate",
) -> Fit | xr.Dataset:
    """Fit the rate at which a loss falls with the size.

    Parameters
    ----------
    values : array (S, R) or xarray.DataArray
        Losses per size and replicate. A replicate keeps its place in all sizes. NaN marks a missing one.
    over : array (S,) or str
        The sizes; for a DataArray the name of the dimension that holds them.
    window : (low, high), optional
        Sizes that are used, both ends included; declare it before looking at the losses.
    level : float, default 0.95
        Level of the intervals.
    draws, seed : int
        Number and seed of the bootstrap draws.
    replicate : str, default "replicate"
        Name of the replicates' dimension of a DataArray.

    Returns
    -------
    Fit or xarray.Dataset
        A :class:`RateFit` that prints as two lines; a Dataset (the columns of :meth:`RateFit.row`) when a DataArray
        has further dimensions.

    Raises
    ------
    TypeError
        If it is given something else.
    ValueError
        If shapes, names or sizes are unusable. A series that is merely too short, too narrow or incomplete raises
        nothing: its fit is not ``trusted``, with reasons.

    Examples
    --------
    >>> import numpy as np
    >>> n = np.geomspace(1e3, 1e5, 8)
    >>> noise = np.random.default_rng(0).normal(scale=0.3, size=(8, 10))
    >>> f = fit(3 * n[:, None] ** -0.5 * np.exp(noise), over=n)
    >>> f.trusted, bool(f.low < -0.5 < f.high)
    (True, True)
    """
    _check(values, over, "rates.fit")
    options: dict[str, Any] = {"window": window, "level": level, "draws": draws, "seed": seed, "replicate": replicate}
    result = core.fit(values, over=over, **options)
    return _as(Fit, result) if isinstance(result, RateFit) else result


def difference(
    first: Any,
    second: Any,
    *,
    over: Any,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    paired: bool = True,
    replicate: Hashable = "replicate",
) -> SlopeDifference:
    """Return the slope of ``first`` minus the slope of ``second``.

    Parameters
    ----------
    first, second : array (S, R) or xarray.DataArray
        Losses at the same sizes. Two-dimensional; DataArrays are matched by size and replicate.
    over, window, level, replicate
        As in :func:`fit`.
    paired : bool, default True
        The same replicate of both shares its data, so slopes are subtracted per replicate (t-interval, R - 1);
        otherwise the interval is Welch's.

    Raises
    ------
    TypeError
        If one of them is something else.
    ValueError
        If a DataArray has further dimensions, or paired arrays differ in shape.
    """
    for values in (first, second):
        _check(values, over, "rates.difference")
    options: dict[str, Any] = {"window": window, "level": level, "paired": paired, "replicate": replicate}
    return _as(SlopeDifference, core.difference(first, second, over=over, **options))


def _check(values: Any, over: Any, call: str) -> None:
    """Refuse what is no loss, in words.

    Raises
    ------
    TypeError
        It says what is taken, and what was given.
    """
    if isinstance(values, xr.DataArray):
        return
    takes = f"{call} takes one loss: {TAKES.format(call=call)}"
    if isinstance(values, xr.Dataset):
        names = ", ".join(repr(str(name)) for name in list(values.data_vars)[:6])
        raise TypeError(f"{takes}; it was given a Dataset with the variables {names}, of which one is to be chosen")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 and not isinstance(values, np.ndarray):  # the shape of an array is told where it is used
        raise TypeError(f"{takes}; it was given a {type(values).__name__}")
    if isinstance(over, str):
        raise TypeError(f"{takes}; over is {over!r}, a name, which needs a DataArray")


def _as(kind: type[T], result: Any) -> T:
    """Return a result as the class that prints."""
    return kind(**{field.name: getattr(result, field.name) for field in fields(result)})

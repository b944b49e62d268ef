"""A loss at several sizes in several replicates, checked and put in order: what every rate is computed from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

DECADE = 10.0
MIN_SIZES = 4
TAKES = (
    'an xarray.DataArray with the dimensions that hold sizes and replicates, as in {call}(ds["L3"], over="n"), or an '
    "array (sizes, replicates) with the sizes as over"
)


@dataclass(frozen=True)
class Series:
    """The part of a loss inside the window: its complete replicates, positive and finite at every size.

    Attributes
    ----------
    sizes, x : array (S,)
        Increasing sizes, and their logarithms.
    values, logs : array (S, R')
        Losses, and their logarithms.
    replicates : int
        Number R of replicates asked for, R' <= R.
    reasons : tuple of str
        Why a rate from this series cannot be trusted, one sentence each; empty when it can.
    """

    sizes: np.ndarray
    x: np.ndarray
    values: np.ndarray
    logs: np.ndarray
    replicates: int
    reasons: tuple[str, ...]


def series(values: np.ndarray, sizes: np.ndarray, window: tuple[float, float] | None = None) -> Series:
    """Check a loss (S, R), NaN where a replicate is missing, at sizes (S,); cut the window, keep complete replicates.

    Raises
    ------
    ValueError
        If shapes do not fit or a size is not positive, not finite or given twice.
    """
    if values.ndim != 2 or sizes.ndim != 1 or values.shape[0] != sizes.size:
        raise ValueError(
            f"values has shape {values.shape} and over {sizes.shape}; needed are (sizes, replicates) and (sizes,)"
        )
    if not np.all(np.isfinite(sizes) & (sizes > 0)) or np.unique(sizes).size != sizes.size:
        raise ValueError("over must hold positive, finite sizes, each of them once")
    low, high = (-np.inf, np.inf) if window is None else window
    if not low <= high:
        raise ValueError(f"window is {window}; it must be (low, high) with low <= high")
    order = np.argsort(sizes)
    order = order[(sizes[order] >= low) & (sizes[order] <= high)]
    sizes, values = sizes[order], values[order]
    reasons = []
    if sizes.size < MIN_SIZES:
        reasons.append(f"Only {sizes.size} sizes are in the window; a rate needs at least {MIN_SIZES}.")
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
        reasons.append(f"{count} complete replicates give no interval; at least 2 are needed.")
    values = values[:, complete]
    return Series(sizes, np.log(sizes), values, np.log(values), complete.size, tuple(reasons))


def arranged(values: xr.DataArray, over: Any, replicate: Hashable) -> xr.DataArray:
    """Return the losses with sizes and replicates as their last two dimensions."""
    missing = [str(name) for name in (over, replicate) if name not in values.dims]
    if missing:
        raise ValueError(
            f"the data have no dimension {', '.join(missing)}; they have {', '.join(map(str, values.dims))}"
        )
    if over not in values.coords:
        raise ValueError(f"the dimension {over} has no coordinate, so its sizes are unknown")
    return values.transpose(..., over, replicate)


def refuse_other(values: Any, over: Any, call: str) -> None:
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
        dimensions = np.ndim(values)
    except ValueError:  # rows of different lengths
        dimensions = 0
    if dimensions != 2 and not isinstance(values, np.ndarray):  # the shape of an array is told where it is used
        raise TypeError(f"{takes}; it was given a {type(values).__name__}")
    if isinstance(over, str):
        raise TypeError(f"{takes}; over is {over!r}, a name, which needs a DataArray")

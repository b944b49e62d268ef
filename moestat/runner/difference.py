"""How far two computations of the same variable are apart: in words, absolutely, relatively, and in last places."""

from __future__ import annotations

import math

import numpy as np

from moestat.runner.shard import Variable
from moestat.sentences import show

ROUNDING = 1e-6
"""Largest relative difference that is put down to other kernels or versions, where there are any."""
ANY = (0.0, math.inf)
"""What a variable can tell apart if nothing is said of it: everything."""


def difference(old: Variable | None, new: Variable | None) -> str:
    """Say how two variables differ, or return an empty text if they are equal bit for bit."""
    if old is None or new is None:
        return "is not stored" if old is None else "is not computed any more"
    a, b = old.values, new.values
    if a.shape != b.shape:
        return f"has the shape {b.shape}, stored is {a.shape}"
    if a.dtype.kind in "OUT" or b.dtype.kind in "OUT":
        pairs = zip(map(str, a.ravel()), map(str, b.ravel()), strict=True)
        return next((f"stored {show(x)}, now {show(y)}" for x, y in pairs if x != y), "")
    if a.dtype.kind not in "fc" and b.dtype.kind not in "fc":
        if np.array_equal(a, b):
            return ""
        return f"differs by at most {int(np.max(np.abs(a.astype(object) - b.astype(object))))}"
    wide = np.promote_types(np.promote_types(a.dtype, b.dtype), np.float64)
    return _floats(np.atleast_1d(a.astype(wide)).ravel(), np.atleast_1d(b.astype(wide)).ravel())


def relative(old: Variable, new: Variable, resolved: tuple[float, float] = ANY) -> float:
    """Return the largest relative difference of two variables; infinite where shapes, texts or gaps differ.

    Parameters
    ----------
    old, new : Variable
    resolved : (float, float)
        The smallest difference and the largest magnitude that say something of the variable. What lies beyond is
        rounding (of a zero, of a quotient whose denominator is one) and counts as equal.
    """
    a, b = old.values, new.values
    if a.shape != b.shape or a.dtype.kind in "OUT" or b.dtype.kind in "OUT":
        return np.inf
    wide = np.promote_types(np.promote_types(a.dtype, b.dtype), np.float64)
    a, b = a.astype(wide), b.astype(wide)
    least, most = resolved
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.maximum(np.abs(a), np.abs(b))
        rounding = (np.abs(a - b) <= least) | (np.minimum(np.abs(a), np.abs(b)) >= most)
        gap = np.where((a == b) | rounding, 0.0, np.abs(a - b) / size)
    gap = np.where(np.isnan(a) & np.isnan(b), 0.0, gap)
    return float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0))


def _floats(a: np.ndarray, b: np.ndarray) -> str:
    holes = np.isnan(a) != np.isnan(b)
    if holes.any():
        return f"is a number in one and NaN in the other at {holes.sum()} of {a.size} places"
    known = ~np.isnan(a)
    a, b = a[known], b[known]
    if a.tobytes() == b.tobytes():
        return ""
    differing = a != b
    if not differing.any():
        return "differs in the sign of a zero"
    a, b = a[differing], b[differing]
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a - b)  # infinite where one of them is
        size = np.maximum(np.abs(a), np.abs(b))
        relative, places = gap / size, gap / np.spacing(size)
    return (
        f"differs by at most {gap.max():.3g} (relatively by {np.nanmax(relative, initial=0.0):.3g}, "
        f"{np.nanmax(places, initial=0.0):.3g} units in the last place) at {a.size} of {known.size} places"
    )

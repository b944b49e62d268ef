"""How far two computations of the same variable are apart; and which labels are one.

A grid such as ``10.0 ** -k`` is computed with every shard, and the processors of a cluster may round it differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from moestat.sentences import show

ROUNDING = 1e-6
"""Largest relative difference that is put down to other kernels or versions, where there are any."""
ANY = (0.0, math.inf)
"""What a variable can tell apart if nothing is said of it: everything."""


def difference(a: np.ndarray, b: np.ndarray) -> str:
    """Say how values differ from those that are stored, which come first; empty if they are equal bit for bit."""
    if a.shape != b.shape:
        return f"has the shape {b.shape}, stored is {a.shape}"
    if a.dtype.kind in "OUT" or b.dtype.kind in "OUT":
        pairs = zip(map(str, a.ravel()), map(str, b.ravel()), strict=True)
        return next((f"stored {show(x)}, now {show(y)}" for x, y in pairs if x != y), "")
    a, b = _wide(a, b)
    holes = np.isnan(a) != np.isnan(b)
    if holes.any():
        return f"is a number in one and NaN in the other at {holes.sum()} of {a.size} places"
    other = ~np.isnan(a) & ((a != b) | (np.signbit(a) != np.signbit(b)))
    if not other.any():
        return ""
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(a - b)[other]
        shares = gap / np.maximum(np.abs(a), np.abs(b))[other]
    return (
        f"differs by at most {gap.max():.3g} (relatively by {np.nanmax(shares, initial=0.0):.3g}) at {gap.size} of "
        f"{a.size} places"
    )


def close(a: np.ndarray, b: np.ndarray, resolved: tuple[float, float] = ANY, apart: Any = 0.0) -> bool:
    """Whether two arrays differ by rounding at most, or everywhere by at most ``apart``.

    ``resolved`` are the smallest difference and the largest magnitude that say something. What lies beyond is rounding
    (of a zero, of a quotient whose denominator is one). Other shapes, texts and gaps are never close.
    """
    if a.shape != b.shape or a.dtype.kind in "OUT" or b.dtype.kind in "OUT":
        return False
    least, most = resolved
    apart = np.zeros(1) if np.iscomplexobj(a) else np.ravel(apart)
    a, b = _wide(a, b)
    with np.errstate(invalid="ignore"):
        gap, sizes = np.abs(a - b), (np.abs(a), np.abs(b))
        near = (a == b) | (gap <= np.maximum(np.maximum(apart, least), ROUNDING * np.maximum(*sizes)))
        return bool(np.all(near | (np.minimum(*sizes) >= most) | (np.isnan(a) & np.isnan(b))))


def _wide(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of numbers as flat ones of 64-bit floats; a complex number becomes two of them."""
    kind = np.promote_types(np.promote_types(a.dtype, b.dtype), np.float64)
    one, other = (np.ascontiguousarray(v.astype(kind)).ravel().view(np.float64) for v in (a, b))
    return one, other


def one_label(a: Any, b: Any) -> bool:
    """Return whether two labels are one: equal, or numbers that differ by rounding.

    >>> one_label(0.1, 0.1 + 1e-17), one_label(0.1, 0.11), one_label("relu", "gelu")
    (True, False, False)
    """
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b)


def united(sequences: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the labels of several shards: as they stand if all shards agree, else sorted, so that no order matters."""
    first = sequences[0]
    if all(len(other) == len(first) and all(map(one_label, first, other)) for other in sequences):
        return [min(labels) for labels in zip(*sequences, strict=True)]
    kept: list[Any] = []
    for label in sorted({v for labels in sequences for v in labels}, key=lambda v: (isinstance(v, str), v)):
        if not kept or not one_label(kept[-1], label):
            kept.append(label)
    return kept


def positions(known: Sequence[Any], wanted: Sequence[Any]) -> np.ndarray | None:
    """Return where the wanted labels are among others, or None if one is not there."""
    exact = {label: at for at, label in enumerate(known)}
    found = [exact.get(v, next((at for at, u in enumerate(known) if one_label(u, v)), -1)) for v in wanted]
    return None if -1 in found else np.asarray(found, dtype=np.intp)

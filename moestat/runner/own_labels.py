"""Labels of an own dimension: numbers that two machines compute a last digit apart are one label.

A grid such as ``10.0 ** -k`` is computed with every shard, and the processors of a cluster may round it differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def one(a: Any, b: Any) -> bool:
    """Return whether two labels are one: equal, or numbers that differ by rounding.

    >>> one(0.1, 0.1 + 1e-17), one(0.1, 0.11), one("relu", "gelu")
    (True, False, False)
    """
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b)


def united(sequences: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the labels of several shards: as they stand if all shards agree, else sorted, so that no order matters."""
    first = sequences[0]
    if all(len(other) == len(first) and all(map(one, first, other)) for other in sequences):
        return [min(labels) for labels in zip(*sequences, strict=True)]
    kept: list[Any] = []
    for label in sorted({v for labels in sequences for v in labels}, key=lambda v: (isinstance(v, str), v)):
        if not kept or not one(kept[-1], label):
            kept.append(label)
    return kept


def positions(known: Sequence[Any], wanted: Sequence[Any]) -> np.ndarray | None:
    """Return where the wanted labels are among others, or None if one is not there."""
    exact = {label: at for at, label in enumerate(known)}
    found = [exact.get(v, next((at for at, u in enumerate(known) if one(u, v)), -1)) for v in wanted]
    return None if -1 in found else np.asarray(found, dtype=np.intp)

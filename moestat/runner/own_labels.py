"""Labels of an own dimension: numbers that two machines compute a last digit apart are one label.

A grid such as ``10.0 ** -k`` is computed with every shard, and the processors of a cluster may round it differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

ROUNDING = 1e-12
"""Relative difference up to which two numbers are one label."""


def one(a: Any, b: Any) -> bool:
    """Return whether two labels are one: equal, or numbers that differ by rounding.

    >>> one(0.1, 0.1 + 1e-17), one(0.1, 0.11), one("relu", "gelu")
    (True, False, False)
    """
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=ROUNDING)
    return bool(a == b)


def numbered(sequences: Sequence[Sequence[Any]]) -> dict[Any, int]:
    """Number the labels of several shards: as they are if all shards agree, else sorted, so that no order matters.

    Parameters
    ----------
    sequences : sequence of sequences
        The labels of each shard.

    Returns
    -------
    dict
        Label -> its place; the first label of a place is the one that stands for it.
    """
    first = sequences[0]
    if all(len(other) == len(first) and all(map(one, first, other)) for other in sequences):
        # the least of those that stand for one place comes first, whichever shard was read first
        return {label: at for at, labels in enumerate(zip(*sequences, strict=True)) for label in sorted(set(labels))}
    labels = {label for sequence in sequences for label in sequence}
    places: dict[Any, int] = {}
    standing: list[Any] = []
    for label in sorted(labels, key=lambda v: (isinstance(v, str), v)):
        if not standing or not one(standing[-1], label):
            standing.append(label)
        places[label] = len(standing) - 1
    return places


def standing(places: dict[Any, int]) -> list[Any]:
    """Return the label that stands for each place of :func:`numbered`."""
    return list({at: label for label, at in reversed(places.items())}.values())[::-1]


def positions(labels: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Return where the wanted labels are among others, or None if one is not there.

    Parameters
    ----------
    labels : array (n,)
    wanted : array (k,)

    Returns
    -------
    array (k,) of int, or None
    """
    known = labels.tolist()
    exact = {label: at for at, label in enumerate(known)}
    found = [exact.get(v, next((at for at, u in enumerate(known) if one(u, v)), -1)) for v in wanted.tolist()]
    return None if -1 in found else np.asarray(found, dtype=np.intp)


def adopt(dataset: xr.Dataset, other: xr.Dataset) -> xr.Dataset:
    """Return a dataset with the labels of another one, where they are the same to rounding."""
    names = {}
    for dim in dataset.dims:
        if dim not in dataset.coords or dim not in other.coords or dataset[dim].dtype.kind != "f":
            continue
        mine, theirs = dataset[dim].values.tolist(), other[dim].values.tolist()
        labels = [next((u for u in theirs if one(u, v)), v) for v in mine]
        if labels != mine:
            names[dim] = (dim, labels, dataset[dim].attrs)
    return dataset.assign_coords(names)

"""Numbers of a record: kept in 32 bits, with a checksum of each replicate by which all 64 are compared.

A record would take twice the room with every bit, and no verdict reads beyond seven digits. What ``verify`` computes
again is compared with the digits that are kept, and by the checksum with those that are not.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import xarray as xr

NAMES = "rounded"
"""Attribute of a dataset: the names of its variables that are kept in 32 bits."""
CHECKSUM = "checksum_of_64_bits"
"""Coordinate with the checksum of every replicate."""
SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def names(dataset: xr.Dataset) -> list[str]:
    """Return the names of the variables that are kept in 32 bits."""
    return [name for name in str(dataset.attrs.get(NAMES, "")).split("\n") if name]


def rounded(dataset: xr.Dataset, but: Collection[str] = ()) -> xr.Dataset:
    """Return the results with numbers of replicates in 32 bits where these reach, ``but`` some, and with checksums."""
    small = {str(name): array for name, array in dataset.data_vars.items() if name not in but and _fits(array)}
    out = dataset.assign({name: array.astype(np.float32) for name, array in small.items()})
    own = dataset["status"].dims
    total = np.zeros(dataset["status"].shape, np.uint64)
    for name, array in small.items():
        if not {"derived", "measurement"} & array.attrs.keys():
            weights = weights_of(dataset, name)
            values = array.transpose(*own, *weights.dims).values
            total += _sum(values, weights.values, weights.ndim)
    return out.assign_coords({CHECKSUM: (own, _short(total))}).assign_attrs({NAMES: "\n".join(sorted(small))})


def whole(dataset: xr.Dataset) -> xr.Dataset:
    """Return results as they are read: all numbers in 64 bits."""
    wide = {name: dataset[name].astype(np.float64, keep_attrs=True) for name in names(dataset)}
    return dataset.assign(wide) if wide else dataset


def kept(values: np.ndarray) -> np.ndarray:
    """Return numbers with the digits that a record keeps."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def weights_of(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Return the weights that the entries of a variable have in the checksum of each replicate."""
    dims = [dim for dim in dataset[name].dims if dim not in dataset["status"].dims]
    values = _weights(name, tuple(dataset.sizes[dim] for dim in dims))
    return xr.DataArray(values, {dim: dataset[dim] for dim in dims if dim in dataset.coords}, dims)


def _weights(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return odd 64-bit numbers (shape), fixed for a variable's name, one for each of its entries."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    raw = np.random.PCG64(seed).random_raw(math.prod(shape))  # NumPy keeps this stream for ever
    return np.asarray(raw, np.uint64).reshape(shape) | np.uint64(1)


def checksum(parts: Iterable[tuple[Any, Any]]) -> int:
    """Return the checksum of one replicate, as :func:`rounded` keeps it, from its variables and their weights."""
    total = np.zeros(1, np.uint64)
    for values, weights in parts:
        total += _sum(np.asarray(values, np.float64), np.asarray(weights, np.uint64), np.ndim(values))
    return int(_short(total)[0])


def _fits(array: xr.DataArray) -> bool:
    """Whether these are 64-bit numbers of replicates, none of which 32 bits make infinite, or less precise."""
    if array.dtype != np.float64 or "replicate" not in array.dims:
        return False
    sizes = np.abs(array.values[np.isfinite(array.values) & (array.values != 0.0)])
    return bool(sizes.min(initial=1.0) >= SMALLEST and sizes.max(initial=1.0) <= LARGEST)


def _sum(values: np.ndarray, weight: np.ndarray, axes: int) -> np.ndarray:
    """Return the weighted sum, modulo 2**64, of the bits of numbers over their last axes; NaN counts nothing."""
    bits = np.where(np.isnan(values), 0.0, values).view(np.uint64) * weight
    total: np.ndarray = bits.sum(axis=tuple(range(bits.ndim - axes, bits.ndim)), dtype=np.uint64)
    return total


def _short(total: np.ndarray) -> np.ndarray:
    """Return the upper half of 64 bits: those on which all bits of the numbers have acted."""
    return (total >> np.uint64(32)).astype(np.uint32)

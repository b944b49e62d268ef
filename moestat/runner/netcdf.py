"""Read netCDF-4 into memory by h5py: a file of 150 small variables in a fifth of the time that xarray takes to open it.

What the numbers mean (fill values, texts, truth values) is decoded by xarray.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from h5py import h5r

if TYPE_CHECKING:
    import xarray as xr

OWN = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
"""Attributes by which netCDF describes its dimensions."""
BARE = b"This is a netCDF dimension but not a netCDF variable"


def load(path: Path | io.BytesIO) -> xr.Dataset:
    """Return the dataset of a file of one group, as ``xarray.load_dataset`` does, but for the encodings."""
    import xarray as xr

    with h5py.File(path, "r") as file:
        items = {name: item for name, item in file.items() if isinstance(item, h5py.Dataset)}
        kept = {name: item for name, item in items.items() if not _bare(item)}
        variables = {
            name: xr.Variable(_dims(file, name, item), _values(item), _attributes(item)) for name, item in kept.items()
        }
        raw = xr.Dataset(variables, attrs=_attributes(file))
    return xr.decode_cf(raw, decode_times=False, decode_timedelta=False)


def _bare(item: h5py.Dataset) -> bool:
    return bytes(item.attrs.get("NAME", b"")).startswith(BARE)


def _dims(file: h5py.File, name: str, item: h5py.Dataset) -> tuple[str, ...]:
    if "DIMENSION_LIST" not in item.attrs:
        return (name,) * item.ndim  # along itself
    return tuple(h5r.get_name(of[0], file.id).decode().lstrip("/") for of in item.attrs["DIMENSION_LIST"])


def _values(item: h5py.Dataset) -> np.ndarray:
    text = h5py.check_string_dtype(item.dtype)
    if text is not None and text.length is None:
        return np.asarray(item.asstr()[()]).astype(str)
    return np.asarray(item[()])


def _attributes(item: Any) -> dict[str, Any]:
    found = {key: value for key, value in item.attrs.items() if key not in OWN}
    one = {key for key, value in found.items() if isinstance(value, np.ndarray) and value.shape == (1,)}
    return {key: value[0] if key in one else value for key, value in found.items()}

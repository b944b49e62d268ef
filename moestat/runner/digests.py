"""A digest of each variable, in the file of results itself, so that a copy elsewhere tells when it was changed.

HDF5 has no checksum of what it keeps unpacked: a flipped bit is another number. The digests stand in one attribute of
the file, and are gone from what is read.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

NAME = "sha256"
"""Attribute with a line for each variable: its name, and its digest."""


def stamped(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the digests of its variables."""
    lines = [f"{name} {_digest(variable)}" for name, variable in dataset.variables.items()]
    return dataset.assign_attrs({NAME: "\n".join(sorted(lines))})


def changed(dataset: xr.Dataset) -> list[str]:
    """Return the names of variables that are not as they were written; files of an older moestat have no digests."""
    if NAME not in dataset.attrs:
        return []
    wanted = {line.rpartition(" ")[0]: line for line in str(dataset.attrs[NAME]).split("\n")}
    found = {str(name): f"{name} {_digest(variable)}" for name, variable in dataset.variables.items()}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def _digest(variable: xr.Variable) -> str:
    """Hash names, attributes and values: texts as JSON, numbers as they lie in a file, every NaN as one."""
    values = np.asarray(variable.values)
    text = values.dtype.kind in "OUST"
    attrs = {str(key): np.asarray(value).ravel().tolist() for key, value in variable.attrs.items()}
    told = [list(map(str, variable.dims)), list(values.shape), "text" if text else values.dtype.str[1:], attrs]
    if text:
        content = json.dumps([str(entry) for entry in values.ravel().tolist()]).encode()
    else:
        values = np.where(np.isnan(values), np.nan, values) if values.dtype.kind == "f" else values
        content = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False)).tobytes()
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode() + b"\n" + content).hexdigest()

"""``results.nc``: the collected dataset, written whole or not at all, and read back."""

from __future__ import annotations

import hashlib
import io
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moestat import bounded, files
from moestat.bounded import DataFileError, require
from moestat.errors import InputError, StaleError, UserError
from moestat.runner import digests, manifest_file
from moestat.sentences import listed

if TYPE_CHECKING:
    import xarray as xr

NAME = "results.nc"
PACKED = "results.nc.xz"
"""The same in a record: HDF5 tells of each variable at a length that only xz, over the whole file, makes small."""
WHOLE = "whole.nc"
"""Beside it every bit and every variable, where they were fetched (:mod:`moestat.runner.whole`)."""
DIGESTS = {NAME: "results_sha256", PACKED: "results_sha256", WHOLE: "whole_sha256"}
"""Where the manifest beside them has the SHA-256 of each."""
UNPACKED = 500_000_000
"""Bytes that such a file may unpack to."""
NOT_COMPUTED = -1
"""Status of a replicate that nothing was computed for."""
BINARY = "binary"
"""Attribute of the values that were truth values before they became 0 and 1."""
RANGE = "valid_range"
"""Attribute [low, high] of values that cannot lie elsewhere (shares, say), as in the CF conventions of netCDF."""
LISTS = ("notes", "problem", "set")
UNREADABLE = (
    *(OSError, ValueError, LookupError, RuntimeError, TypeError, AttributeError, ArithmeticError, MemoryError),
    zlib.error,
)
"""What is raised by a file that is no netCDF, or is damaged: whatever its bytes happen to mean."""


def write(root: Path, dataset: xr.Dataset) -> str:
    """Put the dataset in place as netCDF, and return the SHA-256 of the file.

    The file is made in memory: HDF5 that meets a full disk leaves half a file and an object that cannot be closed.
    Coordinates come first: one after the values along it is detached from and attached to all of them again.
    """
    along = sorted(dataset.coords, key=lambda name: name not in dataset.dims)
    try:
        content = bytes(digests.stamped(dataset[[*along, *dataset.data_vars]]).to_netcdf(engine="h5netcdf"))
    except (TypeError, ValueError, AttributeError) as error:  # names or labels of a shard that somebody made
        raise UserError(f"these results cannot be written as netCDF ({error}); compute them again") from None
    files.write(root / NAME, content)
    return hashlib.sha256(content).hexdigest()


def of(folder: Path) -> Path:
    """Return the file of results in a folder; in that of a record the whole results, where they were fetched."""
    return next((file for name in (NAME, WHOLE, PACKED) if (file := folder / name).is_file()), folder / NAME)


def provenance(dataset: xr.Dataset) -> dict[str, Any]:
    """Return the attributes of a results file as plain values; texts of several lines that are lists as lists."""
    plain_values: dict[str, Any] = {}
    for key, value in dataset.attrs.items():
        plain = np.asarray(value).ravel().tolist()
        plain_values[str(key)] = plain[0] if len(plain) == 1 else plain or ""
    return plain_values | {key: [line for line in str(plain_values.get(key, "")).split("\n") if line] for key in LISTS}


def read(path: Path) -> xr.Dataset:
    """Read a results file into memory.

    Raises InputError if there is none; StaleError if it was changed after it was written; UserError if it cannot be
    read as netCDF, or reaches out of itself.
    """
    from moestat.runner import hdf5, netcdf, rounded

    if not path.exists():
        raise InputError(f"there is no {path}; run the study first")
    try:
        require(path, hdf5.LARGEST)
        if altered(path):
            raise StaleError(
                f"{path} was changed after it was written (its SHA-256 is not that of {manifest_file.NAME}); make it "
                "again with the subcommand collect, or read a copy that lies elsewhere"
            )
        packed = path.suffix == ".xz"
        content = io.BytesIO(bounded.read(path, packed=True, largest=UNPACKED)) if packed else None
        hdf5.check(path, content)
        dataset = netcdf.load(content or path)
        if changed := digests.changed(dataset):
            raise StaleError(
                f"{path} was changed after it was written, in {listed(changed, 5)}; make it again with the subcommand "
                "collect, or get it again"
            )
        dataset.attrs.pop(digests.NAME, None)
        return rounded.whole(dataset)
    except DataFileError as error:
        raise UserError(str(error)) from None
    except UNREADABLE as error:
        why = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read as netCDF: {why}; make it again with the subcommand collect") from None


def altered(path: Path) -> bool:
    """Say whether a results file is another one than the manifest beside it names; without a manifest it is not.

    It is asked before the file is opened: HDF5 may return other numbers from a damaged file, and may not return at all.
    Raises UserError if there is a manifest that cannot be read.
    """
    for wait in (0.0, 0.5):  # a run that is being collected puts the manifest in place after the file
        time.sleep(wait)
        if not (wanted := manifest_file.read(path.parent).get(DIGESTS.get(path.name, "results_sha256"))):
            return False
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() == wanted:
                return False
    return True


def within_range(array: xr.DataArray, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of an interval for values of ``array``, inside the range that these can have.

    A t-interval knows nothing of that range: that of a mean share may reach beyond 1.
    """
    least, most = array.attrs.get(RANGE, (-np.inf, np.inf))
    return np.clip(low, least, most), np.clip(high, least, most)

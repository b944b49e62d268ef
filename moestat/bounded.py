"""Files of a user's data, read whole, but never beyond a limit: what claims or unpacks to more is refused first.

A megabyte of gzip can unpack to a gigabyte, eighty bytes of an ``.npy`` header can ask for a terabyte, and a pipe never
ends. Files are read in chunks, sizes that a file states are checked before memory is taken, and whatever is refused is
told in one sentence that names the file and the limit.
"""

from __future__ import annotations

import gzip
import io
import math
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

LARGEST = 2_000_000_000
"""Bytes that are read of one file, unpacked: four times WikiText-103, ten times CIFAR."""

SMALL = 64_000_000
"""Bytes that are read of a text of ours, unpacked: a manifest, rules, a table of claims."""

_CHUNK = 1 << 20
_HEADER = 10_240
"""Bytes in which the header of an array must end; NumPy's own limit is 10 000."""


class DataFileError(ValueError):
    """A file or folder of data cannot be read, or is another one than stated; the message names it."""


def require(path: Path, largest: int | None = None) -> int:
    """Return the size of a regular file that is not larger than ``largest`` bytes, or ``LARGEST`` if not given.

    Raises
    ------
    DataFileError
        If it is larger, or a folder, a pipe or a device.
    OSError
        If there is no such file, or it may not be looked at.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise DataFileError(f"{path}: cannot be read (it is no regular file)")
    if found.st_size > (largest := LARGEST if largest is None else largest):
        raise DataFileError(f"{path}: the file has {found.st_size} bytes; at most {largest} are read")
    return found.st_size


def read(path: Path, *, packed: bool = False, largest: int | None = None) -> bytes:
    """Return the content of a file, with ``packed`` what its gzip unpacks to.

    Raises
    ------
    DataFileError
        If it is larger than ``largest`` bytes (``LARGEST`` if not given), no regular file, cannot be read, or is not
        whole gzip.
    """
    parts, size = [], 0
    largest = LARGEST if largest is None else largest
    try:
        require(path, largest)
        with gzip.open(path, "rb") if packed else path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > largest:
                    what = "unpacks to" if packed else "has"
                    raise DataFileError(f"{path}: the file {what} more than {largest} bytes, the most that is read")
                parts.append(chunk)
    except (EOFError, zlib.error) as error:
        raise DataFileError(f"{path}: the file is cut off or damaged ({error})") from None
    except OSError as error:  # gzip.BadGzipFile is one
        raise DataFileError(f"{path}: cannot be read ({error.strerror or error})") from None
    return b"".join(parts)


def text(path: Path, *, packed: bool = False) -> str:
    """Return the text of a small file of ours.

    Raises
    ------
    DataFileError
        As :func:`read` does, for more than ``SMALL`` bytes, or if it is not UTF-8.
    """
    try:
        return read(path, packed=packed, largest=SMALL).decode()
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path}: the file is not UTF-8 text (byte {error.start})") from None


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Return the named arrays of an ``.npz`` file.

    Raises
    ------
    DataFileError
        If one is missing, is no array of numbers or texts, they take more than ``LARGEST`` bytes together, or the file
        cannot be read.
    """
    try:
        require(path)
        with path.open("rb") as stream:
            found = arrays(stream, names)
    except OSError as error:
        raise DataFileError(f"{path}: cannot be read ({error.strerror or error})") from None
    except DataFileError:  # of require: it names the file
        raise
    except ValueError as error:
        raise DataFileError(f"{path}: {error}") from None
    return [found[name] for name in names]


def arrays(stream: IO[bytes], names: Sequence[str] = (), largest: int | None = None) -> dict[str, np.ndarray]:
    """Return arrays of a NumPy archive, all of them without ``names``.

    Parameters
    ----------
    stream : binary file
    names : sequence of str
    largest : int, optional
        Bytes that they may take together; ``LARGEST`` if not given.

    Raises
    ------
    ValueError
        If an array is missing, holds objects, or is of another size than its part of the archive, if they take more
        bytes, or the archive is broken; the message does not know the file.
    """
    largest = LARGEST if largest is None else largest
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            for name in names:
                if name not in entries:
                    listed = ", ".join(map(repr, entries)) or "none"
                    raise _RefusedError(f"there is no array {name!r}; needed are {', '.join(names)}, found {listed}")
            chosen = {name: entries[name] for name in names or entries}
            if (size := sum(entry.file_size for entry in chosen.values())) > largest:
                raise _RefusedError(f"its arrays take {size} bytes unpacked; at most {largest} are read")
            return {name: _array(archive, entry, name) for name, entry in chosen.items()}
    except _RefusedError as error:
        raise ValueError(str(error)) from None
    except Exception as error:  # a broken archive raises whatever its bytes happen to mean
        raise ValueError(f"it is not a whole .npz file ({' '.join(str(error).split())})") from None


class _RefusedError(Exception):
    """What is wrong with an archive that can be read."""


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> np.ndarray:
    """Return one array, after its header was compared with the size that the archive states; zipfile stops there."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may ask for gigabytes themselves
        raise _RefusedError(
            f"it is not a whole .npz file (compression method {entry.compress_type} is none of NumPy's)"
        )
    with archive.open(entry) as part:
        head = io.BytesIO(part.read(_HEADER))
    if not head.getvalue().startswith(b"\x93NUMPY"):
        raise _RefusedError(f"{name!r} is not an array of NumPy")
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[np.lib.format.read_magic(head)](head)
    if dtype.hasobject:
        raise _RefusedError("it holds pickled objects and is refused; arrays must be numbers")
    wanted, there = math.prod(shape) * dtype.itemsize, entry.file_size - head.tell()
    if wanted != there:
        raise _RefusedError(f"the header of {name!r} promises {wanted} bytes, but there are {there}")
    with archive.open(entry) as part:
        return np.lib.format.read_array(part, allow_pickle=False)

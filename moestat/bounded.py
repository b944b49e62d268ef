"""Files of a user's data, read whole, but never beyond a limit: what states or unpacks to more is refused first.

A megabyte of gzip can unpack to a gigabyte, and a pipe never ends. Whatever is refused is told by a DataFileError, in
one sentence that names the file and the limit.
"""

from __future__ import annotations

import gzip
import io
import lzma
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


class DataFileError(ValueError):
    """A file or folder of data cannot be read, or is another one than stated; the message names it."""


def require(path: Path, largest: int | None = None) -> int:
    """Return the size of a regular file of at most ``largest`` bytes, or ``LARGEST``; OSError if there is none."""
    found, largest = path.stat(), LARGEST if largest is None else largest
    if not stat.S_ISREG(found.st_mode):
        raise DataFileError(f"{path}: cannot be read (it is no regular file)")
    if found.st_size > largest:
        raise DataFileError(f"{path}: the file has {found.st_size} bytes; at most {largest} are read")
    return found.st_size


def read(path: Path, *, packed: bool = False, largest: int | None = None) -> bytes:
    """Return the content of a file of at most ``largest`` bytes, with ``packed`` what its gzip or xz unpacks to."""
    content, largest = bytearray(), LARGEST if largest is None else largest
    try:
        require(path, largest)
        opened = lzma.open if path.suffix == ".xz" else gzip.open
        with opened(path, "rb") if packed else path.open("rb") as stream:
            while len(content) <= largest and (chunk := stream.read(1 << 20)):
                content += chunk
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataFileError(f"{path}: the file is cut off or damaged ({error})") from None
    except OSError as error:  # gzip.BadGzipFile is one
        raise DataFileError(f"{path}: cannot be read ({error.strerror or error})") from None
    if len(content) > largest:
        what = "unpacks to" if packed else "has"
        raise DataFileError(f"{path}: the file {what} more than {largest} bytes, the most that is read")
    return bytes(content)


def text(path: Path, *, packed: bool = False) -> str:
    """Return the text of a small file of ours; refused beyond ``SMALL``, and if it is not UTF-8."""
    try:
        return read(path, packed=packed, largest=SMALL).decode()
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path}: the file is not UTF-8 text (byte {error.start})") from None


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Return the named arrays of an ``.npz`` file; refused if one is missing or holds objects."""
    content = io.BytesIO(read(path))
    try:
        found = arrays(content, names)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}") from None
    return [found[name] for name in names]


def arrays(stream: IO[bytes], names: Sequence[str] = (), largest: int | None = None) -> dict[str, np.ndarray]:
    """Return arrays of a NumPy archive, all of them without ``names``.

    Raises ValueError, which does not know the file, if one is missing or holds objects, the archive unpacks to more
    than ``largest`` bytes (``LARGEST`` if not given), or is broken.
    """
    largest = LARGEST if largest is None else largest
    try:
        with zipfile.ZipFile(stream) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            there = list(archive)
            missing = [name for name in names if name not in there]
            found = {name: archive[name] for name in names or there} if size <= largest and not missing else {}
    except Exception as error:  # a broken archive raises whatever its bytes happen to mean
        why = " ".join(str(error).split())
        if "Object arrays" in why:
            raise ValueError("it holds pickled objects and is refused; arrays must be numbers") from None
        raise ValueError(f"it is not a whole .npz file ({why})") from None
    if size > largest:
        raise ValueError(f"its arrays take {size} bytes unpacked; at most {largest} are read")
    if missing:
        listed = ", ".join(map(repr, there)) or "none"
        raise ValueError(f"there is no array {missing[0]!r}; needed are {', '.join(names)}, found {listed}")
    if odd := [name for name, array in found.items() if not isinstance(array, np.ndarray)]:
        raise ValueError(f"{odd[0]!r} is not an array of NumPy")
    return found

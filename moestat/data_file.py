"""The checksum of the user's data among the settings, so that results always say which data they are of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from moestat import bounded
from moestat.bounded import DataFileError as DataFileError


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of the files of a folder.

    Raises DataFileError if there is no such file or folder, or it cannot be read, or a file is too large.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise DataFileError(f"{path}: there is no such file or folder")
    try:
        if not path.is_dir():
            return _of_file(path)
        parts = [f"{file.name} {_of_file(file)}\n" for file in sorted(path.iterdir()) if file.is_file()]
    except OSError as error:
        raise DataFileError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _of_file(path: Path) -> str:
    return _content(path, bounded.require(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=1024)  # what has not changed since is not read again
def _content(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: str | Path, stated: str, setting: str = "file") -> None:
    """Refuse data whose checksum is not the stated one, by a DataFileError that names the setting."""
    if (present := digest(path)) != stated:
        raise DataFileError(
            f"{path}: {setting}_sha256 is {stated!r}, but the checksum of the data is '{present}': they are other, "
            "changed or truncated data"
        )


def with_digest(given: Any, setting: str = "file") -> Any:
    """Add ``<setting>_sha256`` to an experiment's settings before their validation: other data are another cell.

    What is no mapping, or has a path that is no text, is returned as it is. Raises DataFileError if the data cannot be
    read, or a checksum is given and is another one.
    """
    if not isinstance(given, Mapping) or not isinstance(path := given.get(setting, ""), str):
        return given
    name = f"{setting}_sha256"
    if path and given.get(name):
        check(path, given[name], setting)
    return {**given, name: digest(path) if path else ""}

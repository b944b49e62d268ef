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
    """Return the SHA-256, in hexadecimal, of a file, or of the names and contents of the files of a folder.

    What has not changed since is not read again.

    Raises
    ------
    DataFileError
        If there is no such file or folder, it cannot be read, or a file is larger than :data:`bounded.LARGEST`.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise DataFileError(f"{path}: there is no such file or folder")
    try:
        files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]
        for file in files:
            bounded.require(file)
        stats = [file.stat() for file in files]
        parts = _digests(tuple(files), tuple((stat.st_size, stat.st_mtime_ns) for stat in stats))
    except OSError as error:
        raise DataFileError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None
    if not path.is_dir():
        return parts[0]
    return hashlib.sha256("".join(f"{f.name} {d}\n" for f, d in zip(files, parts, strict=True)).encode()).hexdigest()


@lru_cache(maxsize=8)
def _digests(files: tuple[Path, ...], _stamps: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
    parts = []
    for file in files:
        with file.open("rb") as stream:
            parts.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return tuple(parts)


def check(path: str | Path, stated: str, setting: str = "file") -> None:
    """Refuse data whose checksum is not the stated one.

    Raises
    ------
    DataFileError
        If it is not; the message names the setting.
    """
    present = digest(path)
    if present != stated:
        raise DataFileError(
            f"{path}: {setting}_sha256 is {stated!r}, but the checksum of the data is '{present}': they are other, "
            "changed or truncated data"
        )


def with_digest(given: Any, setting: str = "file") -> Any:
    """Complete an experiment's settings: other data are another cell, and a stated checksum must be right.

    Parameters
    ----------
    given : mapping
        Settings before their validation; anything else, or a path that is no text, is returned as it is.
    setting : str
        Name of the path's setting; that of the checksum is the same with ``_sha256`` after it.

    Raises
    ------
    DataFileError
        If the data cannot be read, or a checksum is given and is another one.
    """
    if not isinstance(given, Mapping) or not isinstance(path := given.get(setting, ""), str):
        return given
    name = f"{setting}_sha256"
    if not path:
        return {**given, name: ""}
    if stated := given.get(name):
        check(path, stated, setting)
    return {**given, name: digest(path)}

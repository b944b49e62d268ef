"""The checksum of the user's data, so that results always say which data they are of."""

from __future__ import annotations

import hashlib
from pathlib import Path


class DataFileError(ValueError):
    """A file or folder of data cannot be read; the message names it."""


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of the files of a folder.

    Raises
    ------
    DataFileError
        If there is no such file or folder, or it cannot be read.
    """
    path = Path(path)
    if not path.exists():
        raise DataFileError(f"{path}: there is no such file or folder")
    total = hashlib.sha256()
    try:
        for file in sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]:
            with file.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256")
            if not path.is_dir():
                return content.hexdigest()
            total.update(f"{file.name} {content.hexdigest()}\n".encode())
    except OSError as error:
        raise DataFileError(f"{path}: cannot be read ({error.strerror})") from None
    return total.hexdigest()

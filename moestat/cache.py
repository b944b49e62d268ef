"""A content-addressed cache of arrays on disk: what is expensive and shared is computed once.

An entry is named by the SHA-256 of what was asked for, put in place whole, and carries a checksum; an entry that cannot
be trusted is computed again, never read. A cache problem never stops a computation: it warns in one line.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from moestat import bounded, files
from moestat.arrays import to_numpy

_MAGIC = b"moestat-cache-1"
_IDENTITY = "identity"
_PREFIX = "array/"  # keeps the callers' names apart from ours and from np.savez's own arguments


class CacheWarning(UserWarning):
    """The cache could not be read or written; the arrays were computed instead."""


def folder() -> Path:
    """Return the folder of the cache: ``MOESTAT_CACHE``, or the platform's place for a user's caches."""
    chosen = os.environ.get("MOESTAT_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("moestat", appauthor=False)


def path(kind: str, identity: Mapping[str, Any]) -> Path:
    """Return the file of an entry, whether it exists or not; arguments as in :func:`cached`."""
    return folder() / kind / f"{hashlib.sha256(_canonical(kind, identity).encode()).hexdigest()}.cache"


def cached(
    kind: str, identity: Mapping[str, Any], compute: Callable[[], Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return ``compute()``, from the disk when it was computed before.

    Parameters
    ----------
    kind : str
        What the entry is, e.g. ``"pseudo-truth"``: lower-case letters, digits, ``-`` and ``_``.
    identity : mapping
        Everything that the result depends on, as finite JSON values; the version of the code that computes it belongs
        here (``{"code": 2, ...}``), for a cache cannot see a change of code.
    compute : callable
        Makes the arrays, of no Python objects; called when there is no trustworthy entry. Two processes that miss at
        the same time both compute, and each puts a whole file in place.

    Warns
    -----
    CacheWarning
        If an entry is corrupt (it is replaced) or the folder cannot be read or written (nothing is kept).
    """
    canonical, file = _canonical(kind, identity), path(kind, identity)
    problem = ""
    try:
        bounded.require(file)  # a pipe is no entry
        return _decode(file.read_bytes(), canonical)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        problem = f"cache entry {file} is not used ({error}); it was computed again"
    arrays = {name: to_numpy(array) for name, array in compute().items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects; the cache keeps numbers, booleans and strings")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, _encode(arrays, canonical))
    except OSError as error:
        problem += (
            f"{'; ' * bool(problem)}cache folder {file.parent} cannot be written ({error}), so the result is not kept: "
            "set MOESTAT_CACHE to a folder that can be"
        )
    if problem:
        warnings.warn(problem, CacheWarning, stacklevel=2)
    return arrays


def _canonical(kind: str, identity: Mapping[str, Any]) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", kind):
        raise ValueError(f"kind is {kind!r}; allowed are lower-case letters, digits, '-' and '_'")
    try:
        return json.dumps([kind, dict(identity)], sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"the identity of a cached {kind!r} must be made of finite JSON values: {error}") from error


def _encode(arrays: Mapping[str, np.ndarray], canonical: str) -> bytes:
    """Return the entry: magic, checksum of the rest, and a NumPy archive that also says what was asked for."""
    payload = io.BytesIO()
    named = {_PREFIX + name: array for name, array in arrays.items()}
    np.savez(payload, **{_IDENTITY: np.asarray(canonical)}, **named)  # type: ignore[arg-type]
    body = payload.getvalue()
    return b"%s %s\n%s" % (_MAGIC, hashlib.sha256(body).hexdigest().encode(), body)


def _decode(entry: bytes, canonical: str) -> dict[str, np.ndarray]:
    """Return the arrays of an entry, or raise ValueError with what is wrong with it."""
    head, _, body = entry.partition(b"\n")
    if head != b"%s %s" % (_MAGIC, hashlib.sha256(body).hexdigest().encode()):
        raise ValueError("it is corrupt: its checksum does not match")
    found = bounded.arrays(io.BytesIO(body), largest=len(body))  # we pack nothing, so no entry unpacks to more
    if _IDENTITY not in found or str(found.pop(_IDENTITY)) != canonical:
        raise ValueError("it answers another request")
    return {name.removeprefix(_PREFIX): array for name, array in found.items()}

"""What a shard says of itself, read from its JSON: every type, size and number is checked before anything uses it.

A checksum shows that a file is as somebody wrote it, not who did. What does not fit together is a damaged shard.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moestat.sentences import show
from moestat.status import Status

MOST_REPLICATES = 10**8
"""Replicates in one shard: more than a plan can ask for."""

_KINDS = "biufc"


class DamagedShardError(ValueError):
    """The file is not what was written: torn, flipped or no shard at all."""


@dataclass(frozen=True)
class Header:
    """What a shard says of itself."""

    cell: str
    arm: str
    coords: Mapping[str, Any]
    code: Mapping[str, str]
    replicates: tuple[int, ...]
    status: tuple[int, ...]
    provenance: Mapping[str, Any]
    attrs: Mapping[str, Any]
    arrays: Sequence[Mapping[str, Any]]

    @property
    def digest(self) -> str:
        """Digest of the cell."""
        return hashlib.sha256(self.cell.encode(errors="surrogatepass")).hexdigest()


def parse(line: bytes, payload: int) -> Header:
    """Return the header that a line of JSON is, of a shard whose arrays have so many bytes.

    Raises
    ------
    DamagedShardError
        If it is none.
    """
    try:
        raw = json.loads(line)
        return _checked(raw, payload)
    except RecursionError:
        raise DamagedShardError("its header is nested too deeply") from None
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        if isinstance(error, DamagedShardError):
            raise
        raise DamagedShardError(
            f"its header is not that of a shard ({type(error).__name__}: {show(str(error))})"
        ) from None


def _checked(raw: Any, payload: int) -> Header:
    _need(isinstance(raw, dict), "it is no table")
    cell = _of(raw, "cell", str)
    identity = json.loads(cell)
    _need(isinstance(identity, dict) and isinstance(identity["settings"], dict) and "seed" in identity, "cell is none")
    coords, attrs = _of(raw, "coords", dict), _of(raw, "attrs", dict)
    for key, value in (*coords.items(), *attrs.items()):
        _need(isinstance(value, str | int | float), f"{key} is {show(value)}")
    code = _of(raw, "code", dict)
    _need(all(isinstance(value, str) for value in code.values()), "code holds other things than text")
    replicates = _replicates(_of(raw, "replicates", list))
    status = _of(raw, "status", list)
    known = {int(code) for code in Status}
    _need(len(status) == len(replicates), f"{len(status)} statuses of {len(replicates)} replicates")
    _need(all(type(value) is int and value in known for value in status), "a status is unknown")
    provenance = _of(raw, "made", dict)
    seconds = provenance.get("seconds")
    _need(type(seconds) in (int, float) and 0 <= seconds < math.inf, f"seconds are {show(seconds)}")
    _need(isinstance(provenance.get("device"), str), "device is no text")
    arrays = _of(raw, "arrays", list)
    for item in arrays:
        _check_array(item, payload, len(replicates))
    names = [item["name"] for item in arrays]
    _need(len(set(names)) == len(names), "two arrays have one name")
    _need(not set(names) & set(attrs), "an array and an attribute have one name")
    return Header(cell, _of(raw, "arm", str), coords, code, replicates, tuple(status), provenance, attrs, arrays)


def _replicates(runs: list[Any]) -> tuple[int, ...]:
    total, before = 0, -1
    for run in runs:
        first, last = run
        _need(type(first) is int and type(last) is int and before < first <= last, f"replicates are {show(run)}")
        total, before = total + last - first + 1, last
        _need(total <= MOST_REPLICATES, f"it holds {total} replicates")
    return tuple(r for first, last in runs for r in range(first, last + 1))


def _check_array(item: Any, payload: int, replicates: int) -> None:
    _need(isinstance(item, dict), "an array is no table")
    name = _of(item, "name", str)
    dims, shape, place = _of(item, "dims", list), _of(item, "shape", list), _of(item, "at", list)
    _need(all(isinstance(dim, str) for dim in dims) and len(set(dims)) == len(dims), f"dimensions of {show(name)}")
    _need(len(dims) == len(shape), f"{show(name)} has {len(dims)} dimensions and {len(shape)} sizes")
    _need(all(type(size) is int and size >= 0 for size in shape), f"sizes of {show(name)}")
    first, length = place
    _need(
        type(first) is int and type(length) is int and first >= 0 and length >= 0 and first + length <= payload,
        f"{show(name)} lies outside of the file",
    )
    wrong = "replicate" in dims and shape[dims.index("replicate")] != replicates
    _need(not wrong, f"{show(name)} is of other replicates")
    _of(item, "attrs", dict)
    _of(item, "coord", bool)
    kind = _of(item, "type", str)
    if kind != "text":
        dtype = np.dtype(kind)
        _need(
            dtype.kind in _KINDS and dtype.names is None and dtype.subdtype is None, f"{show(name)} is of type {kind!r}"
        )
        _need(math.prod(shape) * dtype.itemsize == length, f"{show(name)} has another size than it says")
    elif math.prod(shape) > length:  # a text takes two bytes at least, and a comma
        raise DamagedShardError(f"its header does not fit together: {show(name)} has another size than it says")


def _of(raw: Mapping[str, Any], key: str, kind: type) -> Any:
    value = raw[key]
    _need(isinstance(value, kind), f"{key} is {show(value)}")
    return value


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise DamagedShardError(f"its header does not fit together: {what}")

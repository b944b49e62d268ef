r"""The shard: one immutable, self-describing, checksummed file with the replicates of one cell.

Layout::

    moestat-shard 1 <SHA-256 of "1\n" and everything after this line>\n
    <header: JSON on one line>\n
    <arrays, one after the other>

Numbers are stored as they lie in memory (little-endian, C order), text as a JSON list in UTF-8. A checksum shows that a
file is as somebody wrote it, not who did: the header's types, sizes and numbers are checked before anything uses them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from moestat import __version__, bounded, files, versions
from moestat.errors import UserError
from moestat.runner import origin
from moestat.sentences import show
from moestat.status import Status

MAGIC = b"moestat-shard "
FORMAT = b"1"
SUFFIX = ".shard"
LARGEST = 4_000_000_000
"""Bytes of a shard."""
MOST_REPLICATES = 10**8
"""Replicates of a shard: more than a plan can ask for."""

Pair = Annotated[list[NonNegativeInt], Field(min_length=2, max_length=2)]
Scalar = str | bool | int | float


class DamagedShardError(ValueError):
    """The file is not what was written: torn, flipped or no shard at all."""


@dataclass(frozen=True)
class Variable:
    """An array with named dimensions; ``coord`` marks a coordinate."""

    dims: tuple[str, ...]
    values: np.ndarray
    attrs: Mapping[str, Any] = field(default_factory=dict)
    coord: bool = False

    @property
    def measured(self) -> bool:
        """Whether it measures the machine (seconds, say), so that it differs each time; the experiment says so."""
        return bool(self.attrs.get("measurement"))


class Array(BaseModel):
    """Where an array stands in a shard, and what it is; ``type`` is NumPy's, or ``text``."""

    model_config = ConfigDict(strict=True, frozen=True)
    name: str
    dims: list[str]
    type: str
    shape: list[NonNegativeInt]
    at: Pair
    attrs: dict[str, Any]
    coord: bool

    def fits(self, payload: int, replicates: int) -> bool:
        """Whether it lies inside a payload of so many bytes, and is as large as it says."""
        (first, length), size = self.at, math.prod(self.shape)
        if first + length > payload or len(set(self.dims)) < len(self.dims) or len(self.dims) != len(self.shape):
            return False
        if "replicate" in self.dims and self.shape[self.dims.index("replicate")] != replicates:
            return False
        if self.type == "text":  # which takes two bytes at least
            return size <= length
        dtype = np.dtype(self.type)
        return dtype.kind in "biufc" and not dtype.names and not dtype.subdtype and size * dtype.itemsize == length


class Header(BaseModel):
    """What a shard says of itself: its cell, the version of what computed it, its replicates, who made it when."""

    model_config = ConfigDict(strict=True, frozen=True)
    cell: str
    arm: str
    coords: dict[str, Scalar]
    code: dict[str, str]
    runs: list[Pair] = Field(alias="replicates")
    status: list[int]
    provenance: dict[str, Any] = Field(alias="made")
    attrs: dict[str, Scalar]
    arrays: list[Array]

    @cached_property
    def digest(self) -> str:
        """Digest of the cell."""
        return hashlib.sha256(self.cell.encode(errors="surrogatepass")).hexdigest()

    @cached_property
    def replicates(self) -> tuple[int, ...]:
        """Numbers of the replicates, increasing."""
        return tuple(r for first, last in self.runs for r in range(first, last + 1))

    def require(self, payload: int) -> None:
        """Raise a ValueError, or whatever comes, if the parts do not fit together."""
        count = sum(last - first + 1 for first, last in self.runs)
        seconds = self.provenance["seconds"]
        names = [*(item.name for item in self.arrays), *self.attrs]
        identity = json.loads(self.cell)
        checks = {
            "cell": isinstance(identity["settings"], dict) and "seed" in identity,
            "replicates": all(first <= last for first, last in self.runs)
            and all(one[1] < other[0] for one, other in pairwise(self.runs))
            and count <= MOST_REPLICATES,
            "status": len(self.status) == count and set(self.status) <= {int(status) for status in Status},
            "made": type(seconds) in (int, float) and 0 <= seconds < math.inf,
            "device": isinstance(self.provenance["device"], str),
            "names of arrays and attributes": len(set(names)) == len(names),
        }
        checks |= {show(item.name): item.fits(payload, count) for item in self.arrays}
        for what, good in checks.items():
            if not good:
                raise ValueError(f"{what} cannot be")


def name(replicates: Sequence[int], code: Mapping[str, str]) -> str:
    """Return the file name of a shard: its replicates, and the code that computed them."""
    runs = ranges(replicates)
    text = "_".join(f"{first:07d}-{last:07d}" for first, last in runs[:3])
    if len(runs) > 3:
        text += "_" + hashlib.sha256(repr(runs).encode()).hexdigest()[:12]
    return f"{text}.{versions.digest(code)[:8]}{SUFFIX}"


def folder(root: Path, digest: str) -> Path:
    """Return the folder of a cell's shards below the folder of a preset."""
    return root / "shards" / digest[:20]


def ranges(replicates: Sequence[int]) -> list[list[int]]:
    """Write sorted integers as runs [first, last]."""
    if isinstance(replicates, range) and replicates.step == 1 and len(replicates):
        return [[replicates[0], replicates[-1]]]
    runs: list[list[int]] = []
    for r in sorted(replicates):
        if runs and r == runs[-1][1] + 1:
            runs[-1][1] = r
        else:
            runs.append([r, r])
    return runs


def encode(
    *,
    cell: str,
    arm: str,
    coords: Mapping[str, Any],
    code: Mapping[str, str],
    replicates: Sequence[int],
    status: Sequence[int],
    variables: Mapping[str, Variable],
    attrs: Mapping[str, Any],
    seconds: float,
    created: float,
    device: str,
) -> bytes:
    """Return the bytes of a shard. ``replicates`` must be increasing."""
    arrays: list[dict[str, Any]] = []
    chunks: list[bytes] = []
    offset = 0
    for key, variable in variables.items():
        kind, content = _pack(variable.values)
        chunks.append(content)
        shape, at = list(variable.values.shape), [offset, len(content)]
        told = {"name": key, "dims": list(variable.dims), "type": kind, "shape": shape, "at": at}
        arrays.append(told | {"attrs": dict(variable.attrs), "coord": variable.coord})
        offset += len(content)
    header = {
        "cell": cell,
        "arm": arm,
        "coords": dict(coords),
        "code": dict(code),
        "replicates": ranges(replicates),
        "status": [int(s) for s in status],
        "made": {"created": created, "seconds": seconds, "device": device, "pid": os.getpid(), **origin.here()},
        "attrs": dict(attrs),
        "arrays": arrays,
    }
    return sealed(b"".join([json.dumps(header, separators=(",", ":")).encode(), b"\n", *chunks]))


def sealed(body: bytes, number: bytes = FORMAT) -> bytes:
    """Put the first line before the rest of a shard."""
    return b"".join([MAGIC, number, b" ", _checksum(number, body), b"\n", body])


def verified(content: bytes) -> tuple[Header, memoryview]:
    """Check the bytes of a shard and return its header and payload.

    Raises
    ------
    DamagedShardError
        If they are not, to the last bit, what was written, or what was written is no shard.
    UserError
        If a version of moestat with another shard format wrote them.
    """
    line_end = content.find(b"\n", 0, 128)
    words = content[: max(line_end, 0)].split(b" ")
    if not content.startswith(MAGIC) or len(words) != 3:
        raise DamagedShardError("its first line is not that of a shard")
    if _checksum(words[1], memoryview(content)[line_end + 1 :]) != words[2]:
        raise DamagedShardError("its checksum does not match")
    if words[1] != FORMAT:
        raise UserError(
            f"is a shard of format {words[1].decode(errors='replace')}; this version of moestat ({__version__}) reads "
            f"format {FORMAT.decode()}"
        )
    head_end = content.find(b"\n", line_end + 1)
    payload = memoryview(content)[head_end + 1 :]
    try:
        header = Header.model_validate(json.loads(content[line_end + 1 : max(head_end, line_end + 1)]))
        header.require(len(payload))
        return header, payload
    except ValidationError as error:
        why = ".".join(map(str, error.errors()[0]["loc"])) or "it"
        raise DamagedShardError(f"its header is not that of a shard: {why} cannot be") from None
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise DamagedShardError(f"its header is not that of a shard: {show(str(error))}") from None


def contents(path: Path) -> bytes:
    """Return the bytes of a file that may be a shard.

    Raises
    ------
    DamagedShardError
        If it is no regular file, or too large.
    FileNotFoundError
        If it is gone.
    """
    try:
        bounded.require(path, LARGEST)
    except bounded.DataFileError as error:
        raise DamagedShardError(str(error)) from None
    return path.read_bytes()


def variables(header: Header, payload: memoryview) -> dict[str, Variable]:
    """Return the arrays of a verified shard."""
    return {
        item.name: Variable(tuple(item.dims), unpack(item, payload), item.attrs, item.coord) for item in header.arrays
    }


def read(path: Path) -> tuple[Header, dict[str, Variable]]:
    """Read and verify one shard."""
    header, payload = verified(contents(path))
    return header, variables(header, payload)


def write(root: Path, digest: str, content: bytes, replicates: Sequence[int], code: Mapping[str, str]) -> Path:
    """Put a shard in place below the folder of a preset and return its path.

    It is flushed to the disk unless this process has just flushed another: a power cut may then cost shards that took
    less than a second each, or leave one torn, which its checksum shows. The run flushes all of them at its end.
    """
    target = folder(root, digest)
    due = files.due()
    if not target.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        if due:
            files.sync_folder(target.parent)
    path = target / name(replicates, code)
    files.write(path, content, durable=due)
    return path


def _checksum(number: bytes, body: bytes | memoryview) -> bytes:
    """Hash the format number with the body, so that a flipped bit in the number is not taken for another format."""
    total = hashlib.sha256(number + b"\n")
    total.update(body)
    return total.hexdigest().encode()


def _pack(values: np.ndarray) -> tuple[str, bytes]:
    if values.dtype.kind in "OUT":
        return "text", json.dumps([str(v) for v in values.ravel()], ensure_ascii=False).encode(errors="surrogatepass")
    if values.dtype.byteorder == ">" or (values.dtype.byteorder == "=" and sys.byteorder == "big"):
        values = values.astype(values.dtype.newbyteorder("<"))
    return values.dtype.str, np.ascontiguousarray(values).tobytes()


def unpack(item: Array, payload: memoryview) -> np.ndarray:
    """Return one array of a verified shard.

    Raises
    ------
    DamagedShardError
        If it holds text that is none.
    """
    if item.type == "text":
        entries = texts(item, payload)
        flat = np.empty(len(entries), dtype=object)
        flat[:] = entries
        return flat.reshape(item.shape)
    first, length = item.at
    return np.frombuffer(payload[first : first + length], dtype=np.dtype(item.type)).reshape(item.shape)


def texts(item: Array, payload: memoryview) -> list[str]:
    """Return the texts of an array of text.

    Raises
    ------
    DamagedShardError
        If they are none, or not as many as it says.
    """
    first, length = item.at
    try:
        entries = json.loads(bytes(payload[first : first + length]).decode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or len(entries) != math.prod(item.shape):
        raise DamagedShardError(f"the texts of {show(item.name)} are not as many as it says")
    if not all(isinstance(entry, str) for entry in entries):
        raise DamagedShardError(f"the texts of {show(item.name)} are none")
    return entries

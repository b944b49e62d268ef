r"""The shard: one immutable, self-describing, checksummed file with the replicates of one cell.

Layout::

    moestat-shard 1 <SHA-256 of "1\n" and everything after this line>\n
    <header: JSON on one line>\n
    <arrays, one after the other>

The header holds the cell's canonical JSON, arm and coordinates, the version of what computed it, the replicates, their
statuses, who made the shard when, and for every array its name, dimensions, type, shape and place. Numbers are stored
as they lie in memory (little-endian, C order), text as a JSON list in UTF-8.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from moestat import __version__, files
from moestat.errors import UserError
from moestat.runner import origin
from moestat.runner.header import DamagedShardError, Header, parse
from moestat.sentences import show
from moestat.versions import digest as code_digest

MAGIC = b"moestat-shard "
FORMAT = 1
SUFFIX = ".shard"
LARGEST = 4_000_000_000
"""Bytes of a shard."""


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


def name(replicates: Sequence[int], code: Mapping[str, str]) -> str:
    """Return the file name of a shard: its replicates, and the code that computed them."""
    runs = ranges(replicates)
    text = "_".join(f"{first:07d}-{last:07d}" for first, last in runs[:3])
    if len(runs) > 3:
        text += "_" + hashlib.sha256(repr(runs).encode()).hexdigest()[:12]
    return f"{text}.{code_digest(code)[:8]}{SUFFIX}"


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
        arrays.append(
            {
                "name": key,
                "dims": list(variable.dims),
                "type": kind,
                "shape": list(variable.values.shape),
                "at": [offset, len(content)],
                "attrs": dict(variable.attrs),
                "coord": variable.coord,
            }
        )
        offset += len(content)
    provenance = {"created": created, "seconds": seconds, "device": device, "pid": os.getpid(), **origin.here()}
    header = {
        "cell": cell,
        "arm": arm,
        "coords": dict(coords),
        "code": dict(code),
        "replicates": ranges(replicates),
        "status": [int(s) for s in status],
        "made": provenance,
        "attrs": dict(attrs),
        "arrays": arrays,
    }
    body = b"".join([json.dumps(header, separators=(",", ":")).encode(), b"\n", *chunks])
    number = str(FORMAT).encode()
    return b"".join([MAGIC, number, b" ", _checksum(number, body), b"\n", body])


def verified(content: bytes) -> tuple[Header, memoryview]:
    """Check the bytes of a shard and return its header and payload.

    Raises
    ------
    DamagedShardError
        If they are not, to the last bit, what was written.
    UserError
        If a version of moestat with another shard format wrote them.
    """
    line_end = content.find(b"\n", 0, 128)
    first = content[:line_end] if line_end > 0 else b""
    words = first.split(b" ")
    if not first.startswith(MAGIC) or len(words) != 3 or len(words[2]) != 64:
        raise DamagedShardError("its first line is not that of a shard")
    view = memoryview(content)[line_end + 1 :]
    if _checksum(words[1], view) != words[2]:
        raise DamagedShardError("its checksum does not match")
    if words[1] != str(FORMAT).encode():
        raise UserError(
            f"is a shard of format {words[1].decode(errors='replace')}; this version of moestat ({__version__}) reads "
            f"format {FORMAT}"
        )
    head_end = content.find(b"\n", line_end + 1)
    if head_end < 0:
        raise DamagedShardError("it has no header")
    payload = memoryview(content)[head_end + 1 :]
    return parse(content[line_end + 1 : head_end], len(payload)), payload


def contents(path: Path) -> bytes:
    """Return the bytes of a file that may be a shard.

    Raises
    ------
    DamagedShardError
        If it is no regular file, too large, or does not begin as a shard does: what is not one is not read.
    FileNotFoundError
        If it is gone.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
        raise DamagedShardError("it is no regular file")
    if found.st_size > LARGEST:
        raise DamagedShardError(f"it has {found.st_size} bytes, and at most {LARGEST} are read")
    with open(path, "rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise DamagedShardError("its first line is not that of a shard")
        stream.seek(0)
        return stream.read()


def variables(header: Header, payload: memoryview) -> dict[str, Variable]:
    """Return the arrays of a verified shard."""
    return {
        item["name"]: Variable(
            dims=tuple(item["dims"]),
            values=unpack(item, payload),
            attrs=item["attrs"],
            coord=item["coord"],
        )
        for item in header.arrays
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


def unpack(item: Mapping[str, Any], payload: memoryview) -> np.ndarray:
    """Return one array of a verified shard.

    Raises
    ------
    DamagedShardError
        If it holds text that is none.
    """
    shape = tuple(item["shape"])
    if item["type"] == "text":
        entries = texts(item, payload)
        flat = np.empty(len(entries), dtype=object)
        flat[:] = entries
        return flat.reshape(shape)
    first, length = item["at"]
    return np.frombuffer(payload[first : first + length], dtype=np.dtype(item["type"])).reshape(shape)


def texts(item: Mapping[str, Any], payload: memoryview) -> list[str]:
    """Return the texts of an array of text.

    Raises
    ------
    DamagedShardError
        If they are none, or not as many as it says.
    """
    first, length = item["at"]
    try:
        entries = json.loads(bytes(payload[first : first + length]).decode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        raise DamagedShardError(f"the texts of {show(item['name'])} cannot be read") from None
    if not isinstance(entries, list) or len(entries) != math.prod(item["shape"]):
        raise DamagedShardError(f"the texts of {show(item['name'])} are not as many as it says")
    if not all(isinstance(entry, str) for entry in entries):
        raise DamagedShardError(f"the texts of {show(item['name'])} are none")
    return entries

r"""The shard: one immutable, self-describing, checksummed file with the replicates of one cell.

Layout::

    moestat-shard 2 <SHA-256 of "2\n" and everything after this line>\n
    <header: JSON on one line>\n
    <arrays of numbers, one after the other, as they lie in memory: little-endian, C order>

Text stands in the header.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from moestat import __version__, bounded, files, versions
from moestat.errors import UserError
from moestat.experiment import Cell
from moestat.sentences import show

MAGIC = b"moestat-shard "
FORMAT = b"2"
SUFFIX = ".shard"
LARGEST = 4_000_000_000
"""Bytes of a shard."""


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
    """What an array of a shard is; ``type`` is NumPy's, or ``text`` of that whose entries stand here."""

    model_config = ConfigDict(strict=True, frozen=True)
    name: str
    dims: list[str]
    type: str
    shape: list[NonNegativeInt]
    attrs: dict[str, Any]
    coord: bool
    texts: list[str] | None = None


class Header(BaseModel):
    """What a shard says of itself: its cell, the version of what computed it, its replicates, who made it when."""

    model_config = ConfigDict(strict=True, frozen=True)
    cell: str
    arm: str
    coords: dict[str, str | bool | int | float]
    code: dict[str, str]
    replicates: list[Annotated[int, Field(ge=0, lt=2**32)]]
    status: list[int]
    provenance: dict[str, Any] = Field(alias="made")
    arrays: list[Array]
    attrs: dict[str, str | bool | int | float] = {}
    """Properties of the cell in shards of an older moestat; today they are arrays like all others."""

    @property
    def digest(self) -> str:
        """Digest of the cell."""
        return hashlib.sha256(self.cell.encode()).hexdigest()


def folder(root: Path, digest: str) -> Path:
    """Return the folder of a cell's shards below the folder of a preset."""
    return root / "shards" / digest[:20]


def encode(
    cell: Cell,
    replicates: Sequence[int],
    variables: Mapping[str, Variable],
    code: Mapping[str, str],
    made: Mapping[str, Any],
) -> bytes:
    """Return the bytes of a shard; ``made`` says who computed it, when, and in how many ``seconds``."""
    arrays: list[dict[str, Any]] = []
    chunks: list[bytes] = []
    for name, variable in variables.items():
        values, told = variable.values, {"name": name, "dims": list(variable.dims), "attrs": dict(variable.attrs)}
        if values.dtype.kind in "OUT":
            told |= {"type": "text", "texts": [str(text) for text in values.ravel()]}
        else:
            values = values.astype(values.dtype.newbyteorder("<"), order="C", copy=False)
            told |= {"type": values.dtype.str}
            chunks.append(values.tobytes())
        arrays.append(told | {"shape": list(values.shape), "coord": variable.coord})
    header = {
        "cell": cell.canonical,
        "arm": cell.arm,
        "coords": dict(cell.coords),
        "code": dict(code),
        "replicates": list(replicates),
        "status": variables["status"].values.tolist(),
        "made": dict(made),
        "arrays": arrays,
    }
    return sealed(b"".join([json.dumps(header, separators=(",", ":")).encode(), b"\n", *chunks]))


def sealed(body: bytes, number: bytes = FORMAT) -> bytes:
    """Put the first line before the rest of a shard."""
    return b"".join([MAGIC, number, b" ", _checksum(number, body), b"\n", body])


def decode(content: bytes) -> tuple[Header, dict[str, Variable]]:
    """Check the bytes of a shard and return its header and variables, which are views of these bytes.

    Raises DamagedShardError if they are not, to the last bit, what was written, or what was written is no shard;
    UserError if a version of moestat with another shard format wrote them.
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
    payload, offset = memoryview(content)[head_end + 1 :], 0
    try:
        header = Header.model_validate(json.loads(content[line_end + 1 : head_end]))
        variables = {}
        for item in header.arrays:
            values: np.ndarray = np.array(item.texts or [], dtype=object)
            if item.type != "text":
                count = math.prod(item.shape)
                values = np.frombuffer(payload[offset:], item.type, count) if count else np.empty(0, item.type)
                offset += values.nbytes
            values = values.reshape(item.shape)
            variables[item.name] = Variable(tuple(item.dims), values, item.attrs, item.coord)
        older = {name: np.asarray(v, object if isinstance(v, str) else None) for name, v in header.attrs.items()}
        return header, variables | {name: Variable((), value) for name, value in older.items()}
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise DamagedShardError(f"its header is not that of a shard: {show(str(error))}") from None


def contents(path: Path) -> bytes:
    """Return the bytes of a file that may be a shard; a DamagedShardError says that it is no file, or too large."""
    try:
        bounded.require(path, LARGEST)
    except bounded.DataFileError as error:
        raise DamagedShardError(str(error)) from None
    return path.read_bytes()


def read(path: Path) -> tuple[Header, dict[str, Variable]]:
    """Read and verify one shard."""
    return decode(contents(path))


def write(root: Path, digest: str, content: bytes, replicates: Sequence[int], code: Mapping[str, str]) -> Path:
    """Put a shard in place below the folder of a preset; its name tells what it holds, and which code computed it."""
    which = hashlib.sha256(f"{list(replicates)} {versions.digest(code)}".encode()).hexdigest()[:8]
    path = folder(root, digest) / f"{replicates[0]:07d}-{replicates[-1]:07d}.{which}{SUFFIX}"
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, content, durable=False)  # what a power cut tears is told by the checksum, and computed again
    return path


def _checksum(number: bytes, body: bytes | memoryview) -> bytes:
    """Hash the format number with the body, so that a flipped bit in the number is not taken for another format."""
    total = hashlib.sha256(number + b"\n")
    total.update(body)
    return total.hexdigest().encode()

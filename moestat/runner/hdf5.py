"""What a file of results is before it is opened: HDF5 is walked; what reaches out of the file, or blows up, is refused.

HDF5 can keep the values of a variable in any other file of the machine (external storage, virtual datasets, links),
pack gigabytes into kilobytes, have a text stand a million times, and load plug-ins to unpack it. Results need none of
it: one group of numbers and texts, in the file itself, packed by deflate or not at all.
"""

from __future__ import annotations

import math
import mmap
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
from h5py import File, h5a, h5d, h5g, h5l, h5o, h5p, h5t, h5z

from moestat.bounded import DataFileError, require
from moestat.sentences import show

LARGEST = 16_000_000_000
"""Bytes of a file of results."""
SPARE, FOLD = 100_000_000, 20
"""What a file may unpack to: so many bytes, and so many times its size more. The largest record takes 25 MB."""
MOST = 10_000
"""Variables in a file, and attributes of one."""
TEXT = 64
"""Bytes that a text takes in memory, be it empty."""

NUMBERS = (h5t.INTEGER, h5t.FLOAT)
FILTERS = (h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32)
USUAL = 100_000
"""Bytes up to which it is not worth it to look how long a text is."""
PLACE = 16
"""Bytes that stand for a text of any length: its length, and where it is."""
HEAP = b"GCOL\1\0\0\0"
"""How a heap begins in which HDF5 keeps texts; its size follows."""


class _RefusedError(Exception):
    """What a file holds that results do not; the message does not know the file."""


def check(path: Path) -> None:
    """Refuse a file that is no file of results: nothing outside of it is read, and no variable is.

    Raises
    ------
    DataFileError
        If it is no regular file or too large, reaches out of itself, or unpacks to more than its size warrants.
    OSError, ValueError, RuntimeError, ...
        Whatever h5py raises where it is no HDF5, or a damaged one.
    """
    size = require(path, LARGEST)
    try:
        with File(path, "r") as file, path.open("rb") as stream:
            _Walk(file, stream, size).everything()
    except _RefusedError as error:
        raise DataFileError(f"{path} {error}, and is no file of results that can be read") from None


class _Walk:
    """A walk through a file that counts what it takes in memory."""

    def __init__(self, file: File, stream: IO[bytes], size: int) -> None:
        self.file, self.stream, self.size = file.id, stream, size
        self.limit, self.taken = SPARE + FOLD * size, 0

    def everything(self) -> None:
        if self.file.get_create_plist().get_userblock():
            raise _RefusedError("begins with something else than HDF5")
        links: list[tuple[bytes, int]] = []

        def note(name: bytes, link: h5l.LinkInfo) -> bool | None:
            links.append((name, link.type))
            return len(links) > MOST or None  # None goes on

        group = h5g.open(self.file, b"/")
        group.links.iterate(note, info=True)
        if len(links) > MOST:
            raise _RefusedError(f"holds more than {MOST} variables")
        self._attributes(group, "the file")
        for name, link in links:
            shown = show(name.decode(errors="replace"))
            if link != h5l.TYPE_HARD:
                raise _RefusedError(f"has a link to somewhere else ({shown})")
            item = h5o.open(group, name)
            if isinstance(item, h5d.DatasetID):
                self._variable(item, shown)
                self._attributes(item, shown)
            elif not (isinstance(item, h5t.TypeCompoundID) and item.dtype.kind == "c"):
                raise _RefusedError(f"holds something else than variables ({shown})")

    def _variable(self, variable: h5d.DatasetID, name: str) -> None:
        plan, kind = variable.get_create_plist(), variable.get_type()
        layout, of = plan.get_layout(), kind.get_class()
        if layout == h5d.VIRTUAL or plan.get_external_count():  # before its shape is asked for, which opens the other
            raise _RefusedError(f"keeps {name} in another file")
        if of not in (*NUMBERS, h5t.STRING) and not (of == h5t.COMPOUND and kind.dtype.kind == "c"):
            raise _RefusedError(f"holds something else than numbers and texts in {name}")
        filters = [plan.get_filter(number)[0] for number in range(plan.get_nfilters())]
        any_length = of == h5t.STRING and kind.is_variable_str()
        if not set(filters) <= set(FILTERS) or len(set(filters)) < len(filters) or any_length and filters:
            raise _RefusedError(f"packs {name} in another way than results are packed")
        shape = variable.shape
        chunk = plan.get_chunk() if layout == h5d.CHUNKED else (1,) * len(shape)
        counts = [-(-length // part) for length, part in zip(shape, chunk, strict=True)]
        size = math.prod(chunk) * kind.get_size()
        texts = math.prod(shape if any_length else shape[:-1]) if of == h5t.STRING else 0
        self._take(math.prod(counts) * size + TEXT * texts, name)
        if any_length:
            self._take(self._lengths(variable, plan, name), name)
        elif h5z.FILTER_DEFLATE in filters:
            bit = 1 << filters.index(h5z.FILTER_DEFLATE)
            self._unpack(
                [piece for piece in _pieces(variable, plan) if not piece[2] & bit], math.prod(counts), size, name
            )

    def _lengths(self, variable: h5d.DatasetID, plan: h5p.PropDCID, name: str) -> int:
        """Return the bytes of the texts of a variable; each has its length, then where it stands, in the file."""
        count, total = math.prod(variable.shape), 0
        for at, size, _ in _pieces(variable, plan) if count else ():
            raw = np.frombuffer(self._read(at, size), np.uint8)
            if raw.size != size or size % PLACE:
                raise _RefusedError(f"is cut off in {name}")
            total += int(raw.reshape(-1, PLACE)[:, :4].copy().view("<u4").sum(dtype=np.uint64))
        return total

    def _unpack(self, pieces: list[tuple[int, int, int]], count: int, size: int, name: str) -> None:
        """Unpack the pieces of a variable, none further than it may: HDF5 goes on for as long as there is something."""
        most = size + 4  # with a checksum
        if len(pieces) > count:
            raise _RefusedError(f"has more pieces of {name} than it has room for")
        for at, packed, _ in pieces:
            if (
                packed > 2 * most + 1000
                or len(zlib.decompressobj().decompress(self._read(at, packed), most + 1)) > most
            ):
                raise _RefusedError(f"unpacks to more than it says with {name}")

    def _attributes(self, item: h5o.ObjectID, name: str) -> None:
        count = h5a.get_num_attrs(item)
        if count > MOST:
            raise _RefusedError(f"has more than {MOST} attributes of {name}")
        for number in range(count):
            attribute = h5a.open(item, index=number)
            size = attribute.get_storage_size()
            entries, rest = divmod(size, PLACE)
            if (
                not rest
                and entries
                and (kind := attribute.get_type()).get_class() == h5t.STRING
                and kind.is_variable_str()
            ):
                size = entries * (TEXT + self.longest)
                if entries == 1 and size > USUAL:
                    size = TEXT + len(_text(attribute))
            self._take(size, f"attributes of {name}")

    @cached_property
    def longest(self) -> int:
        """The most bytes that a text can have: those of the largest heap, by what stands where one begins."""
        sizes = [0]
        with mmap.mmap(self.stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            at = content.find(HEAP)
            while at >= 0:
                sizes.append(int.from_bytes(content[at + len(HEAP) : at + len(HEAP) + 8], "little"))
                at = content.find(HEAP, at + 1)
        return min(max(sizes), self.size)

    def _read(self, at: int, size: int) -> bytes:
        self.stream.seek(at)
        return self.stream.read(min(size, self.size))

    def _take(self, count: int, what: str) -> None:
        self.taken += count
        if self.taken > self.limit:
            raise _RefusedError(f"has {self.size} bytes and would unpack to more than {self.limit}, with {what}")


def _pieces(variable: h5d.DatasetID, plan: h5p.PropDCID) -> Iterator[tuple[int, int, int]]:
    """Yield place, bytes and mask of each piece of a variable in the file; the mask has a bit for a filter left out."""
    layout = plan.get_layout()
    if layout == h5d.CHUNKED:
        found: list[tuple[int, int, int]] = []
        variable.chunk_iter(lambda piece: found.append((piece.byte_offset, piece.size, piece.filter_mask)))
        yield from found
    elif layout != h5d.CONTIGUOUS:
        raise _RefusedError("keeps texts beside the description of a variable")
    elif (at := variable.get_offset()) is not None:
        yield at, variable.get_storage_size(), 0


def _text(attribute: h5a.AttrID) -> bytes:
    value = np.empty(attribute.shape, dtype=attribute.dtype)
    attribute.read(value)
    return value.item() or b""

"""What a file of results is before it is opened: what reaches out of the file, or blows up, is refused.

HDF5 can keep the values of a variable in any other file of the machine (external storage, virtual datasets, links),
pack gigabytes into kilobytes, have a text stand a million times, and load plug-ins to unpack it. Results need none of
it: one group of numbers and texts, in the file itself, packed by deflate or not at all.
"""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
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
MOST_TEXTS = 20
"""Texts in one attribute: each may be as long as the file."""
TEXT, PLACE = 64, 16
"""Bytes that a text takes in memory, be it empty, and in the file for its length and where it is."""
FILTERS = (h5z.FILTER_SHUFFLE, h5z.FILTER_DEFLATE, h5z.FILTER_FLETCHER32)
"""In this order: what is unpacked first lies in the file as deflate left it."""


class _RefusedError(Exception):
    """What a file holds that results do not; the message does not know the file."""


def check(path: Path, content: io.BytesIO | None = None) -> None:
    """Refuse a file that is no file of results: nothing outside of it is read, and no variable is.

    ``content`` is what the file unpacks to, if it was packed.

    Raises DataFileError if it is no regular file or too large, reaches out of itself, or unpacks to more than its size
    warrants; OSError or ValueError or RuntimeError or ...: whatever h5py raises where it is no HDF5, or a damaged one.
    """
    size = require(path, LARGEST) if content is None else len(content.getbuffer())
    try:
        with ExitStack() as stack:
            stream = stack.enter_context(path.open("rb")) if content is None else content
            file = stack.enter_context(File(path if content is None else content, "r"))
            _Walk(stream, size).through(file)
    except _RefusedError as error:
        raise DataFileError(f"{path} {error}, and is no file of results that can be read") from None


class _Walk:
    """A walk through a file that counts what it takes in memory."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self.stream, self.size, self.left = stream, size, SPARE + FOLD * size

    def through(self, file: File) -> None:
        if file.id.get_create_plist().get_userblock():  # places would not count from the beginning
            raise _RefusedError("begins with something else than HDF5")
        links: list[tuple[bytes, int]] = []
        group = h5g.open(file.id, b"/")
        group.links.iterate(lambda name, link: links.append((name, link.type)), info=True)
        self._attributes(group, "the file")
        for name, kind in links:
            shown = show(name.decode(errors="replace"))
            if kind != h5l.TYPE_HARD:
                raise _RefusedError(f"has a link to somewhere else ({shown})")
            item = h5o.open(group, name)
            if isinstance(item, h5d.DatasetID):
                self._variable(item, shown)
            elif not (isinstance(item, h5t.TypeCompoundID) and item.dtype.kind == "c"):
                raise _RefusedError(f"holds something else than variables ({shown})")
            self._attributes(item, shown)

    def _variable(self, variable: h5d.DatasetID, name: str) -> None:
        plan, kind = variable.get_create_plist(), variable.get_type()
        layout, of = plan.get_layout(), kind.get_class()
        if layout == h5d.VIRTUAL or plan.get_external_count():  # before its shape is asked for, which opens the other
            raise _RefusedError(f"keeps {name} in another file")
        complex_number = of == h5t.COMPOUND and kind.dtype.kind == "c"
        if of not in (h5t.INTEGER, h5t.FLOAT, h5t.STRING) and not complex_number:
            raise _RefusedError(f"holds something else than numbers and texts in {name}")
        filters = [plan.get_filter(number)[0] for number in range(plan.get_nfilters())]
        any_length = _any_length(kind)
        filled = any_length and plan.fill_value_defined() == h5d.FILL_VALUE_USER_DEFINED  # one text for all
        if filters != [known for known in FILTERS if known in filters] or any_length and filters or filled:
            raise _RefusedError(f"packs {name} in another way than results are packed")
        shape = variable.shape
        chunk = plan.get_chunk() if layout == h5d.CHUNKED else (1,) * len(shape)
        count = math.prod(-(-length // part) for length, part in zip(shape, chunk, strict=True))
        size = math.prod(chunk) * kind.get_size()
        texts = math.prod(shape if any_length else shape[:-1]) if of == h5t.STRING else 0
        self._take(max(count, 1) * size + TEXT * texts, name)
        if any_length and texts:
            self._take(sum(self._length_of_texts(*piece, name) for piece in _pieces(variable, plan)), name)
        elif h5z.FILTER_DEFLATE in filters:
            left_out = 1 << filters.index(h5z.FILTER_DEFLATE)
            pieces = [(at, packed) for at, packed, mask in _pieces(variable, plan) if not mask & left_out]
            if len(pieces) > count or not all(self._unpacks_to(*piece, most=size) for piece in pieces):
                raise _RefusedError(f"unpacks to more than it says with {name}")

    def _length_of_texts(self, at: int, size: int, _: int, name: str) -> int:
        """Return the bytes of the texts of a piece; each has its length, then where it stands, in the file."""
        raw = np.frombuffer(self._read(at, size), np.uint8)
        if raw.size != size or size % PLACE:
            raise _RefusedError(f"is cut off in {name}")
        return int(raw.reshape(-1, PLACE)[:, :4].copy().view("<u4").sum(dtype=np.uint64))

    def _unpacks_to(self, at: int, packed: int, most: int) -> bool:
        """Whether a piece unpacks to no more than it may: HDF5 goes on while there is more."""
        if packed > 2 * most + 1000:
            return False
        return len(zlib.decompressobj().decompress(self._read(at, packed), most + 1)) <= most

    def _attributes(self, item: h5o.ObjectID, name: str) -> None:
        for number in range(h5a.get_num_attrs(item)):
            attribute = h5a.open(item, index=number)
            size, kind = attribute.get_storage_size(), attribute.get_type()
            if _any_length(kind):
                if size > PLACE * MOST_TEXTS:
                    raise _RefusedError(f"has more than {MOST_TEXTS} texts in one of the attributes of {name}")
                if kind.get_class() == h5t.STRING:  # of others (netCDF lists dimensions) nothing is kept
                    values = np.empty(attribute.shape, dtype=attribute.dtype)
                    attribute.read(values)
                    size = sum(TEXT + len(text or b"") for text in values.ravel())
            self._take(size, f"attributes of {name}")

    def _read(self, at: int, size: int) -> bytes:
        self.stream.seek(at)
        return self.stream.read(min(size, self.size))

    def _take(self, count: int, what: str) -> None:
        self.left -= count
        if self.left < 0:
            raise _RefusedError(f"has {self.size} bytes and would unpack to more than is believed, with {what}")


def _any_length(kind: h5t.TypeID) -> bool:
    """Whether values of a type lie elsewhere in the file, and may be as long as that is."""
    if kind.get_class() == h5t.STRING:
        return bool(kind.is_variable_str())
    return bool(kind.detect_class(h5t.VLEN) or kind.detect_class(h5t.STRING))  # also within others


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

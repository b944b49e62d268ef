"""What a file of results is before it is opened: what reaches out of the file, or is larger than it may be, is refused.

HDF5 can keep the values of a variable in any other file of the machine (external storage, virtual datasets, links), and
load plug-ins to unpack it. Results need none of it: one group of numbers and texts, in the file itself.
"""

from __future__ import annotations

import math
from pathlib import Path

from h5py import File, h5d, h5g, h5l, h5o, h5t, h5z

from moestat.bounded import DataFileError, require
from moestat.sentences import show

LARGEST = 16_000_000_000
"""Bytes of a file of results."""
SPARE, FOLD = 100_000_000, 20
"""What a file may unpack to: so many bytes, and so many times its size more. The largest record takes 25 MB."""
FILTERS = {h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32}


def check(path: Path) -> None:
    """Refuse a file that is no file of results: nothing outside of it is read, and no variable is.

    Raises DataFileError if it is no regular file or too large, reaches out of itself, or says that it unpacks to more
    than its size warrants; OSError or ValueError or RuntimeError or ...: whatever h5py raises where it is no HDF5, or a
    damaged one.
    """
    size = require(path, LARGEST)
    with File(path, "r") as file:
        if problem := _problem(file, SPARE + FOLD * size):
            raise DataFileError(f"{path} {problem}, and is no file of results that can be read")


def _problem(file: File, most: int) -> str:
    links: list[tuple[bytes, int]] = []
    group = h5g.open(file.id, b"/")
    group.links.iterate(lambda name, link: links.append((name, link.type)), info=True)
    for name, kind in links:
        shown = show(name.decode(errors="replace"))
        if kind != h5l.TYPE_HARD:
            return f"has a link to somewhere else ({shown})"
        item = h5o.open(group, name)
        if isinstance(item, h5t.TypeCompoundID) and item.dtype.kind == "c":
            continue
        if not isinstance(item, h5d.DatasetID):
            return f"holds something else than variables ({shown})"
        plan = item.get_create_plist()
        if plan.get_layout() == h5d.VIRTUAL or plan.get_external_count():  # its shape would open the other file
            return f"keeps {shown} in another file"
        of = item.get_type()
        complex_number = of.get_class() == h5t.COMPOUND and of.dtype.kind == "c"
        if of.get_class() not in (h5t.INTEGER, h5t.FLOAT, h5t.STRING) and not complex_number:
            return f"holds something else than numbers and texts in {shown}"
        if not {plan.get_filter(number)[0] for number in range(plan.get_nfilters())} <= FILTERS:
            return f"packs {shown} in another way than results are packed"
        pieces = plan.get_chunk() if plan.get_layout() == h5d.CHUNKED else (1,) * len(item.shape)
        count = math.prod(-(-length // piece) * piece for length, piece in zip(item.shape, pieces, strict=True))
        most -= max(count, math.prod(pieces)) * of.get_size()
        if most < 0:
            return f"would unpack to more than is believed of its size, with {shown}"
    return ""

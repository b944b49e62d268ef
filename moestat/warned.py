"""Python's warnings of what computes replicates: caught where they arise, counted, and told at the end of a run."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterator

MOST = 300
"""Letters of a warning that are kept."""


class ReplicateWarning(UserWarning):
    """A warning of one replicate, by its text."""


@contextlib.contextmanager
def counted(replicates: int) -> Iterator[dict[str, int]]:
    """Catch the warnings of a block; fill the table yielded: text -> the number of replicates that warned.

    Where nobody says which replicate warned (:func:`each`), for they are computed together, all of the block count.
    """
    table: dict[str, int] = {}
    with _caught() as found:
        yield table
    texts = Counter(_text(one) for one in found)
    own = {_text(one) for one in found if issubclass(one.category, ReplicateWarning)}
    table |= {text: min(count, replicates) if text in own else replicates for text, count in texts.items()}


@contextlib.contextmanager
def each() -> Iterator[None]:
    """Catch the warnings of one replicate, and warn of each text once."""
    with _caught() as found:
        yield
    for text in dict.fromkeys(map(_text, found)):
        warnings.warn(ReplicateWarning(text), stacklevel=3)


@contextlib.contextmanager
def _caught() -> Iterator[list[warnings.WarningMessage]]:
    """Catch what Python would show, every time and not once a place; what it makes an error is one."""
    with warnings.catch_warnings(record=True) as found:
        warnings.filterwarnings("always", append=True)
        yield found


def _text(one: warnings.WarningMessage) -> str:
    name = "" if issubclass(one.category, ReplicateWarning) else f"{one.category.__name__}: "
    text = f"{name}{' '.join(str(one.message).split())}"
    return text[:MOST].replace("\0", "\\0").encode(errors="backslashreplace").decode()

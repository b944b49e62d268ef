"""How much of a batch is computed at once.

Samples are cut into chunks of a fixed number of rows, for their sums depend on the cut; members of the batch are cut
so that temporaries stay in the cache, which no number depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import array_api_compat

from moestat.arrays import Array

ROWS = 2048  #: Samples per chunk.
_CPU = 2**15
_GPU = 2**24


def row_blocks(n: int, rows: int = ROWS) -> Iterator[slice]:
    """Cut n samples into chunks of ``rows``; the last one may be shorter."""
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def member_blocks(members: int, elements: int, like: Array) -> Iterator[slice]:
    """Cut a batch so that a temporary of ``elements`` numbers per member fits the cache (CPU) or fills a GPU."""
    budget = _GPU if array_api_compat.is_cupy_array(like) else _CPU
    step = max(1, budget // max(elements, 1))
    for start in range(0, members, step):
        yield slice(start, min(start + step, members))


def summed(parts: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Add tuples of arrays, of chunks of samples say, entry by entry and in order; there must be at least one."""
    each = iter(parts)
    total = next(each)
    for part in each:
        total = tuple(a + b for a, b in zip(total, part, strict=True))
    return total

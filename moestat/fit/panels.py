"""Room for the panels of compiled products: rows of samples that start at whole cache lines, and sums in blocks.

Importing this imports numba.
"""

from __future__ import annotations

import numpy as np

from moestat.fit import vector_code
from moestat.fit.compiled import BREADTH, HEIGHT
from moestat.fit.compiled_forward import WIDTH

ROWS = 512  #: Samples per chunk; its work arrays take about as much as a core's own cache at d = 8 and nine atoms.
_LINE = 64  # bytes


def zeros(rows: int, itemsize: int, *, outer: tuple[int, ...] = ()) -> np.ndarray:
    """Return zeros (outer, rows, ROWS and a line more) whose rows start at whole cache lines."""
    shape = (*outer, rows, ROWS + _LINE // itemsize)
    size = int(np.prod(shape)) * itemsize
    memory = np.zeros(size + _LINE, dtype=np.uint8)
    first = -memory.ctypes.data % _LINE
    room: np.ndarray = np.frombuffer(memory, dtype=f"f{itemsize}", count=size // itemsize, offset=first).reshape(shape)
    return room


def whole(count: int, block: int) -> int:
    """Return the least whole number of blocks that has room for ``count``."""
    return -(-count // block) * block


def places(m: int, count: int, itemsize: int) -> np.ndarray:
    """Return where the product (m, count) of rows and monomials is found in the sums of ``add_products``."""
    height, breadth, width = HEIGHT, BREADTH, WIDTH
    lanes = width // itemsize
    lane = np.argsort(vector_code.lane_order(width, itemsize))
    i, j = np.arange(m)[:, None], np.arange(count)[None, :]
    block = (j // breadth) * (whole(m, height) // height) + i // height
    slot = (i % height) * breadth + j % breadth
    at: np.ndarray = block * vector_code.sums_per_block(width, itemsize) + slot // lanes * lanes + lane[slot % lanes]
    return at


def room_for_sums(shapes: list[tuple[int, int]], itemsize: int) -> tuple[np.ndarray, np.ndarray]:
    """Return zeros for the sums of products of these shapes, and where those of each begin."""
    blocks = [-(-m // HEIGHT) * -(-count // BREADTH) for m, count in shapes]
    ends = np.cumsum(blocks) * vector_code.sums_per_block(WIDTH, itemsize)
    return np.zeros(ends[-1]), np.concatenate([[0], ends[:-1]])

"""Samples sorted by expert and cut into tiles of a fixed number of rows.

Each sample is sent to one expert of M, and experts are loaded very unevenly. A tile holds samples of one expert only;
the last tile of an expert is filled up. So the work of all experts is one batched matrix product, without a loop over
experts and without padding every expert to the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass

from moestat.arrays import Array, namespace

ROWS = 64
"""Rows of a tile. Fixed, so that a sample's arithmetic does not depend on what is computed beside it."""


@dataclass(frozen=True)
class Tiles:
    """Where every sample sits; made by :func:`cut`.

    Attributes
    ----------
    source : (B, T, R) int array
        The sample in each row of each tile; 0 in rows that hold none.
    filled : (B, T, R) bool array
        Whether the row holds a sample.
    expert : (B, T) int array
        The expert of each tile.
    slot : (B, n) int array
        Row of each sample, counted through the tiles of its batch member.
    experts : int
        M.
    """

    source: Array
    filled: Array
    expert: Array
    slot: Array
    experts: int

    def gather(self, values: Array) -> Array:
        """Bring values per sample, (B, n, ...), into tiles, (B, T, R, ...); unfilled rows repeat sample 0."""
        batch, tiles, rows = self.source.shape
        xp = namespace(values)
        taken = _take(values, xp.reshape(self.source, (batch, tiles * rows)))
        return xp.reshape(taken, (batch, tiles, rows, *values.shape[2:]))

    def scatter(self, values: Array) -> Array:
        """Bring values per tile row, (B, T, R, ...), back to samples, (B, n, ...)."""
        batch, tiles, rows = values.shape[:3]
        xp = namespace(values)
        return _take(xp.reshape(values, (batch, tiles * rows, *values.shape[3:])), self.slot)

    def of_experts(self, values: Array) -> Array:
        """Repeat values per expert, (B, M, ...), for the tiles of each, (B, T, ...)."""
        return _take(values, self.expert)

    def sum_by_expert(self, values: Array) -> Array:
        """Add up values per tile, (B, T, ...), over the tiles of each expert, (B, M, ...)."""
        xp = namespace(values)
        batch, tiles = values.shape[:2]
        index = xp.arange(self.experts, dtype=self.expert.dtype)
        member = xp.astype(self.expert[:, None, :] == index[None, :, None], values.dtype)
        summed = xp.matmul(member, xp.reshape(values, (batch, tiles, -1)))
        return xp.reshape(summed, (batch, self.experts, *values.shape[2:]))


def cut(expert: Array, experts: int, rows: int = ROWS) -> Tiles:
    """Sort the samples by expert and cut them into tiles.

    Parameters
    ----------
    expert : (B, n) int array
        The expert of each sample, 0 <= expert < experts.
    experts : int
        M.
    rows : int
        Rows R of a tile.

    Returns
    -------
    Tiles
        T = n // R + min(M, n) tiles for every member, which is enough for any routing; spare tiles are unfilled.
    """
    xp = namespace(expert)
    batch, n = expert.shape
    tiles = n // rows + min(experts, n)
    whole = expert.dtype

    order = xp.argsort(expert, axis=-1, stable=True)
    one_hot = expert[:, None, :] == xp.arange(experts, dtype=whole)[None, :, None]
    count = xp.sum(xp.astype(one_hot, whole), axis=-1)
    last_sample = xp.cumulative_sum(count, axis=-1)
    last_tile = xp.cumulative_sum((count + (rows - 1)) // rows, axis=-1)
    first_sample = last_sample - count
    first_tile = last_tile - (count + (rows - 1)) // rows

    tile = xp.arange(tiles, dtype=whole)
    of_tile = xp.sum(xp.astype(last_tile[:, None, :] <= tile[None, :, None], whole), axis=-1)
    of_tile = xp.where(of_tile < experts, of_tile, xp.full_like(of_tile, experts - 1))  # spare tiles
    start = _take(first_sample, of_tile) + (tile[None, :] - _take(first_tile, of_tile)) * rows
    place = start[:, :, None] + xp.arange(rows, dtype=whole)[None, None, :]
    filled = place < _take(last_sample, of_tile)[:, :, None]
    place = xp.reshape(xp.where(filled, place, xp.zeros_like(place)), (batch, tiles * rows))
    source = xp.reshape(_take(order, place), (batch, tiles, rows))

    rank = xp.argsort(order, axis=-1, stable=True)
    slot = rank - _take(first_sample, expert) + _take(first_tile, expert) * rows
    return Tiles(source=source, filled=filled, expert=of_tile, slot=slot, experts=experts)


def _take(values: Array, index: Array) -> Array:
    """Take ``values[b, index[b, i], ...]``, shapes (B, n, ...) and (B, i)."""
    xp = namespace(values, index)
    batch, n = values.shape[:2]
    offset = xp.arange(batch, dtype=index.dtype)[:, None] * n
    flat = xp.reshape(values, (batch * n, *values.shape[2:]))
    taken = xp.take(flat, xp.reshape(index + offset, (-1,)), axis=0)
    return xp.reshape(taken, (*index.shape, *values.shape[2:]))

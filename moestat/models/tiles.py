"""Samples sorted by expert and cut into tiles of a fixed number of rows.

Each sample is sent to one expert of M, and experts are loaded very unevenly. A tile holds samples of one expert only;
the last tile of an expert is filled up. So the work of all experts is one batched matrix product, without a loop over
experts and without padding every expert to the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass

from moestat.arrays import Array, namespace

ROWS = 64  #: Rows of a tile. Fixed, so that a sample's arithmetic does not depend on what is computed beside it.


@dataclass(frozen=True)
class Tiles:
    """Where every sample sits; made by :func:`cut`."""

    source: Array  #: (B, T, R) int, the sample in each row of each tile; 0 in rows that hold none.
    filled: Array  #: (B, T, R) bool, whether the row holds a sample.
    expert: Array  #: (B, T) int, the expert of each tile.
    slot: Array  #: (B, n) int, row of each sample, counted through the tiles of its batch member.
    experts: int  #: M.

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
        n, rows = self.slot.shape[1], self.source.shape[2]
        # the product runs over as many tiles as any routing can need, so that a member's sums do not depend on how
        # many the others need
        spare = n // rows + min(self.experts, n) - tiles
        owner = xp.concat([self.expert, xp.full((batch, spare), -1, dtype=self.expert.dtype)], axis=1)
        flat = xp.reshape(values, (batch, tiles, -1))
        flat = xp.concat([flat, xp.zeros((batch, spare, flat.shape[2]), dtype=flat.dtype)], axis=1)
        index = xp.arange(self.experts, dtype=owner.dtype)
        member = xp.astype(owner[:, None, :] == index[None, :, None], values.dtype)
        return xp.reshape(xp.matmul(member, flat), (batch, self.experts, *values.shape[2:]))


def cut(expert: Array, experts: int, rows: int = ROWS) -> Tiles:
    """Sort the samples by expert, (B, n) of 0..M-1, M = ``experts``, and cut them into tiles of ``rows``.

    There are as many tiles as the member that needs most asks for; the spare ones of the others are unfilled.
    """
    xp = namespace(expert)
    batch, n = expert.shape
    whole = expert.dtype
    members = xp.arange(batch, dtype=whole)[:, None]

    order = xp.argsort(expert, axis=-1, stable=True)
    # sorted within a member, and shifted by the member, the experts ascend through the whole batch
    ascending = xp.reshape(_take(expert, order) + members * experts, (-1,))
    every = xp.reshape(members * experts + xp.arange(experts, dtype=whole), (-1,))
    upto = xp.reshape(xp.searchsorted(ascending, every, side="right"), (batch, experts))
    last_sample = xp.astype(upto, whole) - members * n
    first_sample = xp.concat([xp.zeros_like(last_sample[:, :1]), last_sample[:, :-1]], axis=-1)
    tiles_of = (last_sample - first_sample + (rows - 1)) // rows
    last_tile = xp.cumulative_sum(tiles_of, axis=-1)
    first_tile = last_tile - tiles_of

    tiles = int(xp.max(last_tile))
    tile = xp.arange(tiles, dtype=whole)
    of_tile = xp.sum(xp.astype(last_tile[:, None, :] <= tile[None, :, None], whole), axis=-1)
    of_tile = xp.where(of_tile < experts, of_tile, xp.full_like(of_tile, experts - 1))  # spare tiles
    start = _take(first_sample, of_tile) + (tile[None, :] - _take(first_tile, of_tile)) * rows
    place = start[:, :, None] + xp.arange(rows, dtype=whole)[None, None, :]
    filled = place < _take(last_sample, of_tile)[:, :, None]
    place = xp.reshape(xp.where(filled, place, xp.zeros_like(place)), (batch, tiles * rows))
    source = xp.reshape(_take(order, place), (batch, tiles, rows))

    rank = xp.argsort(order, axis=-1, stable=True)
    slot = rank + _take(first_tile * rows - first_sample, expert)
    return Tiles(source=source, filled=filled, expert=of_tile, slot=slot, experts=experts)


def _take(values: Array, index: Array) -> Array:
    """Take ``values[b, index[b, i], ...]``, shapes (B, n, ...) and (B, i)."""
    xp = namespace(values, index)
    batch, n = values.shape[:2]
    offset = xp.arange(batch, dtype=index.dtype)[:, None] * n
    flat = xp.reshape(values, (batch * n, *values.shape[2:]))
    taken = xp.take(flat, xp.reshape(index + offset, (-1,)), axis=0)
    return xp.reshape(taken, (*index.shape, *values.shape[2:]))

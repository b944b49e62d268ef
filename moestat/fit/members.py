"""Members of a batch: take some out, and put them back.

All arrays have the batch first, and a state is a dict of such arrays. Nothing here computes on the numbers.
"""

from __future__ import annotations

from moestat.arrays import Array, namespace

State = dict[str, Array]


def positions(where: Array) -> Array:
    """Return, for old and new stacked, the position of every member: new ones where ``where`` holds, in order."""
    xp = namespace(where)
    count = xp.cumulative_sum(xp.astype(where, xp.int64))
    return xp.where(where, where.shape[0] + count - 1, xp.arange(where.shape[0]))


def put(old: Array, new: Array, where: Array) -> Array:
    """Return ``old`` with the members in ``where`` replaced by ``new``, which holds only these, in order."""
    xp = namespace(old, new)
    if new.shape[0] == old.shape[0]:
        return new
    return xp.take(xp.concat([old, new], axis=0), positions(where), axis=0)


def spread(new: Array, where: Array) -> Array:
    """Return the booleans ``new`` at the members in ``where`` and False elsewhere."""
    xp = namespace(where)
    return put(xp.zeros(where.shape, dtype=xp.bool), new, where)


def merge(state: State, some: State, where: Array) -> State:
    """Return ``state`` with the members in ``where`` replaced by ``some``."""
    return {name: put(value, some[name], where) for name, value in state.items()}

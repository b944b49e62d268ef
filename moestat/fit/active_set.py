"""Batches whose members finish one by one: the others go on without them, and all results come back in order.

A solver of many problems at once has a state with one row per member that is still active. In each round it examines
these rows, which tells who has finished; their results are put aside, the state shrinks to the others, and they make
one step. Only the examination and the step are the solver's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Self, TypeVar

import numpy as np

from moestat.arrays import Array, namespace


class Rows:
    """Base of dataclasses with one row per member in every field: arrays, dicts and tuples of them, or other rows."""

    def take(self, rows: Array) -> Self:
        """Return the members in the given rows."""
        return type(self)(*(take(value, rows) for value in _values(self)))


State = dict[str, Array]  #: One row per member in every array.
B = TypeVar("B", bound=Any)
E = TypeVar("E", bound=Rows)
R = TypeVar("R")


def run(
    batch: B, examine: Callable[[B], tuple[E, Array]], result: Callable[[E, Array], R], step: Callable[[E], B]
) -> R:
    """Step until every member has finished; return their results in the order of the start.

    ``batch`` (see :class:`Rows`) is the state at the start; its ``members`` are the positions of those that are active.
    ``examine(batch)`` returns what the step needs, with ``take``, and which members have finished, (B,) bool;
    ``result(examined, rows)`` the results of the members in ``rows``, a dataclass, dict or tuple of arrays;
    ``step(examined)`` the next state.
    """
    members = batch.members
    finished: list[tuple[Array, R]] = []
    while True:
        examined, done = examine(batch)
        xp = namespace(done)
        if bool(xp.any(done)) or members.shape[0] == 0:
            rows, rest = xp.nonzero(done)[0], xp.nonzero(~done)[0]
            finished.append((xp.take(members, rows), result(examined, rows)))
            members = xp.take(members, rest)
            if members.shape[0] == 0:
                order = xp.argsort(xp.concat([positions for positions, _ in finished]))
                return take(concatenate([part for _, part in finished]), order)  # type: ignore[no-any-return]
            examined = examined.take(rest)
        batch = step(examined)


def take(value: Any, rows: Array) -> Any:
    """Return some rows of an array, of every array in a dict, tuple or dataclass, or of what has a ``take`` itself."""
    if hasattr(value, "shape"):
        return namespace(value).take(value, rows, axis=0)
    if hasattr(value, "take"):
        return value.take(rows)
    return _rebuilt(value, [take(part, rows) for part in _values(value)])


def concatenate(parts: list[R]) -> R:
    """Join containers of the same kind, array by array, along their rows."""
    first: Any = parts[0]
    joined: R
    if hasattr(first, "shape"):
        joined = namespace(first).concat(parts)
    else:
        joined = _rebuilt(first, [concatenate(list(part)) for part in zip(*map(_values, parts), strict=True)])
    return joined


def _values(container: Any) -> list[Any]:
    if is_dataclass(container):
        return [getattr(container, field.name) for field in fields(container)]
    return list(container.values()) if isinstance(container, dict) else list(container)


def _rebuilt(like: Any, values: list[Any]) -> Any:
    """Return a container like the given one with other values."""
    if isinstance(like, dict):
        return dict(zip(like, values, strict=True))
    return tuple(values) if type(like) is tuple else type(like)(*values)


def chosen(parts: tuple[Array, ...], members: np.ndarray) -> tuple[Array, ...]:
    """Return arrays of some members (M,) bool; the arrays themselves when these are all, which saves copies."""
    if members.all():
        return parts
    xp = namespace(parts[0])
    which = xp.asarray(np.flatnonzero(members))
    return tuple(xp.take(part, which, axis=0) for part in parts)


def put(old: Array, new: Array, members: np.ndarray) -> Array:
    """Return ``old`` with the rows of some members replaced by ``new``, which holds only these, in order."""
    if members.all():
        return new
    xp, size = namespace(old), len(members)
    place = np.where(members, size + np.cumsum(members) - 1, np.arange(size))
    return xp.take(xp.concat([old, new], axis=0), xp.asarray(place), axis=0)


def coded(like: Array, otherwise: int, *marks: tuple[Array, int]) -> Array:
    """Return codes (M,) in an int64 array like another: of the marks (where, code) that hold the last one counts."""
    xp = namespace(like)
    code = xp.full_like(like, int(otherwise))  # CuPy takes no enum
    for where, value in marks:
        code = xp.where(where, xp.full_like(like, int(value)), code)
    return code

"""Which start of which data set stands in which row of a batch, so that the rows stay full.

A batch has W rows on each of its data sets. A row whose fit has ended takes the next start of its data set; where
there is none it idles. What idle rows cost is added up, and once it is as much as one round of the whole batch, which
is about what it costs to lay it out anew, this is done: data sets without fits leave, others come in. So no more is
lost to idle rows than to new layouts, whatever the numbers of steps are.
"""

from __future__ import annotations

import numpy as np

IDLE = -1


class Slots:
    """The rows of a batch of at most ``most`` of the fits from so many ``starts`` on each of D data sets, (D,) int."""

    def __init__(self, starts: np.ndarray, most: int) -> None:
        self.starts, self.most = starts, max(1, most)
        self.first = np.cumsum(starts) - starts
        self.started = np.zeros_like(starts)  #: Starts of every data set that have been given a row.
        self.sets = np.empty(0, dtype=np.int64)  #: The data sets of the batch.
        self.member = np.empty(0, dtype=np.int64)  #: The fit in every row, counted data set by data set, or IDLE.
        self.wasted = 0

    @property
    def active(self) -> np.ndarray:
        """Which rows have a fit."""
        active: np.ndarray = self.member != IDLE
        return active

    @property
    def data(self) -> np.ndarray:
        """The position among ``sets`` of every row's data set."""
        return np.arange(len(self.member)) // max(1, len(self.member) // max(1, len(self.sets)))

    def leave(self, done: np.ndarray) -> np.ndarray:
        """Take the fits that are done out of their rows, and return which rows have been given the next start."""
        fresh = np.zeros_like(done)
        for row, position in zip(np.flatnonzero(done).tolist(), self.data[done].tolist(), strict=True):
            self.member[row] = self._next(self.sets[position])
            fresh[row] = self.member[row] != IDLE
        return fresh

    def _next(self, data: int) -> int:
        if self.started[data] == self.starts[data]:
            return IDLE
        self.started[data] += 1
        return int(self.first[data] + self.started[data] - 1)

    def lay_out(self) -> np.ndarray | None:
        """Lay the batch out anew if it is time; return the old row of every new one, IDLE for those that have none."""
        size, busy = len(self.member), self.active
        self.wasted += size - int(busy.sum())
        waiting = np.flatnonzero((self.started == 0) & (self.starts > 0)).tolist()
        if not busy.any() and not waiting or busy.all() and size or busy.any() and self.wasted < size:
            return None
        self.wasted = 0
        rows: dict[int, list[int]] = {}
        for row, position in zip(np.flatnonzero(busy).tolist(), self.data[busy].tolist(), strict=True):
            rows.setdefault(int(self.sets[position]), []).append(row)
        width = self._width({data: len(own) for data, own in rows.items()}, waiting)
        rows |= {data: [] for data in waiting[: max(0, self.most // width - len(rows))]}
        if list(rows) == self.sets.tolist() and width * len(rows) == size:
            return None
        before, self.sets = self.member, np.array(list(rows), dtype=np.int64)
        old = np.array([own + [IDLE] * (width - len(own)) for own in rows.values()], dtype=np.int64).reshape(-1)
        self.member = np.where(old == IDLE, IDLE, before[old]) if len(before) else old.copy()
        self.leave(~self.active)
        return old

    def _width(self, busy: dict[int, int], waiting: list[int]) -> int:
        """Return the rows per data set: one where there are many data sets, for rows of one end at different times."""
        sets = [*busy, *waiting]
        wanted = int(np.max(self.starts[sets] - self.started[sets] + [busy.get(data, 0) for data in sets]))
        fair = self.most // len(sets)
        return max([*busy.values(), min(wanted, fair, self.most // max(len(busy), 1)), 1])

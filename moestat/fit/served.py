"""Many searches and one batch of descents: each goes on as soon as its own fits have ended, and none waits for another.

A search is a generator. It yields the starts that it wants fitted (:class:`Fits`), is sent their ends, yields the next
ones, and returns when it has done. What a search gets does not depend on which others there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.fit.descent import Starts, descend
from moestat.fit.moments import Precision
from moestat.fit.newton import problem_of, settings_of, sizes
from moestat.models.regression import Model


@dataclass(frozen=True)
class Fits:
    """Fits that a search waits for: its starts (M, N, P), one at least, and the steps that they go at most."""

    theta: np.ndarray
    steps: int
    race: bool  #: On the first rung alone, and without a certificate where the steps run out.


Ends = dict[str, np.ndarray]  #: A row for each start: theta, loss, smoothed_loss, iterations.
Search = Generator[Fits, Ends, None]


def serve(
    searches: Sequence[tuple[int, Search]],
    model: Model,
    x: Array,
    y: Array,
    atoms: int,
    *,
    box: float,
    tolerance: float,
    precision: Precision,
) -> None:
    """Run searches to their ends, each on the data set of x (D, n, d), y (D, n) that it is named with."""
    xp = namespace(x, y)
    descend(
        problem_of(model, atoms, x, y, precision),
        xp.var(y, axis=-1),
        _Asked(searches, xp),
        settings_of(model, box, None, tolerance),
        sizes(model, atoms, x, apart=False)[1],
    )


class _Asked:
    """The starts that searches have asked for (a :class:`moestat.fit.descent.Feed`), those first that wait longest."""

    def __init__(self, searches: Sequence[tuple[int, Search]], xp: Any) -> None:
        self.data, self.searches, self.xp = [data for data, _ in searches], [own for _, own in searches], xp
        self.asked, self.ended = [0] * len(searches), [dict[int, Ends]() for _ in searches]
        self.waiting: deque[tuple[int, int, Fits]] = deque()  # the number of the search, the row of the start
        self.place: list[tuple[int, int]] = []  # of every member
        for k, own in enumerate(self.searches):
            self._ask(k, next(own, None))

    def _ask(self, k: int, fits: Fits | None) -> None:
        if fits is not None:
            self.asked[k] = len(fits.theta)
            self.waiting.extend((k, row, fits) for row in range(len(fits.theta)))

    def take(self, most: int) -> Starts | None:
        """Hand over the starts that have waited longest."""
        own = [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]
        if not own:
            return None
        member = len(self.place) + np.arange(len(own))
        self.place += [(k, row) for k, row, _ in own]
        race = np.array([fits.race for *_, fits in own])
        return Starts(
            self.xp.asarray(np.stack([fits.theta[row] for _, row, fits in own])),
            member,
            np.array([self.data[k] for k, *_ in own]),
            np.array([fits.steps for *_, fits in own]),
            last=np.where(race, 0, -1),
            certified=~race,
        )

    def give(self, member: np.ndarray, ends: dict[str, Any]) -> None:
        """Keep the ends, and let a search go on when all that it asked for are there."""
        rows = {name: to_numpy(ends[name]) for name in ("theta", "loss", "smoothed_loss", "iterations")}
        for at, one in enumerate(member.tolist()):
            k, row = self.place[one]
            own = self.ended[k]
            own[row] = {name: value[at] for name, value in rows.items()}
            if len(own) == self.asked[k]:
                self.ended[k] = {}
                ordered = {name: np.stack([own[r][name] for r in range(len(own))]) for name in rows}
                try:
                    self._ask(k, self.searches[k].send(ordered))
                except StopIteration:
                    continue

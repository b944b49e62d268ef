"""How much a global search of the least-squares fit may do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Budget:
    """How much is searched.

    Attributes
    ----------
    near, random, inserted : int
        Starts of each kind in the first race.
    screened : int
        Candidate atoms per race that the inserted ones are chosen from.
    rounds : int
        Races of replacements after the first race.
    replaced : int
        Starts in each of them.
    heats : tuple of (int, float)
        Newton steps of every heat of a race, and the share of its starts that goes on.
    rows : int
        A race sees at most the first so many rows.
    agree : int
        No more rounds follow when the best minimum has been reached from so many independent starts, and the last round
        did not lower it.
    """

    near: int = 16
    random: int = 8
    inserted: int = 16
    screened: int = 512
    rounds: int = 3
    replaced: int = 8
    heats: tuple[tuple[int, float], ...] = ((12, 0.5), (28, 0.5))
    rows: int = 16384
    agree: int = 3

    def __post_init__(self) -> None:
        for name in ("near", "random", "inserted", "rounds", "replaced"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 0")
        for name in ("screened", "rows", "agree"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if any(steps < 1 or not 0 < share <= 1 for steps, share in self.heats):
            raise ValueError(f"heats is {self.heats}; every heat needs at least 1 step and a share in (0, 1]")

    def times(self, factor: float) -> Budget:
        """Return this budget with ``factor`` times as many starts, rounded up."""

        def more(count: int) -> int:
            return int(np.ceil(factor * count))

        return replace(
            self,
            near=more(self.near),
            random=more(self.random),
            inserted=more(self.inserted),
            screened=max(more(self.screened), 1),
            replaced=more(self.replaced),
        )

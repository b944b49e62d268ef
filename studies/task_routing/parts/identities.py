"""The identity behind the verdict by argument on "task-routing" (``arguments.py``), at drawn weights."""

from __future__ import annotations

import numpy as np

from studies.task_routing.parts.construction import parity

DRAWS = 20


def parity_of_words() -> dict[str, float]:
    """Two heads and a linear router: the largest distance of the two combinations for three words, the least for two.

    For two words, where two heads can tell the parity, the same combinations differ.
    """
    rng = np.random.default_rng(1)
    three = [parity.distance(3, 2, rng) for _ in range(DRAWS)]
    return {
        "distance, three words": max(three),
        "distance, two words": min(parity.distance(2, 2, rng) for _ in range(DRAWS)),
    }

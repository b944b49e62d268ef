"""The prefixes on which a construction is checked, in chunks, and how what it says after them is read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.task_routing.parts.knowledge import Prefixes

ROWS = 512  # prefixes per chunk; bounds the memory, the numbers do not depend on it


def at_most(prefixes: Prefixes, most: int, rng: np.random.Generator) -> Prefixes:
    """Return all prefixes, or a random sample of ``most`` when there are more."""
    if len(prefixes) <= most:
        return prefixes
    return prefixes.take(np.sort(rng.choice(len(prefixes), most, replace=False)))


def chunks(prefixes: Prefixes) -> Iterator[tuple[np.ndarray, Prefixes]]:
    """Yield the rows of up to ``ROWS`` prefixes, and these prefixes."""
    for start in range(0, len(prefixes), ROWS):
        rows = np.arange(start, min(start + ROWS, len(prefixes)))
        yield rows, prefixes.take(rows)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities (B, n) of logits (B, n)."""
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)


def valid_mass(prefixes: Prefixes, weight: np.ndarray) -> np.ndarray:
    """Return the sum (B,) of the probabilities (B, n) of the tokens that may follow the prefixes."""
    owner = np.repeat(np.arange(len(prefixes)), np.diff(prefixes.valid_start))
    return np.bincount(owner, weight[owner, prefixes.valid_token], minlength=len(prefixes))

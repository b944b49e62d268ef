"""Points that stand for the law of x in population quantities: of the cube by quadrature, or draws of another law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import qmc

from moestat import streams

Points = Callable[[int, str], np.ndarray]
"""``points(log2, purpose)``: 2**log2 points (n, d) that stand for the law of x, always the same ones for a purpose."""


def sobol(d: int, log2: int, seed: int, purpose: str) -> np.ndarray:
    """Return 2**log2 scrambled Sobol points (n, d) of [-1, 1]^d.

    Parameters
    ----------
    d : int
    log2 : int
    seed : int
    purpose : str
        Different purposes are scrambled independently.
    """
    rng = streams.generator(seed, streams.key(points="sobol", d=d, log2=log2), 0, purpose)
    points: np.ndarray = 2.0 * qmc.Sobol(d, scramble=True, seed=rng).random_base2(log2) - 1.0
    return points


def of_cube(d: int) -> Points:
    """Return the scrambled Sobol points of [-1, 1]^d, those of :func:`sobol` with seed 0."""
    return lambda log2, purpose: sobol(d, log2, 0, purpose)

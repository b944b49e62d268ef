"""Points thrown out from the best one, from which the search for the maximum of a jumping likelihood starts again.

Local search ends in the highest of the points that small moves reach. What is a few standard errors away, where the
likelihood is lower by a few units, has other samples on the other side of the boundaries, and may come down higher:
basin hopping (Wales and Doye 1997) with steps on the scale of the statistical error. A fit whose maximum is elsewhere
altogether needs more starts instead. The steps are pseudo-random, and the same for every fit.
"""

from __future__ import annotations

import numpy as np

from moestat.arrays import Array, namespace
from moestat.fit.linalg import symmetric_eigen
from moestat.fit.second_order import Gram

SCALES = (0.5, 1.0, 2.0, 4.0)
"""Lengths of the steps in standard errors; two steps of each per round, the second in the coordinates of one expert."""

_LEAST = 1e-8


def thrown_out(free: Array, at: Gram, n: int, number: int, atom_size: int) -> Array:
    """Return points (M, W, p) around ``free`` (M, p): normal steps whose covariance is that of the estimate.

    Parameters
    ----------
    free : array (M, p)
    at : Gram
        Curvature of the mean log-likelihood there.
    n : int
        Number of samples.
    number : int
        Of the round; each has steps of its own.
    atom_size : int
        Coordinates per expert.
    """
    xp = namespace(free)
    size = free.shape[-1]
    rng = np.random.default_rng([20240303, number])
    noise = np.repeat(np.array(SCALES), 2)[:, None] * rng.standard_normal((2 * len(SCALES), size))
    values, vectors = symmetric_eigen(n * at.gram)
    # a direction in which there is next to no curvature is left alone: the estimate's error in it has no scale
    flat = values < _LEAST * xp.max(values, axis=-1)[:, None]
    error = xp.where(flat, xp.zeros_like(values), 1.0 / xp.sqrt(xp.where(flat, xp.ones_like(values), values)))
    steps = xp.matmul(xp.asarray(noise)[None, :, :] * error[:, None, :], xp.matrix_transpose(vectors))
    expert = rng.integers(size // atom_size, size=len(noise))
    mask = np.ones(noise.shape)
    mask[1::2] = np.arange(size)[None, :] // atom_size == expert[1::2, None]
    return free[:, None, :] + steps * xp.asarray(mask)[None, :, :]

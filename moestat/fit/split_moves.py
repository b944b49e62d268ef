"""New starts for over-fitted mixtures of experts: take one expert away, and split another in its place.

The likelihood of a mixture with more experts than the truth has many maxima, which differ in what the spare expert
fits. From the best point that is known, every ordered pair (removed, split) gives another start.

Source: Ueda, Nakano, Ghahramani, Hinton, "SMEM algorithm for mixture models" (Neural Computation, 2000), here with
removal in place of a merge.
"""

from __future__ import annotations

import math

import numpy as np

from moestat.doors import takes_float64
from moestat.models.softmax_gaussian import SoftmaxGaussian

_GATE = 2.0  # size of the split in the log-odds of the two halves over a range of x of length 1
_MEAN = 0.5  # and in their means, in standard deviations
_WIDER = (math.log(0.5), math.log(20.0))  # further rounds: factors of both, so that a half may fit a few samples only


@takes_float64("theta", "centre")
def split_moves(theta: np.ndarray, centre: np.ndarray, number: int = 0) -> np.ndarray:
    """Return the starts that one removal and one split make of each measure.

    The halves lie on either side of the expert that is split: their gates differ in slope, turned about ``centre``,
    and their means in slope and intercept. The directions are pseudo-random, and the same for every measure.

    Parameters
    ----------
    theta : array (B, N, P)
    centre : array (B, d)
        Middle of the inputs.
    number : int, default 0
        Of the round; each has directions of its own, and after the first round sizes as well.

    Returns
    -------
    array (B, N (N - 1), N, P)
    """
    atoms, size = theta.shape[1:]
    model = SoftmaxGaussian((size - 3) // 2)
    rng = np.random.default_rng([20230503, number] if number else 20230503)
    moves = []
    for removed in range(atoms):
        for split in range(atoms):
            if removed == split:
                continue
            gate, mean = (scale * (math.exp(rng.uniform(*_WIDER)) if number else 1.0) for scale in (_GATE, _MEAN))
            slope = gate * rng.choice([-1.0, 1.0], model.d)
            tilt = mean * rng.standard_normal(model.d + 1)
            deviation = np.sqrt(theta[:, split, model.variance])
            delta = np.zeros((len(theta), size))
            delta[:, model.b] = slope
            delta[:, model.c] = -(centre @ slope)[:, None]
            delta[:, model.a] = deviation * tilt[:-1]
            delta[:, model.beta] = deviation * tilt[-1] - np.sum(delta[:, model.a] * centre, axis=1, keepdims=True)
            half = theta[:, split].copy()
            half[:, model.c] -= math.log(2.0)
            move = theta.copy()
            move[:, split], move[:, removed] = half + delta, half - delta
            moves.append(move)
    return np.stack(moves, axis=1)

"""Starts made of end points of earlier fits: an atom halved in the place of another, atoms of another end point.

Both take atoms (N, P), N at least 2, return others, and draw from the generator that they are given.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from moestat.models import experts, gates
from moestat.models.regression import Model

HALVES = (0.3, 1.0)  #: Standard deviations per coordinate of how far the halves of an atom are moved, either way.


def halved(model: Model, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Take an atom out, and split another into two halves, which are moved apart."""
    out = theta.copy()
    gone, parent = rng.choice(len(theta), 2, replace=False)
    move = rng.choice(HALVES) * rng.standard_normal(theta.shape[1])
    halves = theta[parent] + np.stack([move, -move])
    if model.gate == "softmax":
        halves[:, 0] -= np.log(2.0)
    else:
        halves[:, model.eta] /= 2.0
    out[[gone, parent]] = halves
    return out


def crossed(model: Model, x: np.ndarray, theta: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Take some of the atoms in which another end point differs most, each with probability one half.

    Atoms of the two are matched by what they add to the function on x (n, d).
    """
    mine, theirs = (_parts(model, x, one) for one in (theta, other))
    square = np.mean((mine[:, None] - theirs[None]) ** 2, axis=-1)
    rows, columns = linear_sum_assignment(square)
    differ = np.argsort(-square[rows, columns], kind="stable")[: max(2, len(theta) // 2)]
    taken = differ[rng.random(len(differ)) < 0.5]
    out = theta.copy()
    out[rows[taken]] = other[columns[taken]]
    return out


def _parts(model: Model, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return what each atom adds to the function, (N, n)."""
    scores = theta[:, : model.gate_size] @ gates.score_features(x, model.score)
    value = experts.activation(model.expert, theta[:, model.eta] @ experts.expert_features(x), power=model.power)[0]
    return np.asarray(gates.gate_values(model.gate, scores) * value)

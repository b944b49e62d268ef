"""Gates of several kinds as functions of atoms, and what they are: for tests of models that are made of functions."""

import numpy as np

from moestat.arrays import namespace


def normalised(u):
    return u / u.sum(axis=1, keepdims=True)


def exponential(s):
    return np.exp(s - s.max(axis=1, keepdims=True))


def linear(x, p):
    return x @ p[:, :2].T + p[:, 2]


def cosine(x, p):
    w = p[:, :2]
    angle = (x @ w.T) / (np.linalg.norm(w, axis=1) * np.linalg.norm(x, axis=1, keepdims=True))
    return normalised(exponential(4 * angle + p[:, 2]))


def sigmoids(x, p):
    return normalised(1 / (1 + np.exp(-linear(x, p))))


def temperature(x, p):
    """One temperature for all atoms: the mean of their third parameters."""
    return normalised(exponential((x @ p[:, :2].T) / (0.5 + np.exp(p[:, 2].mean()))))


def hierarchical(x, p):
    """Groups of two atoms; written for tensors, too."""
    xp = namespace(x)
    s = xp.reshape(linear(x, p), (x.shape[0], -1, 2))
    inner, outer = xp.exp(s - xp.max(s, axis=2, keepdims=True)), xp.exp(xp.mean(s, axis=2))
    weights = (outer / xp.sum(outer, axis=1, keepdims=True))[:, :, None] * inner / xp.sum(inner, axis=2, keepdims=True)
    return xp.reshape(weights, (x.shape[0], -1))


def top_two(x, p):
    s = linear(x, p)
    least = np.sort(s, axis=1)[:, -2:].min(axis=1, keepdims=True)
    return normalised(np.where(s >= least, exponential(s), 0.0))


def tanh(x, p):
    return np.tanh(linear(x, p))


GATES = {
    "cosine": cosine,
    "sigmoids": sigmoids,
    "temperature": temperature,
    "hierarchical": hierarchical,
    "top": top_two,
}
ATOMS = {"hierarchical": 4}  # 3 of the others

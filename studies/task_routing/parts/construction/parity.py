"""Why no number of attention heads is enough for a linear router on every dataset.

Let prefixes be words a_1, ..., a_m and a last word that is always the same. A softmax head at that last word is
N(a) / D(a), both sums over positions of functions of one word, D > 0, for all weights. What the router sees is the sum
of H heads and of the last word's embedding. Times the product of all D it is a polynomial in which every term knows at
most H of the words. For m > H its sum over all prefixes with the signs of the parity is therefore zero:

    sum over even a of lambda(a) z(a) = sum over odd a of lambda(a) z(a),    lambda = product of the D > 0.

A positive combination of the router's inputs of one task is one of the other task, with the same total weight, so that
no linear map, with or without a bias, scores every even prefix above and every odd prefix below.
"""

from __future__ import annotations

import itertools

import numpy as np

SIZE = 24
"""Coordinates of the embeddings, which are generic for every (word, position)."""


def distance(bits: int, heads: int, rng: np.random.Generator) -> float:
    """Return how far apart the two combinations are for generic heads, relative to their size; 0 says: no router."""
    words, last = rng.standard_normal((bits, 2, SIZE)), rng.standard_normal(SIZE)
    choices = np.array(list(itertools.product((0, 1), repeat=bits)))
    x = np.concatenate((words[np.arange(bits), choices], np.broadcast_to(last, (len(choices), 1, SIZE))), axis=1)
    z = np.broadcast_to(last, (len(choices), SIZE)).copy()
    totals = np.empty((len(choices), heads))
    for h in range(heads):
        query, key, value = rng.standard_normal((3, SIZE, SIZE)) / np.sqrt(SIZE)
        weight = np.exp((x @ key) @ (last @ query) / np.sqrt(SIZE))
        totals[:, h] = weight.sum(axis=1)
        z += (weight[:, None, :] @ x @ value)[:, 0] / totals[:, h, None]
    z = np.concatenate((z, np.ones((len(z), 1))), axis=1)  # the router's bias is a coordinate of its own
    weight = totals.prod(axis=1) / totals.prod(axis=1).sum()
    gap = np.where(choices.sum(axis=1) % 2 == 1, -weight, weight) @ z
    return float(np.linalg.norm(gap) / (weight @ np.linalg.norm(z, axis=1)))

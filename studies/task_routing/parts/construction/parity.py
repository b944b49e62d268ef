"""Why no number of attention heads is enough for a linear router on every dataset.

Let the prefixes of ``knowledge_small.parity`` be words a_1, ..., a_m and a last word that is always
the same. A softmax head at that last word is N(a) / D(a), where both are sums over positions of functions of one word
each, and D > 0; this holds for all embeddings, positions, queries, keys and values. What the router sees is the sum of
H heads and of the last word's embedding. Times the product of all D it is a polynomial in which every term knows at
most H of the words. For m > H its sum over all prefixes with the signs of the parity is therefore zero:

    sum over even a of lambda(a) z(a) = sum over odd a of lambda(a) z(a),    lambda = product of the D > 0.

A positive combination of the router's inputs of one task is one of the other task, with the same total weight, so that
no linear map, with or without a bias, scores every even prefix above and every odd prefix below.
"""

from __future__ import annotations

import itertools

import numpy as np


def inputs(bits: int, heads: int, rng: np.random.Generator, *, size: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Run generic attention heads on the prefixes that end in the common word.

    Nothing is assumed of the weights: every (word, position) has a generic embedding of its own, and every head generic
    queries, keys and values.

    Returns what a router sees after each prefix: heads and residual; denominators of the softmax of each head.
    """
    words = rng.standard_normal((bits, 2, size))
    last = rng.standard_normal(size)
    choices = np.array(list(itertools.product((0, 1), repeat=bits)))
    x = np.concatenate(
        (words[np.arange(bits), choices], np.broadcast_to(last, (len(choices), 1, size))), axis=1
    )  # (2**bits, bits + 1, size)
    z = np.broadcast_to(last, (len(choices), size)).copy()
    totals = np.empty((len(choices), heads))
    for h in range(heads):
        query, key, value = rng.standard_normal((3, size, size)) / np.sqrt(size)
        weight = np.exp((x @ key) @ (last @ query) / np.sqrt(size))
        totals[:, h] = weight.sum(axis=1)
        z += (weight[:, None, :] @ x @ value)[:, 0] / totals[:, h, None]
    return z, totals


def distance(bits: int, heads: int, rng: np.random.Generator) -> float:
    """Return how far apart the positive combinations of the two tasks' inputs are, relative to their size.

    The combinations are those of the proof above; zero (to rounding) says that no linear router exists for these
    heads. The router's bias is a coordinate of its own.
    """
    z, totals = inputs(bits, heads, rng)
    z = np.concatenate((z, np.ones((len(z), 1))), axis=1)
    weight = totals.prod(axis=1) / totals.prod(axis=1).sum()
    odd = np.array([sum(choice) % 2 for choice in itertools.product((0, 1), repeat=bits)])
    gap = np.where(odd == 1, -weight, weight) @ z
    return float(np.linalg.norm(gap) / (weight @ np.linalg.norm(z, axis=1)))

"""The compiled derivatives of :class:`moestat.fit.compiled_problem.CompiledProblem`; importing this imports numba.

The values that come before them are in :mod:`moestat.fit.compiled_forward`.

Every function works on one chunk of samples of one member. Work arrays have samples last, in rows that start at
multiples of 64 bytes and are longer than a chunk, so that no two rows compete for one place in the processor's cache.
A chunk has ``rows`` samples and is computed up to ``padded``, a whole number of vectors; what stands beyond the samples
is zero in one operand of every product, and finite in the other.

Loops are short and touch few arrays on purpose: the vectoriser gives up where it must prove many arrays distinct.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moestat.fit.compiled_forward import BEND, PHI, SLOPE, SOFTMAX, TURN, TWIST, WIDTH, F, G, R, U, V, fill_monomials
from moestat.fit.kernel import compiled
from moestat.fit.vector_code import add_block, blocking, sums_per_block

HEIGHT, BREADTH = blocking(WIDTH)
SINGLE, DOUBLE = sums_per_block(WIDTH, 4), sums_per_block(WIDTH, 8)
# planes of the parts (8, N, ...) that the weights of pairs are made of, see Problem._moments
US, VS, LEFT, GATES, SECOND, GG, GE, EE = range(8)


@compiled
def add_products(
    weights: Any, m: int, features: Any, stored: int, count: int, left: Any, right: Any, spare: Any, sums: Any,
    at: int, padded: int,
) -> None:  # fmt: skip
    """Add the products of ``m`` rows of weights with the first ``count`` monomials to ``sums``, from ``at`` on.

    Monomials from ``stored`` on are made here, a block at a time, as products of two that are stored: kept, those of
    degree 3 and 4 would take nearly all of the memory, and more than the cache.
    """
    size = SINGLE if weights.itemsize == 4 else DOUBLE
    for j in range(0, count, BREADTH):
        kept = j + BREADTH <= stored
        if not kept:
            for b in range(BREADTH):
                row = spare[b]
                if j + b < stored:
                    p = features[j + b]
                    for t in range(padded):
                        row[t] = p[t]
                elif j + b < count:
                    p, q = features[left[j + b]], features[right[j + b]]
                    for t in range(padded):
                        row[t] = p[t] * q[t]
        source, first = (features, j) if kept else (spare, 0)
        for i in range(0, m, HEIGHT):
            add_block(weights, i, source, first, sums, at, padded, WIDTH)
            at += size


@compiled
def add_gradient(
    kind: int, rows: int, padded: int, room: Any, lines: Any, products: Any, score_features: Any, score_counts: Any,
    left: Any, right: Any, score_sums: Any, score_offsets: Any,
) -> None:  # fmt: skip
    """Add the products that make the gradient."""
    for i in range(room.shape[1]):
        slopes(i, kind, rows, padded, room, lines, products)
    add_slopes(room.shape[1], padded, products, score_features, score_counts, left, right, score_sums, score_offsets)


@compiled
def slopes(i: int, kind: int, rows: int, padded: int, room: Any, lines: Any, products: Any) -> None:
    """Write df/ds and df/dh of an atom, and their products with the residuals."""
    f, r, u, v = lines[F], lines[R], lines[U], lines[V]
    gate, value, one = room[G, i], room[PHI, i], room[TURN, i]
    if kind == SOFTMAX:
        for t in range(rows):
            u[t] = gate[t] * (value[t] - f[t])
    else:
        for t in range(rows):
            u[t] = one[t] * value[t]
    one = room[SLOPE, i]
    for t in range(rows):
        v[t] = gate[t] * one[t]
    for t in range(rows, padded):
        u[t] = 0.0
        v[t] = 0.0
    row = products[0, i]
    for t in range(padded):
        row[t] = u[t] * r[t]
    row = products[1, i]
    for t in range(padded):
        row[t] = v[t] * r[t]


@compiled
def add_slopes(
    n: int, padded: int, products: Any, score_features: Any, score_counts: Any, left: Any, right: Any, score_sums: Any,
    score_offsets: Any,
) -> None:  # fmt: skip
    """Add the products of what :func:`slopes` wrote with the features of score and expert."""
    whole = score_features.shape[0]
    for part in range(2):
        add_products(
            products[part], n, score_features, whole, score_counts[part], left, right, score_features, score_sums,
            score_offsets[part], padded,
        )  # fmt: skip


@compiled
def add_derivatives(
    kind: int, k: float, variance: float, rows: int, padded: int, room: Any, lines: Any, products: Any,
    score_features: Any, score_counts: Any, left: Any, right: Any, score_sums: Any, score_offsets: Any, xs: Any,
    parts: Any, weights: Any, features: Any, stored: int, counts: Any, spare: Any, sums: Any, offsets: Any,
) -> None:  # fmt: skip
    """Add the products that make the gradient and the moments that make the Hessian.

    The weights of the moments are those of ``Problem._moments``, with k the factor of the residual's second-order
    term; ``parts`` (8, N, ...) and ``weights`` have the precision of the products. With a ``variance``, which is not
    negative, samples count by it and the square of their residual.
    """
    for i in range(room.shape[1]):
        slopes(i, kind, rows, padded, room, lines, products)
        if variance >= 0.0:
            u, v, r = lines[U], lines[V], lines[R]
            for t in range(padded):
                root = np.sqrt(variance + r[t] * r[t])
                u[t] *= root
                v[t] *= root
        split_weights(i, kind, k, padded, room, lines, products, parts)
    add_slopes(room.shape[1], padded, products, score_features, score_counts, left, right, score_sums, score_offsets)
    for a in range(xs.shape[0]):
        row, one = xs[a], score_features[1 + a]
        for t in range(padded):
            row[t] = one[t]
    fill_monomials(xs, features, left, right, min(stored, len(left)), padded)
    for pair in range(3):
        m = pair_weights(parts, kind == SOFTMAX, pair, padded, weights)
        add_products(weights, m, features, stored, counts[pair], left, right, spare, sums, offsets[pair], padded)


@compiled
def split_weights(i: int, kind: int, k: float, padded: int, room: Any, lines: Any, products: Any, parts: Any) -> None:
    """Write what the weights of the pairs of an atom are made of."""
    r, u, gate = lines[R], lines[U], room[G, i]
    row = parts[US, i]
    for t in range(padded):
        row[t] = u[t]
    one, row = lines[V], parts[VS, i]
    for t in range(padded):
        row[t] = one[t]
    if kind == SOFTMAX:
        row = parts[GATES, i]
        for t in range(padded):
            row[t] = gate[t]
        row = parts[LEFT, i]
        for t in range(padded):
            row[t] = u[t] - k * r[t] * gate[t]
        row, one, two = parts[GG, i], products[0, i], parts[SECOND, i]
        for t in range(padded):
            row[t] = k * one[t]
        for t in range(padded):
            two[t] = -row[t]
        row, one = parts[GE, i], products[1, i]
        for t in range(padded):
            row[t] = k * one[t]
    else:
        row, one, other = parts[GG, i], room[TWIST, i], room[PHI, i]
        for t in range(padded):
            row[t] = one[t] * other[t] * (k * r[t])
        row, one, other = parts[GE, i], room[TURN, i], room[SLOPE, i]
        for t in range(padded):
            row[t] = one[t] * other[t] * (k * r[t])
    row, one = parts[EE, i], room[BEND, i]
    for t in range(padded):
        row[t] = gate[t] * one[t] * (k * r[t])


@compiled
def pair_weights(parts: Any, softmax: bool, pair: int, padded: int, weights: Any) -> Any:
    """Write the weights of gate-gate, gate-expert or expert-expert pairs (0, 1, 2), and return their number.

    Pairs of one kind are i = j first, then i < j; of two kinds, i N + j.
    """
    n = parts.shape[1]
    for i in range(n):
        for j in range(0 if pair == 1 else i, n):
            at = i * n + j if pair == 1 else i if i == j else n + i * n - i * (i + 1) // 2 + j - i - 1
            p = parts[US if pair == 0 else VS, i]
            q = parts[US if pair == 0 else VS, j]
            if softmax and pair == 0 and i < j:
                q = parts[LEFT, j]
            if pair == 1:
                p = parts[LEFT if softmax else US, i]
            row = weights[at]
            if i == j:
                extra = parts[GG + pair, i]
                for t in range(padded):
                    row[t] = p[t] * q[t] + extra[t]
            else:
                for t in range(padded):
                    row[t] = p[t] * q[t]
            if softmax and pair == 0:
                p, q = parts[GATES, i], parts[SECOND, j]
                for t in range(padded):
                    row[t] += p[t] * q[t]
                if i == j:
                    for t in range(padded):
                        row[t] += p[t] * q[t]
    return n * n if pair == 1 else n * (n + 1) // 2


@compiled
def assemble(moments: Any, place: Any, root: Any, out: Any) -> None:
    """Write the Hessian (p, p): the moment at every place, times the factors of both coordinates."""
    for a in range(out.shape[0]):
        row, where, factor = out[a], place[a], root[a]
        for b in range(out.shape[1]):
            row[b] = moments[where[b]] * (factor * root[b])

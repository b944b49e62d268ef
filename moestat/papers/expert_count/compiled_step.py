"""The compiled part of a training step of Algorithm 1; importing this imports numba.

A step goes through chunks of samples, in which rows are sorted by expert without being moved; the neurons of an
expert are the lanes of a vector (``vector_rows``). A row is a patch of a sample; MLP experts, which have weights of
their own for each patch, take the patches one after the other. The router's scores have samples last, one row per
expert, as the products of :mod:`moestat.fit.vector_code` want them.
"""

from __future__ import annotations

import math
from typing import Any

from moestat.fit.compiled import add_products
from moestat.fit.compiled_forward import combine
from moestat.fit.compiled_routing import add_up, logistic_slope, send, to_gradient
from moestat.fit.kernel import compiled
from moestat.papers.expert_count.vector_rows import GROUP, LANES, add_outer, project


@compiled
def route(theta: Any, features: Any, noise: Any, padded: int, scores: Any, expert: Any, best: Any) -> None:
    """Write where the samples of a chunk are sent, and their scores less the largest.

    Parameters
    ----------
    theta : (M, F) array
        Parameters of the router.
    features : (F or more, room) array
        Features of the samples, and zeros beyond them.
    noise : (rows, M) array
        Routing noise.
    padded : int
        The number of samples, rounded up to whole strips.
    scores : (M or more, room) array
    expert : (room,) int array
        The argmax of the scores plus the noise.
    best : (room,) array
        Overwritten.
    """
    combine(theta, features, scores, padded)
    send(scores, noise.T, padded, expert, best)


@compiled
def sort_rows(expert: Any, first: int, count: int, step: int, each: int, ends: Any, starts: Any, place: Any) -> None:
    """Sort the rows of a chunk of samples by expert.

    Parameters
    ----------
    expert : (room,) int array
        Where the samples are sent.
    first, count : int
        The chunk begins at sample ``first`` and has ``count``.
    step, each : int
        Numbers of a sample, and its rows.
    ends : (M + 1,) int array
        Overwritten: the rows of expert m are ``ends[m]`` to ``ends[m + 1]``.
    starts : (room * each,) int array
        Overwritten: where the sorted rows begin.
    place : (room,) int array
        Overwritten: the first sorted row of every sample.
    """
    for m in range(len(ends)):
        ends[m] = 0
    for t in range(count):
        ends[expert[t]] += each
    total = 0
    for m in range(len(ends)):
        ends[m], total = total, total + ends[m]
    for t in range(count):
        m = expert[t]
        place[t] = ends[m]
        for r in range(each):
            starts[ends[m] + r] = (first + t) * step + r * (step // each)
        ends[m] += each
    for m in range(len(ends) - 1, 0, -1):
        ends[m] = ends[m - 1]
    ends[0] = 0


@compiled
def add_gradients(
    x: Any,
    y: Any,
    first: int,
    count: int,
    padded: int,
    expert: Any,
    pi: Any,
    weights: Any,
    by_weight: Any,
    shape: Any,
    rows: Any,
    work: Any,
    room: Any,
    features: Any,
    sums: Any,
) -> None:
    """Add what a chunk of samples has in the gradients of eq. (4): to ``by_weight``, and to the sums of the router's.

    Parameters
    ----------
    x : flat array of (n, P, d)
        Patches.
    y : (n,) array
    first, count, padded : int
        The chunk begins at sample ``first``, and has ``count`` samples, ``padded`` with what lies beyond.
    expert : (room,) int array
        Where they are sent.
    pi : (M or more, room) array
        On entry exponentials of the scores, on exit the gradient in the scores.
    weights, by_weight : flat arrays of (M, P or 1, J / 8, d, 8)
        J is a whole number of eights.
    shape : (n, M, P, own, J / 8, d, F)
        ``own`` is P or 1.
    rows : tuple of int arrays
        ``ends``, ``starts`` and ``place`` of :func:`sort_rows`, to be overwritten.
    work : (own * J / 8, room * P / own * 8) array
        Overwritten.
    room : (2, room) array
        Overwritten.
    features : (F or more, room) array
    sums : flat array
        See :func:`moestat.fit.compiled.add_products`.
    """
    n, experts, patches, own, eights, size, read = shape
    ends, starts, place = rows
    each, block = patches // own, size * LANES
    sort_rows(expert, first, count, patches * size, each, ends, starts, place)
    for m in range(experts):
        last = ends[m + 1] - (ends[m + 1] - ends[m]) % GROUP
        for part in range(own * eights):
            at, shift, out = (m * own * eights + part) * block, part // eights * size, work[part]
            for r in range(ends[m], last, GROUP):
                project(x, starts, r, shift, weights, at, size, out, r * LANES, GROUP)
            for r in range(last, ends[m + 1]):
                project(x, starts, r, shift, weights, at, size, out, r * LANES, 1)
    total, factor = room[0], room[1]
    add_up(pi, experts, padded, total)
    for t in range(padded):
        factor[t] = 0.0
    for t in range(count):
        begin, end = place[t] * LANES, (place[t] + each) * LANES
        f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0  # four sums: each addition waits for the one before
        for part in range(own * eights):
            reach = work[part]
            for k in range(begin, end, 4):
                f0 += reach[k] * reach[k] * reach[k]
                f1 += reach[k + 1] * reach[k + 1] * reach[k + 1]
                f2 += reach[k + 2] * reach[k + 2] * reach[k + 2]
                f3 += reach[k + 3] * reach[k + 3] * reach[k + 3]
        f = (f0 + f1) + (f2 + f3)
        sign = y[first + t]
        chosen = pi[expert[t], t] / total[t]
        margin = sign * chosen * f
        slope = logistic_slope(margin) * sign * chosen / n
        pull = slope * f
        factor[t] = -pull / total[t]
        total[t] = pull
        for part in range(own * eights):
            reach = work[part]
            for k in range(begin, end):
                reach[k] = 3 * slope * (reach[k] * reach[k])
    for m in range(experts):
        last = ends[m + 1] - (ends[m + 1] - ends[m]) % GROUP
        for part in range(own * eights):
            at, shift, by = (m * own * eights + part) * block, part // eights * size, work[part]
            for r in range(ends[m], last, GROUP):
                add_outer(x, starts, r, shift, by, r * LANES, size, by_weight, at, GROUP)
            for r in range(last, ends[m + 1]):
                add_outer(x, starts, r, shift, by, r * LANES, size, by_weight, at, 1)
    to_gradient(pi, experts, count, padded, expert, factor, total)
    # all features are stored, so that the three tables of how to make others are not looked at
    add_products(pi, experts, features, len(features), read, ends, ends, features, sums, 0, padded)


@compiled
def move(weights: Any, by_weight: Any, squares: Any, rate: float) -> None:
    """Take a step of length ``rate`` against the gradient of each expert that has one; the gradient is 0 afterwards.

    Parameters
    ----------
    weights, by_weight : (M, s) arrays
    squares : (M,) array
        Sums of the squares of the gradient.
    """
    for m in range(len(squares)):
        if squares[m] > 0:
            by, own, gradient = rate / math.sqrt(squares[m]), weights[m], by_weight[m]
            for k in range(len(own)):
                own[k] -= by * gradient[k]
                gradient[k] = 0.0

"""The densities of a competition-gated mixture and their slopes, compiled; importing this imports numba.

The values are those of :mod:`moestat.fit.competition_likelihood`, to rounding. A strip of samples goes through all
steps while it is in the cache; loops are short and branch-free, so that LLVM makes vectors of them, and so is the
exponential, which numba has for one number at a time alone.

The weights of the gate are ``exp(size + min(u, 0)) / (1 + exp(-|u|))``, the sigmoid of u being without overflow so;
without a temperature u does not enter, and experts that do not win have the weight 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from moestat.fit.kernel import compiled

STRIP = 256  #: Samples that are worked on at once.
ROOM = 9  #: Planes of an expert: size, gate, joint, mean, pull, bend, tail, and two for the smoothed choice.
SIZE, GATE, JOINT, MEAN, PULL, BEND, TAIL, EXTRA, SPARE = range(ROOM)
NOTHING = -1e300  # the logarithm of no weight at all
_LARGEST = 500.0  # as in competition_likelihood

_MAGIC = 6755399441055744.0  # 1.5 * 2**52: a double to which a whole number was added holds it in its last bits
_LOG2E, _HIGH, _LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
_C = tuple(1.0 / math.factorial(k) for k in range(14))
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = _C[2:]


@compiled
def exponentials(row: Any, spare: Any, bits: Any, count: int) -> None:
    """Replace the numbers of a row, at most 0 or near it, by their exponentials; below -708 by 0.

    ``bits`` are the bits of ``spare``. The argument is cut into a multiple of log 2 and a rest of at most half of it,
    whose exponential is a Taylor sum of degree 13, exact to rounding.
    """
    for t in range(count):
        z = row[t]
        z = -745.0 if z < -745.0 else z
        spare[t] = z * _LOG2E + _MAGIC
        k = spare[t] - _MAGIC
        r = (z - k * _HIGH) - k * _LOW
        p = _C12 + r * _C13
        p = _C11 + r * p
        p = _C10 + r * p
        p = _C9 + r * p
        p = _C8 + r * p
        p = _C7 + r * p
        p = _C6 + r * p
        p = _C5 + r * p
        p = _C4 + r * p
        p = _C3 + r * p
        p = _C2 + r * p
        p = 1.0 + r * p
        row[t] = 0.0 if z < -708.0 else 1.0 + r * p
    for t in range(count):
        bits[t] = (bits[t] + 1023) << 52
    for t in range(count):
        row[t] = 0.0 if row[t] == 0.0 else row[t] * spare[t]


@compiled
def means(free: Any, at: int, flat: bool, features: Any, first: int, room: Any, spare: Any, bits: Any, n: int) -> None:
    """Write an expert's mean and its size; of a bounded one (``flat``: tanh) the slope of the tanh, too."""
    g, size, bend = room[MEAN], room[SIZE], room[BEND]
    for t in range(n):
        g[t] = 0.0
    for j in range(features.shape[0]):
        w, source = free[at + j], features[j]
        for t in range(n):
            g[t] += w * source[first + t]
    if flat:
        for t in range(n):
            size[t] = -2.0 * abs(g[t])
        exponentials(size, spare, bits, n)
        for t in range(n):
            height = (1.0 - size[t]) / (1.0 + size[t])
            g[t] = -height if g[t] < 0 else height
            bend[t] = 1.0 - height * height
    for t in range(n):
        size[t] = abs(g[t])


@compiled
def places(room: Any, k: int, n: int) -> None:
    """Write into TAIL each expert's place in the competition, 0 for the largest; ties to the lowest index."""
    for i in range(k):
        place, mine = room[i, TAIL], room[i, SIZE]
        for t in range(n):
            place[t] = 0.0
        for j in range(k):
            other = room[j, SIZE]
            if j < i:
                for t in range(n):
                    place[t] += 1.0 if other[t] >= mine[t] else 0.0
            elif j > i:
                for t in range(n):
                    place[t] += 1.0 if other[t] > mine[t] else 0.0


@compiled
def gate_logs(room: Any, lines: Any, k: int, active: int, temperature: float, bits: Any, n: int) -> None:
    """Write into GATE the logarithms of the weights but for 1 + exp(-|u|), which goes to EXTRA.

    With a temperature TAIL becomes sigmoid(-u) / T, and SPARE 1/2 for the experts on either side of the choice, 0 for
    the others.
    """
    edge, spare = lines[0], lines[1]
    if active < k:
        places(room, k, n)
    for t in range(n):
        edge[t] = 0.0
    for i in range(k):
        size, place, gate, extra, between = room[i, SIZE], room[i, TAIL], room[i, GATE], room[i, EXTRA], room[i, SPARE]
        if active >= k:
            for t in range(n):
                gate[t] = size[t]
        elif temperature == 0.0:
            for t in range(n):
                gate[t] = size[t] if place[t] < active else NOTHING
        else:
            for t in range(n):
                between[t] = 0.5 if (place[t] == active - 1.0) | (place[t] == active) else 0.0
                edge[t] += between[t] * size[t]
    if active >= k or temperature == 0.0:
        return
    for i in range(k):
        size, tail, gate, extra = room[i, SIZE], room[i, TAIL], room[i, GATE], room[i, EXTRA]
        for t in range(n):
            u = (size[t] - edge[t]) / temperature
            gate[t] = size[t] + (u if u < 0.0 else 0.0)
            extra[t] = -abs(u)
            tail[t] = u
        exponentials(extra, spare, bits, n)
        for t in range(n):
            e = extra[t]
            tail[t] = (1.0 if tail[t] < 0.0 else e) / (1.0 + e) / temperature
            extra[t] = 1.0 / (1.0 + e)


@compiled
def densities(
    free: Any, k: int, active: int, flat: bool, temperature: float, features: Any, first: int, y: Any, room: Any,
    lines: Any, bits: Any, n: int,
) -> None:  # fmt: skip
    """Write into lines 2 and 3 what the log-density is the sum of: a shift, and a ratio without its logarithm.

    GATE and JOINT are left as weights without their sums, whose inverses are in lines 4 and 5.
    """
    spare, shift, ratio, top, best = lines[1], lines[2], lines[3], lines[4], lines[5]
    size = free.shape[0] // k
    for i in range(k):
        means(free, i * size, flat, features, first, room[i], spare, bits, n)
    gate_logs(room, lines, k, active, temperature, bits, n)
    for t in range(n):
        top[t], best[t] = NOTHING, NOTHING
    for i in range(k):
        gate, joint, mean, pull = room[i, GATE], room[i, JOINT], room[i, MEAN], room[i, PULL]
        log_variance = free[(i + 1) * size - 1]
        precision = math.exp(min(-log_variance, _LARGEST))
        for t in range(n):
            residual = y[first + t] - mean[t]
            pull[t] = residual * precision
            joint[t] = gate[t] - 0.5 * (residual * pull[t] + log_variance)
            top[t] = gate[t] if gate[t] > top[t] else top[t]
            best[t] = joint[t] if joint[t] > best[t] else best[t]
    for t in range(n):
        shift[t] = best[t] - top[t]
    for i in range(k):
        gate, joint = room[i, GATE], room[i, JOINT]
        for t in range(n):
            gate[t] -= top[t]
            joint[t] -= best[t]
        exponentials(gate, spare, bits, n)
        exponentials(joint, spare, bits, n)
    for t in range(n):
        top[t], best[t] = 0.0, 0.0
    for i in range(k):
        gate, joint, extra = room[i, GATE], room[i, JOINT], room[i, EXTRA]
        if temperature > 0.0 and active < k:
            for t in range(n):
                gate[t] *= extra[t]
                joint[t] *= extra[t]
        for t in range(n):
            top[t] += gate[t]
            best[t] += joint[t]
    for t in range(n):
        ratio[t] = best[t] / top[t]
        top[t], best[t] = 1.0 / top[t], 1.0 / best[t]


@compiled
def pulls(
    k: int, active: int, flat: bool, temperature: float, room: Any, lines: Any, n: int,
    through: Any, log_variance: Any, first: int,
) -> None:  # fmt: skip
    """Write the derivatives in W'features and in the log-variances, after :func:`densities`."""
    smooth = temperature > 0.0 and active < k
    gates, joints, total = lines[4], lines[5], lines[0]
    for t in range(n):
        total[t] = 0.0
    for i in range(k):
        gate, joint, tail = room[i, GATE], room[i, JOINT], room[i, TAIL]
        for t in range(n):
            joint[t] *= joints[t]
            gate[t] = joint[t] - gate[t] * gates[t]
        if smooth:
            for t in range(n):
                tail[t] = gate[t] * tail[t]
                gate[t] += tail[t]
                total[t] += tail[t]
    for i in range(k):
        gate, joint, mean, pull = room[i, GATE], room[i, JOINT], room[i, MEAN], room[i, PULL]
        if smooth:
            between = room[i, SPARE]
            for t in range(n):
                gate[t] -= between[t] * total[t]
        to, of = through[i], log_variance[i]
        for t in range(n):
            sign = 1.0 if mean[t] > 0.0 else (-1.0 if mean[t] < 0.0 else 0.0)
            to[first + t] = sign * gate[t] + joint[t] * pull[t]
        if flat:
            bend = room[i, BEND]
            for t in range(n):
                to[first + t] *= bend[t]
        precision = lines[6, i]
        for t in range(n):
            of[first + t] = 0.5 * joint[t] * (pull[t] * pull[t] / precision - 1.0)


@compiled
def log_densities(free: Any, k: int, active: int, flat: bool, features: Any, y: Any, shift: Any, ratio: Any) -> None:
    """Write shift and ratio (M, W, n) of points (M, W, k P) on samples (M, q, n) and (M, n), at temperature 0."""
    room, lines = np.zeros((k, ROOM, STRIP)), np.zeros((7, STRIP))
    bits = lines[1].view(np.int64)
    samples = y.shape[1]
    for m in range(free.shape[0]):
        for w in range(free.shape[1]):
            for first in range(0, samples, STRIP):
                n = min(STRIP, samples - first)
                densities(free[m, w], k, active, flat, 0.0, features[m], first, y[m], room, lines, bits, n)
                for t in range(n):
                    shift[m, w, first + t] = lines[2, t]
                    ratio[m, w, first + t] = lines[3, t]


@compiled
def log_density_slopes(
    free: Any, k: int, active: int, flat: bool, temperature: float, features: Any, y: Any, shift: Any, ratio: Any,
    through: Any, log_variance: Any,
) -> None:  # fmt: skip
    """Write shift and ratio (M, n) of points (M, k P), and their derivatives (M, k, n)."""
    room, lines = np.zeros((k, ROOM, STRIP)), np.zeros((7, max(STRIP, k)))
    bits = lines[1].view(np.int64)
    samples = y.shape[1]
    size = free.shape[1] // k
    for m in range(free.shape[0]):
        for i in range(k):
            lines[6, i] = math.exp(min(-free[m, (i + 1) * size - 1], _LARGEST))
        for first in range(0, samples, STRIP):
            n = min(STRIP, samples - first)
            densities(free[m], k, active, flat, temperature, features[m], first, y[m], room, lines, bits, n)
            pulls(k, active, flat, temperature, room, lines, n, through[m], log_variance[m], first)
            for t in range(n):
                shift[m, first + t] = lines[2, t]
                ratio[m, first + t] = lines[3, t]

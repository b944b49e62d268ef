"""The compiled values of a chunk of samples: features, scores, gates, experts, residuals.

See :mod:`moestat.fit.compiled` for the layout of the work arrays; importing this imports numba.
"""

from __future__ import annotations

from typing import Any

from moestat.fit import kernel
from moestat.fit.kernel import compiled
from moestat.fit.vector_code import STRIP, combine_strip

WIDTH = kernel.vector_bits() // 8
ATOMS = 2 if WIDTH == 32 else 3  # combined at a time, by the number of registers
SOFTMAX, SIGMOID, OWN_GATE = 0, 1, 2
# planes of the room (7, N, ...): score and then gate, pre-activation, expert and its two derivatives, the two
# derivatives of gates other than the softmax; and lines (5, ...): f, residual, denominator, df/ds, df/dh of an atom
G, H, PHI, SLOPE, BEND, TURN, TWIST = range(7)
F, R, TOTAL, U, V = range(5)
STEEPEST = 700.0  # as in moestat.models.gates: exp(700) is finite


@compiled
def fill_monomials(x: Any, out: Any, left: Any, right: Any, stop: int, padded: int) -> None:
    """Write the monomials 1..stop: first the variables, then each as a product of two of lower degree."""
    for a in range(x.shape[0]):
        source, row = x[a], out[1 + a]
        for t in range(padded):
            row[t] = source[t]
    for j in range(1 + x.shape[0], stop):
        row, p, q = out[j], out[left[j]], out[right[j]]
        for t in range(padded):
            row[t] = p[t] * q[t]


@compiled
def combine(coefficients: Any, features: Any, out: Any, padded: int) -> None:
    """Write ``coefficients @ features``; ``padded`` is a whole number of strips."""
    n = coefficients.shape[0]
    whole = n - n % ATOMS
    for at in range(0, padded, STRIP * WIDTH // 8):
        for i in range(0, whole, ATOMS):
            combine_strip(coefficients, i, features, out, at, ATOMS, WIDTH)
        for i in range(whole, n):
            combine_strip(coefficients, i, features, out, at, 1, WIDTH)


@compiled
def scores(
    x: Any, first: int, rows: int, padded: int, kind: int, gate: Any, eta: Any, left: Any, right: Any, xs: Any,
    features: Any, room: Any,
) -> None:  # fmt: skip
    """Write features, pre-activations and scores; the latter are left as the argument of the gate's exponential."""
    for a in range(x.shape[0]):
        source, row = x[a], xs[a]
        for t in range(rows):
            row[t] = source[first + t]
        for t in range(rows, padded):
            row[t] = 0.0
    fill_monomials(xs, features, left, right, gate.shape[1], padded)
    s = room[G]
    combine(gate, features, s, padded)
    combine(eta, features, room[H], padded)
    if kind == SOFTMAX:
        top = xs[0]  # not needed any more
        for t in range(padded):
            top[t] = s[0, t]
        for i in range(1, s.shape[0]):
            row = s[i]
            for t in range(padded):
                top[t] = row[t] if row[t] > top[t] else top[t]
        for i in range(s.shape[0]):
            row = s[i]
            for t in range(padded):
                row[t] -= top[t]
    elif kind == SIGMOID:
        for i in range(s.shape[0]):
            row = s[i]
            for t in range(padded):
                row[t] = STEEPEST if -row[t] > STEEPEST else -row[t]


@compiled
def gate_values(room: Any, lines: Any, kind: int, padded: int) -> None:
    """Turn the exponentials into the values of the softmax, or into the sigmoid and two derivatives."""
    g, total = room[G], lines[TOTAL]
    if kind == SOFTMAX:
        for t in range(padded):
            total[t] = g[0, t]
        for i in range(1, g.shape[0]):
            row = g[i]
            for t in range(padded):
                total[t] += row[t]
        for t in range(padded):
            total[t] = 1.0 / total[t]
        for i in range(g.shape[0]):
            row = g[i]
            for t in range(padded):
                row[t] *= total[t]
    else:
        for i in range(g.shape[0]):
            row, first, second = g[i], room[TURN, i], room[TWIST, i]
            for t in range(padded):
                row[t] = 1.0 / (1.0 + row[t])
                first[t] = row[t] * (1.0 - row[t])
                second[t] = first[t] * (1.0 - 2.0 * row[t])


@compiled
def relu(room: Any, tau: float, padded: int) -> None:
    """Write the ReLU with its kink smoothed and two derivatives, see :func:`moestat.models.experts.activation`."""
    steep, middle, rate = (0.5 / tau, 0.5, 0.5 / tau) if tau > 0 else (1e200, 0.0, 0.0)
    for i in range(room.shape[1]):
        source, value, ramp, row = room[H, i], room[PHI, i], room[SLOPE, i], room[BEND, i]
        for t in range(padded):
            at = source[t] * steep + middle
            at = 0.0 if at < 0.0 else at
            at = 1.0 if at > 1.0 else at
            above = source[t] - tau
            ramp[t] = at
            value[t] = tau * (at * at) + (0.0 if above < 0.0 else above)
        for t in range(padded):
            row[t] = rate if (ramp[t] > 0.0) & (ramp[t] < 1.0) else 0.0


@compiled
def residuals(room: Any, lines: Any, y: Any, first: int, rows: int, padded: int) -> float:
    """Write f and the residuals, which are zero beyond the samples; return half the sum of their squares."""
    f, r = lines[F], lines[R]
    for t in range(padded):
        f[t] = 0.0
    for i in range(room.shape[1]):
        gate, value = room[G, i], room[PHI, i]
        for t in range(padded):
            f[t] += gate[t] * value[t]
    half = 0.0
    for t in range(rows):
        r[t] = f[t] - y[first + t]
        half += r[t] * r[t]
    for t in range(rows, padded):
        r[t] = 0.0
    return 0.5 * half

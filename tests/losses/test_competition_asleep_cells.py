"""Experts that are certified to win nowhere: lines |g_i| = |g_j| cut the square into cells, exactly."""

from fractions import Fraction

import numpy as np
import pytest

from moestat.losses.competition_bound import certainly_asleep
from moestat.models.competition import Competition


def halves(cell, line):
    """Cut a convex polygon by a line a x + b y + c = 0."""
    at = [line[0] * x + line[1] * y + line[2] for x, y in cell]
    if min(at) >= 0 or max(at) <= 0:
        return [cell]
    out = [[], []]
    for k, (p, a) in enumerate(zip(cell, at, strict=True)):
        q, b = cell[(k + 1) % len(cell)], at[(k + 1) % len(cell)]
        for side, sign in zip(out, (1, -1), strict=True):
            if sign * a >= 0:
                side.append(p)
            if a * b < 0:
                side.append(tuple(u + a / (a - b) * (v - u) for u, v in zip(p, q, strict=True)))
    return out


def wins(weights, i, active):
    """Whether expert i is among the ``active`` largest on a cell; ties go to the lowest index."""
    cells = [[(Fraction(x), Fraction(y)) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]]
    for j, other in enumerate(weights):
        for sign in (1, -1):
            line = [a - sign * b for a, b in zip(other, weights[i], strict=True)]
            if j != i and any(line):
                cells = [part for cell in cells for part in halves(cell, line)]
    for cell in cells:
        x, y = (sum(c) / len(cell) for c in zip(*cell, strict=True))
        size = [abs(w[0] * x + w[1] * y + w[2]) for w in weights]
        if sum(s > size[i] or (s == size[i] and j < i) for j, s in enumerate(size)) < active:
            return True
    return False


@pytest.mark.parametrize(("expert", "active"), [("linear", 1), ("linear", 2), ("affine", 1), ("tanh", 2)])
def test_whoever_is_certified_wins_on_no_cell(expert, active):
    """tanh is monotone, so that its cells are those of the affine experts; tied experts are in the first truth."""
    rng, model, certified, asleep = np.random.default_rng(3), Competition(2, expert, active), 0, 0
    for r in range(12):
        truth = np.column_stack([rng.standard_normal((4, model.weight_size)), np.full(4, 0.3)])
        if r == 0:
            truth[1, model.w] = -truth[0, model.w]
        exact = [[Fraction(c) for c in (*atom[model.w], *[0.0] * (3 - model.weight_size))] for atom in truth]
        awake = [wins(exact, i, active) for i in range(4)]
        found = certainly_asleep(model, truth)
        assert not np.any(found & awake)
        certified, asleep = certified + found.sum(), asleep + 4 - sum(awake)
    assert certified >= 0.8 * asleep and (asleep > 0 or active > 1)

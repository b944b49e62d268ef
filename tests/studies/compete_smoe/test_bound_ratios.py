import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from moestat.losses.measures import competition_losses
from moestat.models.competition import Competition
from studies.compete_smoe.parts.competition_bound import (
    certainly_asleep,
    information,
    moves,
    ratios,
    stratified_hellinger,
)
from studies.compete_smoe.parts.competition_designs import DESIGNS, true_mixture

LINE = Competition(1, "linear", 1)


def test_two_experts_that_tie_by_quadrature():
    """One dimension, g = w x and -w x: with |w_2| a little larger the second expert wins everywhere."""
    truth = np.array([[0.9, 0.25], [-0.9, 0.25]])
    outward, inward = truth.copy(), truth.copy()
    outward[1, 0] -= 1e-9
    inward[1, 0] += 0.3
    # between N(m, v) and N(-m, v): h^2 = 1 - exp(-m^2 / (2 v))
    expected = integrate.quad(lambda x: math.sqrt(1 - math.exp(-((0.9 * x) ** 2) / 0.5)), 0, 1)[0]
    x = 2 * (np.arange(20_000)[:, None] + 0.5) / 20_000 - 1
    h, _ = stratified_hellinger(LINE, outward, truth, x, 4000)
    assert h == pytest.approx(expected, rel=1e-4) and expected > 0.4
    assert competition_losses(outward, truth, LINE)["D"] == pytest.approx(1e-9)
    # the other way E h = 0, at a distance: this is what (10) forbids
    assert stratified_hellinger(LINE, inward, truth, x, 4000) == (0.0, 0.0)
    assert competition_losses(inward, truth, LINE)["D"] == pytest.approx(0.3)


@pytest.mark.parametrize("design", [*DESIGNS, "asleep", "tied"])
def test_the_ratio_is_zero_exactly_where_an_expert_sleeps(design):
    model, truth = true_mixture(design)
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, (4096, model.d))
    state = information(model, truth, x, 64, rng)
    directions = moves(model, truth, state.weakest, rng)
    at = ratios(model, truth, directions, np.array([0.1, 0.001]), x, 32)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=(1, 2)), 1)
    regular = design in DESIGNS
    assert (at.ratio.min() > 0.01) == regular and (at.ratio.min() == 0) == (not regular)
    assert state.deficit == (0 if regular else model.atom_size)
    asleep = certainly_asleep(model, truth) if model.d <= 3 else np.zeros(4, dtype=bool)
    np.testing.assert_array_equal(asleep, [False] * (len(truth) - 1) + [not regular])


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

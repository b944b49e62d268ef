import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from moestat.losses.divergences import expected_hellinger
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


def slow_density(atoms, x, y, active):
    """p(y | x) of affine experts, by the formula: sort sizes, softmax over the winners, sum of normal densities."""
    g = [sum(w * c for w, c in zip(atom[:-1], (*x, 1.0), strict=False)) for atom in atoms]
    order = sorted(range(len(g)), key=lambda i: (-abs(g[i]), i))
    winners = order[:active]
    top = max(abs(g[i]) for i in winners)
    total = sum(math.exp(abs(g[i]) - top) for i in winners)
    out = 0.0
    for i in winners:
        v = atoms[i][-1]
        normal = math.exp(-((y - g[i]) ** 2) / (2 * v)) / math.sqrt(2 * math.pi * v)
        out += math.exp(abs(g[i]) - top) / total * normal
    return out


def test_an_expert_that_never_wins_by_exact_arithmetic():
    """At all corners the three others are larger; sizes are affine without a sign change, so inside as well."""
    model, truth = true_mixture("asleep")
    weights = [[Fraction(str(w)) for w in row[:-1]] for row in truth.tolist()]
    corners = list(itertools.product((-1, 1), repeat=2))

    def at(w, x):
        return w[0] * x[0] + w[1] * x[1] + w[2]

    smallest = min(at(w, x) for w in weights[:3] for x in corners)
    largest = max(abs(at(weights[3], x)) for x in corners)
    assert smallest == Fraction("1.3") and largest == Fraction("0.7")
    # the fourth expert may be anywhere below 1.3, far from where it was
    other = truth.copy()
    other[3] = [-0.6, -0.5, -0.15, 0.25]
    assert max(abs(at([Fraction(str(v)) for v in other[3, :3]], x)) for x in corners) < smallest
    moved = competition_losses(other, truth, model)["D"]
    assert moved == pytest.approx(np.linalg.norm(other[3] - truth[3])) and moved > 1
    x = np.random.default_rng(0).uniform(-1, 1, (4096, 2))
    h, h2 = expected_hellinger(model, other, truth, x)
    assert h == 0 and h2 == 0
    # and by loops over random inputs and responses
    rng = np.random.default_rng(1)
    for _ in range(200):
        x0, y0 = tuple(rng.uniform(-1, 1, 2)), rng.uniform(-2, 5)
        assert slow_density(other.tolist(), x0, y0, 2) == slow_density(truth.tolist(), x0, y0, 2)


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

"""The families of Definitions 1 to 4 counted by hand, by rational arithmetic and in sixty digits."""

import itertools
from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.experiment import Cell
from moestat.identify import evaluate, identify
from studies.sigmoid_attention.parts import definitions_as_printed, identifiability

mp = pytest.importorskip("mpmath")
sp = pytest.importorskip("sympy")


def formal(d, partial, strong, opposite):
    """Return functions less their rank where the expert's derivatives are free symbols.

    A function is a combination of labels (factor of the gate, monomial, derivative of the expert). At opposite gates
    sigma' is the same and sigma is 1 less that of the other; at (A, b) = 0 every factor of the gate is a constant.
    """
    gate = [(i, j) for i in range(d) for j in range(i, d)] + ([] if partial else [(i,) for i in range(d)])
    own = [(m, ()) for m in gate] + [((), (k,)) for k in range(d + 1)]
    functions = []
    for second in range(1 + opposite):
        for order in (1, 2) if strong else ():
            for parts in itertools.combinations_with_replacement(own, order):
                monomial, expert = (tuple(sorted(sum((p[side] for p in parts), ()))) for side in (0, 1))
                functions.append({("1", monomial, expert): 1})
        functions += [{("sigma'", m, ()): 1} for m in [*gate, ()]]
        for k in range(d + 1):
            functions.append({("1", (), (k,)): 1, ("sigma", (), (k,)): -1} if second else {("sigma", (), (k,)): 1})
    labels = sorted({label for f in functions for label in f}, key=str)
    matrix = np.array([[f.get(label, 0) for label in labels] for f in functions])
    return len(functions) - np.linalg.matrix_rank(matrix)


@pytest.mark.parametrize("d", [1, 2])
def test_dependencies_of_unrelated_functions_are_those_counted_by_hand(d, monkeypatch):
    """Of one atom at (A, b) = 0, and of two with opposite gates, whose expert is any function at all."""
    monkeypatch.setattr(evaluate, "DRAWS", 1)
    resolved = definitions_as_printed.Settings(expert="arbitrary", d=d).model_dump(mode="json")
    cell = Cell("studies.sigmoid_attention.parts.definitions_as_printed", 5, "arm", {}, resolved)
    ds = definitions_as_printed.run(cell, [0])
    for number, (half, strong) in {1: (0, 1), 2: (0, 0), 3: (1, 1), 4: (1, 0)}.items():
        assert ds[f"one_{number}"].item() == formal(d, half, strong, 0)
        assert ds[f"opposite_{number}"].item() == formal(d, half, strong, 1)
    assert d == 1 or [formal(2, p, s, 1) for p, s in ((0, 1), (0, 0), (1, 1), (1, 0))] == [59, 6, 35, 4]


@pytest.mark.parametrize("power", [1, 2, 3])
def test_orders_one_and_two_of_a_polynomial_are_dependent_also_without_b(power, monkeypatch):
    """In rational numbers: so no polynomial meets Definition 3, with or without order 0 in the family."""
    x = sp.symbols("x1 x2")
    a1, a2, beta = symbols = sp.symbols("a1 a2 beta")
    expert = (a1 * x[0] + a2 * x[1] + beta) ** power
    at = {a1: sp.Rational(3, 7), a2: sp.Rational(-5, 11), beta: sp.Rational(2, 3)}
    own = [("gate", m) for m in (x[0] ** 2, x[0] * x[1], x[1] ** 2)] + [("expert", s) for s in symbols]
    rows = []
    for order in (1, 2):
        for parts in itertools.combinations_with_replacement(own, order):
            f = expert
            for _, s in (p for p in parts if p[0] == "expert"):
                f = sp.diff(f, s)
            f = f.subs(at) * sp.prod([m for kind, m in parts if kind == "gate"])
            rows.append(sp.Poly(sp.expand(f), *x))
    monomials = sorted({m for row in rows for m in row.monoms()})
    matrix = sp.Matrix([[row.coeff_monomial(m) for m in monomials] for row in rows])
    assert matrix.rank() < len(rows)
    monkeypatch.setattr(evaluate, "DRAWS", 1)
    assert identify("polynomial", power=power, score="partial", d=2, atoms=1, order_zero=False).verdict != "strong"


def smallest(expert, partial, scale, power=1):
    """Return the two smallest singular values of the first derivatives of two atoms at d = 2, columns of length 1."""
    rng = np.random.default_rng(5)
    number = lambda low, high: mp.mpf(float(rng.uniform(low, high)))  # noqa: E731
    phi, slope = {
        "gelu": (lambda h: h * mp.ncdf(h), lambda h: mp.ncdf(h) + h * mp.npdf(h)),
        "relu": (lambda h: max(h, mp.mpf(0)), lambda h: mp.mpf(h > 0)),
        "polynomial": (lambda h: h**power, lambda h: power * h ** (power - 1)),
    }[expert]
    atoms = [[number(-1, 1) for _ in range(10)] for _ in range(2)]
    rows = []
    for _ in range(30):
        x = [number(-3, 3), number(-3, 3)]
        monomials = [x[0] ** 2, x[0] * x[1], x[1] ** 2]
        row = []
        for q in atoms:
            linear = 0 if partial else q[3] * x[0] + q[4] * x[1]
            g = 1 / (1 + mp.exp(-(sum(u * m for u, m in zip(q[:3], monomials, strict=True)) + linear + q[5])))
            h, outer = q[6] * x[0] + q[7] * x[1] + q[8] / 2, q[9] + 2 if scale else mp.mpf(1)
            features = [*monomials, *([] if partial else x), 1]
            row += [g * (1 - g) * outer * phi(h) * m for m in features] + [g * outer * slope(h) * m for m in (*x, 1)]
            row += [g * phi(h)] if scale else []
        rows.append(row)
    matrix = mp.matrix(rows)
    for j in range(matrix.cols):
        length = mp.norm(matrix[:, j])
        for i in range(matrix.rows):
            matrix[i, j] /= length
    return sorted(mp.svd_r(matrix, compute_uv=False))[:2]


@pytest.mark.parametrize("partial", [False, True])
def test_first_derivatives_are_independent_in_sixty_digits_but_for_a_scaled_relu(partial):
    """Definitions 2 and 4 at generic parameters: an outer scale of a ReLU does what its weight does."""
    with mp.workdps(60):
        for expert, scale, power in (("gelu", True, 1), ("polynomial", False, 1), ("polynomial", False, 3)):
            assert smallest(expert, partial, scale, power)[0] > 1e-6
        assert max(smallest("relu", partial, True)) < 1e-50, "Euler's identity, once for each atom"


def test_the_three_identities_hold_for_an_expert_that_is_any_function():
    sympy = pytest.importorskip("sympy")
    x1, x2, a11, a12, a22, b1, b2, c = sympy.symbols("x1 x2 a11 a12 a22 b1 b2 c", real=True)
    expert = sympy.Function("E")(x1, x2)
    sigma = sympy.Function("sigma")
    score = a11 * x1**2 + a12 * x1 * x2 + a22 * x2**2 + b1 * x1 + b2 * x2 + c
    f = sigma(score) * expert
    zero = {a11: 0, a12: 0, a22: 0, b1: 0, b2: 0}
    u = sympy.Symbol("u")
    first, second = (sympy.diff(sigma(u), u, k).subs(u, c) for k in (1, 2))

    def at_zero(*variables):
        return sympy.diff(f, *variables).subs(zero).doit()

    assert sympy.simplify(second * at_zero(a11) - first * at_zero(b1, b1)) == 0
    assert sympy.simplify(second * at_zero(a12) - first * at_zero(b1, b2)) == 0
    assert sympy.simplify(at_zero(a11, a22) - at_zero(a12, a12)) == 0
    logistic = expert / (1 + sympy.exp(-score))
    slope = sympy.diff(logistic, a11)
    opposite = slope.subs({v: -v for v in (a11, a12, a22, b1, b2, c)}, simultaneous=True)
    assert sympy.simplify(slope - opposite) == 0


run = partial(computed, identifiability, seed=5)


@pytest.mark.parametrize(
    ("settings", "verdict", "gate_alone"),
    [
        ({"expert": "gelu", "score": "partial"}, 2, 0),
        ({"expert": "tanh"}, 1, 0),
        ({"expert": "polynomial", "power": 2, "score": "partial"}, 1, 1),
        ({"expert": "relu", "score": "partial", "outer_scale": True}, 0, 1),
    ],
)
def test_verdicts_are_codes(settings, verdict, gate_alone):
    ds = run([0], **settings)
    assert ds.verdict.item() == verdict and ds.short_of_strong.item() == 2 - verdict
    assert ds.short_but_for_gate.item() == gate_alone
    assert ds.rate.item() == (-0.25 if verdict == 2 else 0)
    assert ds.opposite.item() == 1  # sigma(s) + sigma(-s) = 1, whatever the expert
    positive = int(np.sum(ds.singular_values.values > 1e-12))
    assert positive == ds["rank"].item() < ds.functions.item()

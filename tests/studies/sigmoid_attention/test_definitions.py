"""The families of Definitions 1 to 4 counted by hand and by symbols."""

import itertools

import numpy as np
import pytest
from cells import computed

from moestat.identify import evaluate
from studies.sigmoid_attention.parts import definitions_as_printed

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
    ds = computed(definitions_as_printed, seed=5, expert="arbitrary", d=d)
    for number, (half, strong) in {1: (0, 1), 2: (0, 0), 3: (1, 1), 4: (1, 0)}.items():
        assert ds[f"one_{number}"].item() == formal(d, half, strong, 0)
        assert ds[f"opposite_{number}"].item() == formal(d, half, strong, 1)
    assert d == 1 or [formal(2, p, s, 1) for p, s in ((0, 1), (0, 0), (1, 1), (1, 0))] == [59, 6, 35, 4]


def test_the_three_identities_hold_for_an_expert_that_is_any_function():
    x1, x2, a11, a12, a22, b1, b2, c = sp.symbols("x1 x2 a11 a12 a22 b1 b2 c", real=True)
    expert = sp.Function("E")(x1, x2)
    sigma = sp.Function("sigma")
    score = a11 * x1**2 + a12 * x1 * x2 + a22 * x2**2 + b1 * x1 + b2 * x2 + c
    f = sigma(score) * expert
    zero = {a11: 0, a12: 0, a22: 0, b1: 0, b2: 0}
    u = sp.Symbol("u")
    first, second = (sp.diff(sigma(u), u, k).subs(u, c) for k in (1, 2))

    def at_zero(*variables):
        return sp.diff(f, *variables).subs(zero).doit()

    assert sp.simplify(second * at_zero(a11) - first * at_zero(b1, b1)) == 0
    assert sp.simplify(second * at_zero(a12) - first * at_zero(b1, b2)) == 0
    assert sp.simplify(at_zero(a11, a22) - at_zero(a12, a12)) == 0
    logistic = expert / (1 + sp.exp(-score))
    slope = sp.diff(logistic, a11)
    opposite = slope.subs({v: -v for v in (a11, a12, a22, b1, b2, c)}, simultaneous=True)
    assert sp.simplify(slope - opposite) == 0

"""Identities of the gate that break the printed definitions: symbolically, and as counted dependencies."""

import pytest


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

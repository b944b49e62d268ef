"""Identities of the gate that break the printed definitions: symbolically, and as counted dependencies."""

import numpy as np
import pytest

from moestat.experiment import Cell
from moestat.papers.sigmoid_attention import definitions_as_printed


def run(replicates, **settings):
    resolved = definitions_as_printed.Settings(**settings).model_dump(mode="json")
    cell = Cell("moestat.papers.sigmoid_attention.definitions_as_printed", 5, "arm", {}, resolved)
    return definitions_as_printed.run(cell, list(replicates))


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


@pytest.mark.parametrize(("d", "one", "opposite_2", "opposite_4"), [(1, [1, 0, 0, 0], 3, 2), (2, [6, 0, 1, 0], 6, 4)])
def test_unrelated_functions_have_the_dependencies_of_the_gate_and_no_others(d, one, opposite_2, opposite_4):
    """One atom: as many as counting equal functions gives. Opposite gates: one for each A, b and c.

    At one atom, Definition 1: F_A and F_bb (3 for d = 2), F_{A11 A22} and F_{A12 A12}, and two more pairs of third
    order, F_{A11 b2} and F_{A12 b1}, F_{A22 b1} and F_{A12 b2}.
    """
    ds = run([0, 1], expert="arbitrary", d=d)
    for k in range(4):
        assert (ds[f"one_{k + 1}"] == one[k]).all()
    assert (ds.opposite_2 == opposite_2).all() and (ds.opposite_4 == opposite_4).all()


def test_gelu_meets_all_but_the_first_definition_at_one_atom_in_one_dimension():
    ds = run([0], expert="gelu", d=1)
    assert [int(ds[f"one_{k}"].item()) for k in (2, 3, 4)] == [0, 0, 0] and ds.one_1.item() > 0
    assert all(ds[f"printed_{k}"].item() > 0 for k in (1, 2, 3, 4))


def test_numbers_do_not_depend_on_the_block_of_replicates():
    together, alone = (run(which, expert="arbitrary") for which in ([0, 1], [1]))
    for name in together.data_vars:
        np.testing.assert_array_equal(together[name].sel(replicate=[1]), alone[name])

"""A gate and an expert of the user's own, named by import path."""

import sys
from pathlib import Path

import numpy as np
import pytest

from moestat import own
from moestat.fit.moments import Problem
from moestat.losses import quotient, voronoi
from moestat.losses.rescore import rescore
from moestat.models import truths
from moestat.models.regression import Model
from studies.sigmoid_attention.parts import regression

FUNCTIONS = Path(__file__).parent / "fit" / "own_functions.py"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FUNCTIONS.parent))


def test_a_sigmoid_written_by_the_user_is_the_sigmoid():
    theirs, ours = (Model(g, "full", "gelu", 2) for g in ("own_functions:half_tanh", "sigmoid"))
    rng = np.random.default_rng(0)
    theta, x, y = rng.normal(size=(2, 3, ours.atom_size)), rng.uniform(-1, 1, (2, 300, 2)), rng.normal(size=(2, 300))
    got, expected = (
        (
            m.predict(theta, x),
            m.weights(theta),
            *m.gradient(theta, x, y),
            *Problem(m, 3, x, y, "double").hessian(theta, 0),
        )
        for m in (theirs, ours)
    )
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    # the losses too, as long as no gate is constant
    for loss in (voronoi.L1, voronoi.L3, quotient.quotient):
        np.testing.assert_allclose(loss(theta, theta[0, :2], theirs), loss(theta, theta[0, :2], ours), rtol=1e-12)


@pytest.mark.parametrize("gate", ["own_functions:arctan_gate", "softmax"])
def test_a_split_truth_is_the_same_function(gate):
    model = Model(gate, "full", "own_functions:swish", 2)
    rng = np.random.default_rng(1)
    truth, x = truths.ground_truth(model, 3, "dense", rng), rng.uniform(-1, 1, (100, 2))
    more = truths.split(model, truth, 5)
    np.testing.assert_allclose(model.predict(more, x), model.predict(truth, x), atol=1e-13)
    assert quotient.quotient(more, truth, model) < 1e-12


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("own_functions:nothing", "cannot be imported: AttributeError"),
        ("no_such_module_here:f", "cannot be imported: ModuleNotFoundError"),
        ("own_functions:wrong_second", "has a wrong second derivative: -?[0-9.]+ at .* where differences give -?0"),
        ("own_functions:a_number", "must return"),
        ("math:sqrt", "cannot be evaluated"),
    ],
)
def test_what_is_wrong_with_a_function_is_said(path, says):
    with pytest.raises(ValueError, match=says):
        Model("sigmoid", "full", path, 2)
    with pytest.raises(ValueError, match=says):
        regression.Settings(n=10, fitted_gate=path)


def test_settings_refuse_what_the_theory_of_an_own_function_does_not_cover():
    with pytest.raises(ValueError, match="sparse"):
        regression.Settings(n=10, truth_gate="own_functions:half_tanh", regime="sparse")
    not_zero_at_zero = {"n": 10, "expert": "own_functions:half_tanh", "n_true": 2}  # phi(0) = 1/2
    with pytest.raises(ValueError, match=r"another phi\(0\)"):
        regression.Settings(**not_zero_at_zero, n_fitted=3)
    assert regression.Settings(**not_zero_at_zero, n_fitted=2).n_fitted == 2
    assert regression.Settings(**not_zero_at_zero, n_fitted=3, fitted_gate="softmax").n_fitted == 3
    with pytest.raises(ValueError, match="import path 'module:function'"):
        regression.Settings(n=10, expert="swish")


@pytest.mark.parametrize(
    ("gate", "expert", "signs", "says"),
    [
        ("own_functions:bump", "gelu", (-1, 1), "gate 'own_functions:bump' is even"),
        ("sigmoid", "own_functions:bump", (1, -1), "expert 'own_functions:bump' is even"),
        ("own_functions:tanh", "linear", (-1, -1), "are odd"),
    ],
)
def test_functions_with_which_another_atom_is_the_same_one_are_refused(gate, expert, signs, says):
    """Signs of the gate and of the expert that leave the function as it is, and that no loss of distances knows of."""
    model = Model(gate, "full", expert, 2)
    rng = np.random.default_rng(3)
    theta, x = rng.normal(size=(2, model.atom_size)), rng.uniform(-1, 1, (50, 2))
    other = theta * np.repeat(signs, (model.gate_size, model.expert_size))
    np.testing.assert_allclose(model.predict(other, x), model.predict(theta, x), atol=1e-13)
    for refused in (
        lambda: regression.Settings(n=10, truth_gate="sigmoid", fitted_gate=gate, expert=expert, n_true=2, n_fitted=2),
        lambda: rescore(other[None, None], theta, n=[10], model=model),
    ):
        with pytest.raises(ValueError, match=says):
            refused()
    assert not Model("own_functions:arctan_gate", "full", "own_functions:swish", 2).mirror
    assert not Model("sigmoid", "full", "own_functions:tanh", 2).mirror
    assert regression.Settings(n=10, truth_gate=gate, fitted_gate="sigmoid", expert="gelu", n_true=2, n_fitted=2)


def test_an_explicit_truth_has_no_atom_too_many():
    """Atoms [c, b, A, a, beta] with d = 1."""
    first = [0.1, 1.0, 0.5, 2.0, 1.0]
    for row, says in ((first, "two equal atoms"), ([0.3, 1.0, 0.5, 0.0, 0.0], "expert is zero")):
        with pytest.raises(ValueError, match=says):
            regression.Settings(n=10, d=1, n_true=2, n_fitted=2, truth=[first, row])
    assert regression.Settings(n=10, d=1, n_true=2, n_fitted=2, truth=[first, [0.2, *first[1:]]])


def test_a_change_of_the_code_changes_the_identity_of_a_cell(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "changing.py"
    text = "def f(h, order):\n    return (2 * h, 0 * h + 2, 0 * h)[: order + 1]\n"
    codes = []
    for content in (text, text.replace("\n", "  \r\n"), text.replace("2", "3")):
        file.write_text(content)
        sys.modules.pop("changing", None)
        codes.append(regression.Settings(n=10, expert="changing:f").own_code)
    assert codes[0] and codes[0] == codes[1] != codes[2]
    assert own.code("sigmoid", "relu") == "" == regression.Settings(n=10).own_code
    with pytest.raises(ValueError, match="the code of the own functions has changed"):
        regression.Settings(n=10, expert="changing:f", own_code=codes[0])

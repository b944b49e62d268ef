"""Models made of functions: what kind they are found to be, their derivatives, and what they refuse."""

import cloudpickle
import numpy as np
import pytest
from any_gates import ATOMS, GATES, cosine, linear, normalised, sigmoids, tanh
from scipy.optimize import approx_fprime
from scipy.special import expit

import moestat
from moestat.errors import InputError
from moestat.models import general, regression, sample
from moestat.models.general import FunctionModel

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (200, 2))


def model_of(name, expert=tanh):
    return moestat.Model(GATES[name], expert, d=2, gate_size=3, expert_size=3 if callable(expert) else None)


KINDS = {
    "cosine": ("ratio", True, False, (2,)),
    "sigmoids": ("ratio", True, False, ()),
    "temperature": ("general", True, False, (0, 1)),
    "hierarchical": ("general", False, False, (0, 1, 2)),
    "top": ("general", True, True, (0, 1, 2)),
}


@pytest.mark.parametrize("name", GATES)
def test_what_a_gate_is_is_found(name):
    model = model_of(name)
    assert (model.kind, model.exchangeable, model.piecewise, model.shifts) == KINDS[name]
    assert f"{KINDS[name][0]}" in repr(model) and "derivatives: gate" in repr(model)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("expert", [tanh, "gelu"])
def test_derivatives_are_those_of_the_function(name, expert):
    """First ones beside differences of the plain function, second ones beside differences of the first."""
    model, atoms = model_of(name, expert), ATOMS.get(name, 3)
    theta, r = np.random.default_rng(1).standard_normal((atoms, 6)), RNG.standard_normal(len(X))

    def f(flat):
        t = flat.reshape(atoms, 6)
        return np.sum(GATES[name](X, t[:, :3]) * model.expert(X, t[:, 3:]), axis=1)

    value, tangents = model.tangents(theta, X)
    np.testing.assert_allclose(value, f(theta.ravel()), rtol=1e-12, atol=1e-14)
    h = 1e-5
    for k, unit in enumerate(h * np.eye(theta.size)):
        expected = (f(theta.ravel() + unit) - f(theta.ravel() - unit)) / (2 * h)
        np.testing.assert_allclose(tangents[k], expected, rtol=0, atol=2e-9)
    curvature = approx_fprime(theta.ravel(), lambda t: model.tangents(t.reshape(atoms, 6), X)[1] @ r, 1e-6)
    np.testing.assert_allclose(model.curvature(theta, X, r), curvature, rtol=0, atol=2e-4)


def test_pytorch_gives_the_same_derivatives():
    pytest.importorskip("torch")
    model = model_of("hierarchical")
    assert model.derivatives["gate"] == "PyTorch"
    theta, x = np.random.default_rng(9).standard_normal((4, 6)), RNG.uniform(-1, 1, (general.TORCH // 12 + 1, 2))
    by_torch, last = model.tangents(theta, x)[1], model.tangents(theta, x[-1:])[1]
    object.__setattr__(model, "torch", False)
    np.testing.assert_allclose(by_torch, model.tangents(theta, x)[1], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(last, model.tangents(theta, x[-1:])[1])  # few samples: differences


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("expert", ["linear", "gelu"])
def test_the_gates_of_the_package_have_the_same_derivatives(gate, expert):
    """The generic path beside the fast one."""
    fast = moestat.Model(gate, expert, d=2)
    assert isinstance(fast, regression.Model)
    named = moestat.Model(gate, lambda x, p: fast_expert(fast, x, p), d=2, expert_size=3)
    theta = np.random.default_rng(2).standard_normal((3, 6))
    value, tangents, *_ = fast.tangents(theta, X)
    found, slopes = named.tangents(theta, X)
    assert named.kind == {"softmax": "ratio", "sigmoid": "atomwise"}[gate]
    np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(slopes, tangents, rtol=0, atol=1e-8)


def fast_expert(model, x, p):
    alone = moestat.Model(lambda x, q: np.ones((len(x), len(q))), model.expert, d=2, gate_size=1)
    return alone.expert(x, p)


def test_derivatives_of_ones_own_are_used_and_checked():
    def slope(x, p):
        return (1 - tanh(x, p) ** 2)[:, :, None] * np.column_stack([x, np.ones(len(x))])[:, None]

    def slopes_of_gate(x, p):  # of independent sigmoids
        g = expit(linear(x, p))
        own = (g * (1 - g))[:, :, None] * np.column_stack([x, np.ones(len(x))])[:, None]
        return np.einsum("nil,ij->njil", own, np.eye(len(p)))

    def gate(x, p):
        return expit(linear(x, p))

    sizes = {"d": 2, "gate_size": 3, "expert_size": 3}
    plain = moestat.Model(gate, tanh, **sizes)
    given = moestat.Model(gate, tanh, **sizes, expert_derivative=slope, gate_derivative=slopes_of_gate)
    theta = np.random.default_rng(3).standard_normal((3, 6))
    np.testing.assert_allclose(given.tangents(theta, X)[1], plain.tangents(theta, X)[1], rtol=0, atol=1e-8)
    assert given.derivatives == {"gate": "given", "expert": "given"}
    with pytest.raises(InputError, match="expert_derivative is wrong: .* where differences give"):
        moestat.Model(gate, tanh, **sizes, expert_derivative=lambda x, p: 1.01 * slope(x, p))
    with pytest.raises(InputError, match=r"gate_derivative returns an array of shape \(64, 4, 4, 3\)"):
        moestat.Model(gate, tanh, **sizes, gate_derivative=slope)


def in_place(x, p):
    x[:, 0] = 0.0
    return sigmoids(x, p)


GOOD = {"gate": sigmoids, "expert": tanh, "d": 2, "gate_size": 3, "expert_size": 3}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"gate": lambda x, p: sigmoids(x, p).T},
            "a gate returns one weight per sample and atom: (n, N) = (5, 12); this one returned (12, 5)",
        ),
        ({"expert": lambda x, p: tanh(x, p).sum(axis=1)}, "an expert returns one output per sample and atom: (n, N)"),
        ({"gate": lambda x, p: 1j * sigmoids(x, p)}, "a gate returns real numbers; this one returned complex128"),
        ({"gate": lambda x, p: np.full((len(x), len(p)), np.nan)}, "the gate returned no finite number for standard"),
        ({"gate": lambda x, p: p[:, 9]}, "the gate raised IndexError for x (5, 2) and parameters (12, 3): index 9 is"),
        ({"gate": in_place}, "the gate raised ValueError for x (5, 2) and parameters (12, 3): assignment destination"),
        ({"gate": 3}, "gate is 3; allowed are a name and a function of x and parameters"),
        ({"expert": None}, "expert is None; allowed are a name and a function of x and parameters"),
        ({"gate_size": None}, "gate_size is None; where gate is a function, it is its number of parameters"),
        ({"expert_size": 0}, "expert_size is 0; where expert is a function, it is its"),
        ({"d": 0}, "d is 0; allowed are whole numbers from 1"),
        ({"expert": sigmoids}, "column i of an expert's outputs depends on row i of the parameters alone"),
        (
            {"gate": lambda x, p: np.float32(sigmoids(x, p))},
            "differences of the gate with steps of 6e-06 and ten times",
        ),
        ({"gate": lambda x, p: sigmoids(x - x.mean(axis=0), p)}, "the gate returns other values for a sample where"),
        ({"gate": lambda x, p: sigmoids(x / np.abs(x).max(), p)}, "the gate returns other values for a sample where"),
        ({"gate": lambda x, p: sigmoids(x, p) / sigmoids(x, p).sum(axis=0)}, "the gate returns other values for a"),
        ({"expert": lambda x, p: tanh(x, p) - tanh(x, p).mean(axis=0)}, "the expert returns other values for a sample"),
        ({"blocks": {"direction": [9]}}, "blocks is {'direction': [9]}; allowed is a mapping of names to slices"),
        ({"invariances": [lambda atoms: 2 * atoms]}, "the invariances change the function by up to"),
        ({"invariances": [lambda atoms: atoms[0]]}, "invariance 0 returned (6,) for atoms (4, 6)"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_cannot_work_is_told_in_one_sentence(change, told):
    with pytest.raises(InputError) as caught:
        moestat.Model(**GOOD | change)
    assert str(caught.value).startswith(told)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(InputError, match="gate is 'softmx'; allowed are .* and a function"):
        moestat.Model("softmx", tanh, d=2, expert_size=3)
    with pytest.raises(InputError, match="gate_size belongs to a gate or an expert that is a function"):
        moestat.Model("softmax", "linear", d=2, gate_size=3)


def test_closures_travel_to_other_processes():
    factor = 3.0
    model = moestat.Model(lambda x, p: normalised(np.exp(factor * np.tanh(linear(x, p)))), "relu", d=2, gate_size=3)
    copy = cloudpickle.loads(cloudpickle.dumps(model))
    theta = np.random.default_rng(4).standard_normal((5, 3, 6))
    np.testing.assert_array_equal(copy.predict(theta, X), model.predict(theta, X))
    assert isinstance(copy, FunctionModel) and repr(copy) == repr(model)


def test_a_truth_may_be_any_function():
    model = model_of("cosine")
    x, y = sample(model, lambda x: np.sin(x[:, 0]), 50, 0.0, np.random.default_rng(5))
    np.testing.assert_array_equal(y, np.sin(x[:, 0]))
    with pytest.raises(InputError, match=r"the truth returned float64 \(50, 2\); allowed are real numbers \(50,\)"):
        sample(model, np.sin, 50, 0.0, np.random.default_rng(5))


def test_atoms_in_another_form_of_the_same_function_are_aligned():
    def unit(atoms):
        length = np.linalg.norm(atoms[:, :2], axis=1, keepdims=True)
        return np.concatenate([atoms[:, :2] / length, atoms[:, 2:]], axis=1)

    model = moestat.Model(cosine, tanh, d=2, gate_size=3, expert_size=3, invariances=[unit])
    truth = np.random.default_rng(6).standard_normal((3, 6))
    other = truth[[2, 0, 1]].copy()
    other[:, :2] *= np.array([[0.3], [2.0], [5.0]])
    other[:, 2] += 1.7
    np.testing.assert_allclose(model.predict(other, X), model.predict(truth, X), atol=1e-12)
    np.testing.assert_allclose(model.align(other, truth), unit(truth)[[2, 0, 1]], atol=1e-12)

import numpy as np
import pytest

from moestat.fit.certificate import certify
from moestat.fit.moments import Problem
from moestat.fit.second_order import free_coordinates
from moestat.models.gates import GATES
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, sample


def _setup(gate, n_true=2, noise=1e-10, seed=0):
    model = Model(gate, "full", "gelu", 2)
    truth = ground_truth(model, n_true, "dense", np.random.default_rng(seed))
    x, y = sample(model, truth, 2000, noise, np.random.default_rng(seed + 1))
    return model, truth[None], Problem(model, n_true, x[None], y[None], "mixed")


def test_held_coordinates_are_those_on_the_box_that_the_gradient_pushes_outwards():
    theta = np.array([[1.0, 1.0, -1.0, -1.0, 0.0]])
    gradient = np.array([[-1.0, 1.0, 1.0, -1.0, 1.0]])
    np.testing.assert_array_equal(free_coordinates(theta, gradient, -1.0, 1.0), [[False, True, False, True, True]])


@pytest.mark.parametrize("gate", GATES)
def test_decrement_and_eigenvalue_are_those_of_the_dense_hessian(gate):
    model, theta, problem = _setup(gate)
    seal = certify(problem, theta, 0.0, 5.0, np.zeros(1))
    _, g, h = problem.in_double().hessian(theta, 0.0)
    values, vectors = np.linalg.eigh(h[0])
    gauge = model.gate_size if gate == "softmax" else 0
    order = np.argsort(np.abs(values))
    assert np.all(np.abs(values[order[:gauge]]) < 1e-14)
    kept = order[gauge:]
    assert seal["min_eigenvalue"][0] == pytest.approx(values[kept].min(), abs=1e-13)
    assert values[kept].min() > 1e-9
    along = vectors[:, kept].T @ g[0]
    assert seal["decrement"][0] == pytest.approx(0.5 * np.sum(along**2 / values[kept]), rel=1e-8, abs=0.0)
    assert seal["gradient"][0] == np.abs(g).max()


@pytest.mark.parametrize("gate", GATES)
def test_coordinates_on_the_box_are_left_out(gate):
    model, theta, problem = _setup(gate)
    box = 0.5
    theta = np.clip(theta, -box, box)
    _, g, h = problem.in_double().hessian(theta, 0.0)
    free = free_coordinates(theta.reshape(1, -1), g, -box, box)[0]
    assert 0 < free.sum() < free.size
    seal = certify(problem, theta, 0.0, box, np.zeros(1))
    inner = h[0][np.ix_(free, free)]
    shifts = np.zeros((0, free.sum()))
    if gate == "softmax":  # common shifts of gate coordinates that are free in both atoms
        size = model.atom_size
        common = [k for k in range(model.gate_size) if free[k] and free[size + k]]
        basis = np.zeros((len(common), free.size))
        for row, k in enumerate(common):
            basis[row, [k, size + k]] = np.sqrt(0.5)
        shifts = basis[:, free]
        assert 0 < len(common) < model.gate_size
    values = np.linalg.eigvalsh(inner + 10 * shifts.T @ shifts)
    assert seal["min_eigenvalue"][0] == pytest.approx(values.min(), abs=1e-12)
    assert seal["gradient"][0] == np.abs(g[0, free]).max()
    assert seal["box_hits"][0] == np.sum(np.abs(theta) == box)


def test_a_saddle_is_left_downhill():
    model = Model("sigmoid", "full", "linear", 1)
    truth = ground_truth(model, 2, "dense", np.random.default_rng(3))
    x, y = sample(model, truth, 500, 1e-4, np.random.default_rng(4))
    problem = Problem(model, 2, x[None], y[None], "double")
    theta = np.repeat(truth[:1], 2, axis=0)[None]
    loss = problem.loss(theta, 0.0)
    seal = certify(problem, theta, 0.0, 5.0, 1e-9 * loss)
    assert seal["min_eigenvalue"][0] < 0
    assert seal["escaped"][0]
    assert problem.loss(seal["lower"], 0.0)[0] < loss[0]
    high = certify(problem, theta, 0.0, 5.0, np.array([1e9]))
    assert not high["escaped"][0]
    np.testing.assert_array_equal(high["lower"], theta)

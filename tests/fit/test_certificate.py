"""The score statistic of a new atom, against least squares with dense matrices, and against what a fit gains."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from moestat.fit import certificate, search_starts
from moestat.fit.certificate import certify
from moestat.fit.moments import Problem
from moestat.fit.newton import least_squares
from moestat.fit.search_starts import candidates, screen
from moestat.fit.second_order import free_coordinates
from moestat.models import truths
from moestat.models.gates import GATES
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, sample


def _setup(gate, n_true=2, noise=1e-10, seed=0):
    model = Model(gate, "full", "gelu", 2)
    truth = ground_truth(model, n_true, "dense", np.random.default_rng(seed))
    x, y = sample(model, truth, 2000, noise, np.random.default_rng(seed + 1))
    return model, truth[None], Problem(model, n_true, x[None], y[None], "mixed")


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("most", [512, 0])  # by all eigenvalues, and by a factorisation
def test_decrement_and_eigenvalue_are_those_of_the_dense_hessian(gate, most, monkeypatch):
    monkeypatch.setattr(certificate, "EIGEN", most)
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
@pytest.mark.parametrize("most", [512, 0])
def test_coordinates_on_the_box_are_left_out(gate, most, monkeypatch):
    monkeypatch.setattr(certificate, "EIGEN", most)
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


@pytest.mark.parametrize("gate", GATES)
def test_a_factorisation_leaves_saddles_and_flat_points_to_the_eigenvalues(gate, monkeypatch):
    """Among minima, a saddle from which a lower point is found, and a point that is flat where an atom vanishes."""
    model, minimum, problem = _setup(gate, n_true=2)
    saddle = np.repeat(minimum[:, :1], 2, axis=1)
    flat = minimum.copy()
    flat[:, 1, model.eta] = 0.0
    flat[:, 1, 0] = -4.9
    theta = np.concatenate([minimum, saddle, flat, minimum])
    seals = []
    for most in (512, 0):
        monkeypatch.setattr(certificate, "EIGEN", most)
        seals.append(certify(problem, theta, 0.0, 5.0, np.full(4, 1e-9)))
    np.testing.assert_array_equal(seals[1]["escaped"], seals[0]["escaped"])
    np.testing.assert_array_equal(seals[0]["escaped"][[0, 1, 3]], [False, True, False])
    for name in ("gradient", "box_hits", "lower"):
        np.testing.assert_array_equal(seals[1][name], seals[0][name])
    np.testing.assert_allclose(seals[1]["min_eigenvalue"], seals[0]["min_eigenvalue"], rtol=1e-6, atol=1e-14)
    np.testing.assert_allclose(seals[1]["decrement"], seals[0]["decrement"], rtol=1e-6)


def fitted(gate, expert, d=2, n=500, seed=0):
    model = Model(gate, "full", expert, d)
    truth = 2 * truths.ground_truth(model, 2, "dense", np.random.default_rng(seed))
    x, y = truths.sample(model, truth, n, 0.01, np.random.default_rng(seed + 1))
    fit = least_squares(model, x[None], y[None], truth[None, None], box=5.0)
    return model, x, y, fit.theta[0]


def tangents(model, theta, x):
    """Derivatives of f by central differences, (n, N P)."""
    step = 1e-6
    columns = []
    for k in range(theta.size):
        h = np.zeros(theta.size)
        h[k] = step
        h = h.reshape(theta.shape)
        columns.append((model.predict(theta + h, x) - model.predict(theta - h, x)) / (2 * step))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("expert", ["linear", "gelu"])
def test_gain_is_that_of_dense_least_squares(gate, expert):
    model, x, y, theta = fitted(gate, expert)
    free = (np.abs(theta) < 5.0).ravel()
    t = tangents(model, theta, x)[:, free]
    residual = y - model.predict(theta, x)
    ridge = search_starts.FLAT * np.max(np.sum(t**2, axis=0)) * np.eye(t.shape[1])
    left = np.eye(len(x)) - t @ np.linalg.solve(t.T @ t + ridge, t.T)  # what the tangents leave over
    law = np.full(model.atom_size, 2**-0.5)
    drawn = candidates(model, x, theta, 12, law, np.random.default_rng(3), box=5.0)
    for atom, gain in zip(drawn, screen(model, x, y, theta, drawn, box=5.0)[1], strict=True):
        # C with the model's own derivatives in the measure that holds the new atom, too
        both = np.concatenate([theta, atom[None]])
        _, (g, *_), (phi, slope), _, e = model._forward(both, x, 0.0, 1)
        last = g[-1] * (phi[-1] - model.predict(theta, x)) if gate == "softmax" else g[-1] * phi[-1]
        whole = np.concatenate([(g[-1] * slope[-1] * e).T, last[:, None]], axis=1)
        square = whole.T @ left @ whole + search_starts.RIDGE * np.diag(np.sum(whole**2, axis=0))
        root = np.linalg.cholesky(square)
        slope = np.linalg.solve(root, whole.T @ left @ residual)
        lower, upper = np.full((2, len(root)), [[-np.inf], [np.inf]])
        lower[-1], upper[-1] = search_starts.SCALES
        solved = lsq_linear(root.T, slope, (lower, upper), tol=1e-12)
        assert gain == pytest.approx(slope @ slope - 2 * solved.cost, rel=0.01, abs=1e-3 * float(np.mean(residual**2)))


def test_a_missing_atom_is_where_the_gain_is():
    """Take an atom of the truth away: among 200 candidates it is the best, by far."""
    model = Model("sigmoid", "full", "linear", 2)
    rng = np.random.default_rng(7)
    truth = 2 * truths.ground_truth(model, 3, "dense", rng)
    x, y = truths.sample(model, truth, 2000, 1e-4, rng)
    fit = least_squares(model, x[None], y[None], truth[None, None, :2], box=5.0)
    others = candidates(model, x, fit.theta[0], 200, np.full(model.atom_size, 0.7), rng, box=5.0)
    moved, gain = screen(model, x, y, fit.theta[0], np.concatenate([truth[2:], others]), box=5.0)
    assert gain[0] > np.quantile(gain[1:], 0.9)
    # and a fit from the best candidate gains at least half of what was promised
    best = int(np.argmax(gain))
    start = np.concatenate([fit.theta[0], moved[best][None]])
    end = least_squares(model, x[None], y[None], start[None, None], box=5.0)
    assert 2 * len(x) * (fit.loss[0] - end.loss[0]) > 0.5 * gain[best]

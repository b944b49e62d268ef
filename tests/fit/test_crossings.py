"""Moves of the local search that take one sample across a boundary between winners."""

import numpy as np
import pytest
import scipy.optimize

from moestat.fit import local_search as search
from moestat.fit.competition_likelihood import Data, hard_log_density, likelihood_problem, pack
from moestat.fit.competition_mle import maximum_likelihood
from moestat.fit.crossings import LOSES, STAYING, TARGETS, _least_move, crossings
from moestat.models import gaussian
from studies.compete_smoe.parts.competition_designs import near_starts, true_mixture


def around(design="affine", active=1, n=400, seed=4):
    """A point near the truth, its samples, and the inverse of the curvature there."""
    model, truth = true_mixture(design, active)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (1, n, model.d))
    y = gaussian.sample(model, truth, x[0], rng)[None]
    free = pack(truth[None]) + 0.02 * rng.standard_normal((1, truth.size))
    features = model.features(x)
    at = likelihood_problem(model, Data(features, y), np.array([0]), 0.0, 0.002)(free, np.array([0]))
    own = hard_log_density(model, free[:, None, :], features[:, None], y[:, None])[:, 0, :]
    return model, x, y, free, features, own, np.linalg.inv(n * at.gram)


def winners(model, free, x):
    theta = free.reshape(-1, free.shape[-1] // model.atom_size, model.atom_size)
    return np.stack([model.winners(one, x[0]) for one in theta])


@pytest.mark.parametrize(("design", "active"), [("affine", 1), ("linear", 2), ("tanh", 1)])
def test_the_first_moves_take_the_samples_across_that_gain_most(design, active):
    model, x, y, free, features, own, covariance = around(design, active)
    moves = crossings(model, free, features, y, own, covariance, 400)
    assert moves.shape == (1, TARGETS * (STAYING + 1), free.shape[-1])
    # by brute force: for every sample the density with the last winner and the next one exchanged, and the least
    # length of a move that exchanges them, by numerical derivatives of the margin
    atoms = free.reshape(-1, model.atom_size)

    def sizes(point):
        return np.abs(model.outputs(point.reshape(-1, model.atom_size)[:, model.w], features[0])[0])

    order = np.argsort(-sizes(free[0]), axis=0, kind="stable")
    columns = np.arange(y.shape[1])

    def margin(point):
        size = sizes(point)
        return size[order[active - 1], columns] - size[order[active], columns]

    steps = 1e-6 * np.eye(free.shape[-1])
    slope = np.stack([(margin(free[0] + step) - margin(free[0] - step)) / 2e-6 for step in steps])
    worth = np.empty(y.shape[1])
    for i in columns:
        chosen = [*order[: active - 1, i], order[active, i]]
        g = model.outputs(atoms[:, model.w], features[0][:, i : i + 1])[0][:, 0]
        gate, variance = np.exp(np.abs(g[chosen])), np.exp(atoms[chosen, model.variance])
        peaks = np.exp(-0.5 * (y[0, i] - g[chosen]) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
        length = margin(free[0])[i] ** 2 / (slope[:, i] @ covariance[0] @ slope[:, i])
        worth[i] = np.log(np.sum(gate * peaks) / gate.sum()) - own[0, i] - 0.5 * length
    before = winners(model, free, x)[0]
    for move, sample in zip(moves[0, :TARGETS], np.argsort(-worth)[:TARGETS], strict=True):
        after = winners(model, free + move, x)[0]
        if design != "tanh":  # whose margins are not linear in the weights: the step may end short of the boundary
            assert np.any(after[:, sample] != before[:, sample])
        aim = np.linalg.solve(covariance[0], move)
        goal = slope[:, sample] @ move
        assert goal == pytest.approx(-margin(free[0])[sample] - 0.01 / 400, rel=1e-5)
        # the least move: its image under the curvature is along the margin's derivative
        cosine = aim @ slope[:, sample] / np.linalg.norm(aim) / np.linalg.norm(slope[:, sample])
        assert abs(cosine) == pytest.approx(1, abs=1e-6)


def test_samples_that_would_lose_are_asked_to_stay():
    model, x, y, free, features, own, covariance = around(n=1500)
    moves = crossings(model, free, features, y, own, covariance, 1500).reshape(STAYING + 1, TARGETS, -1)
    before, asked = winners(model, free, x)[0], 0
    for first, second in zip(moves[0], moves[1], strict=True):
        moved = hard_log_density(model, (free + first)[:, None, :], features[:, None], y[:, None])[0, 0]
        crossed = np.any(winners(model, free + first, x)[0] != before, axis=0)
        worst = np.argmax(np.where(crossed, own[0] - moved, -np.inf))
        if own[0, worst] - moved[worst] <= LOSES:
            np.testing.assert_allclose(second, first, rtol=1e-8)
            continue
        asked += 1
        assert not np.any(winners(model, free + second, x)[0][:, worst] != before[:, worst])
        again = hard_log_density(model, (free + second)[:, None, :], features[:, None], y[:, None])[0, 0]
        assert again.sum() > moved.sum() + 10
    assert asked >= 2


def test_the_least_move_is_that_of_a_quadratic_programme():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(8, 8))
    covariance, slope = root @ root.T + np.eye(8), rng.normal(size=(1, 8, 20))
    chosen, goal = rng.permutation(20)[None, None, :4], rng.normal(size=(1, 1, 4))
    used = np.array([[[1.0, 1.0, 0.0, 1.0]]])
    ours = _least_move(slope, covariance[None] @ slope, chosen, goal, used)[0, 0]
    on = used[0, 0] > 0
    rows, aims = slope[0][:, chosen[0, 0][on]].T, goal[0, 0][on]
    metric = np.linalg.inv(covariance)
    programme = scipy.optimize.minimize(
        lambda move: move @ metric @ move,
        np.zeros(8),
        jac=lambda move: 2 * metric @ move,
        constraints={"type": "eq", "fun": lambda move: rows @ move - aims, "jac": lambda move: rows},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(ours, programme.x, atol=1e-5)


def test_a_sample_on_the_wrong_side_is_brought_back(monkeypatch):
    """Data sets in which random moves alone end with one sample on the wrong side, at a cost of forty units."""
    model, truth = true_mixture("affine", 1)
    options = {"truth": truth, "box": 10.0, "variances": (0.01, 10.0), "hops": 0, "adam_steps": 60}
    problems = []
    for seed in (23, 27):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (1, 800, 2))
        y = gaussian.sample(model, truth, x[0], rng)[None]
        problems.append((x, y, near_starts(truth, 4, 2, 0.1, rng)[None]))
    ours = [maximum_likelihood(model, *problem, **options).gain[0] for problem in problems]
    monkeypatch.setattr(search, "crossings", lambda model, free, *rest: np.zeros((len(free), 1, free.shape[-1])))
    random = [maximum_likelihood(model, *problem, **options).gain[0] for problem in problems]
    assert min(ours) > 0 and max(random) < -30

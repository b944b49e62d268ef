import numpy as np
import pytest
import scipy.optimize

from moestat.fit import local_search as search
from moestat.fit.competition_likelihood import (
    Data,
    gradients,
    hard_log_density,
    likelihood_problem,
    pack,
    scores,
    slopes,
    unpack,
)
from moestat.fit.competition_mle import maximum_likelihood
from moestat.fit.likelihood import Space
from moestat.fit.local_search import local_search
from moestat.models import gaussian
from moestat.models.competition import EXPERTS, Competition
from moestat.status import Status
from studies.compete_smoe.parts.competition_designs import DESIGNS, near_starts, random_starts, true_mixture

BOX = {"box": 10.0, "variances": (0.05, 10.0), "hops": 0}


def problem(design="mean", n=300, replicates=3, starts=2, seed=1):
    rng = np.random.default_rng(seed)
    model, truth = true_mixture(design)
    x = rng.uniform(-1, 1, (replicates, n, model.d))
    y = np.stack([gaussian.sample(model, truth, points, rng) for points in x])
    near = np.stack([near_starts(truth, 4, starts, 0.1, rng) for _ in range(replicates)])
    return model, truth, x, y, near


def line(active, atoms, n, seed):
    """A problem small enough for brute force: d = 1, affine experts."""
    rng = np.random.default_rng(seed)
    model = Competition(1, "affine", active)
    truth = np.array([[1.5, 1.0, 0.1], [-1.2, 1.4, 0.3], [0.4, -1.6, 0.2]])[:atoms]
    x = rng.uniform(-1, 1, (1, n, 1))
    y = gaussian.sample(model, truth, x[0], rng)[None]
    starts = np.stack([random_starts(model, x[0], y[0], atoms, 8, rng)])
    return model, truth, x, y, starts, rng


def scipy_best(model, x, y, starts):
    """The best of many runs of L-BFGS-B with numerical derivatives, and of Nelder-Mead from the best of them."""
    atoms = starts.shape[-2]

    def loss(free):
        return -float(gaussian.log_likelihood(model, unpack(free, atoms), x, y))

    bounds = ([(-10.0, 10.0)] * model.weight_size + [(np.log(0.05), np.log(10.0))]) * atoms
    runs = [scipy.optimize.minimize(loss, pack(s), method="L-BFGS-B", bounds=bounds) for s in starts]
    runs.sort(key=lambda run: run.fun)
    polished = [
        scipy.optimize.minimize(loss, run.x, method="Nelder-Mead", bounds=bounds, options={"maxfev": 3000})
        for run in runs[:3]
    ]
    return -min(run.fun for run in polished)


@pytest.mark.parametrize("expert", EXPERTS)
@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_scores_are_the_derivatives(expert, temperature):
    rng = np.random.default_rng(2)
    model = Competition(2, expert, 2)
    free = rng.normal(size=(3, 4 * model.atom_size))
    x, y = rng.uniform(-1, 1, (3, 30, 2)), rng.normal(size=(3, 30))
    features = model.features(x)
    at = slopes(model, free, features, y, temperature)
    if temperature == 0:
        np.testing.assert_allclose(
            at.log_density, gaussian.log_density(model, unpack(free, 4), x, y), rtol=1e-12, atol=1e-12
        )
    score = scores(at, features)
    step = 1e-6
    for p in range(free.shape[1]):
        shift = step * (np.arange(free.shape[1]) == p)
        ends = [slopes(model, free + s, features, y, temperature).log_density for s in (shift, -shift)]
        np.testing.assert_allclose(score[:, p], (ends[0] - ends[1]) / (2 * step), rtol=3e-5, atol=3e-7)


def test_problem_and_gradient_are_the_means_over_the_samples_of_the_owners():
    model, truth, x, y, starts = problem(n=5000, replicates=2)
    data, owner = Data(model.features(x), y), np.array([1, 0, 1])
    free = pack(starts[[1, 0, 1], [0, 0, 1]])
    at = likelihood_problem(model, data, owner, 0.0, 0.05)(free, np.arange(3))
    score = np.stack([model.score(unpack(f, 4), x[b], y[b]).reshape(20, -1) for f, b in zip(free, owner, strict=True)])
    score[:, 4::5] *= np.exp(free[:, 4::5])[..., None]
    np.testing.assert_allclose(at.gradient, -score.mean(-1), atol=1e-13)
    np.testing.assert_allclose(at.gram, score @ np.swapaxes(score, 1, 2) / 5000, atol=1e-12)
    np.testing.assert_allclose(gradients(model, data, owner, 0.0)(free), -at.gradient, atol=1e-13)
    two = likelihood_problem(model, data, owner, 0.0, 0.05)(free[:2], np.arange(2)).loss
    value = gaussian.log_likelihood(model, unpack(free[:2], 4), x[::-1], y[::-1])
    np.testing.assert_allclose(at.loss[:2] - two, 0, atol=0)
    np.testing.assert_allclose(np.diff(at.loss[:2]), -np.diff(value) / 5000, atol=1e-12)


def test_without_a_choice_it_agrees_with_scipy():
    # K = k: the likelihood is smooth but for the signs of g
    model, truth, x, y, starts, _ = line(2, 2, 400, 3)
    fit = maximum_likelihood(model, x, y, starts, truth=truth, **BOX)
    assert fit.status[0] == Status.CONVERGED and fit.gain[0] > 0
    reference = scipy_best(model, x[0], y[0], np.concatenate([starts[0], truth[None]]))
    assert fit.log_likelihood[0] == pytest.approx(reference, abs=1e-4)


@pytest.mark.parametrize("design", DESIGNS)
def test_beats_the_truth_in_every_design_and_says_by_how_much(design):
    model, truth, x, y, starts = problem(design, 700, replicates=4, seed=7)
    fit = maximum_likelihood(model, x, y, starts, truth=truth, adam_steps=100, **BOX)
    own = gaussian.log_likelihood(model, fit.theta, x, y)
    np.testing.assert_allclose(fit.log_likelihood, own, rtol=1e-12)
    np.testing.assert_allclose(fit.gain, own - gaussian.log_likelihood(model, np.stack([truth] * 4), x, y), atol=1e-9)
    # about half the number of parameters, 8 to 10, is expected
    assert np.all(fit.gain > 0) and 5 < np.mean(fit.gain) < 20
    assert np.all(fit.status == Status.CONVERGED) and np.all(np.isfinite(fit.gradient) & np.isfinite(fit.decrement))
    np.testing.assert_allclose(np.nanmax(fit.start_log_likelihood, axis=1), fit.log_likelihood, rtol=1e-13)
    np.testing.assert_array_equal(fit.start_log_likelihood[np.arange(4), fit.start], fit.log_likelihood)


def test_local_search_finds_a_jump_that_a_grid_finds():
    # one weight of one expert: the likelihood over it is a staircase, which a fine grid can search
    model, truth, x, y, _ = problem("mean", 400, replicates=1, seed=8)
    data, free = Data(model.features(x), y), pack(truth[None])
    lower, upper = free[0] - 1e-9, free[0] + 1e-9
    lower[0], upper[0] = -2.0, 2.0
    end = local_search(model, data, np.array([0]), free, Space(lower, upper, (0.05, 10.0)), max_rounds=200)
    grid = np.repeat(free, 2001, axis=0)
    grid[:, 0] += np.linspace(-0.25, 0.25, 2001)
    best = gaussian.log_likelihood(model, unpack(grid, 4), np.repeat(x, 2001, 0), np.repeat(y, 2001, 0)).max()
    ours = gaussian.log_likelihood(model, unpack(end.free, 4), x, y)[0]
    assert ours > best - 0.05


def test_replicates_do_not_know_of_each_other():
    model, truth, x, y, starts = problem("mean", 900, replicates=2)
    options = {"truth": truth, "coarsest": 300, "adam_steps": 100, "search_rounds": 30, **BOX}
    together = maximum_likelihood(model, x, y, starts, **options)
    for b in range(2):
        one = slice(b, b + 1)
        alone = maximum_likelihood(model, x[one], y[one], starts[one], **options)
        for name in ("theta", "log_likelihood", "gain", "gradient", "iterations", "start", "start_log_likelihood"):
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(together, name)[b])


def test_a_fit_worse_than_the_truth_is_a_failed_fit():
    model, truth, x, y, starts = problem()
    starts[1, ..., :-1] = 5.0 * np.sign(starts[1, ..., :-1])  # one replicate starts far away, and gets no time
    fit = maximum_likelihood(model, x, y, starts, truth=truth, adam_steps=0, search_rounds=1, **BOX)
    assert fit.gain[1] < 0 and fit.status[1] == Status.WORSE_THAN_TRUTH
    assert fit.message()[1] == Status.WORSE_THAN_TRUTH.sentence


def test_a_point_far_outside_of_the_box_loses_without_an_overflow():
    model = Competition(1, "linear", 1)
    x = np.linspace(-1, 1, 7)[None, :, None]
    y = np.full((1, 7), 0.3)
    inside, outside = np.array([[1.0, 0.0]]), np.array([[1.0, -800.0]])
    with np.errstate(over="raise", invalid="raise"):
        near, far = (hard_log_density(model, free, model.features(x), y) for free in (inside, outside))
    assert np.isfinite(near).all() and (far < -1e100).all()


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

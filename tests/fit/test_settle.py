"""Two searches of the argmin: they agree where one minimum is low, and no number depends on what runs beside it."""

import array_api_strict as xp
import numpy as np
import pytest
from scipy.optimize import least_squares as trust_region

import moestat
from moestat.errors import InputError
from moestat.fit import moves
from moestat.fit.settle import SAME, search, settle
from moestat.models import truths
from moestat.models.regression import Model
from moestat.status import Status

NOISE = 1e-4
EASY = Model("softmax", "full", "linear", 1)
TRUTH = np.array([[0.5, 1.0, -1.0, 1.0, 0.2], [-0.5, -2.0, 1.0, -1.5, 0.5]])


def data(model=EASY, truth=TRUTH, n=300, sets=2):
    drawn = [truths.sample(model, truth, n, NOISE, np.random.default_rng(k)) for k in range(sets)]
    return tuple(np.stack(part) for part in zip(*drawn, strict=True))


def streams(sets, which):
    return [np.random.default_rng([which, k]) for k in range(sets)]


def test_two_searches_of_an_easy_problem_end_at_one_minimum_which_a_fit_from_the_truth_does_not_beat():
    x, y = data()
    found = settle(EASY, x, y, 2, streams=(streams(2, 1), streams(2, 2)), budget=1500, noise_variance=NOISE)
    assert found.same_minimum.all() and found.settled.all() and np.all(found.apart <= SAME)
    for k in range(2):
        told = trust_region(
            lambda theta, k=k: EASY.predict(theta.reshape(2, 5), x[k]) - y[k], TRUTH.ravel(), xtol=1e-12
        )
        assert np.all(found.rss[:, k] <= 2 * told.cost + SAME * NOISE)
        for one, rss in zip((found.first[k], found.second[k]), found.rss[:, k], strict=True):
            again = np.sum((EASY.predict(one.fit.theta[0], x[k]) - y[k]) ** 2)
            assert rss == pytest.approx(again, rel=1e-12) and one.fit.status[0] == Status.CONVERGED
            assert np.all(np.diff(one.loss) >= 0) and one.loss[0] == one.fit.loss[0]
            np.testing.assert_array_equal(one.ends[0], one.fit.theta[0])


def test_a_data_set_has_the_same_numbers_alone_and_beside_others():
    x, y = data(sets=3)
    of = dict(budget=300, noise_variance=NOISE)
    together = search(EASY, x, y, 3, streams=streams(3, 1), **of)
    alone = search(EASY, x[1:2], y[1:2], 3, streams=streams(3, 1)[1:2], **of)
    np.testing.assert_array_equal(together[1].ends, alone[0].ends)
    np.testing.assert_array_equal(together[1].trace, alone[0].trace)
    other = search(EASY, x[1:2], y[1:2], 3, streams=streams(3, 9)[1:2], **of)
    assert not np.array_equal(other[0].trace, alone[0].trace)


def test_a_longer_search_begins_as_a_shorter_one_and_never_ends_higher():
    x, y = data(sets=1)
    short, long = (
        search(EASY, x, y, 2, streams=streams(1, 1), budget=budget, noise_variance=NOISE)[0] for budget in (1, 1500)
    )
    assert len(short.trace) == 1 and long.evaluations >= 1500
    np.testing.assert_array_equal(long.trace[0, 0], short.trace[0, 0])
    assert np.all(np.diff(long.trace[:, 1]) <= 0) and np.all(np.diff(long.trace[:, 0]) > 0)
    assert long.loss[0] <= short.loss[0]


def test_searches_that_are_apart_are_told_apart():
    """One round each on a problem with many minima: the two booleans are what ``apart`` says."""
    model = Model("sigmoid", "full", "relu", 2)
    truth = truths.ground_truth(Model("softmax", "full", "relu", 2), 3, "dense", np.random.default_rng(0))
    x, y = data(Model("softmax", "full", "relu", 2), truth, n=200, sets=3)
    found = settle(model, x, y, 4, streams=(streams(3, 1), streams(3, 2)), budget=1, noise_variance=NOISE)
    rss = 400 * np.array([[one.fit.loss[0] for one in own] for own in (found.first, found.second)])
    np.testing.assert_allclose(found.apart, np.abs(rss[0] - rss[1]) / NOISE)
    np.testing.assert_array_equal(found.settled, found.apart <= np.log(200))
    np.testing.assert_array_equal(found.same_minimum, found.apart <= 0.1)
    assert not found.same_minimum.all()


def test_what_cannot_be_searched_is_refused():
    x, y = data(sets=1)
    with pytest.raises(ValueError, match="noise_variance is 0"):
        search(EASY, x, y, 2, streams=streams(1, 1), budget=1, noise_variance=0.0)
    functions = moestat.Model(lambda x, p: np.full((len(x), len(p)), 1 / len(p)), "linear", d=1, gate_size=1)
    with pytest.raises(InputError, match="gate and experts are names"):
        search(functions, x, y, 2, streams=streams(1, 1), budget=1, noise_variance=NOISE)
    with pytest.raises(ValueError, match="budget"):
        search(EASY, x, y, 2, streams=streams(1, 1), budget=0, noise_variance=NOISE)
    with pytest.raises(ValueError, match="atoms"):
        search(EASY, x, y, 1, streams=streams(1, 1), budget=1, noise_variance=NOISE)
    with pytest.raises(ValueError, match="known has shape"):
        search(EASY, x, y, 2, streams=streams(1, 1), budget=1, noise_variance=NOISE, known=np.zeros((1, 3, 5)))
    with pytest.raises(ValueError, match="2 generators; each of 1 data sets"):
        search(EASY, x, y, 2, streams=streams(2, 1), budget=1, noise_variance=NOISE)
    with pytest.raises(ValueError, match="x holds numbers that are not finite"):
        search(EASY, x * np.nan, y, 2, streams=streams(1, 1), budget=1, noise_variance=NOISE)


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("expert", ["linear", "relu"])
def test_halves_that_are_not_moved_are_their_atom(gate, expert, monkeypatch):
    monkeypatch.setattr(moves, "HALVES", (0.0,))
    model, rng = Model(gate, "full", expert, 2), np.random.default_rng(3)
    theta, x = rng.standard_normal((2, model.atom_size)), rng.uniform(-1, 1, (50, 2))
    halves = model.predict(moves.halved(model, theta, rng), x)
    singles = [model.predict(theta[k : k + 1], x) for k in range(2)]
    assert min(np.abs(halves - single).max() for single in singles) < 1e-12


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
def test_crossing_with_a_permutation_changes_nothing(gate):
    model, rng = Model(gate, "full", "gelu", 2), np.random.default_rng(3)
    theta, x = rng.standard_normal((4, model.atom_size)), rng.uniform(-1, 1, (50, 2))
    np.testing.assert_array_equal(moves.crossed(model, x, theta, theta[[2, 0, 3, 1]], rng), theta)
    other = rng.standard_normal(theta.shape)
    child = moves.crossed(model, x, theta, other, rng)
    assert all(any(np.array_equal(atom, one) for one in (*theta, *other)) for atom in child)


def test_arrays_of_another_library_are_searched_alike(monkeypatch):
    monkeypatch.setenv("MOESTAT_KERNEL", "numpy")
    x, y = data(sets=2, n=100)
    of = dict(budget=1, noise_variance=NOISE)
    plain = search(EASY, x, y, 2, streams=streams(2, 1), **of)
    strict = search(EASY, xp.asarray(x), xp.asarray(y), 2, streams=streams(2, 1), **of)
    for one, other in zip(plain, strict, strict=True):
        assert isinstance(other.ends, np.ndarray) and isinstance(other.fit.theta, np.ndarray)
        assert other.fit.loss[0] == pytest.approx(one.fit.loss[0], rel=1e-6)

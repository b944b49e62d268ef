"""One batch for many searches: none waits for another, rows stay full, and every fit is what it is alone."""

import array_api_strict
import numpy as np
import pytest

from moestat.fit.descent import Settings, Starts, descend
from moestat.fit.moments import Problem
from moestat.fit.newton import from_each
from moestat.fit.served import Fits, serve
from moestat.models import truths
from moestat.models.regression import Model

MODEL = Model("softmax", "full", "relu", 1)
HOW = dict(box=5.0, tolerance=1e-6, precision="double")
TRUTH = truths.ground_truth(MODEL, 2, "dense", np.random.default_rng(0))
DATA = [truths.sample(MODEL, TRUTH, 80, 0.01, np.random.default_rng([1, k])) for k in range(3)]
X, Y = (np.stack(part) for part in zip(*DATA, strict=True))


def starts(count, seed):
    return np.random.default_rng(seed).standard_normal((count, 3, MODEL.atom_size))


def asking(wanted, got):
    for fits in wanted:
        got.append((yield fits))


def test_a_search_gets_the_ends_of_its_starts_in_order_whoever_else_is_served():
    wanted = [[Fits(starts(4, k), 9, race=True), Fits(starts(3, 10 + k), 60, race=False)] for k in range(3)]
    got = [[] for _ in wanted]
    serve([(2 - k, asking(wanted[k], got[k])) for k in range(3)], MODEL, X, Y, 3, **HOW)
    for k, own in enumerate(got):
        for fits, ends in zip(wanted[k], own, strict=True):
            of = dict(ladder=(0.1,), certify_limit=False) if fits.race else {}
            alone = from_each(MODEL, X[2 - k], Y[2 - k], fits.theta, max_iterations=fits.steps, **HOW, **of)
            for name, value in ends.items():
                np.testing.assert_array_equal(value, getattr(alone, name))
            assert (ends["iterations"] <= fits.steps).all() and len(ends["loss"]) == len(fits.theta)


def test_a_quick_search_does_not_wait_for_a_slow_one():
    order = []

    def search(name, rounds, steps):
        for k in range(rounds):
            yield Fits(starts(2, k), steps, race=True)
            order.append(name)

    serve([(0, search("slow", 1, 60)), (1, search("quick", 4, 3))], MODEL, X, Y, 3, **HOW)
    assert order == ["quick"] * 4 + ["slow"]


class Counted(Problem):
    """A problem that counts rounds, and the rows that they have."""

    rounds = rows = 0

    def hessian(self, theta, *arguments):
        Counted.rounds, Counted.rows = Counted.rounds + 1, Counted.rows + len(theta)
        return super().hessian(theta, *arguments)


class Steps:
    """Starts that go so many steps each."""

    def __init__(self, steps):
        self.theta, self.steps, self.first, self.ended = starts(len(steps), 5), steps, 0, {}

    def take(self, most):
        rows = np.arange(self.first, min(self.first + most, len(self.steps)))
        self.first += len(rows)
        return Starts(self.theta[rows], rows, rows % 3, self.steps[rows], 0, False) if len(rows) else None

    def give(self, member, ends):
        assert not set(member.tolist()) & set(self.ended)
        self.ended |= dict(zip(member.tolist(), ends["iterations"].tolist(), strict=True))


@pytest.mark.parametrize("most", [1, 4, 8, 100])
def test_every_start_is_fitted_once_and_rows_stay_full(monkeypatch, most):
    steps = np.full(40, 4)
    steps[::9] = 30
    feed = Steps(steps)
    monkeypatch.setattr(Counted, "rounds", 0)
    monkeypatch.setattr(Counted, "rows", 0)
    problem = Counted(MODEL, 3, X, Y, "double")
    descend(problem, np.var(Y, axis=1), feed, Settings(5.0, (0.1,), 1e-12), most)
    assert sorted(feed.ended) == list(range(40))
    assert all(feed.ended[k] <= steps[k] for k in range(40))
    needed = sum(feed.ended.values()) + 40  # every start is evaluated, and after each step again
    assert Counted.rows <= 2 * needed
    assert Counted.rounds <= 1.2 * needed / min(most, 40) + 35


def test_arrays_of_another_library_are_served_alike(monkeypatch):
    monkeypatch.setenv("MOESTAT_KERNEL", "numpy")
    got = [[], []]
    for own, xp in zip(got, (np, array_api_strict), strict=True):
        serve([(1, asking([Fits(starts(3, 1), 5, race=True)], own))], MODEL, xp.asarray(X), xp.asarray(Y), 3, **HOW)
    np.testing.assert_allclose(got[1][0]["theta"], got[0][0]["theta"], rtol=1e-9, atol=1e-9)


def test_what_a_search_raises_is_raised():
    def failing():
        yield Fits(starts(1, 0), 2, race=True)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        serve([(0, failing())], MODEL, X, Y, 3, **HOW)

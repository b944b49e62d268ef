"""The global search: lower than many local fits, the same in any order, and honest about its record."""

import numpy as np
import pytest

from moestat.fit import search_starts
from moestat.fit.global_search import Budget, global_search
from moestat.models import truths
from moestat.models.regression import Model
from moestat.status import Status

SMALL = Budget(near=9, random=4, inserted=4, screened=64, rounds=1, replaced=4, heats=((10, 0.7),), agree=3)


def stream(seed, purpose):
    return np.random.default_rng([seed, *purpose.encode()])


def problem(model, n_true, n, *, noise=0.01, seed=0):
    truth = 2 * truths.ground_truth(model, n_true, "dense", np.random.default_rng(seed))
    return truth, *truths.sample(model, truth, n, noise, np.random.default_rng(seed + 100))


def search(model, truth, x, y, budget=SMALL, seed=0, **options):
    near = truths.split(model, truth, len(truth) + 1)
    return global_search(
        model,
        x,
        y,
        local=near[None] + 0.05 * np.random.default_rng(seed).standard_normal((1, *near.shape)),
        known=np.stack([truths.split(model, truth[order], len(truth) + 1) for order in ([0, 1], [1, 0])]),
        smaller=truth[None],
        stream=lambda purpose: stream(seed, purpose),
        budget=budget,
        **options,
    )


def test_the_record_agrees_with_the_end_points():
    model = Model("softmax", "full", "linear", 2)
    truth, x, y = problem(model, 2, 300, seed=3)
    result = search(model, truth, x, y)
    # the losses, once more from the parameters
    again = 0.5 * np.mean((np.stack([model.predict(end, x) for end in result.ends]) - y) ** 2, axis=1)
    np.testing.assert_allclose(result.loss, again, rtol=1e-10)
    winner = int(np.argmin(again))
    assert result.fit.loss[0] == result.loss[winner]
    np.testing.assert_array_equal(result.fit.theta[0], result.ends[winner])
    assert result.kind == result.end_kind[winner]
    assert result.gain == pytest.approx(2 * len(x) * (again[result.end_kind == "local"].min() - again.min()), abs=1e-9)
    close = np.abs(again - again.min()) <= 0.05 * again.min() / len(x)
    assert result.found == np.sum(close & (result.end_kind != "replace"))
    assert 1 <= result.distinct <= len(result.loss)
    counts = {kind: len(losses) for kind, losses in result.start_losses.items()}
    assert counts["local"] == 1 and counts["near"] == 9 and counts["random"] == 4 and counts["insert"] == 4
    assert set(result.end_kind) <= set(search_starts.KINDS)
    assert result.fit.status[0] == Status.CONVERGED
    assert np.all(np.abs(result.ends) <= 5.0)


def test_it_stops_when_the_best_was_found_often_enough_and_a_round_did_not_lower_it():
    model = Model("softmax", "full", "linear", 1)  # a landscape with few minima, whatever the rounding
    truth = np.array([[0.5, 1.0, -1.0, 1.0, 0.2], [-0.5, -2.0, 1.0, -1.5, 0.5]])
    x, y = truths.sample(model, truth, 400, 1e-4, np.random.default_rng(0))
    options = {
        "local": truth[None],
        "known": truth[None],
        "stream": lambda purpose: stream(0, purpose),
        "max_iterations": 200,
    }
    heats = ((30, 0.8),)
    easy = global_search(model, x, y, budget=Budget(rounds=5, agree=2, heats=heats), **options)
    assert easy.agreed and easy.found >= 2
    assert len(easy.start_losses["replace"]) == 8  # one round of the five
    hard = global_search(model, x, y, budget=Budget(rounds=2, agree=99, heats=heats), **options)
    assert not hard.agreed
    assert len(hard.start_losses["replace"]) == 16
    assert hard.fit.loss[0] <= easy.fit.loss[0]


def test_a_larger_budget_begins_with_the_same_starts():
    model = Model("softmax", "full", "relu", 2)
    known = truths.ground_truth(model, 3, "dense", np.random.default_rng(0))[None]
    drawn = {
        count: (
            search_starts.near(known, count, lambda p: stream(1, p), box=5.0),
            search_starts.random(model, 3, count, lambda p: stream(1, p), box=5.0),
        )
        for count in (2, 5)
    }
    for few, many in zip(drawn[2], drawn[5], strict=True):
        np.testing.assert_array_equal(few, many[:2])
        assert len(np.unique(many[:, 0, 0])) == 5

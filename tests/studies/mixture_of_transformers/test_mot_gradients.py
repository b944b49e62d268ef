"""Expected gradients of a mixture of transformers in stages I and II."""

import numpy as np
import pytest

from moestat.models import patches
from studies.mixture_of_transformers.parts import mot_gradients
from studies.mixture_of_transformers.parts.mot_gradients import Settings, make_world, measure


def world(seed=0, classes=2, tokens=4, dimension=6):
    rng = np.random.default_rng(seed)
    s = Settings(classes=classes, tokens=tokens, dimension=dimension)
    return make_world(s, patches.dictionary(rng, classes, dimension), rng, 4)


def _losses(w, weights, kq, theta, routed):
    """Return the router's and the experts' loss, eqs (5) and (7), written out sample by sample."""
    router = experts = 0.0
    for x, y, p in zip(w.x, w.y, routed, strict=True):
        h = theta @ x.sum(axis=0)
        pi = np.exp(h) / np.exp(h).sum()
        for m in range(len(weights)):
            e = np.exp(x @ kq[m] @ x.T)
            f = weights[m] @ x.T @ (e / e.sum(axis=0)).sum(axis=1)
            router += p[m] * np.log1p(np.exp(-y * pi[m] * f)) / len(w.y)
            experts += p[m] * np.log1p(np.exp(-y * f)) / len(w.y)
    return router, experts


def drawn():
    """Return a world, what is measured of a model drawn at random, its weights, and slopes of its losses."""
    rng = np.random.default_rng(1)
    w = world(2)
    parameters = [rng.standard_normal(shape) for shape in ((4, 6), (4, 6, 6), (4, 6))]  # W, KQ, Theta
    routed, h = rng.dirichlet(np.ones(4), size=len(w.y)), 1e-5

    def slope(which, place, move):
        ends = []
        for sign in (1, -1):
            moved = [p.copy() for p in parameters]
            moved[which][place] += sign * h * move
            ends.append(_losses(w, *moved, routed)[0 if which == 2 else 1])
        return (ends[0] - ends[1]) / (2 * h)

    return w, measure(w, *parameters, routed), parameters[0], slope


def test_gradients_are_those_of_finite_differences():
    w, out, weights, slope = drawn()
    on = {"router_centre": (2, w.centres), "router_label": (2, w.labels), "expert_centre": (0, w.centres)}
    for name, (which, directions) in on.items():
        assert out[name] == pytest.approx(max(abs(slope(which, m, u)) for m in range(4) for u in directions), rel=1e-5)
    own = np.argmax(weights @ w.labels.T, axis=1)
    signals = np.concatenate([w.labels, w.centres])
    pairs = np.array([[[-slope(1, m, np.outer(k, q)) for q in signals] for k in signals] for m in range(4)])
    rows, v, c = np.arange(4), own, 2 + own  # two classes: labels before centres
    assert out["own_pair"] == pytest.approx(np.mean(pairs[rows, v, v]), rel=1e-5)
    assert out["centre_pair"] == pytest.approx(np.mean(np.abs(pairs[rows, c, c])), rel=1e-5)
    assert out["label_centre_pair"] == pytest.approx(np.mean(np.abs(pairs[rows, v, c])), rel=1e-5)
    grown = np.maximum(pairs[rows, :, 1 - own].max(axis=1), 0)
    assert out["distractor_growth"] == pytest.approx(np.mean(grown), rel=1e-5) and (grown > 0).any()
    assert out["distractor_query"] == pytest.approx(np.mean(np.abs(pairs[rows, :, 1 - own]).max(axis=1)), rel=1e-5)
    largest = np.abs(pairs)
    largest[rows, v, v] = 0.0
    assert out["other_pair"] == pytest.approx(np.mean(largest.max(axis=(1, 2))), rel=1e-5)


def test_a_gap_grows_by_a_step_against_the_gradient():
    w, out, weights, slope = drawn()
    gradient = np.array([[slope(0, m, u) for u in np.eye(6)] for m in range(4)])
    on = weights @ w.labels.T
    rows, own = np.arange(4), on.argmax(axis=1)

    def grown(step):
        after = (weights - step) @ w.labels.T - on
        return after[rows, own] - after[rows, 1 - own]  # the two classes of this world

    rate = grown(gradient)
    assert out["gap_growth"] == pytest.approx(np.mean(rate), rel=1e-4)
    assert out["class_difference"] == pytest.approx(np.mean(np.abs(rate)), rel=1e-4)
    assert out["gap_widens"] == np.mean(rate > 0)
    of_length_1 = grown(gradient / np.linalg.norm(gradient, axis=1, keepdims=True))
    assert out["gap_step"] == pytest.approx(np.mean(of_length_1), rel=1e-4)


def test_the_smallest_response_of_attention_to_scores_is_that_of_a_loop():
    rng = np.random.default_rng(7)
    scores = 0.1 * rng.standard_normal((4, 2, 3))
    p = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    ratios = [
        abs(p[n, q, a] - p[n, q, b]) / abs(scores[n, q, a] - scores[n, q, b])
        for n in range(4)
        for q in range(2)
        for a in range(3)
        for b in range(a)
        if abs(scores[n, q, a] - scores[n, q, b]) >= 0.05
    ]
    assert mot_gradients.smallest_response(p, 0.05) == pytest.approx(min(ratios), rel=1e-10)
    assert np.isnan(mot_gradients.smallest_response(p, 9.0))

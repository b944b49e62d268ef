"""Algorithm 1 and its measures against loops over samples, experts and tokens, written from the paper's formulas."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from moestat.experiment import Cell
from studies.mixture_of_transformers.parts import mot, mot_gradients

STEPS = (6, 10, 110)
"""T1, T2, T."""
SETTINGS = {"specialise_rate": 0.05, "attention_rate": 2.0, "router_rate": 5.0, "tuning_rate": 0.5}
SETTINGS |= {"samples": 24, "test_samples": 40, "dimension": 8, "experts": 3, "expert_slots": 3}
SETTINGS |= {"records_per_decade": 3, "specialise_steps": STEPS[0], "attention_steps": STEPS[1] - STEPS[0]}
SETTINGS |= {"tuning_steps": STEPS[2] - STEPS[1]}


class Drawn(NamedTuple):
    """The experiment's last record, and the draws that it was made from."""

    settings: Any
    found: Any
    directions: Any
    training: Any
    test: Any
    weight: Any
    kq: Any
    noise: Any


def drawn(**others):
    s = mot.Settings(**SETTINGS | others)
    cell = Cell("studies.mixture_of_transformers.parts.mot", 7, "arm", {}, s.model_dump(mode="json"))
    directions, training, test = mot._data(cell, s, 0)
    weight, kq = mot._start(cell, s, 0, directions)
    noise = mot._noise(s, [cell.generator(0, "perturbation: training", experts=3, n=s.samples)], s.samples, np)
    found = mot.run(cell, [0], device="cpu").isel(replicate=0, epoch=-1)
    return Drawn(s, found, directions, training, test, weight, kq, noise)


def softmax(a):
    e = np.exp(a - a.max())
    return e / e.sum()


def attention(x, kq):
    """Return softmax(X' KQ X_l) as row l; without attention (None) the sum of the tokens is read, once."""
    return np.ones((1, len(x))) if kq is None else np.stack([softmax(x @ kq @ query) for query in x])


def output(x, weight, kq):
    """Return f of one sample by one expert, eq. (4)."""
    return sum(weight @ (x.T @ row) for row in attention(x, kq))


def by_key_query(x, p, weight, query):
    """Return the gradient in KQ of what one query reads, W' X p, eq. (14)."""
    return np.outer(x.T @ (np.diag(p) - np.outer(p, p)) @ x @ weight, query)


def gradients(x, y, weight, kq, theta, m):
    """Return those of one sample in W, KQ (eqs. 13, 14) and Theta (eq. 12)."""
    own = None if kq is None else kq[m]
    p, total, f = attention(x, own), x.sum(axis=0), output(x, weight[m], own)
    slope = -y / (1 + np.exp(y * f))
    pi = softmax(theta @ total)
    margin = y * f * pi[m]
    by_theta = -margin / (1 + np.exp(margin)) * np.outer((np.arange(len(pi)) == m) - pi, total)
    read = [] if own is None else zip(p, x, strict=True)
    of_kq = slope * sum(by_key_query(x, row, weight[m], query) for row, query in read)
    return slope * (x.T @ p.sum(axis=0)), of_kq, by_theta


def staged(step):
    """Return what a step of Algorithm 1 moves: normalised weights, attention, weights."""
    return "normalised" if step < STEPS[0] else "attention" if step < STEPS[1] else "weights"


def train(d, moves=staged, *, attends=True):
    """Return W, KQ and Theta at the end; the router moves at every step."""
    s, weight, kq = d.settings, d.weight, d.kq if attends else None
    theta = np.zeros_like(weight)
    for step in range(STEPS[2]):
        r = next(d.noise)[0]
        of_weight, of_kq, of_theta = np.zeros_like(weight), np.zeros_like(d.kq), np.zeros_like(theta)
        for k, (x, y) in enumerate(zip(d.training.x, d.training.y, strict=True)):
            m = int(np.argmax(theta @ x.sum(axis=0) + r[:, k]))
            one = gradients(x, y, weight, kq, theta, m)
            of_weight[m] += one[0] / s.samples
            of_kq[m] += one[1] / s.samples
            of_theta += one[2] / s.samples
        if moves(step) == "normalised":
            norm = np.linalg.norm(of_weight, axis=1, keepdims=True)
            weight = weight - s.specialise_rate * of_weight / np.where(norm > 0, norm, 1)
        if moves(step) == "weights":
            weight = weight - s.tuning_rate * of_weight
        if moves(step) == "attention":
            kq = kq - s.attention_rate * of_kq
        theta = theta - s.router_rate * of_theta
    return weight, kq, theta


def routed(d, weight, kq, theta):
    """Return the experts of the test samples, and what these say of them."""
    expert = np.array([np.argmax(theta @ x.sum(axis=0)) for x in d.test.x])
    pairs = zip(d.test.x, expert, strict=True)
    return expert, np.array([output(x, weight[m], None if kq is None else kq[m]) for x, m in pairs])


@pytest.fixture(scope="module")
def trained():
    """Return the experiment's last record and the parameters that loops arrive at from the same draws."""
    d = drawn()
    return d, *train(d)


def test_algorithm_1_arrives_where_loops_do(trained):
    d, weight, kq, theta = trained
    np.testing.assert_allclose(d.found.on_labels, weight @ d.directions.labels.T, atol=1e-11)
    _, f = routed(d, weight, kq, theta)
    assert d.found.test_loss.item() == pytest.approx(np.mean(np.log1p(np.exp(-d.test.y * f))), rel=1e-11)
    assert d.found.test_error.item() == pytest.approx(np.mean(np.sign(f) != d.test.y))


def test_measures_of_the_routing_and_the_weights(trained):
    d, weight, kq, theta = trained
    found, directions, test = d.found, d.directions, d.test
    expert, _ = routed(d, weight, kq, theta)
    on = weight @ directions.labels.T
    known = on.argmax(axis=1)
    assert len(set(expert)) > 1, "else purity would say nothing"
    purity = 0.0
    for m in set(expert):
        shares = np.bincount(test.cluster[expert == m], minlength=4) / np.sum(expert == m)
        purity += np.mean(expert == m) * shares.max()
    ordered = np.sort(on, axis=1)
    pairs = list(zip(expert, test.cluster, strict=True))
    centre = weight @ directions.centres.T
    expected = {
        "purity": purity,
        "matched": np.mean(known[expert] == test.cluster),
        "covered": len(set(known)),
        "gap": np.mean(ordered[:, -1] - ordered[:, -2]),
        "own_signal": np.mean([on[m, n] for m, n in pairs]),
        "other_signal": np.mean([max(on[m, j] for j in range(4) if j != n) for m, n in pairs]),
        "centre_signal": np.mean([abs(centre[m, n]) for m, n in pairs]),
    }
    assert {name: found[name].item() for name in expected} == pytest.approx(expected, rel=1e-10)


def test_attention_by_query_and_key(trained):
    """p(mu, nu) of Prop. 2: the query is a row, and only samples at an expert of their class count."""
    d, weight, kq, theta = trained
    found, directions, test = d.found, d.directions, d.test
    known = (weight @ directions.labels.T).argmax(axis=1)
    tables = []
    for x, n, (v, c, other) in zip(test.x, test.cluster, test.position, strict=True):
        m = np.argmax(theta @ x.sum(axis=0))
        if known[m] == n:
            p = attention(x, kq[m])
            noise = [i for i in range(5) if i not in (v, c, other)]
            rows = [p[c], p[v], p[other], p[noise].mean(axis=0)]
            tables.append([[row[c], row[v], row[other], row[noise].sum()] for row in rows])
    assert len(tables) > 3
    np.testing.assert_allclose(found.attention, np.mean(tables, axis=0), atol=1e-11)
    assert found.self_attention.item() == pytest.approx(np.mean(tables, axis=0)[1, 1])


SMALL = {"samples": 8, "test_samples": 30, "tuning_rate": 0.2}


def of_heads(x, weights, kq, signs):
    """Return f of one sample, and its gradients in the weights and the key-query matrices."""
    f, by_weights, by_kq = 0.0, np.zeros_like(weights), np.zeros_like(kq)
    for query in x:
        p = [softmax(x @ each @ query) for each in kq]
        seen = np.stack([x.T @ row for row in p])  # (H, d)
        for j, sign in enumerate(signs):
            reach = np.sum(weights[j] * seen)
            if reach > 0:
                f += sign * reach
                by_weights[j] += sign * seen
                for h, row in enumerate(p):
                    by_kq[h] += sign * by_key_query(x, row, weights[j, h], query)
    return f, by_weights, by_kq


def test_the_multi_head_transformer_arrives_where_loops_do():
    """Stage I is normalised over all of its weights, as it is one network; stage III is not normalised."""
    s, found, _, training, test, weights, kq, _ = drawn(model="multi-head", **SMALL)
    signs = np.repeat([1.0, -1.0], 8)
    for step in range(STEPS[2]):
        of_weights, of_kq = np.zeros_like(weights), np.zeros_like(kq)
        for x, y in zip(training.x, training.y, strict=True):
            f, by_weights, by_kq = of_heads(x, weights, kq, signs)
            slope = -y / (1 + np.exp(y * f)) / 8
            of_weights += slope * by_weights
            of_kq += slope * by_kq
        if step < STEPS[0]:
            weights = weights - s.specialise_rate * of_weights / np.sqrt(np.sum(of_weights**2))
        elif step < STEPS[1]:
            kq = kq - s.attention_rate * of_kq
        else:
            weights = weights - s.tuning_rate * of_weights
    f = np.array([of_heads(x, weights, kq, signs)[0] for x in test.x])
    assert found.test_loss.item() == pytest.approx(np.mean(np.log1p(np.exp(-test.y * f))), rel=1e-9)
    wrong, open_ones = np.mean(test.y * f < 0), np.mean(f == 0)  # where no neuron is active
    assert found.test_error.item() == pytest.approx(wrong + open_ones / 2)


def without_attention(step):
    return "weights" if staged(step) == "attention" else staged(step)


def test_experts_without_attention_arrive_where_loops_do():
    """Stage II trains the weights."""
    d = drawn(**SMALL | {"model": "no-attention"})
    _, f = routed(d, *train(d, without_attention, attends=False))
    assert d.found.test_loss.item() == pytest.approx(np.mean(np.log1p(np.exp(-d.test.y * f))), rel=1e-9)
    assert d.found.test_error.item() == pytest.approx(np.mean(np.sign(f) != d.test.y))


def between_kinks(h):
    """Return P(argmax of h + Unif[0, 1]): the integrand is a polynomial between two of the points h_j + 1."""
    nodes, parts = np.polynomial.legendre.leggauss(len(h) // 2 + 1)
    ends = np.unique(np.concatenate([[h.max()], (h + 1)[h + 1 > h.max()]]))
    share = np.zeros(len(h))
    for a, b in zip(ends, ends[1:], strict=False):
        below = np.clip((a + b) / 2 + (b - a) / 2 * nodes[:, None] - h, 0.0, 1.0)
        for m in np.flatnonzero(h + 1 >= b):
            share[m] += (b - a) / 2 * (parts @ np.delete(below, m, axis=1).prod(axis=1))
    return share


@pytest.mark.parametrize(("spread", "least"), [(1e-5, 1e-8), (3e-4, 1.5e-5), (0.05, 1e-3)])
def test_routing_probabilities_of_32_experts_are_those_between_kinks(spread, least):
    scores = spread * np.random.default_rng(0).standard_normal((6, 32))
    exact = np.array([between_kinks(h) for h in scores])
    np.testing.assert_allclose(exact.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(mot_gradients.argmax_probabilities(scores), exact, rtol=0, atol=least)
    assert np.abs(exact - 1 / 32).max() > 10 * least, "the error is small beside what the scores do"

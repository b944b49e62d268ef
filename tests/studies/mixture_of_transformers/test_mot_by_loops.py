"""Algorithm 1 and its measures against loops over samples, experts and tokens, written from the paper's formulas."""

import numpy as np
import pytest
from mot_loops import STEPS, attention, by_key_query, drawn, routed, softmax, staged, train

from studies.mixture_of_transformers.parts import mot_gradients


@pytest.fixture(scope="module")
def trained():
    """Return the experiment's last record and the parameters that loops arrive at from the same draws."""
    d = drawn()
    return d, *train(d)


def test_algorithm_1_arrives_where_loops_do(trained):
    d, weight, kq, theta = trained
    np.testing.assert_allclose(d.found.on_labels, weight @ d.directions.labels.T, atol=1e-11)
    np.testing.assert_allclose(d.found.on_centres, weight @ d.directions.centres.T, atol=1e-11)
    _, f = routed(d, weight, kq, theta)
    assert d.found.test_loss.item() == pytest.approx(np.mean(np.log1p(np.exp(-d.test.y * f))), rel=1e-11)
    assert d.found.test_error.item() == pytest.approx(np.mean(np.sign(f) != d.test.y))


def test_measures_of_the_routing_and_the_weights(trained):
    d, weight, kq, theta = trained
    found, directions, test = d.found, d.directions, d.test
    expert, _ = routed(d, weight, kq, theta)
    on = weight @ directions.labels.T
    known = on.argmax(axis=1)
    assert len(set(expert)) > 1, "else purity and entropy would say nothing"
    purity = entropy = 0.0
    for m in set(expert):
        shares = np.bincount(test.cluster[expert == m], minlength=4) / np.sum(expert == m)
        load = np.mean(expert == m)
        purity += load * shares.max()
        entropy -= load * sum(share * np.log(share) for share in shares if share)
    ordered = np.sort(on, axis=1)
    pairs = list(zip(expert, test.cluster, strict=True))
    centre = weight @ directions.centres.T
    expected = {
        "purity": purity,
        "entropy": entropy,
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


SMALL = {"samples": 16, "test_samples": 30, "tuning_rate": 0.2}


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
            slope = -y / (1 + np.exp(y * f)) / 16
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
    return ("weights",) if staged(step) == ("attention",) else staged(step)


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

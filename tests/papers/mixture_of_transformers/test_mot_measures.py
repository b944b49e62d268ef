"""Algorithm 1 and its measures against loops over samples, experts and tokens, written from the paper's formulas."""

import numpy as np
import pytest

from moestat.experiment import Cell
from moestat.papers.mixture_of_transformers import mot

STEPS = (6, 10, 110)
"""T1, T2, T."""
RATE = {"specialise_rate": 0.05, "attention_rate": 2.0, "router_rate": 5.0, "tuning_rate": 0.5}
SETTINGS = RATE | {
    "samples": 24,
    "test_samples": 40,
    "dimension": 8,
    "experts": 3,
    "expert_slots": 3,
    "records_per_decade": 3,
    "specialise_steps": STEPS[0],
    "attention_steps": STEPS[1] - STEPS[0],
    "tuning_steps": STEPS[2] - STEPS[1],
}


def softmax(a):
    e = np.exp(a - a.max())
    return e / e.sum()


def attention(x, kq):
    """Return softmax(X' KQ X_l) as row l."""
    return np.stack([softmax(x @ kq @ query) for query in x])


def gradients(x, y, weight, kq, theta, m):
    """Return those of one sample in W, KQ (eqs. 13, 14) and Theta (eq. 12)."""
    p, total = attention(x, kq[m]), x.sum(axis=0)
    f = sum(weight[m] @ (x.T @ row) for row in p)
    slope = -y / (1 + np.exp(y * f))
    by_kq = sum(
        slope * np.outer(x.T @ (np.diag(row) - np.outer(row, row)) @ x @ weight[m], query)
        for row, query in zip(p, x, strict=True)
    )
    pi = softmax(theta @ total)
    margin = y * f * pi[m]
    by_theta = -margin / (1 + np.exp(margin)) * np.outer((np.arange(len(pi)) == m) - pi, total)
    return slope * (x.T @ p.sum(axis=0)), by_kq, by_theta


@pytest.fixture(scope="module")
def trained():
    """Return the experiment's last record and the parameters that loops arrive at from the same draws."""
    s = mot.Settings(**SETTINGS)
    cell = Cell("moestat.papers.mixture_of_transformers.mot", 7, "arm", {}, s.model_dump(mode="json"))
    directions, training, test = mot._data(cell, s, 0)
    weight, kq = mot._start(cell, s, 0, directions)
    theta = np.zeros_like(weight)
    noise = mot._noise(s, [cell.generator(0, "perturbation: training", experts=3, n=24)], 24, np)
    for step in range(STEPS[2]):
        r = next(noise)[0]
        by_weight, by_kq, by_theta = np.zeros_like(weight), np.zeros_like(kq), np.zeros_like(theta)
        for k, (x, y) in enumerate(zip(training.x, training.y, strict=True)):
            m = int(np.argmax(theta @ x.sum(axis=0) + r[:, k]))
            one = gradients(x, y, weight, kq, theta, m)
            by_weight[m] += one[0] / 24
            by_kq[m] += one[1] / 24
            by_theta += one[2] / 24
        if step < STEPS[0]:
            norm = np.linalg.norm(by_weight, axis=1, keepdims=True)
            weight = weight - RATE["specialise_rate"] * by_weight / np.where(norm > 0, norm, 1)
        elif step < STEPS[1]:
            kq = kq - RATE["attention_rate"] * by_kq
        else:
            weight = weight - RATE["tuning_rate"] * by_weight
        theta = theta - RATE["router_rate"] * by_theta
    found = mot.run(cell, [0], device="cpu").isel(replicate=0, epoch=-1)
    return found, directions, test, weight, kq, theta


def test_algorithm_1_arrives_where_loops_do(trained):
    found, directions, test, weight, kq, theta = trained
    np.testing.assert_allclose(found.on_labels, weight @ directions.labels.T, atol=1e-11)
    np.testing.assert_allclose(found.on_centres, weight @ directions.centres.T, atol=1e-11)
    expert = np.array([np.argmax(theta @ x.sum(axis=0)) for x in test.x])
    f = np.array(
        [sum(weight[m] @ (x.T @ row) for row in attention(x, kq[m])) for x, m in zip(test.x, expert, strict=True)]
    )
    assert found.test_loss.item() == pytest.approx(np.mean(np.log1p(np.exp(-test.y * f))), rel=1e-11)
    assert found.test_error.item() == pytest.approx(np.mean(np.sign(f) != test.y))


def test_measures_of_the_routing_and_the_weights(trained):
    found, directions, test, weight, _, theta = trained
    expert = np.array([np.argmax(theta @ x.sum(axis=0)) for x in test.x])
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
    found, directions, test, weight, kq, theta = trained
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

"""Algorithm 1 and its measures against loops over samples, experts and tokens, written from the paper's formulas."""

import numpy as np
import pytest
from mot_loops import attention, drawn, routed, train


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

"""Gradient conflicts and strong convexity of experts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.papers.mixture_of_transformers import mot_landscape as landscape

RNG = np.random.default_rng(4)


def _conflicts_by_loops(gradients, group):
    negative = pairs = total = 0.0
    for i in range(len(group)):
        for j in range(i):
            if group[i] == group[j]:
                pairs += 1
                negative += gradients[i] @ gradients[j] < 0
    for m in set(group.tolist()):
        mine = [g for g, k in zip(gradients, group, strict=True) if k == m]
        total += len(mine) * np.linalg.norm(np.mean(mine, axis=0)) / np.mean([np.linalg.norm(g) for g in mine])
    return negative / pairs, total / len(group)


@given(seed=st.integers(0, 2**16), scale=st.floats(1e-6, 1e6))
@settings(max_examples=25, deadline=None)
def test_conflicts_are_those_of_loops_and_know_no_scale_and_no_order(seed, scale):
    rng = np.random.default_rng(seed)
    gradients, group = rng.standard_normal((14, 3)), rng.integers(0, 3, 14)
    found = landscape.conflicts(gradients, group)
    np.testing.assert_allclose(found, _conflicts_by_loops(gradients, group), rtol=1e-12)
    order = rng.permutation(14)
    np.testing.assert_allclose(landscape.conflicts(scale * gradients[order], group[order]), found, rtol=1e-9)


def _loss(w, z, y):
    return np.mean(np.log1p(np.exp(-y * (z @ w))))


def test_curvature_is_that_of_finite_differences():
    z, y, w = RNG.standard_normal((30, 3)), np.sign(RNG.standard_normal(30)), RNG.standard_normal(3)
    h, unit = 1e-4, np.eye(3)
    gradient = np.array([(_loss(w + h * e, z, y) - _loss(w - h * e, z, y)) / (2 * h) for e in unit])
    hessian = np.array(
        [
            [
                _loss(w + h * (a + b), z, y)
                - _loss(w + h * (a - b), z, y)
                - _loss(w - h * (a - b), z, y)
                + _loss(w - h * (a + b), z, y)
                for b in unit
            ]
            for a in unit
        ]
    ) / (4 * h * h)
    found = landscape.curvature(y[:, None] * z, y * (z @ w), np.zeros(30, dtype=int))
    assert found["least"] == pytest.approx(np.linalg.eigvalsh(hessian)[0], rel=1e-5)
    assert found["polyak"] == pytest.approx(gradient @ gradient / (2 * _loss(w, z, y)), rel=1e-6)
    assert landscape.of_network(y[:, None] * z, y * (z @ w)) == pytest.approx(found["polyak"], rel=1e-12)


def _softmax(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum()


def _expert(x, w, kq):
    return sum(w @ x.T @ _softmax(x @ kq @ query) for query in x)


def _heads(x, weights, kq, signs):
    total = 0.0
    for query in x:
        seen = [x.T @ _softmax(x @ each @ query) for each in kq]
        for neuron, sign in zip(weights, signs, strict=True):
            total += sign * max(sum(w @ s for w, s in zip(neuron, seen, strict=True)), 0.0)
    return total


def _difference(function, at, h=1e-6):
    flat = at.ravel()
    out = np.empty(flat.size)
    for k in range(flat.size):
        step = np.zeros(flat.size)
        step[k] = h
        out[k] = (function((flat + step).reshape(at.shape)) - function((flat - step).reshape(at.shape))) / (2 * h)
    return out


def test_gradients_of_samples_are_those_of_finite_differences():
    x = RNG.standard_normal((5, 4, 3))
    weights, kq, expert = RNG.standard_normal((2, 3)), RNG.standard_normal((2, 3, 3)), np.array([0, 1, 1, 0, 1])
    f, by_weights, by_attention = landscape.of_experts(x, weights, kq, expert)
    for k, m in enumerate(expert):
        assert f[k] == pytest.approx(_expert(x[k], weights[m], kq[m]), rel=1e-12)
        np.testing.assert_allclose(
            by_weights[k], _difference(lambda w, k=k, m=m: _expert(x[k], w, kq[m]), weights[m]), atol=1e-7
        )
        np.testing.assert_allclose(
            by_attention[k], _difference(lambda q, k=k, m=m: _expert(x[k], weights[m], q), kq[m]), atol=1e-7
        )
    weights, kq, signs = (
        RNG.standard_normal((4, 2, 3)),
        RNG.standard_normal((2, 3, 3)),
        np.array([1.0, 1.0, -1.0, -1.0]),
    )
    f, by_weights, by_attention = landscape.of_heads(x, weights, kq, signs)
    for k in range(5):
        assert f[k] == pytest.approx(_heads(x[k], weights, kq, signs), rel=1e-12)
        np.testing.assert_allclose(
            by_weights[k], _difference(lambda w, k=k: _heads(x[k], w, kq, signs), weights), atol=1e-6
        )
        np.testing.assert_allclose(
            by_attention[k], _difference(lambda q, k=k: _heads(x[k], weights, q, signs), kq), atol=1e-6
        )

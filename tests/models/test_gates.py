import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from moestat.models.experts import activation
from moestat.models.gates import (
    SCORES,
    gate_values,
    pack_symmetric,
    score_features,
    score_size,
    unpack_symmetric,
)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("score", SCORES)
def test_score_is_the_quadratic_form(score, d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(4, 6, d))
    a, b, c = rng.normal(size=(d, d)), rng.normal(size=d), rng.normal()
    direct = np.full(x.shape[:-1], c)
    stored = [np.array([c])]
    if score != "partial":
        direct += x @ b
        stored.append(b)
    if score != "linear":
        direct += np.einsum("...i,ij,...j->...", x, a, x)  # the antisymmetric part of a has no effect
        stored.append(pack_symmetric(a))
    features = score_features(x, score)
    assert features.shape == (4, score_size(score, d), 6)
    np.testing.assert_allclose(np.concatenate(stored) @ features, direct, rtol=1e-12)


@given(d=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_storage_is_an_isometry_of_symmetric_matrices(d, seed):
    a = np.random.default_rng(seed).normal(size=(2, d, d))
    symmetric = (a + np.swapaxes(a, -1, -2)) / 2
    stored = pack_symmetric(a)
    np.testing.assert_allclose(np.linalg.norm(stored, axis=-1), np.linalg.norm(symmetric, axis=(-2, -1)), rtol=1e-12)
    np.testing.assert_allclose(unpack_symmetric(stored, d), symmetric, atol=1e-14)


def test_gates_do_not_overflow():
    scores = np.array([[-1000.0, 0.0, 1000.0], [1000.0, 1.0, 999.0]])
    np.testing.assert_allclose(gate_values("sigmoid", scores), special.expit(scores), rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(gate_values("softmax", scores), special.softmax(scores, axis=0), rtol=1e-12)


def test_smoothed_relu_is_the_relu_outside_the_blend_and_continuous_at_its_ends():
    tau = 0.2
    h = np.array([-0.5, -0.2, 0.2, 0.5])
    value, slope = activation("relu", h, tau=tau, order=1)
    np.testing.assert_allclose(value, np.maximum(h, 0), atol=1e-16)
    np.testing.assert_allclose(slope, [0, 0, 1, 1], atol=1e-16)
    near = activation("relu", np.array([-tau, tau]) * (1 - 1e-9), tau=tau, order=1)
    np.testing.assert_allclose(near[0], [0, tau], atol=1e-8)
    np.testing.assert_allclose(near[1], [0, 1], atol=1e-8)
    everywhere = np.linspace(-0.3, 0.3, 601)
    excess = activation("relu", everywhere, tau=tau)[0] - np.maximum(everywhere, 0)
    assert excess.min() >= -1e-16
    assert excess.max() == pytest.approx(tau / 4)

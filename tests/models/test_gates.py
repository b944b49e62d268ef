import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from moestat.models.experts import EXPERTS, activation
from moestat.models.gates import (
    GATES,
    SCORES,
    gate_values,
    output_slopes,
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


@pytest.mark.parametrize("gate", GATES)
def test_output_slopes_match_finite_differences(gate):
    rng = np.random.default_rng(3)
    scores, phi = rng.normal(size=(2, 4, 5)), rng.normal(size=(2, 4, 5))

    def output(s):
        return np.sum(gate_values(gate, s) * phi, axis=-2)

    slopes = output_slopes(gate, gate_values(gate, scores), phi, output(scores))
    step = 1e-6
    for i in range(4):
        shift = step * (np.arange(4) == i)[:, None]
        np.testing.assert_allclose(
            slopes[:, i], (output(scores + shift) - output(scores - shift)) / (2 * step), atol=1e-9
        )


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("score", SCORES)
def test_array_api_strict_gives_the_same_numbers(gate, score):
    rng = np.random.default_rng(4)
    x, theta = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 4, score_size(score, 3)))
    direct = gate_values(gate, theta @ score_features(x, score))
    other = gate_values(gate, strict.asarray(theta) @ score_features(strict.asarray(x), score))
    np.testing.assert_allclose(direct, np.asarray(other), rtol=1e-15)
    a = rng.normal(size=(2, 3, 3))
    stored = pack_symmetric(strict.asarray(a))
    np.testing.assert_array_equal(np.asarray(stored), pack_symmetric(a))
    np.testing.assert_array_equal(np.asarray(unpack_symmetric(stored, 3)), unpack_symmetric(pack_symmetric(a), 3))


CASES = [(name, 1, 0.0) for name in EXPERTS] + [("polynomial", 2, 0.0), ("polynomial", 3, 0.0), ("relu", 1, 0.3)]


@pytest.mark.parametrize(("expert", "power", "tau"), CASES)
def test_derivatives_match_finite_differences(expert, power, tau):
    rng = np.random.default_rng(1)
    h = rng.uniform(-2, 2, size=(3, 50))
    if expert == "relu":  # the differences must not straddle a kink
        kink = np.array([0.0] if tau == 0 else [-tau, tau])
        h = np.where(np.min(np.abs(h[..., None] - kink), axis=-1) < 1e-3, 1.7, h)
    step = 1e-5
    options = {"tau": tau, "power": power, "order": 2}
    _, first, second = activation(expert, h, **options)
    up, down = activation(expert, h + step, **options), activation(expert, h - step, **options)
    np.testing.assert_allclose(first, (up[0] - down[0]) / (2 * step), atol=2e-9)
    np.testing.assert_allclose(second, (up[1] - down[1]) / (2 * step), atol=2e-9)


def test_gelu_derivatives_match_complex_step():
    h = np.linspace(-6, 6, 101)
    step = 1e-30
    _, first, _ = activation("gelu", h, order=2)
    shifted = h + 1j * step
    value = shifted * special.ndtr(shifted)
    np.testing.assert_allclose(first, value.imag / step, rtol=1e-12, atol=1e-15)


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

import numpy as np
import pytest
from scipy import special

from moestat.models.experts import EXPERTS, activation

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

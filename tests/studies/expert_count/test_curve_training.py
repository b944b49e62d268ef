"""Training on unit signals: plain steps against the general gradient, the compiled ones against the plain."""

import numpy as np
import pytest

from moestat.fit import kernel
from studies.expert_count.parts import cubic_experts, curve_training

N, D = 90, 20


def world(kind, experts, patches, seed=0, scale=0.3):
    """Return a sample, initial weights and a router's parameters."""
    rng = np.random.default_rng(seed)
    sample = curve_training.draw(rng, rng, N, patches, 4, D)
    own = patches if kind == "mlp" else 1
    weights = np.repeat(scale * rng.standard_normal((experts, 1, 8, D)), own, axis=1)
    return sample, weights, 0.1 * rng.standard_normal((own, D, experts))


def noise(steps, experts, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 2**32, size=(N, experts), dtype=np.uint32) for _ in range(steps)]


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_a_step_on_cubes_is_that_of_the_general_gradient(kind):
    sample, weights, theta = world(kind, 5, 6)
    (drawn,) = noise(1, 5)
    plain = curve_training.Plain(sample, weights, theta, bounded=False)
    plain.step(drawn, 0.05, 0.7)
    features = curve_training.features(sample.x, theta)
    scores = features @ theta.reshape(-1, 5)
    expert = np.argmax(scores + drawn * 2.0**-32, axis=1)
    given = (weights, sample.x, features, sample.y, scores, expert)
    slope = cubic_experts.gradient(*(array[None] for array in given))
    norm = np.linalg.norm(slope.weights[0].reshape(5, -1), axis=1)[:, None, None, None]
    np.testing.assert_allclose(plain.weights, weights - 0.05 * slope.weights[0] / norm, atol=1e-13)
    np.testing.assert_allclose(plain.theta, theta - 0.7 * slope.theta[0].reshape(theta.shape), atol=1e-13)


def test_a_step_on_bounded_neurons_descends_the_loss():
    """The directional derivatives of the loss, by differences, along both steps."""
    sample, weights, theta = world("mlp", 3, 4)
    (drawn,) = noise(1, 3)
    h = curve_training.scores(sample.x, theta)
    expert = np.argmax(h + drawn * 2.0**-32, axis=1)

    def losses(weights, theta):
        pi = np.exp(curve_training.scores(sample.x, theta))
        gate = (pi / pi.sum(axis=1, keepdims=True))[np.arange(N), expert]
        return np.log1p(np.exp(-sample.y * gate * curve_training.outputs(weights, sample.x, expert, True)))

    plain = curve_training.Plain(sample, weights, theta, bounded=True)
    plain.step(drawn, 1e-6, 1e-6)
    rng = np.random.default_rng(2)
    moved = plain.weights - weights
    for m in range(3):  # an expert's step has its length, and no direction of that length descends more steeply
        assert np.linalg.norm(moved[m]) == pytest.approx(1e-6)
        steep = losses(weights + moved * (np.arange(3) == m)[:, None, None, None], theta).mean()
        for _ in range(20):
            other = np.zeros_like(weights)
            other[m] = rng.standard_normal(weights[m].shape) + moved[m] / 1e-6
            other *= 1e-6 / np.linalg.norm(other)
            assert steep < losses(weights + other, theta).mean()
    step = plain.theta - theta
    gain = losses(weights, theta).mean() - losses(weights, theta + step).mean()
    assert gain == pytest.approx(np.sum(step**2) / 1e-6, rel=1e-3)  # eta_r |gradient|^2


@pytest.mark.skipif(not kernel.vector_bits(), reason="nothing is compiled here")
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize(("kind", "experts", "patches"), [("mlp", 4, 4), ("mlp", 5, 7), ("cnn", 3, 8)])
def test_compiled_steps_are_the_plain_ones(kind, experts, patches, bounded):
    sample, weights, theta = world(kind, experts, patches)
    pair = [
        curve_training.Plain(sample, weights, theta, bounded),
        curve_training.start(sample, weights, theta, bounded=bounded),
    ]
    for drawn in noise(30, experts):
        for each in pair:
            each.step(drawn, 0.05, 0.5)
    np.testing.assert_allclose(pair[1].weights, pair[0].weights, atol=1e-12)
    np.testing.assert_allclose(pair[1].theta, pair[0].theta, atol=1e-12)


@pytest.mark.skipif(not kernel.vector_bits(), reason="nothing is compiled here")
def test_an_expert_moves_however_large_its_margins_are():
    sample, weights, theta = world("mlp", 2, 4, scale=1e-3)
    neuron = np.arange(8) % 4
    weights[:, :, np.arange(8), neuron] = 30.0  # the own signal of a sample leads: margins of 1e4, exp of them is 0
    sample = curve_training.Sample(*(a[sample.amplitude[:, 0] * sample.y > 0.9] for a in vars(sample).values()))
    drawn = noise(1, 2)[0][: len(sample.y)]
    for each in (
        curve_training.Plain(sample, weights, theta, False),
        curve_training.start(sample, weights, theta, bounded=False),
    ):
        each.step(drawn, 0.1, 0.0)
        np.testing.assert_allclose(np.linalg.norm((each.weights - weights).reshape(2, -1), axis=1), 0.1)

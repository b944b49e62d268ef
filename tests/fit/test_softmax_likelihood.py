import numpy as np
import pytest

from moestat.fit.softmax_likelihood import (
    join,
    log_likelihood,
    negative_log_likelihood,
    pack,
    prepare,
    split,
    unpack,
)
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian


def draw(d, atoms, n, seed=2, replicates=2):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(2 * replicates, atoms, 2 * d + 3))
    theta[..., -1] = rng.uniform(0.3, 1.0, (2 * replicates, atoms))
    x, y = rng.uniform(-1, 1, (replicates, n, d)), rng.normal(size=(replicates, n))
    return theta, x, y, np.repeat(np.arange(replicates), 2)


@pytest.mark.parametrize(("d", "atoms"), [(1, 1), (1, 3), (3, 2)])
def test_free_coordinates_hold_the_measure(d, atoms):
    theta, *_ = draw(d, atoms, 5)
    free = pack(theta)
    assert free.shape == (4, (2 * atoms - 1) * (d + 1) + atoms)
    np.testing.assert_allclose(unpack(free, atoms), SoftmaxGaussian(d).anchored(theta), rtol=1e-14)
    gate, mean, log_variance = split(free, atoms)
    np.testing.assert_array_equal(join(gate[:, :-1], mean, log_variance), free)


@pytest.mark.parametrize(("d", "atoms"), [(1, 1), (1, 3), (2, 2), (3, 4)])
def test_gradient_and_hessian_match_finite_differences(d, atoms):
    theta, x, y, owner = draw(d, atoms, 300)
    free, members = pack(theta), np.arange(4)
    problem = negative_log_likelihood(prepare(x, y), owner, atoms, 0.01)
    at = problem(free, members)
    expected = gaussian.log_likelihood(SoftmaxGaussian(d), theta, x[owner], y[owner]) / 300
    np.testing.assert_allclose(at.loss, -expected - 0.5 * np.log(2 * np.pi * 0.01), rtol=1e-12)
    np.testing.assert_allclose(log_likelihood(prepare(x, y), free, owner, atoms), expected, rtol=1e-12)
    step = 1e-5
    for i in range(free.shape[1]):
        shift = np.zeros_like(free)
        shift[:, i] = step
        up, down = problem(free + shift, members), problem(free - shift, members)
        np.testing.assert_allclose((up.loss - down.loss) / (2 * step), at.gradient[:, i], atol=3e-8)
        np.testing.assert_allclose((up.gradient - down.gradient) / (2 * step), at.gram[:, i], atol=3e-7)

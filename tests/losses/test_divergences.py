import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from moestat.losses.divergences import MOST, expected_hellinger, squared_hellinger
from moestat.models.competition import Competition
from moestat.models.gaussian import log_density
from moestat.models.softmax_gaussian import SoftmaxGaussian

LINE = np.array([[-8.0, 25.0, -20.0, 15.0, 0.09], [0.0, 0.0, 20.0, -5.0, 0.16]])
PLANES = np.array([[1.2, 0.3, 2, 0.15], [-0.9, 0.9, 2, 0.3], [-0.3, -1.2, 2, 0.2], [0.8, -0.7, 1.9, 0.4]])


def moved(truth, size, rng):
    out = truth + size * rng.normal(size=truth.shape)
    out[:, -1] = truth[:, -1] * np.exp(size * rng.normal(size=len(truth)))
    return out


def adaptive(model, fitted, truth, point):
    """The integral by adaptive quadrature, split at the means."""
    parts = [model.components(t, point[None]) for t in (fitted, truth)]
    means = np.concatenate([p.mean[:, 0][np.isfinite(p.log_weight[:, 0])] for p in parts])
    wide = 10 * np.sqrt(max(p.variance.max() for p in parts))

    def integrand(v):
        half = [0.5 * log_density(model, t, point[None], np.array([v]))[0] for t in (fitted, truth)]
        return 0.5 * (np.exp(half[0]) - np.exp(half[1])) ** 2

    ends = np.unique(np.concatenate([[means.min() - wide], means, [means.max() + wide]]))
    return sum(
        integrate.quad(integrand, a, b, limit=500, epsabs=0, epsrel=1e-10)[0]
        for a, b in zip(ends[:-1], ends[1:], strict=True)
    )


@pytest.mark.parametrize("size", [0.3, 0.03, 0.001])
@pytest.mark.parametrize(
    ("model", "truth"),
    [(Competition(2, "affine", 2), PLANES), (SoftmaxGaussian(1), LINE)],
    ids=["competition", "softmax"],
)
def test_relative_error_is_below_1e_6(model, truth, size):
    rng = np.random.default_rng(7)
    fitted = moved(truth, size, rng)
    x = rng.uniform(0, 1, (4, model.d))
    ours = squared_hellinger(model, fitted, truth, x)
    reference = [adaptive(model, fitted, truth, point) for point in x]
    np.testing.assert_allclose(ours, reference, rtol=1e-6)
    h, h2 = expected_hellinger(model, fitted, truth, x)
    assert h == pytest.approx(np.mean(np.sqrt(reference)), rel=1e-6) and h2 == pytest.approx(
        np.mean(reference), rel=1e-6
    )


def test_narrow_experts_get_a_finer_grid_or_a_nan():
    model, rng = SoftmaxGaussian(1), np.random.default_rng(3)
    fitted = np.stack([moved(LINE, 0.05, rng)] * 3)
    fitted[1, 0, -1], fitted[2, 0, -1] = 1e-4, 1e-12
    x = np.array([[0.35], [0.7]])
    ours = squared_hellinger(model, fitted, LINE, x)
    for k in range(2):
        reference = [adaptive(model, fitted[k], LINE, point) for point in x]
        np.testing.assert_allclose(ours[k], reference, rtol=1e-6)
    assert np.all(np.isnan(ours[2]))
    assert np.all(np.isfinite(squared_hellinger(model, fitted[2], LINE, x, points=MOST)))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.001, 2.0))
def test_laws_of_the_distance(seed, size):
    rng = np.random.default_rng(seed)
    model = Competition(2, "affine", 2)
    a, b = moved(PLANES, size, rng), moved(PLANES, size, rng)
    x = rng.uniform(-1, 1, (5, 2))
    ab, ba = squared_hellinger(model, a, b, x), squared_hellinger(model, b, a, x)
    np.testing.assert_allclose(ab, ba, rtol=1e-9)
    assert np.all((ab >= 0) & (ab <= 1 + 1e-9))
    aa = squared_hellinger(model, a[::-1], a, x)  # atoms have no order
    np.testing.assert_allclose(aa, 0, atol=1e-20)
    to_truth = np.sqrt(squared_hellinger(model, a, PLANES, x)) + np.sqrt(squared_hellinger(model, b, PLANES, x))
    assert np.all(np.sqrt(ab) <= to_truth + 1e-6)


def test_two_normals_in_closed_form():
    model = Competition(1, "affine", 1)
    a, b = np.array([[0.0, 1.0, 0.5]]), np.array([[0.0, 1.4, 0.8]])
    v = 0.5 * (0.5 + 0.8)
    exact = 1 - np.sqrt(np.sqrt(0.5 * 0.8) / v) * np.exp(-(0.4**2) / (8 * v))
    np.testing.assert_allclose(squared_hellinger(model, a, b, np.zeros((3, 1))), exact, rtol=1e-9)


def test_bad_input_gets_one_clear_sentence():
    model, x = SoftmaxGaussian(1), np.array([[0.2], [0.6]])
    for arguments, words in (
        ((LINE * [1, 1, 1, 1, -1], LINE, x), "fitted holds the variance -0.16; variances must be positive"),
        ((LINE, LINE * [1, 1, 1, 1, 0], x), "truth holds the variance 0"),
        ((LINE, LINE, x[None]), r"x has shape \(1, 2, 1\); it must be \(inputs, 1\)"),
    ):
        for call in (squared_hellinger, expected_hellinger):
            with pytest.raises(ValueError, match=words):
                call(model, *arguments)

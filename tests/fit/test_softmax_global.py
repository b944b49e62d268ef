"""The search for the highest maximum: experts put in, and cut in two; never a worse fit, and seldom one that is low."""

import numpy as np
import pytest

from moestat.fit.softmax_global import global_maximum
from moestat.fit.softmax_mle import maximum_likelihood
from moestat.fit.softmax_starts import cut_starts, inserted_starts
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from studies.demystifying_softmax.parts.gaussian_starts import near_starts
from studies.demystifying_softmax.parts.softmax_gaussian import MODEL, TRUTH

HOW = {"box": 100.0, "variances": (0.01, 100.0)}
ONE = np.array([[[0.0, 0.0, 0.0, 0.0, 1.0]]])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(2, 100, 1))
    y = np.stack([gaussian.sample(MODEL, TRUTH, points, rng) for points in x])
    return x, y, np.stack([near_starts(TRUTH, 3, 2, 0.1, rng) for _ in range(2)])


def test_starts_have_one_more_expert_and_stay_in_the_box(data):
    x, y, starts = data
    theta = starts[:, 0]
    how = {"box": 30.0, "variances": (0.01, 1.0), "candidates": 40, "keep": 3}
    found = inserted_starts(x, y, theta, **how)
    assert found.shape == (2, 3, 4, 5)
    np.testing.assert_array_equal(found[:, :, :3], np.broadcast_to(theta[:, None], (2, 3, 3, 5)))
    new = found[:, :, -1]
    assert (np.abs(new[..., :4]) <= 30.0).all() and (new[..., 4] >= 0.01).all() and (new[..., 4] <= 1.0).all()
    again, other = (inserted_starts(x, y, theta, number=i, **how) for i in (0, 1))
    np.testing.assert_array_equal(found, again)
    assert not np.array_equal(found, other)
    with pytest.raises(ValueError, match="2 dimensions"):
        inserted_starts(np.zeros((1, 9, 2)), np.zeros((1, 9)), theta[:1], **how)


def test_a_line_that_no_expert_fits_is_found():
    """Twenty of two hundred samples lie on a line of their own, far from the two experts' one."""
    rng = np.random.default_rng(4)
    x = rng.uniform(size=(1, 200, 1))
    y = 0.3 * rng.standard_normal((1, 200))
    far = np.argsort(x[0, :, 0])[-20:]
    y[0, far] = 8.0 - 5.0 * x[0, far, 0] + 0.1 * rng.standard_normal(20)
    two = np.array([[[0.0, 0.0, 0.0, 0.0, 0.09], [0.0, 0.5, 0.0, 0.1, 0.09]]])
    found = inserted_starts(x, y, two, box=100.0, variances=(0.01, 100.0), candidates=200, keep=1)
    model = SoftmaxGaussian(1)
    before, after = (gaussian.log_likelihood(model, theta, x, y)[0] for theta in (two, found[:, 0]))
    assert after > before + 100
    # the steps of EM have put it on the samples' own line
    line = found[0, 0, -1]
    assert np.abs(line[2] * 0.95 + line[3] - 3.25) < 0.1 and line[4] < 0.02


def test_the_search_never_lowers_the_likelihood_and_does_not_hang_on_the_batch(data):
    x, y, starts = data
    usual = maximum_likelihood(x, y, starts, truth=TRUTH, kept=4)
    longer = global_maximum(x, y, starts, truth=TRUTH, rounds=2)
    assert (longer.log_likelihood >= usual.log_likelihood).all() and (
        longer.log_likelihood > usual.log_likelihood
    ).any()
    np.testing.assert_allclose(longer.gain - usual.gain, longer.log_likelihood - usual.log_likelihood, atol=1e-9)
    np.testing.assert_allclose(gaussian.log_likelihood(MODEL, longer.theta, x, y), longer.log_likelihood, rtol=1e-9)
    np.testing.assert_array_equal(longer.start_log_likelihood, usual.start_log_likelihood)
    alone = global_maximum(x[1:], y[1:], starts[1:], truth=TRUTH, rounds=2)
    np.testing.assert_array_equal(alone.theta[0], longer.theta[1])
    assert alone.rounds_there[0] == longer.rounds_there[1]


def broken(rng, n=120, at=0.62):
    """One line below a point, another one above it."""
    x = np.sort(rng.uniform(size=n))
    y = np.where(x < at, 1.0 + x, 4.0 - 2.0 * x) + 0.2 * rng.standard_normal(n)
    return x[None, :, None], y[None]


def test_the_first_cut_is_the_best_of_all_by_brute_force():
    """Every cut of the only expert, its two lines by `numpy.polyfit`; the samples come in another order."""
    rng = np.random.default_rng(1)
    x, y = broken(rng)
    heights = []
    for at in range(3, x.shape[1] - 3):
        height = 0.0
        for part in (slice(None, at), slice(at, None)):
            line = np.polyfit(x[0, part, 0], y[0, part], 1)
            variance = max(np.mean((y[0, part] - np.polyval(line, x[0, part, 0])) ** 2), 0.01)
            height += np.sum(-0.5 * (np.log(variance) + (y[0, part] - np.polyval(line, x[0, part, 0])) ** 2 / variance))
        heights.append(height)
    best = 3 + int(np.argmax(heights))
    order = rng.permutation(x.shape[1])
    found = cut_starts(x[:, order], y[:, order], ONE, keep=1, **HOW)[0, 0]
    left, right = found[np.argsort(found[:, 1])]
    meeting = (left[0] - right[0]) / (right[1] - left[1])
    assert x[0, best - 1, 0] < meeting < x[0, best, 0] and right[1] - left[1] == pytest.approx(75.0)
    for half, part in ((left, slice(None, best)), (right, slice(best, None))):
        np.testing.assert_allclose(half[2:4], np.polyfit(x[0, part, 0], y[0, part], 1), rtol=1e-6)

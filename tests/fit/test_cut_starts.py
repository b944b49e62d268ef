"""Experts cut in two: the best cut of all by brute force, and a start that says what it is to say."""

import numpy as np
import pytest
from scipy.special import softmax

from moestat.fit.softmax_starts import cut_starts
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian

HOW = {"box": 100.0, "variances": (0.01, 100.0)}
MODEL = SoftmaxGaussian(1)
ONE = np.array([[[0.0, 0.0, 0.0, 0.0, 1.0]]])
TWO = np.array([[[0.0, 0.0, 1.0, 0.0, 0.2], [-15.0, 30.0, -1.0, 2.0, 0.1]]])


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


def test_beside_a_cut_the_other_expert_keeps_its_ground():
    """Two experts that meet at 0.5: cut far from there, on its own side, the gate of the other one is what it was."""
    x = np.linspace(0, 1, 200)[None, :, None]
    y = gaussian.sample(MODEL, TWO[0], x[0], np.random.default_rng(2))[None]
    checked = 0
    for start in cut_starts(x, y, TWO, keep=6, **HOW)[0]:
        k = next(k for k in (0, 1) if not np.array_equal(start[k, 2:], TWO[0, k, 2:]))
        np.testing.assert_array_equal(start[1 - k, 2:], TWO[0, 1 - k, 2:])
        assert start[-1, 1] - start[k, 1] == pytest.approx(75.0)
        past = (start[k, 0] - start[-1, 0]) / 75.0 - 0.5
        if abs(past) > 0.2 and (past > 0) == (k == 1):  # on its own side
            now, before = (softmax(atoms[:, 0] + x[0] * atoms[:, 1], axis=1)[:, 1 - k] for atoms in (start, TWO[0]))
            np.testing.assert_allclose(now, before, atol=0.03)
            checked += 1
    assert checked >= 2


def test_starts_are_in_the_box_and_finite_even_of_few_samples():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(size=(2, 6, 1)), rng.standard_normal((2, 6))
    starts = cut_starts(x, y, np.tile(TWO, (2, 1, 1)), box=20.0, variances=(0.01, 1.0), keep=4)
    assert starts.shape == (2, 4, 3, 5) and (np.abs(starts[..., :4]) <= 20.0).all()
    assert ((starts[..., 4] >= 0.01) & (starts[..., 4] <= 1.0)).all()
    with pytest.raises(ValueError, match="2 dimensions"):
        cut_starts(np.zeros((1, 9, 2)), np.zeros((1, 9)), TWO, keep=1, **HOW)
